"""Playing automatically for a house bot that failed to act."""

from __future__ import annotations

import pytest

from promontory.eventlog.port import CommandIdReused
from promontory.games.transcontinental.commands import DrawCard, Resign
from promontory.games.transcontinental.vocabulary import Source
from promontory.rules.domain import Match
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import Caller
from tests.support.refereeing import ADA, HOUSE_FIRST, RELAY, WORKERS, Bench


async def automatically(
    bench: Bench, match: Match, *, seat: int = 0, since: int = 1, request_id: str = "late", caller: Caller = RELAY
) -> tuple[int, bool]:
    return await bench.referee.play_automatically(caller, match.match_id, seat, since=since, request_id=request_id)


async def test_the_sheets_automatic_command_is_played() -> None:
    """[Transcontinental 9.5] In the planning phase it draws from the deck."""
    bench = Bench()
    match = await bench.create(HOUSE_FIRST)
    assert await automatically(bench, match) == (2, True)
    step = (await bench.steps(match))[-1]
    assert step.happened[0].event.source is Source.DECK


async def test_nothing_happens_if_the_seat_has_acted_since() -> None:
    """[PlayAutomatically] If it has acted since, nothing happens."""
    bench = Bench()
    match = await bench.create(HOUSE_FIRST)
    await bench.replica().play_turn(match)
    assert await automatically(bench, match) == (3, False)


async def test_a_seat_that_acted_and_is_still_to_act_waits_since_its_last_commit() -> None:
    """A seat's since-version changes when it acts."""
    bench = Bench()
    match = (await bench.submit(await bench.create(HOUSE_FIRST), DrawCard(0, Source.DECK))).step.match
    assert await automatically(bench, match, since=1) == (2, False)
    assert await automatically(bench, match, since=2) == (3, True)


async def test_repeating_it_returns_the_first_answer() -> None:
    """Idempotent for a given request id, also once the match is over."""
    bench = Bench()
    match = await bench.create(HOUSE_FIRST)
    first = await automatically(bench, match)
    await bench.submit(await bench.matches.fresh(match.match_id), Resign(1))
    assert await automatically(bench, match) == first


async def test_its_request_id_for_another_turn_is_refused() -> None:
    """The same id with other content is refused."""
    bench = Bench()
    match = await bench.create(HOUSE_FIRST)
    await automatically(bench, match)
    with pytest.raises(CommandIdReused):
        await automatically(bench, match, since=9)


async def test_nothing_happens_once_the_match_is_over() -> None:
    """Nobody is to act in a closed match."""
    bench = Bench()
    match = (await bench.submit(await bench.create(HOUSE_FIRST), Resign(1))).step.match
    assert await automatically(bench, match) == (2, False)


@pytest.mark.parametrize(
    ("caller", "seat", "reason"),
    [
        (RELAY, 1, "NOT_A_HOUSE_BOT"),
        (RELAY, 2, "SEAT_OUT_OF_RANGE"),
        (WORKERS, 0, "SCOPE_MISSING"),
        (ADA, 0, "SCOPE_MISSING"),
    ],
)
async def test_it_is_for_the_relay_and_for_house_bots_only(caller: Caller, seat: int, reason: str) -> None:
    """Needs the scope `match:automatic`, and a seat that the house plays."""
    bench = Bench()
    match = await bench.create(HOUSE_FIRST)
    with pytest.raises(Refusal) as refusal:
        await automatically(bench, match, seat=seat, caller=caller)
    assert refusal.value.reason == reason
