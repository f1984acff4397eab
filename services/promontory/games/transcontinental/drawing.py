"""A view as text: both sides, the piles, and what a seat holds and may do."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from promontory.games.text import counted, listed, table, words
from promontory.games.transcontinental.cards import Card, Deck
from promontory.games.transcontinental.decider import Transcontinental
from promontory.games.transcontinental.legal import LegalCommands, MeldOption
from promontory.games.transcontinental.view import GameView, SideView
from promontory.games.transcontinental.vocabulary import Phase, Side, Suit

MOST_MELDS = 10
"""How many of the possible melds are listed."""


def draw(game: Transcontinental, view: GameView) -> str:
    """Return `view`, a seat's or a spectator's, as lines for people to read."""
    deck = game.deck
    return "\n".join(
        [
            _title(view),
            *table("<>>><", _sides(view)),
            f"draw pile: {counted(view.deck_size, 'card')}",
            _discard_pile(deck, view.discard_card_ids),
            *_own(deck, view),
        ]
    )


def _title(view: GameView) -> str:
    if view.result is not None:
        winner = "a draw" if view.result.winner is None else f"{view.result.winner} has won"
        return f"over in turn {view.turn} ({words(view.result.reason)}): {winner}"
    melds = f", {counted(view.melds_this_turn, 'meld')} played" if view.phase is not Phase.PLANNING else ""
    idle = f"; {counted(view.idle, 'turn')} in a row without a meld" if view.idle else ""
    return f"turn {view.turn}, {view.phase} phase: {view.active} to act{melds}{idle}"


def _sides(view: GameView) -> Iterator[tuple[str, ...]]:
    yield ("side", "seat", "points", "cards", "")
    for side, shown in ((Side.CP, view.cp), (Side.UP, view.up)):
        seat = view.cp_seat if side is Side.CP else 1 - view.cp_seat
        yield (side, str(seat), str(shown.total), str(shown.hand_size), ", ".join(_notes(view, side, shown)))


def _notes(view: GameView, side: Side, shown: SideView) -> Iterator[str]:
    if side is view.side:
        yield "you"
    if shown.drew_discard and view.phase is not Phase.OVER:
        yield "drew from the discard pile last"


def _discard_pile(deck: Deck, card_ids: Sequence[str]) -> str:
    if not card_ids:
        return "discard pile: empty"
    label = f"discard pile: {counted(len(card_ids), 'card')}; on top {_name(deck.by_id[card_ids[-1]])}"
    below = [deck.by_id[card_id].code for card_id in card_ids[-2::-1]]
    return listed(f"{label}; below it", below) if below else label


def _own(deck: Deck, view: GameView) -> Iterator[str]:
    """Yield what only a seat sees."""
    if view.side is None or view.legal is None:
        return
    yield f"your hand ({len(view.hand_card_ids)})"
    yield from _by_suit(deck, view.hand_card_ids)
    if view.opponent_known_card_ids:
        yield listed(f"known to be in {view.side.other}'s hand", _names(deck, view.opponent_known_card_ids))
    yield from _options(deck, view.legal)


def _by_suit(deck: Deck, card_ids: Iterable[str]) -> Iterator[str]:
    cards = [deck.by_id[card_id] for card_id in card_ids]
    for suit in Suit:
        held = [_name(card) for card in cards if card.suit is suit]
        if held:
            yield listed(suit, held, indent=2)


def _options(deck: Deck, legal: LegalCommands) -> Iterator[str]:
    if legal.draw_sources:
        yield f"you may draw from: {', '.join(legal.draw_sources)}"
    if legal.end_work:
        yield from _work(deck, legal.melds)
    for choice, purpose in ((legal.discard, "discard"), (legal.trim, "discard, to keep 10,")):
        if choice is not None:
            numbers = sorted({choice.minimum, choice.maximum})
            yield f"you may {purpose} {' to '.join(map(str, numbers))} of your cards"


def _work(deck: Deck, melds: Sequence[MeldOption]) -> Iterator[str]:
    if not melds:
        yield "you may end your work; no cards of your hand are a meld"
        return
    best = sorted(melds, key=lambda meld: -meld.points)[:MOST_MELDS]
    shown = f"; the {len(best)} best" if len(best) < len(melds) else ""
    yield f"you may end your work, or play one of {counted(len(melds), 'meld')}{shown}"
    yield from _melds(deck, best)


def _melds(deck: Deck, melds: Iterable[MeldOption]) -> Iterator[str]:
    rows = (
        (
            f"  {counted(meld.points, 'point')}",
            ", ".join(map(words, meld.kinds)),
            " ".join(deck.by_id[card_id].code for card_id in meld.card_ids),
        )
        for meld in melds
    )
    yield from table("<<<", rows)


def _names(deck: Deck, card_ids: Iterable[str]) -> Iterator[str]:
    for card_id in card_ids:
        yield _name(deck.by_id[card_id])


def _name(card: Card) -> str:
    only = "" if card.restriction is None else f" ({card.restriction} only)"
    return f"{card.code} {card.name}{only}"
