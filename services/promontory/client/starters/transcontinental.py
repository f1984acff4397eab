"""A first bot for Transcontinental: melds whatever scores most, and throws away what it can never meld.

Run it with `promontory bot run FILE --pool transcontinental.ranked`, then make it better.
"""

from functools import cache
from random import Random

from promontory.games.transcontinental.cards import Deck, load_deck, shipped_cards
from promontory.games.transcontinental.commands import Command, DiscardCards, DrawCard, EndWork, PlayMeld, TrimHand
from promontory.games.transcontinental.legal import MOST_DISCARDS
from promontory.games.transcontinental.view import GameView


def choose(view: GameView, rng: Random) -> Command:
    """Return one of the commands that `view.legal` describes: everything the rules accept now.

    `view` is all your seat may know; `rng` is yours to use. The other side's turns never come here.
    """
    legal, seat = view.legal, view.seat
    if legal is None or seat is None:
        raise ValueError("a spectator has no turn")
    if legal.draw_sources:
        return DrawCard(seat, legal.draw_sources[0])
    if legal.melds:
        best = max(legal.melds, key=lambda meld: meld.points)
        return PlayMeld(seat, best.card_ids)
    if legal.end_work:
        return EndWork(seat)
    dead = never_melded(view)
    if legal.trim:
        spare = dead or rng.sample(view.hand_card_ids, legal.trim.minimum)
        return TrimHand(seat, tuple(spare[: legal.trim.minimum]))
    return DiscardCards(seat, tuple(dead[:MOST_DISCARDS]))


def never_melded(view: GameView) -> list[str]:
    """Return the cards of the own hand that this side can never meld."""
    return [card_id for card_id in view.hand_card_ids if view.side and deck().by_id[card_id].is_dead_for(view.side)]


@cache
def deck() -> Deck:
    """Return the 77 cards."""
    return load_deck(shipped_cards())
