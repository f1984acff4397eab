"""Spectators of a match with a delay: whatever they ask, they see it as it was some commits ago, until it is over."""

from __future__ import annotations

import pytest

from promontory.games.transcontinental.commands import Resign
from promontory.rules.domain import Match, SeatSetup, Setup
from promontory.rules.lane import BUFFERED_STEPS
from promontory.rules.resuming import Resume
from promontory.rules.usecases import Listing
from promontory.rules.watch import End, EndReason, Pace, Quiet, Snapshot
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import Caller
from tests.support.refereeing import ADA, EVE, WORKERS, Bench, next_command
from tests.support.watching import Watcher, hub_of, versions

DELAYED = Setup((SeatSetup("ada"), SeatSetup("ben")), spectator_delay=3)
ANYBODY = pytest.mark.parametrize("caller", [EVE, ADA, WORKERS], ids=["a stranger", "a player", "a service"])


async def shown(bench: Bench, match: Match, caller: Caller = EVE, version: int | None = None) -> int:
    """Return the version that `caller` is shown as a spectator."""
    return (await bench.referee.look(caller, match.match_id, None, version=version)).version


@ANYBODY
@pytest.mark.parametrize(("played", "visible"), [(1, 1), (2, 1), (4, 1), (5, 2), (9, 6)])
async def test_who_does_not_look_from_a_seat_sees_the_match_late(caller: Caller, played: int, visible: int) -> None:
    """[GetMatch] Who asks makes no difference, not even a player of the match; the match as dealt is for all."""
    bench = Bench()
    match = await bench.play(await bench.create(DELAYED), until=played)
    assert await shown(bench, match, caller) == visible


async def test_a_seat_sees_the_match_as_it_is() -> None:
    bench = Bench()
    match = await bench.play(await bench.create(DELAYED), until=9)
    assert await bench.referee.look(ADA, match.match_id, 0, version=None) == match


async def test_what_is_shown_is_the_match_of_that_version_whoever_played_it() -> None:
    """[MatchSetup.spectator_delay] Seats to act, clocks, times are those of then, on any replica, again and again."""
    bench = Bench()
    match = await bench.play(await bench.create(DELAYED), until=9)
    replica, early = bench.replica(), (await bench.steps(match))[5].match
    assert await replica.referee.look(EVE, match.match_id, None, version=None) == early
    match = await bench.play(match, until=12)
    assert await replica.referee.look(EVE, match.match_id, None, version=None) == (await bench.steps(match))[8].match


@ANYBODY
async def test_a_version_that_is_not_shown_yet_is_refused_as_if_it_were_not_played(caller: Caller) -> None:
    """[VERSION_OUT_OF_RANGE] The refusal tells the version that is shown, not the true one."""
    bench = Bench()
    match = await bench.play(await bench.create(DELAYED), until=9)
    with pytest.raises(Refusal) as refusal:
        await shown(bench, match, caller, version=7)
    assert refusal.value.metadata == {"version": 7, "currentVersion": 6}
    assert await shown(bench, match, caller, version=6) == 6


@ANYBODY
async def test_commits_are_listed_late_too(caller: Caller) -> None:
    """[ListMatchEvents] Pages end where spectators' sight does."""
    bench = Bench()
    match = await bench.play(await bench.create(DELAYED), until=9)
    first = await bench.referee.page(caller, Listing(match.match_id, None, size=4))
    second = await bench.referee.page(caller, Listing(match.match_id, None, 4, first.next_token))
    assert [step.version for step in (*first.steps, *second.steps)] == [1, 2, 3, 4, 5, 6]
    assert second.next_token == ""


@ANYBODY
async def test_a_match_that_is_over_is_shown_at_once(caller: Caller) -> None:
    bench = Bench()
    match = await bench.play(await bench.create(DELAYED), until=9)
    match = (await bench.submit(match, Resign(match.to_act[0]))).step.match
    assert await bench.referee.look(caller, match.match_id, None, version=None) == match
    page = await bench.referee.page(caller, Listing(match.match_id, None, size=100))
    assert (len(page.steps), page.full) == (10, True)


async def test_a_spectator_s_stream_is_late_and_that_of_a_seat_is_not() -> None:
    """[WatchMatch] Each commit comes once three more are there, and heartbeats tell no more."""
    bench = Bench()
    match = await bench.play(await bench.create(DELAYED), until=6)
    async with hub_of(bench, Pace(0.01, 60)) as hub:
        spectator, seat = Watcher(hub, match), Watcher(hub, match, 0)
        await spectator.until(2)
        match = await bench.play(match, until=9)
        await seat.until_version(9)
        await spectator.until_version(6)
        late = (await bench.steps(match))[5].match
        await spectator.until_quiet(6)
        await spectator.leave()
        await seat.leave()
    assert isinstance(spectator.told[0], Snapshot)
    assert spectator.told[0].match.version == 3
    assert versions(spectator.told) == [4, 5, 6]
    assert [told.match for told in spectator.told if isinstance(told, Quiet)][-1] == late


async def test_nothing_wakes_a_spectator_before_there_is_something_to_see() -> None:
    """[MatchSetup.spectator_delay] A commit that stays hidden moves neither message nor heartbeat."""
    bench = Bench()
    match = await bench.create(DELAYED)
    async with hub_of(bench) as hub:
        spectator = Watcher(hub, match)
        await spectator.until(1)
        lane = hub._lanes[match.match_id, True]
        changes = lane.changes
        match = await bench.play(match, until=4)
        await lane.pull()
        assert lane.changes == changes
        await bench.play(match, until=5)
        await spectator.until(2)
        await spectator.leave()
    assert versions(spectator.told) == [2]


@pytest.mark.parametrize("delay", [3, BUFFERED_STEPS, 2 * BUFFERED_STEPS])
async def test_when_the_match_ends_a_spectator_gets_all_the_rest(delay: int) -> None:
    """[WatchMatch] Every commit that was held back, however many, and the end."""
    bench = Bench()
    match = await bench.create(Setup(DELAYED.seats, spectator_delay=delay))
    for _ in range(delay + 5):
        match = (await bench.submit(match, next_command(match))).step.match
    async with hub_of(bench.replica()) as hub:
        spectator = Watcher(hub, match)
        await spectator.until(1)
        closed = (await bench.submit(match, Resign(match.to_act[0]))).step.match
        told = await spectator.end()
    assert versions(told) == list(range(7, closed.version + 1))
    assert told[-1] == End(EndReason.MATCH_CLOSED, closed)


async def test_a_spectator_resumes_up_to_what_is_shown_and_no_further() -> None:
    """[VERSION_OUT_OF_RANGE] For a stream, too, what is hidden was not played."""
    bench = Bench()
    match = await bench.play(await bench.create(DELAYED), until=9)
    async with hub_of(bench) as hub:
        spectator = Watcher(hub, match, resume=Resume(2))
        told = await spectator.until(4)
        await spectator.leave()
        with pytest.raises(Refusal) as refusal:
            await Watcher(hub, match, resume=Resume(7)).end()
    assert versions(told) == [3, 4, 5, 6]
    assert refusal.value.metadata == {"version": 7, "currentVersion": 6}
