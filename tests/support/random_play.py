"""Games of Transcontinental played at random with fixed seeds, by players of different tempers."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import NamedTuple

from msgspec.structs import replace

from promontory.games.fairness import KeyedDraws
from promontory.games.transcontinental.commands import Command, DiscardCards, DrawCard, EndWork, PlayMeld, TrimHand
from promontory.games.transcontinental.events import Event
from promontory.games.transcontinental.legal import LegalCommands, expand
from promontory.games.transcontinental.state import State
from promontory.games.transcontinental.vocabulary import Side, Source
from tests.support.transcontinental import DECK, GAME, after, seeded

Player = Callable[[State, int, LegalCommands, Random], Command]


class Commit(NamedTuple):
    """One submission: the state before it, its command (None for the set-up), its events, the state after it."""

    before: State
    command: Command | None
    events: tuple[Event, ...]
    after: State


def any_meld(state: State, seat: int, legal: LegalCommands, random: Random) -> Command:
    """Choose among all that is legal, but discard nothing freely: such a player gets on."""
    if legal.draw_sources:
        return DrawCard(seat, random.choice(legal.draw_sources))
    if legal.end_work:
        return random.choice(list[Command](expand(legal, seat)))
    return _discards(seat, legal, random, most=0)


def spoiler(state: State, seat: int, legal: LegalCommands, random: Random) -> Command:
    """Choose as `any_meld` does, but throw away a random number of cards: such players never finish."""
    if legal.discard or legal.trim:
        return _discards(seat, legal, random, most=5)
    return any_meld(state, seat, legal, random)


def racer(state: State, seat: int, legal: LegalCommands, random: Random) -> Command:
    """Meld what scores most, and discard what can never be melded: such a player wins in some 15 turns."""
    if legal.melds:
        best = max(legal.melds, key=lambda option: option.points)
        return PlayMeld(seat, tuple(random.sample(best.card_ids, len(best.card_ids))))
    if legal.discard:
        side = state.side_of(seat)
        dead = [card_id for card_id in legal.discard.card_ids if DECK.by_id[card_id].is_dead_for(side)]
        return DiscardCards(seat, tuple(dead[:5]))
    return any_meld(state, seat, legal, random)


def absent(state: State, seat: int, legal: LegalCommands, random: Random) -> Command:
    """Leave everything to the automatic command."""
    return GAME.automatic(state, seat)


PLAYERS: dict[str, tuple[Player, Player]] = {
    "any_meld": (any_meld, any_meld),
    "spoilers": (spoiler, spoiler),
    "racers": (racer, racer),
    "mixed": (racer, any_meld),
    "absent": (absent, absent),
}


def draws_of(seed: int) -> KeyedDraws:
    """Return the draws of the games with `seed`."""
    return KeyedDraws(seed.to_bytes(32, "big"), GAME.name)


@cache
def played(players: str, seed: int) -> tuple[Commit, ...]:
    """Return a whole game, commit by commit; the sides are drawn."""
    random, rng = seeded(seed), draws_of(seed)
    start = GAME.initial(2)
    events = GAME.begin(start, rng, draw_start=True)
    state = after(start, *events)
    commits = [Commit(start, None, events, state)]
    while GAME.to_act(state):
        (seat,) = GAME.to_act(state)
        command = PLAYERS[players][seat](state, seat, GAME.legal(state, seat), random)
        events = GAME.decide(state, command, rng)
        commits.append(Commit(state, command, events, after(state, *events)))
        state = commits[-1].after
    return tuple(commits)


def near_legal(state: State, random: Random) -> Command:
    """Return some command, of any kind and either seat, with cards that are mostly of the active hand."""
    seat = random.choice([0, 1, *GAME.to_act(state)])
    hand = DECK.in_order(state.of(state.side_of(seat)).hand)
    size = random.randint(0, min(6, len(hand)))
    card_ids = [*random.sample(hand, size), *random.choices(DECK.ids, k=random.choice([0, 0, 0, 1]))]
    kind = random.choice([PlayMeld, PlayMeld, DiscardCards, TrimHand, DrawCard, EndWork])
    if kind is DrawCard:
        return DrawCard(seat, random.choice(list(Source)))
    return EndWork(seat) if kind is EndWork else kind(seat, tuple(card_ids))


def another_world(state: State, seat: int | None, random: Random) -> State:
    """Return a state that `seat`, or a spectator, cannot tell from `state`: the cards hidden from it lie elsewhere."""
    own = None if seat is None else state.side_of(seat)
    hidden = {side: sorted(state.of(side).hand - state.of(side).seen) for side in Side if side is not own}
    pool = [*state.deck, *(card_id for cards in hidden.values() for card_id in cards)]
    random.shuffle(pool)
    other = replace(state, deck=tuple(pool[: len(state.deck)]))
    dealt = iter(pool[len(state.deck) :])
    for side, cards in hidden.items():
        holding = state.of(side)
        other = replace(other, **{side.lower(): replace(holding, hand=holding.seen.union(next(dealt) for _ in cards))})
    return other


def _discards(seat: int, legal: LegalCommands, random: Random, *, most: int) -> Command:
    choice = legal.discard or legal.trim
    assert choice is not None
    size = random.randint(choice.minimum, max(choice.minimum, min(choice.maximum, most)))
    card_ids = tuple(random.sample(choice.card_ids, size))
    return DiscardCards(seat, card_ids) if legal.discard else TrimHand(seat, card_ids)
