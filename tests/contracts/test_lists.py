"""What every store of lists of matches does, whatever it keeps them in."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from promontory.matchmaking.domain import Entrant
from promontory.matchmaking.listing import Ended, Start, finished_by, live_of_game, live_of_player, matches_of
from promontory.matchmaking.ports import Lists
from tests.contracts.conftest import Store
from tests.support.matchmaking import FOREVER_SECONDS, NOW_MS, POOL, listed, made, proposal, ticket

LIVE = live_of_game("transcontinental")


async def ids(lists: Lists, *names: str, start: Start | None = None, limit: int = 10) -> Sequence[str]:
    rows = await lists.entries(names, start=start, limit=limit)
    return [match.match_id.removeprefix("tc-000-") if match else "" for _, match in rows]


async def test_an_open_match_is_live_and_its_players(lists: Lists) -> None:
    assert await lists.record(listed(1))
    names = (LIVE, f"live:={POOL}", matches_of("ann"), matches_of("bob"))
    assert [await ids(lists, name) for name in names] == [["1"]] * 4
    assert await ids(lists, finished_by("ann"), live_of_player("ann")) == []
    assert await lists.entries((LIVE,), start=None, limit=1) == [(NOW_MS + 1, listed(1))]


async def test_a_closed_match_is_live_no_longer(lists: Lists) -> None:
    await lists.record(listed(1))
    assert await lists.record(listed(1, ended_ms=50))
    assert await ids(lists, LIVE, f"live:={POOL}") == []
    assert await lists.entries((finished_by("bob"),), start=None, limit=1) == [(NOW_MS + 50, listed(1, ended_ms=50))]
    assert await lists.entries((matches_of("bob"),), start=None, limit=1) == [(NOW_MS + 1, listed(1, ended_ms=50))]


async def test_a_match_that_is_listed_after_it_was_closed_stays_closed(store: Store) -> None:
    """A process that was stopped between creating and recording it comes late."""
    waiting = [(await store.tickets.create(ticket(player), most_open=5)).ticket for player in ("ann", "bob")]
    await store.tickets.claim(proposal(waiting), lease_seconds=FOREVER_SECONDS)
    await store.lists.record(listed(1, ended_ms=50))
    await store.tickets.assign(proposal(waiting), made("tc-000-1", NOW_MS + 1))
    assert await ids(store.lists, LIVE) == []
    assert await store.lists.find("ann", "tc-000-1") == listed(1, ended_ms=50)


async def test_recording_again_changes_nothing(lists: Lists) -> None:
    assert [await lists.record(listed(1)) for _ in range(2)] == [True, False]
    assert [await lists.record(listed(1, ended_ms=5)) for _ in range(2)] == [True, False]
    assert not await lists.record(listed(1))


async def test_restoring_overwrites_what_is_wrong(lists: Lists) -> None:
    await lists.record(listed(1, ended_ms=5))
    assert await lists.restore(listed(1))
    assert (await ids(lists, LIVE), await ids(lists, finished_by("ann"))) == (["1"], [])
    assert not await lists.restore(listed(1))


async def test_a_removed_match_is_in_no_list(lists: Lists) -> None:
    await lists.record(listed(1, ended_ms=5))
    await lists.record(listed(2))
    await lists.remove(listed(1))
    await lists.remove(listed(2))
    assert await ids(lists, LIVE, matches_of("ann"), finished_by("bob")) == []
    assert await lists.find("ann", "tc-000-1") is None


async def test_an_assigned_match_is_listed_with_who_sits_where(store: Store) -> None:
    waiting = [(await store.tickets.create(ticket(player), most_open=5)).ticket for player in ("ann", "bob")]
    claimed = proposal(waiting, Entrant("bot", "greedy"))
    await store.tickets.claim(claimed, lease_seconds=FOREVER_SECONDS)
    await store.tickets.assign(claimed, made("tc-000-1"))
    found = await store.lists.find("bob", "tc-000-1")
    assert found is not None
    assert (found.players, found.policies, found.pool) == (("ann", "bob", "bot"), ("", "", "greedy"), POOL)
    assert await ids(store.lists, LIVE) == ["1"]
    assert await ids(store.lists, matches_of("bot")) == []


async def test_a_private_match_is_live_for_its_players_only(lists: Lists) -> None:
    await lists.record(listed(1, pool="", rated=False))
    assert [await ids(lists, name) for name in (LIVE, live_of_player("ann"))] == [[], ["1"]]
    await lists.record(listed(1, pool="", rated=False, ended_ms=9))
    assert await ids(lists, live_of_player("ann")) == []


async def test_everything_that_is_listed_is_told_with_the_lists_it_is_in(lists: Lists) -> None:
    await lists.record(listed(1))
    await lists.record(listed(2, ended_ms=9, pool="", rated=False))
    pairs = sorted([pair async for pair in lists.members()])
    live = [(name, "tc-000-1") for name in (LIVE, f"live:={POOL}")]
    made = [(matches_of(player), f"tc-000-{number}") for player in ("ann", "bob") for number in (1, 2)]
    ended = [(finished_by(player), "tc-000-2") for player in ("ann", "bob")]
    assert pairs == sorted([*live, *made, *ended])


async def test_a_match_is_struck_from_one_list(lists: Lists) -> None:
    await lists.record(listed(1, ended_ms=9))
    await lists.strike(matches_of("ann"), "tc-000-1")
    await lists.strike(finished_by("ann"), "tc-000-1")
    assert await ids(lists, matches_of("ann"), finished_by("ann")) == []
    assert await ids(lists, matches_of("bob")) == ["1"]


# Pages


async def test_the_latest_entry_comes_first(lists: Lists) -> None:
    for number in (2, 1, 3):
        await lists.record(listed(number, ended_ms=10 - number))
    assert await ids(lists, matches_of("ann")) == ["3", "2", "1"]
    assert await ids(lists, finished_by("ann")) == ["1", "2", "3"]


async def test_lists_are_merged(lists: Lists) -> None:
    for number, pool in enumerate((POOL, "", POOL, "")):
        await lists.record(listed(number, pool=pool))
    assert await ids(lists, LIVE, live_of_player("ann"), limit=3) == ["3", "2", "1"]


@pytest.mark.parametrize("step", [1, 2, 3])
async def test_pages_show_each_entry_once_whatever_comes_on_top(lists: Lists, step: int) -> None:
    """[ListMatches] Also where several were made in the same millisecond."""
    for number in range(6):
        await lists.record(listed(0, match_id=f"tc-000-{number}", created_ms=NOW_MS + number // 4))
    seen: list[str] = []
    start: Start | None = None
    for number in range(6 // step):
        rows = await lists.entries((LIVE,), start=start, limit=step)
        await lists.record(listed(100 + number))
        seen += [match.match_id for _, match in rows if match]
        for ms, _ in rows:
            start = start.after(ms) if start else Start(ms, 1)
    assert sorted(seen) == [f"tc-000-{number}" for number in range(6)]


async def test_a_player_s_lists_hold_the_last_thousand(lists: Lists) -> None:
    for number in range(1, 1003):
        await lists.record(listed(number, "ann", "bot", policies=("", "greedy"), ended_ms=number))
    assert len(await lists.entries((matches_of("ann"),), start=None, limit=2000)) == 1000
    assert len(await lists.entries((finished_by("ann"),), start=None, limit=2000)) == 1000
    assert await lists.find("ann", "tc-000-1") is None
    assert not await lists.record(listed(0, "ann", "bot", policies=("", "greedy"), ended_ms=0))


async def test_an_end_without_placements_is_kept(lists: Lists) -> None:
    aborted = listed(1, ended=Ended("aborted", NOW_MS + 3))
    await lists.record(aborted)
    assert await lists.find("ann", "tc-000-1") == aborted


async def test_dropped_lists_are_empty_and_those_of_others_stay(lists: Lists) -> None:
    """[players ForgetPlayer] The player's id stays in the seat of the others' match."""
    await lists.record(listed(1, ended_ms=5))
    await lists.record(listed(2, pool=""))
    await lists.drop("ann", before_ms=NOW_MS + 10)
    assert await ids(lists, matches_of("ann"), finished_by("ann"), live_of_player("ann")) == []
    assert await lists.find("ann", "tc-000-1") is None
    assert await ids(lists, matches_of("bob")) == ["2", "1"]
    assert await lists.find("bob", "tc-000-1") == listed(1, ended_ms=5)


async def test_what_was_made_before_never_gets_into_dropped_lists_again(lists: Lists) -> None:
    """[players ForgetPlayer] Nor when lists are rebuilt from logs; what is made later does."""
    await lists.record(listed(1))
    await lists.drop("ann", before_ms=NOW_MS + 1)
    await lists.record(listed(1, ended_ms=5))
    await lists.restore(listed(1, ended_ms=5))
    assert (await ids(lists, matches_of("ann")), await ids(lists, finished_by("bob"))) == ([], ["1"])
    await lists.record(listed(2))
    assert await ids(lists, matches_of("ann")) == ["2"]


async def test_matches_that_are_not_closed_are_counted(lists: Lists) -> None:
    """[MAX_OPEN_MATCHES] For each player."""
    await lists.record(listed(1))
    await lists.record(listed(2))
    await lists.record(listed(3, ended_ms=5))
    assert [await lists.count_open(player) for player in ("ann", "nobody")] == [2, 0]
    await lists.record(listed(2, ended_ms=6))
    assert await lists.count_open("ann") == 1
