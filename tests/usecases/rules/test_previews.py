"""Previews: what commands would do, as far as the seat can know it."""

from __future__ import annotations

from random import Random

import pytest
from msgspec.structs import replace

from promontory.games.fairness import BlindDraws
from promontory.games.kernel import Rejected
from promontory.games.transcontinental.commands import DiscardCards, DrawCard, EndWork, PlayMeld, Resign, TrimHand
from promontory.games.transcontinental.vocabulary import Source
from promontory.rules.domain import Match, judge
from promontory.rules.presenter import Presenter
from promontory.rules.usecases import Preview
from promontory.runtime.errors import as_refusal, status
from tests.support.random_play import another_world, near_legal
from tests.support.refereeing import Bench, holder, next_command, ruleset, whole_turn
from tests.support.transcontinental import seeded

DRAW = DrawCard(0, Source.DECK)


async def preview(bench: Bench, match: Match, *commands: object) -> Preview:
    seat = ruleset().game.seat_of(commands[0])
    return await bench.referee.preview(holder(match, seat), match.match_id, seat, commands)


def names(preview: Preview) -> list[str]:
    return [type(each.event).__name__ for each in preview.happened]


async def test_a_preview_ends_before_a_card_from_the_deck() -> None:
    """[fairness 3] A preview ends where chance or hidden cards come in, whatever was to follow."""
    bench = Bench()
    seen = await preview(bench, await bench.create(), DRAW, DRAW, Resign(1))
    assert (names(seen), seen.ends_early) == ([], True)


async def test_a_preview_shows_several_commands_to_their_end() -> None:
    """[PreviewCommand] The commands to try, in order."""
    bench = Bench()
    match = (await bench.submit(await bench.create(), DRAW)).step.match
    seen = await preview(bench, match, *whole_turn(match))
    assert names(seen) == ["WorkEnded", "CardsDiscarded", "CardsDiscarded", "TurnEnded", "TurnStarted"]
    assert not seen.ends_early


async def test_a_preview_of_melding_shows_the_points_and_ends_before_the_refill() -> None:
    """The refill after a meld draws hidden cards; what comes before is certain."""
    bench = Bench()
    match = (await bench.submit(await bench.create(request_id="1"), DRAW)).step.match
    option = ruleset().game.legal(match.state, 0).melds[0]
    seen = await preview(bench, match, PlayMeld(0, option.card_ids), EndWork(0))
    assert (names(seen), seen.ends_early) == (["MeldPlayed", "WorkEnded"], True)
    assert seen.happened[0].event.points == option.points


async def test_a_preview_changes_nothing() -> None:
    """[PreviewCommand] Changes nothing and draws nothing."""
    bench = Bench()
    match = (await bench.submit(await bench.create(), DRAW)).step.match
    first = await preview(bench, match, EndWork(0))
    assert (await preview(bench, match, EndWork(0)), await bench.matches.fresh(match.match_id)) == (first, match)


async def test_a_preview_foretells_what_submitting_then_does() -> None:
    """What is shown is what happens."""
    bench = Bench()
    match = (await bench.submit(await bench.create(), DRAW)).step.match
    seen = await preview(bench, match, EndWork(0))
    assert (await bench.submit(match, EndWork(0))).step.happened == seen.happened


async def test_a_preview_is_refused_as_the_submission_would_be() -> None:
    """[PreviewCommand] Fails as SubmitCommand would, also for a later command."""
    bench = Bench()
    match = (await bench.submit(await bench.create(), DRAW)).step.match
    with pytest.raises(Rejected, match="WRONG_PHASE") as previewed:
        await preview(bench, match, EndWork(0), EndWork(0))
    with pytest.raises(Rejected) as submitted:
        await bench.submit(match, EndWork(0), EndWork(0))
    assert (submitted.value.reason, submitted.value.details) == (previewed.value.reason, previewed.value.details)


async def told(bench: Bench, match: Match, commands: tuple[object, ...]) -> bytes:
    """Return all that a seat learns by a preview of `commands`, or by its refusal."""
    try:
        seen = await preview(bench, match, *commands)
    except Rejected as rejected:
        refused: bytes = status(as_refusal(rejected)).SerializeToString(deterministic=True)
        return refused
    seat = ruleset().game.seat_of(commands[0])
    events = Presenter(ruleset()).events(match, seen.happened, seat)
    return b"".join(event.SerializeToString(deterministic=True) for event in events) + bytes([seen.ends_early])


def tried(match: Match, random: Random) -> tuple[object, ...]:
    """Return commands of one seat, mostly near what is legal."""
    command = random.choice(
        [near_legal(match.state, random), next_command(match), DrawCard(match.to_act[0], Source.DECK)]
    )
    return (command, replace(near_legal(match.state, random), seat=command.seat))


@pytest.mark.parametrize("seed", range(12))
async def test_previews_and_refusals_tell_nothing_that_is_hidden(seed: int) -> None:
    """[Transcontinental 11.3] Two worlds that differ only in hidden cards give the same bytes to the seat."""
    random, bench = seeded(seed), Bench()
    match = await bench.play(await bench.create(request_id=str(seed)), until=random.randint(1, 90))
    for _ in range(15):
        commands = tried(match, random)
        seat = ruleset().game.seat_of(commands[0])
        other = replace(match, state=another_world(match.state, seat, random))
        elsewhere = bench.replica()
        elsewhere.matches._keep(other)
        assert await told(bench, match, commands) == await told(elsewhere, match, commands)


def refusal(match: Match, commands: tuple[object, ...]) -> bytes:
    """Return all that the refusal of a submission tells, or nothing if it would be accepted."""
    try:
        judge(ruleset().game, match.state, commands, BlindDraws())
    except Rejected as rejected:
        refused: bytes = status(as_refusal(rejected)).SerializeToString(deterministic=True)
        return refused
    return b""


def guess(match: Match, random: Random) -> tuple[object, ...]:
    """Return a command that may draw, and one that is well-founded only if it draws what lies on top of the deck."""
    seat = match.to_act[0]
    hand = sorted(match.state.of(match.state.side_of(seat)).hand)
    kind = random.choice([PlayMeld, DiscardCards, TrimHand])
    first = random.choice([next_command(match), DrawCard(seat, Source.DECK)])
    return (first, kind(seat, (*match.state.deck[:1], *hand[:2])))


@pytest.mark.parametrize("seed", range(20, 26))
async def test_submissions_are_refused_for_nothing_that_is_hidden(seed: int) -> None:
    """[fairness 3] Two worlds that differ only in hidden cards refuse the same, for what is refused is not drawn."""
    random, bench = seeded(seed), Bench()
    match = await bench.play(await bench.create(request_id=str(seed)), until=random.randint(1, 60))
    for _ in range(10):
        match = await bench.play(match, until=match.version + 1)
        commands = guess(match, random)
        other = replace(match, state=another_world(match.state, match.to_act[0], random))
        assert refusal(match, commands) == refusal(other, commands)
