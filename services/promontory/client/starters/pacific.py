"""A first bot for Pacific: takes the card that pays most by a rule of thumb, and leaves most of the rest to chance.

Run it with `promontory bot run FILE --pool pacific.ranked.2`, or with up to five seats, then make it better.
"""

from functools import cache
from random import Random

from promontory.bots.pacific import play_at_random
from promontory.bots.pacific_chance import some_answer
from promontory.games.pacific.cards import Deck, load_deck, shipped_deck
from promontory.games.pacific.commands import AnswerDecision, Choose, Command, PutOut
from promontory.games.pacific.decisions import FactoryRun, RunArea
from promontory.games.pacific.tokens import Tokens
from promontory.games.pacific.view import GameView

LAST_TURNS = 8
"""From this turn of ten on factories remove tokens for money; before, tokens are worth more where they are."""


def choose(view: GameView, rng: Random) -> Command:
    """Return one of the commands that `view.legal` describes: everything the rules accept now.

    `view` is all your seat may know; `rng` is yours to use. Only what your seat is asked comes here: where to begin (in
    a game for two), which card to put out, which to choose from the table, and what the text of that card asks.
    """
    legal, seat = view.legal, view.seat
    if legal is None or seat is None:
        raise ValueError("a spectator has no turn")
    if legal.put_out_card_ids:
        return PutOut(seat, max(legal.put_out_card_ids, key=lambda card_id: promise(view, card_id)))
    if legal.choose is not None:
        must, count = legal.choose.required, legal.choose.count
        best = sorted(legal.choose.slots, key=lambda slot: (slot != must, -promise(view, view.table[slot])))
        return Choose(seat, tuple(best[:count]))
    if legal.decision is not None and isinstance(legal.decision.question, RunArea):
        return AnswerDecision(seat, legal.decision.decision_id, removals(view, legal.decision.question, rng))
    return play_at_random(view, rng)


def promise(view: GameView, card_id: str) -> float:
    """Return roughly how many dollars a card is worth: what its areas make now, and a little for what its text does."""
    card, mat = deck().by_id[card_id], view.players[view.seat or 0].mat
    return 0.3 * card.worth + sum(income(mat[colour.area.place]) for colour in card.colours if colour.area)


def income(here: Tokens) -> int:
    """Return how many dollars a run of an area with these tokens makes."""
    removed = min(3 * here.factory, here.total - 1) if here.factory else 0
    return here.hotel + here.boat * here.fish + 2 * removed


def removals(view: GameView, question: RunArea, rng: Random) -> FactoryRun:
    """Return what the factories of an area remove: nothing at first, in the end the most of a few random answers."""
    if view.turn < LAST_TURNS:
        return FactoryRun()
    answers = [answer for answer in (some_answer(question, rng) for _ in range(10)) if isinstance(answer, FactoryRun)]
    return max(answers, key=lambda answer: sum(removed.total for removed in answer.removals))


@cache
def deck() -> Deck:
    """Return the 80 cards."""
    return load_deck(shipped_deck())
