"""What seats and spectators are told: nothing that is hidden from them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest
from google.protobuf.message import Message
from msgspec.structs import replace

from promontory.games.fairness import BlindDraws
from promontory.games.transcontinental.commands import DrawCard, Resign
from promontory.games.transcontinental.vocabulary import Source
from promontory.rules.domain import Match, Step, happenings
from promontory.rules.presenter import Presenter
from promontory.rules.watch import Snapshot
from tests.support.presenting import commit_told
from tests.support.random_play import another_world, any_meld
from tests.support.refereeing import SEED, Bench, random_of, ruleset
from tests.support.transcontinental import DECK, seeded

CARD_FIELDS = {"card_id", "card_ids", "cp_card_ids", "up_card_ids", "hand_card_ids"}
PUBLIC_FIELDS = {"discard_card_ids", "opponent_known_card_ids"}
AUDIENCES = pytest.mark.parametrize("audience", [0, 1, None])


def named(message: Message, fields: set[str]) -> Iterator[str]:
    """Yield the card ids in the fields of `message` called so, at any depth."""
    for field, value in message.ListFields():
        if field.name in fields:
            yield from ([value] if isinstance(value, str) else value)
        elif field.message_type is not None:
            for each in value if field.is_repeated else [value]:
                yield from named(each, fields)


async def random_steps(seed: int, *, until: int = 10_000) -> tuple[Match, list[Step]]:
    """Return a match at its end and its steps, both seats played at random."""
    bench, game = Bench(), ruleset().game
    match = await bench.create(request_id=f"secrecy {seed}")
    random = random_of(match)
    while not match.is_closed and match.version < until:
        seat = match.to_act[0]
        command = any_meld(match.state, seat, game.legal(match.state, seat), random)
        match = (await bench.submit(match, command)).step.match
    return match, list(await bench.steps(match))


@pytest.fixture(scope="module")
def game() -> list[Step]:
    """The steps of one whole random game."""
    return asyncio.run(random_steps(1))[1]


def hidden_cards(step: Step, audience: int | None) -> set[str]:
    """Return the cards that now lie in the deck or in a hand that is not the audience's, but for those seen."""
    state = step.match.state
    sides = [side for side in (state.cp, state.up) if audience is None or side is not own_side(step, audience)]
    return set(state.deck).union(*(side.hand - side.seen for side in sides))


def own_side(step: Step, seat: int) -> object:
    return step.match.state.of(step.match.state.side_of(seat))


@AUDIENCES
def test_no_commit_names_a_card_that_is_hidden_at_that_moment(game: list[Step], audience: int | None) -> None:
    """[Transcontinental 11.3] The test of secrecy, over the commits of a whole random game."""
    present = Presenter(ruleset())
    for step in game:
        message = commit_told(present, step, audience)
        assert not hidden_cards(step, audience).intersection(named(message, CARD_FIELDS | PUBLIC_FIELDS))


@AUDIENCES
def test_no_list_of_commits_names_a_card_that_was_hidden(game: list[Step], audience: int | None) -> None:
    """[architecture 3] The same code for snapshot, stream, history."""
    present = Presenter(ruleset())
    for step in game:
        assert not hidden_cards(step, audience).intersection(
            named(present.listed(step, audience, full=False), CARD_FIELDS)
        )


@pytest.mark.parametrize("seat", [0, 1])
def test_what_is_unseen_is_exactly_what_one_can_work_out(game: list[Step], seat: int) -> None:
    """[Transcontinental 10.1] Deck and opponent's hand together are all cards neither in the own hand nor discarded."""
    present = Presenter(ruleset())
    for step in game:
        view = present.view(step.match, seat)
        known = {*view.hand_card_ids, *view.discard_card_ids}
        assert list(view.unseen_card_ids) == [card_id for card_id in DECK.ids if card_id not in known]


def test_a_spectator_is_shown_no_hand(game: list[Step]) -> None:
    """[Transcontinental 10.1] The spectator's view drops hands and what is known of them."""
    present = Presenter(ruleset())
    shown = [card_id for step in game for card_id in named(present.view(step.match, None), {"hand_card_ids"})]
    assert shown == []


@AUDIENCES
@pytest.mark.parametrize("seed", [2, 3, 4])
async def test_two_worlds_that_differ_in_hidden_cards_look_the_same(seed: int, audience: int | None) -> None:
    """[Transcontinental 11.3] The stronger form: the same bytes, for views and legal commands."""
    random, present, game = seeded(seed), Presenter(ruleset()), ruleset().game
    _, steps = await random_steps(seed, until=60)
    for step in steps[:: random.randint(3, 7)]:
        state = another_world(step.match.state, audience, random)
        other = replace(step.match, state=state)
        assert present.update(Snapshot(other), audience) == present.update(Snapshot(step.match), audience)
        assert audience is None or game.legal(state, audience) == game.legal(step.match.state, audience)


@pytest.mark.parametrize("seed", [5, 6])
async def test_a_card_drawn_in_two_worlds_is_told_the_opponent_in_the_same_words(seed: int) -> None:
    """[S-02] CardDrawn deck, and no card."""
    present, game = Presenter(ruleset()), ruleset().game
    match = await Bench().create()
    told = [
        present.events(match, happenings(game, state, game.decide(state, DrawCard(0, Source.DECK), BlindDraws())), 1)
        for state in (match.state, another_world(match.state, 1, seeded(seed)))
    ]
    assert told[0] == told[1]


async def test_the_seed_is_shown_from_the_closing_commit_on_and_never_before() -> None:
    """[fairness 2.6] No view shows seed or key while the match is open."""
    bench, present = Bench(), Presenter(ruleset())
    match = await bench.play(await bench.create(), until=20)
    closed = (await bench.submit(match, Resign(0))).step.match
    shown = [present.match(step.match).fairness.server_seed for step in await bench.steps(closed)]
    assert shown == [b""] * 20 + [SEED]


async def test_the_log_of_an_open_match_holds_no_seed() -> None:
    """[event_log 5.4] Reading Redis does not reveal future draws."""
    bench = Bench()
    match = await bench.play(await bench.create(), until=30)
    stored = b"".join(event.payload for commit in await bench.log.read(match.match_id) for event in commit.events)
    assert SEED not in stored
