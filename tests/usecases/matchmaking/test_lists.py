"""Lists of matches, a page at a time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from msgspec.structs import replace

from promontory.eventlog.obligations import list_name
from promontory.eventlog.port import START, Proposed, StoredEvent
from promontory.matchmaking.listing import matches_of
from promontory.matchmaking.lists import Filter, PageWish
from promontory.matchmaking.lobby_messages import entry_messages
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import Caller, Scope
from promontory.runtime.pages import page_token
from tests.support.halls import ANN, BOB, CEM, Hall
from tests.support.matchmaking import NOW_MS, POOL, listed

WORKER = Caller("service:worker", frozenset({Scope.LIST_MATCH}), service=True)
ALL = Filter()
GAME = Filter(game="transcontinental")
FIRST = PageWish()


@pytest.fixture
def hall() -> Hall:
    return Hall()


async def reason_of(awaitable: Awaitable[object]) -> str:
    with pytest.raises(Refusal) as caught:
        await awaitable
    return caught.value.reason


def numbers(page: tuple[Any, str]) -> list[str]:
    return [match.match_id.removeprefix("tc-000-") for match in page[0]]


async def put(hall: Hall, *numbers: int, **given: Any) -> None:
    for number in numbers:
        await hall.store.record(listed(number, **given))


async def test_matches_are_listed_newest_first_in_pages(hall: Hall) -> None:
    await put(hall, 1, 2, 3, 4, 5)
    first = await hall.lists.mine(BOB, ALL, PageWish(3))
    await put(hall, 6)
    second = await hall.lists.mine(BOB, ALL, PageWish(3, first[1]))
    assert (numbers(first), numbers(second), second[1]) == (["5", "4", "3"], ["2", "1"], "")


@pytest.mark.parametrize(("size", "pages"), [(1, [1] * 5), (2, [2, 2, 1]), (5, [5]), (0, [5])])
async def test_the_last_page_has_no_next_one(hall: Hall, size: int, pages: list[int]) -> None:
    await put(hall, 1, 2, 3, 4, 5)
    found, token = [], ""
    while not found or token:
        page, token = await hall.lists.mine(BOB, ALL, PageWish(size, token))
        found.append(len(page))
    assert found == pages


async def test_mine_are_filtered_by_state_game_and_pool(hall: Hall) -> None:
    await put(hall, 1, 2)
    await put(hall, 3, ended_ms=5)
    await put(hall, 4, game="pacific", pool="pacific.ranked.2")
    await put(hall, 5, pool="")
    wanted = (
        Filter(is_closed=False),
        Filter(is_closed=True),
        Filter(game="pacific"),
        Filter(pool=POOL),
        Filter(game="pacific", is_closed=True),
    )
    found = [numbers(await hall.lists.mine(ANN, each, FIRST)) for each in wanted]
    assert found == [["5", "4", "2", "1"], ["3"], ["4"], ["3", "2", "1"], []]


async def test_a_filter_finds_what_lies_behind_much_else(hall: Hall) -> None:
    await put(hall, 1, ended_ms=5)
    await put(hall, *range(2, 300))
    assert numbers(await hall.lists.mine(ANN, Filter(is_closed=True), PageWish(2))) == ["1"]


async def test_a_page_ends_where_it_has_looked_through_much(hall: Hall) -> None:
    """[ListMatches] Then it may be empty, and still have a next page."""
    await put(hall, 1, pool="other")
    await put(hall, *range(2, 1000))
    await put(hall, *range(1000, 1600), game="pacific")
    first = await hall.lists.live(ANN, replace(GAME, pool="other"), FIRST)
    assert numbers(first) == ["1"]
    page = await hall.lists.live(CEM, GAME, PageWish(100))
    assert len(numbers(page)) == 100


async def test_live_matches_are_those_of_a_game_or_a_pool(hall: Hall) -> None:
    await put(hall, 1, 2)
    await put(hall, 3, ended_ms=5)
    await put(hall, 4, pool="other")
    await put(hall, 5, game="pacific")
    assert numbers(await hall.lists.live(CEM, GAME, FIRST)) == ["4", "2", "1"]
    assert numbers(await hall.lists.live(CEM, Filter(pool="other"), FIRST)) == ["4"]
    assert await reason_of(hall.lists.live(CEM, ALL, FIRST)) == "BAD_REQUEST"


async def test_private_live_matches_are_shown_to_their_players_only(hall: Hall) -> None:
    await put(hall, 1, 3)
    await put(hall, 2, pool="")
    assert numbers(await hall.lists.live(CEM, GAME, FIRST)) == ["3", "1"]
    assert numbers(await hall.lists.live(BOB, GAME, FIRST)) == ["3", "2", "1"]
    assert numbers(await hall.lists.live(BOB, Filter(game="pacific"), FIRST)) == []


async def test_anybody_finds_a_player_s_closed_matches(hall: Hall) -> None:
    await put(hall, 1, ended_ms=9)
    await put(hall, 2, ended_ms=5)
    await put(hall, 3)
    page = await hall.lists.finished(CEM, "ann", ALL, FIRST)
    assert numbers(page) == ["1", "2"]
    entry = entry_messages(page[0], "ann")[0]
    assert [(each.place, each.score) for each in entry.outcome.placements] == [(1, 100), (2, 40)]
    assert (entry.seat, entry.state, entry.HasField("close_time")) == (0, 2, True)


async def test_private_closed_matches_are_shown_to_their_players_only(hall: Hall) -> None:
    await put(hall, 1, ended_ms=5, pool="")
    assert numbers(await hall.lists.finished(CEM, "ann", ALL, FIRST)) == []
    assert numbers(await hall.lists.finished(BOB, "ann", ALL, FIRST)) == ["1"]


async def test_history_needs_its_scope(hall: Hall) -> None:
    reader = Caller("ann", frozenset({"match:play"}))
    assert await reason_of(hall.lists.finished(reader, "ann", ALL, FIRST)) == "SCOPE_MISSING"
    assert await reason_of(hall.lists.finished(ANN, "No One", ALL, FIRST)) == "BAD_REQUEST"


@pytest.mark.parametrize(
    ("size", "token", "reason"),
    [
        (101, "", "BAD_REQUEST"),
        (-1, "", "BAD_REQUEST"),
        (1, "x", "PAGE_TOKEN_INVALID"),
        (1, "9" * 20, "PAGE_TOKEN_INVALID"),
        (1, "9-0123456789abcdef", "PAGE_TOKEN_INVALID"),
    ],
)
async def test_a_malformed_page_is_refused(hall: Hall, size: int, token: str, reason: str) -> None:
    assert await reason_of(hall.lists.mine(BOB, ALL, PageWish(size, token))) == reason


@pytest.mark.parametrize(
    "turn",
    [
        lambda lists, page: lists.mine(BOB, ALL, page),
        lambda lists, page: lists.mine(ANN, Filter(is_closed=False), page),
        lambda lists, page: lists.live(ANN, GAME, page),
        lambda lists, page: lists.finished(ANN, "ann", ALL, page),
    ],
    ids=["another player's", "another filter's", "the live matches'", "the closed ones'"],
)
async def test_a_page_token_of_another_list_is_refused(hall: Hall, turn: Callable[..., Awaitable[object]]) -> None:
    await put(hall, 1, 2)
    _, token = await hall.lists.mine(ANN, ALL, PageWish(1))
    assert await reason_of(turn(hall.lists, PageWish(1, token))) == "PAGE_TOKEN_INVALID"


async def test_a_page_token_that_skips_more_than_any_list_has_is_refused(hall: Hall) -> None:
    """Whoever makes tokens themselves must not have the server read a whole list for each page."""
    await put(hall, 1, 2)
    token = page_token(f"{matches_of('bob')} {ALL.name}", NOW_MS, 10**17)
    assert await reason_of(hall.lists.mine(BOB, ALL, PageWish(1, token))) == "PAGE_TOKEN_INVALID"


# Closed matches


async def owe(hall: Hall, number: int = 1) -> str:
    """Put the obligation to list a match into the log, and return its name."""
    name = list_name(f"tc-000-{number}")
    proposed = Proposed((StoredEvent("x", b""),), "close", "", due={name: 0})
    await hall.log.append(f"tc-000-{number}", proposed, expected=START)
    return name


async def test_a_closed_match_is_recorded_once_and_its_obligation_met(hall: Hall) -> None:
    await put(hall, 1)
    await owe(hall)
    hall.rules.put(listed(1, ended_ms=7))
    assert [await hall.lists.record_closed(WORKER, "tc-000-1") for _ in range(2)] == [True, False]
    assert numbers(await hall.lists.live(CEM, GAME, FIRST)) == []
    assert numbers(await hall.lists.finished(CEM, "bob", ALL, FIRST)) == ["1"]
    assert await hall.log.oldest_due("tc:000") is None


async def test_an_open_match_is_not_recorded_as_closed(hall: Hall) -> None:
    await owe(hall)
    hall.rules.put(listed(1))
    assert await reason_of(hall.lists.record_closed(WORKER, "tc-000-1")) == "MATCH_OPEN"
    assert await reason_of(hall.lists.record_closed(WORKER, "tc-000-2")) == "MATCH_NOT_FOUND"
    assert await hall.log.oldest_due("tc:000") is not None


async def test_a_fork_is_in_no_list(hall: Hall) -> None:
    """It is nobody's match; what is owed for it is met all the same."""
    await owe(hall)
    hall.rules.put(listed(1, ended_ms=7), is_fork=True)
    assert not await hall.lists.record_closed(WORKER, "tc-000-1")
    assert numbers(await hall.lists.mine(ANN, ALL, FIRST)) == []
    assert await hall.log.oldest_due("tc:000") is None


async def test_only_services_record_closed_matches(hall: Hall) -> None:
    assert await reason_of(hall.lists.record_closed(ANN, "tc-000-1")) == "SCOPE_MISSING"
