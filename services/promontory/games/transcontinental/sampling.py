"""Full states that fit what a seat knows, for bots that search ahead with the referee's own rules."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from promontory.games.transcontinental.cards import Deck
from promontory.games.transcontinental.state import SideState, State
from promontory.games.transcontinental.view import GameView, SideView
from promontory.games.transcontinental.vocabulary import Side


def determinize(deck: Deck, view: GameView, rng: Random) -> State:
    """Return a state, drawn at random, that looks to the seat of `view` exactly as its game does.

    Every way to split the unseen cards into the opponent's hand and an ordered draw pile that leaves the opponent its
    known cards is equally likely. What the view does not tell stays at its start: the number of shuffles, and which of
    the seat's own cards the opponent has seen. Search on with draws of your own; in a bot's `choose(view, rng)`:

        import promontory
        from promontory.games.fairness import KeyedDraws
        from promontory.games.kernel import fold
        from promontory.games.transcontinental.legal import expand
        from promontory.games.transcontinental.sampling import determinize

        rules = promontory.game("transcontinental")
        state = determinize(rules.deck, view, rng)
        draws = KeyedDraws(rng.randbytes(32), rules.name)
        for command in expand(view.legal, view.seat):
            after = fold(rules, state, rules.decide(state, command, draws))

    `promontory bot new --search FILE` writes a whole bot that does so.

    Raises `ValueError` for a spectator's view, which knows no hand, or if the view and the deck do not fit.
    """
    if view.seat is None or view.side is None:
        raise ValueError("a spectator knows too little to search ahead")
    theirs = view.up if view.side is Side.CP else view.cp
    hand, pile = _split(view, theirs.hand_size, rng)
    _check(deck, view, len(pile))
    own = _side(view.cp if view.side is Side.CP else view.up, view.hand_card_ids, seen=())
    other = _side(theirs, hand, seen=view.opponent_known_card_ids)
    return State(
        cp_seat=view.cp_seat,
        phase=view.phase,
        active=view.active,
        turn=view.turn,
        melds=view.melds_this_turn,
        idle=view.idle,
        shuffles=1,
        deck=pile,
        discard=view.discard_card_ids,
        cp=own if view.side is Side.CP else other,
        up=other if view.side is Side.CP else own,
        result=view.result,
    )


def _split(view: GameView, hand_size: int, rng: Random) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the opponent's hand and the draw pile, top first."""
    known = frozenset(view.opponent_known_card_ids)
    hidden = [card_id for card_id in view.unseen_card_ids if card_id not in known]
    rng.shuffle(hidden)
    others = hand_size - len(known)
    return (*view.opponent_known_card_ids, *hidden[:others]), tuple(hidden[others:])


def _side(public: SideView, hand: Sequence[str], *, seen: Sequence[str]) -> SideState:
    return SideState(hand=frozenset(hand), total=public.total, drew_discard=public.drew_discard, seen=frozenset(seen))


def _check(deck: Deck, view: GameView, pile_size: int) -> None:
    cards = (*view.hand_card_ids, *view.discard_card_ids, *view.unseen_card_ids)
    if sorted(cards) != sorted(deck.by_id) or pile_size != view.deck_size:
        raise ValueError("the view is of a game with another deck")
