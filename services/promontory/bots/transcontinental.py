"""The policies of Transcontinental, as its rules sheet describes them [Transcontinental 12.1]."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from random import Random
from typing import NamedTuple

from promontory.bots.port import NotToActError, Policy
from promontory.games.kernel import Seat
from promontory.games.transcontinental.cards import Card, Deck
from promontory.games.transcontinental.commands import (
    Command,
    DiscardCards,
    DrawCard,
    EndWork,
    PlayMeld,
    TrimHand,
)
from promontory.games.transcontinental.decider import Transcontinental
from promontory.games.transcontinental.legal import MOST_DISCARDS, LegalCommands, expand
from promontory.games.transcontinental.melds import (
    LAST_RANK,
    SMALLEST_LINE,
    SMALLEST_RAIL,
    SMALLEST_SURPLUS,
    SMALLEST_TRACK,
)
from promontory.games.transcontinental.state import HAND_LIMIT
from promontory.games.transcontinental.view import GameView
from promontory.games.transcontinental.vocabulary import Phase, Side, Source, Suit

_SUITS = tuple(Suit)


class _Live(NamedTuple):
    """A card that its holder can meld; `n` is its place in the deck's list, `suit` a number."""

    n: int
    suit: int
    rank: int
    id: str


class _Candidate(NamedTuple):
    """A set that can be melded, better if greater: more points, then fewer cards."""

    points: int
    fewer: int
    cards: Sequence[_Live]


_NOTHING = _Candidate(0, 0, ())


class Greedy:
    """The sheet's G1: melds the most points it can at once, and throws dead cards away.

    Where the sheet leaves the choice open it takes the cards that come first in the deck's list, melds in that order,
    and discards difficulty cards before the other side's.
    """

    def __init__(self, deck: Deck) -> None:
        self._live = {side: _live_cards(deck.cards, side) for side in Side}
        self._points = deck.meld_points

    def __call__(self, view: GameView, rng: Random) -> Command:
        """Return the command to play; `rng` is not used. Raises `NotToActError`."""
        seat, side, legal = _acting(view)
        match view.phase:
            case Phase.PLANNING:
                return DrawCard(seat, self._source(view, side, legal))
            case Phase.WORK:
                best = self._best(self._held(view, side))
                return PlayMeld(seat, tuple(card.id for card in sorted(best.cards))) if best.points else EndWork(seat)
            case Phase.SURVEYORS:
                live = self._live[side]
                dead = tuple(card_id for card_id in view.hand_card_ids if card_id not in live)
                return DiscardCards(seat, dead[-MOST_DISCARDS:])
            case _:
                return TrimHand(seat, self._least_supported(view, side))

    def _source(self, view: GameView, side: Side, legal: LegalCommands) -> Source:
        if Source.DISCARD not in legal.draw_sources:
            return Source.DECK
        top = self._live[side].get(view.discard_card_ids[-1])
        if top is None:
            return Source.DECK
        held = self._held(view, side)
        return Source.DISCARD if self._best([*held, top]).points > self._best(held).points else Source.DECK

    def _least_supported(self, view: GameView, side: Side) -> tuple[str, ...]:
        """Return the cards above the hand's limit: dead ones first, then those that fit the fewest others."""
        held = self._held(view, side)
        support = {card.id: sum(_fit(card, other) for other in held if other is not card) for card in held}
        worst_first = sorted(view.hand_card_ids, key=lambda card_id: support.get(card_id, -1))
        return tuple(worst_first[: len(worst_first) - HAND_LIMIT])

    def _held(self, view: GameView, side: Side) -> list[_Live]:
        live = self._live[side]
        return [live[card_id] for card_id in view.hand_card_ids if card_id in live]

    def _best(self, cards: Iterable[_Live]) -> _Candidate:
        """Return the best of the maximal candidates, or one of no points if there is none."""
        suits: dict[int, dict[int, _Live]] = {}
        ranks: dict[int, list[_Live]] = {}
        for card in cards:
            suits.setdefault(card.suit, {})[card.rank] = card
            ranks.setdefault(card.rank, []).append(card)
        plain = [*_same_rank_or_suit(suits, ranks), *_runs({rank: group[0] for rank, group in ranks.items()})]
        if len(suits) >= SMALLEST_TRACK:
            plain.append([next(iter(row.values())) for row in suits.values()])
        doubled = [run for row in suits.values() if len(row) >= SMALLEST_RAIL for run in _runs(row)]
        return max(
            [_Candidate(self._points[len(found)], -len(found), found) for found in plain]
            + [_Candidate(2 * self._points[len(found)], -len(found), found) for found in doubled],
            default=_NOTHING,
        )


def play_at_random(view: GameView, rng: Random) -> Command:
    """Return a command of the sheet's RandMin: any legal one with equal chance, but nothing discarded voluntarily.

    A meld is played in the order of the deck's list. Raises `NotToActError`.
    """
    seat, _, legal = _acting(view)
    if legal.discard is not None:
        return DiscardCards(seat, ())
    return rng.choice(list(expand(legal, seat)))


POLICIES: Mapping[str, Callable[[Transcontinental], Policy]] = {
    "greedy": lambda game: Greedy(game.deck),
    "random": lambda _: play_at_random,
}
"""What makes each policy from the game, by name."""


def _acting(view: GameView) -> tuple[Seat, Side, LegalCommands]:
    if view.seat is None or view.side is None or view.legal is None:
        raise NotToActError("a spectator never acts")
    if view.side is not view.active or view.phase is Phase.OVER:
        raise NotToActError(f"seat {view.seat} is not to act")
    return view.seat, view.side, view.legal


def _live_cards(cards: Iterable[Card], side: Side) -> dict[str, _Live]:
    return {
        card.id: _Live(card.n, _SUITS.index(card.suit), card.rank, card.id)
        for card in cards
        if card.rank is not None and not card.is_dead_for(side)
    }


def _fit(card: _Live, other: _Live) -> bool:
    return card.suit == other.suit or abs(card.rank - other.rank) <= 1


def _same_rank_or_suit(
    suits: Mapping[int, Mapping[int, _Live]], ranks: Mapping[int, Sequence[_Live]]
) -> Iterator[Sequence[_Live]]:
    for group in ranks.values():
        if len(group) >= SMALLEST_SURPLUS:
            yield group
    for row in suits.values():
        if len(row) >= SMALLEST_LINE:
            yield list(row.values())


def _runs(by_rank: Mapping[int, _Live]) -> Iterator[list[_Live]]:
    """Yield the maximal runs of consecutive ranks that are long enough for a rail."""
    run: list[_Live] = []
    for rank in range(1, LAST_RANK + 2):
        if rank in by_rank:
            run.append(by_rank[rank])
            continue
        if len(run) >= SMALLEST_RAIL:
            yield run
        run = []
