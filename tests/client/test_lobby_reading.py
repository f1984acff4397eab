"""What `promontory matches` and `promontory table` show."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from promontory import AsyncClient, TableClosed
from promontory.client.lobby_reading import Wish, matches, matches_text, table_text, wait
from promontory.client.tables import table_of
from tests.client.conftest import Connect, World
from tests.client.referee import Referee
from tests.client.services import table


class Access:
    """Connects as the fixture does."""

    def __init__(self, connect: Connect) -> None:
        self._connect = connect

    def client(self) -> AsyncClient:
        """Return a client of `ada`."""
        return self._connect()


@pytest.fixture
def access(connect: Connect) -> Any:
    return Access(connect)


@pytest.mark.parametrize(
    ("wish", "request_kind"),
    [
        (Wish(state="open"), "ListMatchesRequest"),
        (Wish(live=True, game="pacific"), "ListLiveMatchesRequest"),
        (Wish(player="ada", limit=2), "ListPlayerMatchesRequest"),
    ],
)
async def test_a_wish_reads_its_list_up_to_its_limit(world: World, access: Any, wish: Wish, request_kind: str) -> None:
    found = await matches(access, wish)
    assert [entry.match_id for entry in found] == ["tc-1", "tc-2", "tc-3"][: wish.limit]
    assert {type(request).__name__ for request in world.lounge.requests} == {request_kind}


async def test_a_match_is_shown_on_one_line_with_how_it_ended(access: Any) -> None:
    lines = matches_text([*await matches(access, Wish(limit=1)), *await matches(access, Wish(player="ada", limit=1))])
    assert [line.rpartition("  ")[2] for line in lines.splitlines()] == [
        "ada: open",
        "ada: over, resigned, place 1 with 100",
    ]
    assert matches_text([]) == "no matches"


async def test_waiting_at_a_table_tells_the_code_who_comes_and_the_match(access: Any) -> None:
    told: list[str] = []
    begun = await wait(access, lambda client: client.table("table-1"), tell=told.append)
    assert told[0] == "others join with: promontory table join OPENSEAT"
    assert told[-1] == "transcontinental, started: 0 ada; 1 bob"
    assert (begun.match_id, begun.seat) == (Referee.match_id, 0)
    assert f"promontory show {Referee.match_id} --seat 0" in begun.sentence()


async def test_who_stops_waiting_leaves_the_table(world: World, access: Any) -> None:
    """[docs/lobby] No match begins, and no clock runs, for somebody who has gone."""
    told: list[str] = []

    def tell(line: str) -> None:
        told.append(line)
        next(interruptions, bool)()

    waiting = asyncio.ensure_future(wait(access, lambda client: client.table("table-1"), tell=tell))
    interruptions = iter([waiting.cancel])
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert type(world.lounge.requests[-1]).__name__ == "LeaveTableRequest"
    assert told[-1] == "left the table"


async def test_live_matches_are_those_of_a_game_or_a_pool(access: Any) -> None:
    """[ListLiveMatches] What is missing is told in the command's own words."""
    with pytest.raises(LookupError, match="add --game or --pool"):
        await matches(access, Wish(live=True))


async def test_a_table_that_ends_without_a_match_is_an_error(world: World, access: Any) -> None:
    world.lounge.ends_without_match = True
    with pytest.raises(TableClosed, match="left"):
        await wait(access, lambda client: client.table("table-1"), tell=lambda _: None)


def test_a_table_is_shown_with_who_is_not_ready_or_missing() -> None:
    message = table("pacific", 4, "ada", "bob")
    message.places[0].readiness, message.places[1].readiness = 1, 3
    message.places.add(seat=2, player_id="cem")
    message.places.add(seat=3)
    assert table_text(table_of(message)) == "pacific, open: 0 ada (not ready); 1 bob; 2 waits for cem; 3 free"
