"""What a seat may do now, in a compact form [Transcontinental 9.5]."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.transcontinental.cards import Card, Deck
from promontory.games.transcontinental.commands import Command, DiscardCards, DrawCard, EndWork, PlayMeld, TrimHand
from promontory.games.transcontinental.melds import all_melds, points, recognise
from promontory.games.transcontinental.state import HAND_LIMIT, State
from promontory.games.transcontinental.vocabulary import MeldKind, Phase, Side, Source

MOST_DISCARDS = 5


class MeldOption(msgspec.Struct, frozen=True):
    """A set that may be melded: ids in the order of the deck's list, its kinds, and the points it scores, 1 to 50."""

    card_ids: tuple[str, ...]
    kinds: tuple[MeldKind, ...]
    points: int


class CardChoice(msgspec.Struct, frozen=True):
    """Any choice of `minimum` to `maximum` different cards out of `card_ids`, which are in the order of the list."""

    card_ids: tuple[str, ...]
    minimum: int
    maximum: int


class LegalCommands(msgspec.Struct, frozen=True):
    """Everything the rules accept from a seat now, complete; cards may be named in any order.

    `draw_sources` is empty outside the seat's planning phase, `melds` and `end_work` outside its work phase; `discard`
    is None outside its surveyors phase, `trim` outside its logistics phase. `resign` is true until the game is over.
    """

    draw_sources: tuple[Source, ...] = ()
    melds: tuple[MeldOption, ...] = ()
    end_work: bool = False
    discard: CardChoice | None = None
    trim: CardChoice | None = None
    resign: bool = False


def legal_commands(deck: Deck, state: State, seat: Seat) -> LegalCommands:
    """Return what `seat`, 0 or 1, may do in `state`; nothing at all once the game is over."""
    side = state.side_of(seat)
    if state.phase is Phase.OVER:
        return LegalCommands()
    if side is not state.active:
        return LegalCommands(resign=True)
    hand = state.of(side).hand
    match state.phase:
        case Phase.PLANNING:
            return LegalCommands(draw_sources=_sources(state, side), resign=True)
        case Phase.WORK:
            return LegalCommands(melds=meld_options(deck, hand, side), end_work=True, resign=True)
        case Phase.SURVEYORS:
            most = min(MOST_DISCARDS, len(hand))
            return LegalCommands(discard=CardChoice(deck.in_order(hand), 0, most), resign=True)
        case Phase.LOGISTICS:
            excess = len(hand) - HAND_LIMIT
            return LegalCommands(trim=CardChoice(deck.in_order(hand), excess, excess), resign=True)


def meld_options(deck: Deck, hand: frozenset[str], side: Side) -> tuple[MeldOption, ...]:
    """Return every meld that `side` can play from `hand`, in the lexicographic order of the deck's list."""
    cards = [deck.by_id[card_id] for card_id in hand]
    melds = all_melds([card for card in cards if not card.is_dead_for(side)])
    return tuple([_option(deck, meld) for meld in melds])


def expand(legal: LegalCommands, seat: Seat, *, tops: bool = False) -> Iterator[Command]:
    """Yield, one by one, the commands that `legal` describes for `seat`, resigning excepted.

    Each choice of cards comes once, in the order of the deck's list; with `tops` once for every card of it that can be
    played last, which is the one the opponent may draw. Source: [Transcontinental 9.5].
    """
    for source in legal.draw_sources:
        yield DrawCard(seat, source)
    for meld in legal.melds:
        for card_ids in _orders(meld.card_ids, tops=tops):
            yield PlayMeld(seat, card_ids)
    if legal.end_work:
        yield EndWork(seat)
    for card_ids in _choices(legal.discard, tops=tops):
        yield DiscardCards(seat, card_ids)
    for card_ids in _choices(legal.trim, tops=tops):
        yield TrimHand(seat, card_ids)


def _sources(state: State, side: Side) -> tuple[Source, ...]:
    if state.discard and not state.of(side).drew_discard:
        return (Source.DECK, Source.DISCARD)
    return (Source.DECK,)


def _option(deck: Deck, meld: tuple[Card, ...]) -> MeldOption:
    kinds = recognise(meld)
    return MeldOption(tuple([card.id for card in meld]), kinds, points(kinds, len(meld), deck.meld_points))


def _choices(choice: CardChoice | None, *, tops: bool) -> Iterator[tuple[str, ...]]:
    if choice is None:
        return
    for size in range(choice.minimum, choice.maximum + 1):
        for card_ids in combinations(choice.card_ids, size):
            yield from _orders(card_ids, tops=tops)


def _orders(card_ids: tuple[str, ...], *, tops: bool) -> Iterator[tuple[str, ...]]:
    yield card_ids
    if tops:
        for i in reversed(range(len(card_ids) - 1)):
            yield (*card_ids[:i], *card_ids[i + 1 :], card_ids[i])
