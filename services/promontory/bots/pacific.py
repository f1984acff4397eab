"""The policies of Pacific: one plays at random, one takes what promises most [Pacific 5.3].

Neither runs an area step by step: nothing is gained by it [P-33].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from random import Random

from promontory.bots.pacific_chance import some_answer, some_slots
from promontory.bots.pacific_rehearsal import Rehearsal, imagined, under_way
from promontory.bots.port import NotToActError, Policy
from promontory.games.kernel import Seat
from promontory.games.pacific.cards import Deck
from promontory.games.pacific.commands import AnswerDecision, Choose, Command, PutOut, SetupPlace
from promontory.games.pacific.decider import Pacific
from promontory.games.pacific.decisions import Answer
from promontory.games.pacific.legal import LegalCommands
from promontory.games.pacific.phases import SlotChoice
from promontory.games.pacific.state import TURNS
from promontory.games.pacific.view import GameView, PlayerView
from promontory.games.pacific.vocabulary import AREAS, Area

_UNSURE = 2.0
"""How many dollars a promise that reaches beyond the last turn may be off; closer ones cannot be told apart."""


class Greedy:
    """Executes the cards that promise the most: money at once, and what the mat is then worth for later turns.

    Cards of the hand and of the table are tried out on the own mat; other players are left out of account. Each
    decision of an execution is tried out with a few replies. Of choices from the table that promise about the same any
    one is taken: tables of greedy players would otherwise all do the same and share the victory. Elsewhere the first of
    equals is. In a game for two the hotel goes where most of the hand's cards run, the factory to the next best area.
    """

    def __init__(self, deck: Deck) -> None:
        self._deck = deck

    def __call__(self, view: GameView, rng: Random) -> Command:
        """Return the command to play; `rng` chooses among nearly equal slots only. Raises `NotToActError`."""
        seat, player, legal = _acting(view)
        if legal.setup_areas:
            hotel, factory = self._most_run(view.hand_card_ids)
            return SetupPlace(seat, hotel, factory)
        if legal.put_out_card_ids:
            return PutOut(seat, max(legal.put_out_card_ids, key=lambda card_id: self._promise(view, player, [card_id])))
        if legal.choose is not None:
            return Choose(seat, self._choice(view, player, legal.choose, rng))
        return _answering(seat, legal, self._answer(view, player))

    def _most_run(self, card_ids: Iterable[str]) -> Sequence[Area]:
        """Return the two areas that most of the cards run, the first of equals."""
        runs = Counter(colour.area for card_id in card_ids for colour in self._deck.by_id[card_id].colours)
        return sorted(AREAS, key=lambda area: runs[area], reverse=True)[:2]

    def _choice(self, view: GameView, player: PlayerView, choice: SlotChoice, rng: Random) -> tuple[int, ...]:
        promises = {
            slots: self._promise(view, player, [view.table[slot] for slot in slots]) for slots in _choices(choice)
        }
        enough = max(promises.values()) - (_UNSURE if view.turn < TURNS else 0)
        return rng.choice([slots for slots, promise in promises.items() if promise >= enough])

    def _promise(self, view: GameView, player: PlayerView, card_ids: Sequence[str]) -> float:
        """Return the money at the end that executing the cards promises."""
        return Rehearsal(self._deck, player, imagined(player, card_ids), turn=view.turn).best().value

    def _answer(self, view: GameView, player: PlayerView) -> Answer | None:
        if player.execution is None:
            return None
        return Rehearsal(self._deck, player, under_way(player.execution), turn=view.turn).best().answer


def play_at_random(view: GameView, rng: Random) -> Command:
    """Return any legal command that goes on with the game, with equal chance. Raises `NotToActError`.

    Of runs with factories, any removal of each of them has equal chance.
    """
    seat, _, legal = _acting(view)
    if legal.setup_areas:
        hotel, factory = rng.sample(legal.setup_areas, 2)
        return SetupPlace(seat, hotel, factory)
    if legal.put_out_card_ids:
        return PutOut(seat, rng.choice(legal.put_out_card_ids))
    if legal.choose is not None:
        return Choose(seat, some_slots(legal.choose, rng))
    return _answering(seat, legal, None if legal.decision is None else some_answer(legal.decision.question, rng))


POLICIES: Mapping[str, Callable[[Pacific], Policy]] = {
    "greedy": lambda game: Greedy(game.deck),
    "random": lambda _: play_at_random,
}
"""What makes each policy from the game, by name."""


def _acting(view: GameView) -> tuple[Seat, PlayerView, LegalCommands]:
    if view.seat is None or view.legal is None:
        raise NotToActError("a spectator never acts")
    player, legal = view.players[view.seat], view.legal
    asked = legal.setup_areas or legal.put_out_card_ids or legal.choose or legal.decision
    if player.ready or not asked:
        raise NotToActError(f"seat {view.seat} is not to act")
    return view.seat, player, legal


def _answering(seat: Seat, legal: LegalCommands, answer: Answer | None) -> AnswerDecision:
    if legal.decision is None or answer is None:
        raise NotToActError(f"seat {seat} has nothing to decide")
    return AnswerDecision(seat, legal.decision.decision_id, answer)


def _choices(choice: SlotChoice) -> Iterator[tuple[int, ...]]:
    for slots in combinations(choice.slots, choice.count):
        if choice.required is None or choice.required in slots:
            yield slots
