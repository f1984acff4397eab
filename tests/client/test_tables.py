"""Private tables, rematches and lists of matches, as the SDK tells of them."""

from __future__ import annotations

from datetime import timedelta

import pytest

import promontory
from promontory import AsyncClient, ClockKind, TableOptions, TimeControl
from promontory.api.lobby.v1 import lobby_service_pb2 as pb
from promontory.client.matches import MatchState
from promontory.client.tables import Readiness, TableCloseReason, TableState
from promontory.codec.outcomes import CloseReason
from tests.client.conftest import World
from tests.client.referee import Referee

CLOCK = TimeControl(ClockKind.INCREMENT, timedelta(minutes=5), increment=timedelta(seconds=3))


async def test_a_table_that_has_started_names_its_match_and_gives_the_seat(client: AsyncClient) -> None:
    table = await client.create_table("transcontinental")
    assert (len(table.last.places), table.players, table.match_id, table.invite_code) == (1, ("ada",), "", "OPENSEAT")
    joined = await client.join_table(table.invite_code)
    seated = await joined.seat()
    assert (joined.match_id, seated.match_id, seated.seat) == (Referee.match_id, Referee.match_id, 0)
    with pytest.raises(promontory.NotFound, match="TABLE_NOT_FOUND"):
        await client.join_table("WRONG")


async def test_a_table_is_opened_for_what_is_asked(world: World, client: AsyncClient) -> None:
    options = TableOptions(
        seats=4,
        variant="standard",
        house_bots={2: "greedy"},
        ready=False,
        start_when_ready=False,
        time_control=CLOCK,
        abandon_after=timedelta(minutes=2),
        spectator_delay=7,
    )
    await client.create_table("pacific", options)
    [request] = world.lounge.requests
    assert (request.game, request.seats, request.variant) == ("pacific", 4, "standard")
    assert [(bot.seat, bot.policy) for bot in request.house_bots] == [(2, "greedy")]
    assert (request.readiness, request.start_when_ready) == (pb.READINESS_NOT_READY, False)
    assert (request.time_control.base.seconds, request.abandon_after.seconds, request.spectator_delay) == (300, 120, 7)


async def test_who_opens_or_joins_is_ready_unless_they_say_otherwise(world: World, client: AsyncClient) -> None:
    await client.create_table("transcontinental")
    await client.join_table("OPENSEAT")
    await client.join_table("OPENSEAT", ready=False)
    assert [request.readiness for request in world.lounge.requests] == [
        pb.READINESS_ALWAYS_READY,
        pb.READINESS_ALWAYS_READY,
        pb.READINESS_NOT_READY,
    ]


async def test_every_change_has_a_request_id(world: World, client: AsyncClient) -> None:
    """[style 1.9] Of one's own, or a new one."""
    table = await client.table("table-1")
    await table.ready()
    assert (await table.ready(False)).places[0].readiness is Readiness.NOT_READY
    await table.kick("bob", request_id="mine")
    *_, ready, unready, kick = world.lounge.requests
    assert (ready.readiness, kick.request_id, kick.player_id) == (pb.READINESS_READY, "mine", "bob")
    assert ready.request_id != unready.request_id


async def test_a_watch_is_taken_up_again_and_shows_each_change_once(world: World, client: AsyncClient) -> None:
    [table] = await client.tables()
    states = [update.state async for update in table]
    assert states == [TableState.OPEN, TableState.STARTED]
    assert table.last.match_id == Referee.match_id


async def test_a_declined_rematch_says_so(client: AsyncClient) -> None:
    declined = await client.decline_rematch("tc-000-1")
    assert (declined.last.close_reason, declined.last.is_settled) == (TableCloseReason.DECLINED, True)


async def test_a_table_that_ends_without_a_match_raises(world: World, client: AsyncClient) -> None:
    table = await client.table("table-1")
    world.lounge.ends_without_match = True
    with pytest.raises(promontory.TableClosed, match="TABLE_CLOSED"):
        await table.seat()


async def test_a_rematch_is_asked_for_by_the_match(client: AsyncClient) -> None:
    assert (await client.rematch("tc-000-1")).last.rematch_of == "tc-000-1"


async def test_matches_are_listed_page_after_page(world: World, client: AsyncClient) -> None:
    mine = [entry async for entry in client.matches(state=MatchState.CLOSED, pool="p")]
    live = [entry async for entry in client.live_matches(pool="p")]
    assert [entry.match_id for entry in mine] == [entry.match_id for entry in live] == ["tc-1", "tc-2", "tc-3"]
    assert (live[0].seat, live[0].state, live[0].outcome, live[0].placement) == (None, MatchState.OPEN, None, None)
    assert {(each.state, each.pool) for each in world.lounge.requests[:3]} == {(2, "p")}


async def test_a_player_s_closed_matches_say_how_they_ended(client: AsyncClient) -> None:
    entry = await anext(client.player_matches("ada", game="transcontinental"))
    assert entry.outcome is not None
    assert entry.placement is not None
    assert (entry.outcome.reason, entry.placement.place, entry.placement.score) == (CloseReason.RESIGNED, 1, 100)
    assert entry.close_time is not None
