"""What players can do with private tables."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from typing import Any

import msgspec
import pytest
from google.protobuf.duration_pb2 import Duration
from msgspec.structs import replace

from promontory.api.lobby.v1.lobby_service_pb2 import CreateTableRequest
from promontory.api.match.v1 import match_pb2
from promontory.codec.terms import ClockKind, Terms, TimeControl
from promontory.matchmaking.lobby import CODE_LETTERS, End, EndReason, TableWish
from promontory.matchmaking.lobby_messages import table_message, wish_of
from promontory.matchmaking.ports import CreationRefused
from promontory.matchmaking.seating import TableLimits
from promontory.matchmaking.table import CloseReason, Readiness, Table, TableState
from promontory.runtime import clock
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import Caller
from tests.support.halls import ANN, BOB, CEM, DEE, HASTY, MOST_MATCHES, TRIO, WISH, Hall
from tests.support.matchmaking import guest, listed

CLOCK = TimeControl(kind=ClockKind.INCREMENT, base_ms=300_000, increment_ms=5_000)
TERMS = Terms(time_control=CLOCK, stand_in_policy="greedy", abandon_after_ms=60_000, spectator_delay=4)


@pytest.fixture
def hall() -> Hall:
    return Hall()


async def refused(awaitable: Awaitable[object]) -> Refusal:
    """Return the refusal that something ends with."""
    with pytest.raises(Refusal) as caught:
        await awaitable
    return caught.value


def readiness(table: Table) -> list[Readiness | None]:
    return [each and each.readiness for each in table.guests]


# Opening


async def test_a_table_has_an_invite_code_and_its_host_in_seat_0(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, WISH)
    assert (table.players, table.host, table.guests[1]) == (("ann",), "ann", None)
    assert len(table.invite_code) == 8
    assert set(table.invite_code) <= set(CODE_LETTERS)


def test_no_letter_of_an_invite_code_looks_like_another() -> None:
    assert not set("01IO") & set(CODE_LETTERS)


async def test_opening_a_table_twice_gives_the_same_table(hall: Hall) -> None:
    assert await hall.lobby.create(ANN, WISH) == await hall.lobby.create(ANN, WISH)


@pytest.mark.parametrize(
    ("wish", "field"),
    [
        (replace(WISH, game="chess"), "game"),
        (replace(WISH, seats=3), "seats"),
        (replace(WISH, variant="chess"), "variant"),
        (replace(WISH, entropy=bytes(33)), "client_entropy"),
        (replace(WISH, request_id=""), "request_id"),
        (replace(WISH, house_bots=((0, "greedy"),)), "house_bots[0].seat"),
        (replace(WISH, house_bots=((2, "greedy"),)), "house_bots[0].seat"),
        (replace(TRIO, house_bots=((1, "greedy"), (1, "random"))), "house_bots[1].seat"),
        (replace(WISH, house_bots=((1, "genius"),)), "house_bots[0].policy"),
        (replace(WISH, terms=replace(TERMS, stand_in_policy="genius")), "stand_in_policy"),
        (replace(WISH, terms=replace(TERMS, time_control=replace(CLOCK, base_ms=0))), "time_control.base"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
async def test_a_table_that_cannot_be_is_refused(hall: Hall, wish: TableWish, field: str) -> None:
    refusal = await refused(hall.lobby.create(ANN, wish))
    assert (refusal.reason, refusal.metadata["field"]) == ("BAD_REQUEST", field)


async def test_a_request_id_with_another_table_is_refused(hall: Hall) -> None:
    await hall.lobby.create(ANN, WISH)
    assert (await refused(hall.lobby.create(ANN, TRIO))).reason == "REQUEST_ID_REUSED"


async def test_a_request_id_that_is_used_again_after_a_day_leads_to_another_match(
    hall: Hall, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Clients that count from 1 each time they start: the first table was forgotten, its match was not."""
    await hall.join(BOB, await hall.lobby.create(ANN, WISH))
    hall.memory.tables.clear()
    real = clock.now_ms
    monkeypatch.setattr(clock, "now_ms", lambda: real() + 86_400_000)
    await hall.join(CEM, await hall.lobby.create(ANN, WISH))
    assert [each.players for each in hall.rules.matches.values()] == [("ann", "bob"), ("ann", "cem")]


@pytest.mark.parametrize("variant", ["", "standard"], ids=["unnamed", "by name"])
async def test_guests_are_told_the_options_and_the_match_gets_them(hall: Hall, variant: str) -> None:
    """[CreateTable] Which variant is usual depends on the data, so that the rules service says it of the match."""
    opened = await hall.lobby.create(ANN, replace(WISH, variant=variant, draw_start=True, terms=TERMS))
    shown = table_message(await hall.join(BOB, opened), "bob")
    [proposal] = hall.rules.matches.values()
    assert (shown.variant, shown.draw_start, shown.stand_in_policy, shown.spectator_delay) == (
        variant,
        True,
        "greedy",
        4,
    )
    assert (shown.time_control.base.seconds, shown.abandon_after.seconds) == (300, 60)
    assert (proposal.variant, proposal.draw_start, proposal.terms) == (variant, True, TERMS)


async def test_a_player_sits_at_a_limited_number_of_tables() -> None:
    """[MAX_OPEN_TABLES] Leaving one makes room."""
    hall = Hall(TableLimits(most_open=1))
    first = await hall.lobby.create(ANN, WISH)
    other = await hall.lobby.create(BOB, TRIO)
    refusals = [await refused(hall.lobby.create(ANN, replace(WISH, request_id="two")))]
    refusals.append(await refused(hall.join(ANN, other)))
    assert [each.reason for each in refusals] == ["LIMIT_REACHED"] * 2
    await hall.lobby.leave(ANN, first.id, request_id="bye")
    assert (await hall.join(ANN, other)).players == ("bob", "ann")


def test_times_without_a_kind_of_clock_are_refused() -> None:
    """[TimeControl] Else a client that forgets the kind would play without a clock."""
    request = CreateTableRequest(time_control=match_pb2.TimeControl(base=Duration(seconds=300)))
    with pytest.raises(Refusal) as caught:
        wish_of(request)
    assert caught.value.metadata["field"] == "time_control.kind"


# Joining and starting


async def test_the_last_guest_starts_the_match(hall: Hall) -> None:
    """[fairness 2.3] Joining brings the seat's entropy."""
    table = await hall.join(BOB, await hall.lobby.create(ANN, WISH), entropy=b"yours")
    [proposal] = hall.rules.matches.values()
    assert table.state is TableState.STARTED
    assert table.made is not None
    entrants = [place.entrant for place in proposal.places]
    assert [(each.player, each.entropy) for each in entrants] == [("ann", b"mine"), ("bob", b"yours")]
    assert (proposal.pool, proposal.rated, proposal.terms) == ("", False, Terms())


async def test_a_table_waits_until_it_is_full(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, TRIO)
    assert (await hall.join(BOB, table)).made is None
    assert (await hall.join(CEM, table)).made is not None
    assert hall.rules.calls == 1


async def test_an_invite_code_may_be_typed_in_small_letters(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, WISH)
    assert await hall.join(BOB, replace(table, invite_code=f" {table.invite_code.lower()} "))


async def test_joining_again_gives_the_same_match(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, WISH)
    assert await hall.join(BOB, table) == await hall.join(BOB, table)
    assert len(hall.rules.matches) == 1


async def test_the_host_joining_takes_no_second_seat(hall: Hall) -> None:
    assert not (await hall.join(ANN, await hall.lobby.create(ANN, WISH))).is_full


async def test_a_full_table_takes_nobody(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, replace(WISH, readiness=Readiness.NOT_READY))
    await hall.join(BOB, table)
    assert (await refused(hall.join(CEM, table))).reason == "TABLE_FULL"


async def test_a_table_that_has_started_takes_nobody(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, WISH)
    await hall.join(BOB, table)
    refusal = await refused(hall.join(CEM, table))
    assert (refusal.reason, refusal.metadata["state"]) == ("TABLE_CLOSED", "started")


@pytest.mark.parametrize("code", ["WRONGONE", ""])
async def test_a_wrong_code_finds_no_table(hall: Hall, code: str) -> None:
    await hall.lobby.create(ANN, WISH)
    assert (await refused(hall.lobby.join(BOB, code, guest("bob")))).reason == "TABLE_NOT_FOUND"


async def test_of_many_guests_at_once_as_many_sit_as_there_are_seats(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, TRIO)
    callers = [Caller(f"p{n}", frozenset({"match:play"})) for n in range(10)]
    results = await asyncio.gather(*(hall.join(each, table) for each in callers), return_exceptions=True)
    assert [type(result).__name__ for result in results].count("Table") == 2
    assert len(hall.rules.matches) == 1


async def test_house_bots_take_their_seats_and_are_ready(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, replace(TRIO, house_bots=((1, "random"),)))
    joined = await hall.join(BOB, table)
    [proposal] = hall.rules.matches.values()
    assert joined.made is not None
    assert [(place.entrant.player, place.entrant.policy) for place in proposal.places] == [
        ("ann", ""),
        ("house-random-1", "random"),
        ("bob", ""),
    ]


async def test_a_ready_host_alone_with_house_bots_starts_at_once(hall: Hall) -> None:
    assert (await hall.lobby.create(ANN, replace(WISH, house_bots=((1, "greedy"),)))).made is not None


async def test_nobody_sits_down_under_a_house_bot_s_name(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, replace(TRIO, house_bots=((1, "greedy"),)))
    impostor = Caller("house-greedy-1", frozenset({"match:play"}))
    assert (await refused(hall.join(impostor, table))).reason == "NOT_YOURS"


# Being ready


async def test_no_match_starts_before_everybody_is_ready(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, replace(WISH, readiness=Readiness.NOT_READY))
    await hall.join(BOB, table, Readiness.READY)
    assert hall.rules.calls == 0
    started = await hall.lobby.set_ready(ANN, table.id, Readiness.READY, request_id="r")
    assert started.made is not None


async def test_readiness_lapses_when_somebody_comes_or_goes(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, replace(TRIO, readiness=Readiness.READY))
    assert readiness(await hall.join(BOB, table, Readiness.READY)) == [Readiness.NOT_READY, Readiness.READY, None]
    await hall.lobby.set_ready(ANN, table.id, HASTY, request_id="r")
    await hall.join(CEM, table, Readiness.NOT_READY)
    left = await hall.lobby.leave(CEM, table.id, request_id="bye")
    assert readiness(left) == [HASTY, Readiness.NOT_READY, None]


async def test_readiness_can_be_taken_back(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, WISH)
    await hall.lobby.set_ready(ANN, table.id, Readiness.NOT_READY, request_id="r")
    assert (await hall.join(BOB, table)).state is TableState.OPEN


async def test_a_host_who_wants_to_starts_the_table(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, replace(WISH, start_when_ready=False))
    assert (await hall.join(BOB, table)).state is TableState.OPEN
    assert (await refused(hall.lobby.start(BOB, table.id, request_id="s"))).reason == "NOT_HOST"
    assert (await hall.lobby.start(ANN, table.id, request_id="s")).made is not None


async def test_a_table_that_is_not_ready_does_not_start(hall: Hall) -> None:
    """[TABLE_NOT_READY] It says what is missing."""
    table = await hall.lobby.create(ANN, replace(WISH, start_when_ready=False))
    alone = await refused(hall.lobby.start(ANN, table.id, request_id="s"))
    await hall.join(BOB, table, Readiness.NOT_READY)
    unready = await refused(hall.lobby.start(ANN, table.id, request_id="s"))
    assert [each.reason for each in (alone, unready)] == ["TABLE_NOT_READY"] * 2
    assert [(each.metadata["freeSeats"], each.metadata["notReady"]) for each in (alone, unready)] == [
        (1, ""),
        (0, "bob"),
    ]


# Leaving, sending away, closing


async def test_a_seat_that_was_left_is_the_next_to_be_taken(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, replace(TRIO, readiness=Readiness.NOT_READY))
    await hall.join(BOB, table)
    await hall.join(CEM, table)
    await hall.lobby.leave(BOB, table.id, request_id="bye")
    assert (await hall.join(DEE, table)).players == ("ann", "dee", "cem")


async def test_a_host_who_leaves_is_followed_by_the_lowest_seat(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, TRIO)
    await hall.join(BOB, table)
    assert (await hall.lobby.leave(ANN, table.id, request_id="bye")).host == "bob"


async def test_the_last_player_to_leave_closes_the_table(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, replace(TRIO, house_bots=((1, "greedy"),)))
    left = await hall.lobby.leave(ANN, table.id, request_id="bye")
    assert (left.state, left.close_reason) == (TableState.CLOSED, CloseReason.EMPTY)


async def test_who_is_sent_away_does_not_come_back(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, TRIO)
    await hall.join(BOB, table)
    assert (await refused(hall.lobby.kick(BOB, table.id, "ann", request_id="k"))).reason == "NOT_HOST"
    assert (await hall.lobby.kick(ANN, table.id, "bob", request_id="k")).players == ("ann",)
    assert (await refused(hall.join(BOB, table))).reason == "TABLE_BARRED"
    assert (await refused(hall.lobby.kick(ANN, table.id, "dee", request_id="k2"))).reason == "GUEST_NOT_FOUND"


async def test_who_is_sent_away_sees_no_more_of_the_table_by_repeating_what_they_asked_for(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, TRIO)
    await hall.join(BOB, table, request_id="j")
    await hall.lobby.set_ready(BOB, table.id, Readiness.READY, request_id="r")
    await hall.lobby.kick(ANN, table.id, "bob", request_id="k")
    repeated = [
        await refused(hall.join(BOB, table, request_id="j")),
        await refused(hall.lobby.set_ready(BOB, table.id, Readiness.READY, request_id="r")),
    ]
    assert [each.reason for each in repeated] == ["TABLE_BARRED"] * 2


async def test_a_host_closes_the_table(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, TRIO)
    await hall.join(BOB, table)
    assert (await refused(hall.lobby.close(BOB, table.id, request_id="c"))).reason == "NOT_HOST"
    closed = await hall.lobby.close(ANN, table.id, request_id="c")
    assert (closed.state, closed.close_reason) == (TableState.CLOSED, CloseReason.HOST_CLOSED)
    refusal = await refused(hall.join(CEM, table))
    assert (refusal.reason, refusal.metadata["closeReason"]) == ("TABLE_CLOSED", "host_closed")


async def test_a_table_without_changes_is_closed_after_a_while() -> None:
    hall = Hall(TableLimits(life_seconds=0))
    first = await hall.lobby.create(ANN, WISH)
    assert list(await hall.lobby.tables(ANN)) == []
    assert (await hall.lobby.find(ANN, first.id)).close_reason is CloseReason.EXPIRED
    second = await hall.lobby.create(BOB, WISH)
    await hall.seating.expire()
    found = await hall.tables.find(second.id)
    assert found is not None
    assert found.close_reason is CloseReason.EXPIRED


# Repeating


Step = Callable[[Hall, Table, str], Awaitable[Table]]


@pytest.mark.parametrize(
    "step",
    [
        lambda hall, table, request_id: hall.lobby.leave(BOB, table.id, request_id=request_id),
        lambda hall, table, request_id: hall.lobby.set_ready(BOB, table.id, HASTY, request_id=request_id),
        lambda hall, table, request_id: hall.lobby.kick(ANN, table.id, "bob", request_id=request_id),
        lambda hall, table, request_id: hall.lobby.close(ANN, table.id, request_id=request_id),
        lambda hall, table, request_id: hall.join(CEM, table, request_id=request_id),
    ],
    ids=["leave", "ready", "kick", "close", "join"],
)
async def test_every_change_may_be_repeated(hall: Hall, step: Step) -> None:
    table = await hall.lobby.create(ANN, replace(TRIO, readiness=Readiness.NOT_READY))
    await hall.join(BOB, table, Readiness.NOT_READY)
    assert await step(hall, table, "again") == await step(hall, table, "again")


async def test_a_join_that_is_repeated_after_leaving_takes_no_seat(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, TRIO)
    await hall.join(BOB, table, request_id="in")
    await hall.lobby.leave(BOB, table.id, request_id="out")
    assert (await hall.join(BOB, table, request_id="in")).players == ("ann",)


async def test_a_request_id_with_other_content_is_refused(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, TRIO)
    await hall.lobby.set_ready(ANN, table.id, Readiness.NOT_READY, request_id="r")
    refusal = await refused(hall.lobby.set_ready(ANN, table.id, Readiness.READY, request_id="r"))
    assert refusal.reason == "REQUEST_ID_REUSED"


@pytest.mark.parametrize(
    "call",
    [
        lambda hall, caller: hall.lobby.create(caller, WISH),
        lambda hall, caller: hall.lobby.join(caller, "WRONGONE", guest("ann")),
        lambda hall, caller: hall.lobby.leave(caller, "tb-x", request_id="x"),
        lambda hall, caller: hall.rematches.request(caller, "tc-000-x", b"", request_id="x"),
    ],
)
async def test_tables_need_the_scope_to_play(hall: Hall, call: Callable[..., Awaitable[Any]]) -> None:
    assert (await refused(call(hall, Caller("ann", frozenset())))).reason == "SCOPE_MISSING"


# Looking


async def test_only_guests_see_a_table(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, WISH)
    assert await hall.lobby.find(ANN, table.id) == table
    assert (await refused(hall.lobby.find(BOB, table.id))).reason == "NOT_YOURS"
    assert list(await hall.lobby.tables(BOB)) == []


async def test_asking_for_a_starting_table_completes_what_joining_could_not(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, WISH)
    hall.rules.fault = Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", "down")
    assert (await refused(hall.join(BOB, table))).reason == "PEER_UNAVAILABLE"
    hall.rules.fault = None
    found = await hall.lobby.find(ANN, table.id)
    assert found.made is not None
    assert await hall.lobby.find(BOB, table.id) == found


async def test_a_table_whose_match_is_refused_for_good_is_closed(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, WISH)
    hall.rules.fault = CreationRefused("INVALID_ARGUMENT", "BAD_REQUEST")
    joined = await hall.join(BOB, table)
    assert (joined.state, joined.close_reason) == (TableState.CLOSED, CloseReason.MATCH_REFUSED)


async def told(hall: Hall, caller: Caller, table: Table, steps: Sequence[Callable[[], Awaitable[object]]]) -> list[Any]:
    """Return what a watcher is told, who sees each of `steps` before the next is made."""
    following, found = hall.follow(), []
    try:
        async with aclosing(hall.lobby.watch(caller, table.id)) as watched, asyncio.timeout(10):  # type: ignore[type-var]
            found.append(await anext(watched))
            for step in steps:
                await step()
                found.append(await anext(watched))
            found += [each async for each in watched]
    finally:
        following.cancel()
    return found


async def test_a_watcher_sees_guests_come_and_the_match_begin(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, TRIO)
    *tables, end = await told(hall, ANN, table, [lambda: hall.join(BOB, table), lambda: hall.join(CEM, table)])
    assert tables[0] == table
    assert tables[1].players == ("ann", "bob")
    assert tables[-1].state is TableState.STARTED
    assert end == End(EndReason.STARTED, tables[-1].revision)


async def test_a_watcher_who_is_sent_away_is_told_so(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, TRIO)
    await hall.join(BOB, table)
    *_, end = await told(hall, BOB, table, [lambda: hall.lobby.kick(ANN, table.id, "bob", request_id="k")])
    assert end.reason is EndReason.LEFT


async def test_watching_ends_with_the_table(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, TRIO)
    *_, end = await told(hall, ANN, table, [lambda: hall.lobby.close(ANN, table.id, request_id="c")])
    assert end.reason is EndReason.CLOSED


async def test_a_server_that_stops_ends_the_watching(hall: Hall) -> None:
    table = await hall.lobby.create(ANN, TRIO)
    *_, end = await told(hall, ANN, table, [hall.changes.close])
    assert end == End(EndReason.SERVER_DRAINING, table.revision)


async def test_a_player_with_too_many_open_matches_takes_no_seat() -> None:
    """[MAX_OPEN_MATCHES] Neither at an own table nor at another's, whose host may; a seat that is taken stays."""
    hall = Hall()
    own = await hall.lobby.create(ANN, TRIO)
    for number in range(MOST_MATCHES):
        await hall.store.record(listed(number, "ann", "cem"))
    other = await hall.lobby.create(BOB, TRIO)
    for attempt in (hall.lobby.create(ANN, msgspec.structs.replace(TRIO, request_id="two")), hall.join(ANN, other)):
        with pytest.raises(Refusal) as refused:
            await attempt
        assert (refused.value.reason, refused.value.metadata["limitName"]) == ("LIMIT_REACHED", "max_open_matches")
    assert (await hall.lobby.create(ANN, TRIO)).id == own.id
    assert (await hall.lobby.set_ready(ANN, own.id, HASTY, request_id="ready")).players == ("ann",)
