"""Executions of Pacific's cards tried out by the referee's own rules, before or while they happen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from promontory.bots.pacific_outlook import Outlook
from promontory.bots.pacific_replies import Prospect, replies
from promontory.games.kernel import Seat
from promontory.games.pacific.cards import Card, Deck
from promontory.games.pacific.decisions import Answer, Question
from promontory.games.pacific.execution import areas_of, begin
from promontory.games.pacific.executor import Executor
from promontory.games.pacific.holdings import Holdings, unused
from promontory.games.pacific.running import Script
from promontory.games.pacific.state import Execution, Player
from promontory.games.pacific.view import ExecutionView, PlayerView
from promontory.games.pacific.vocabulary import EffectKind


class Ending(NamedTuple):
    """What an execution comes to at its best: the money expected at the end of the game, and the next answer to give.

    `answer` is None if nothing is asked.
    """

    value: float
    answer: Answer | None


class Rehearsal:
    """An execution of cards that is gone through as often as one likes, from its start.

    Cards to be drawn are left out: nobody knows them before.
    """

    def __init__(self, deck: Deck, player: PlayerView, execution: Execution, *, turn: int) -> None:
        self._deck = deck
        self._player = Player(active=player.active)
        self._explicit_runs = player.explicit_runs
        self._execution = execution
        self._cards: Sequence[Card] = [deck.by_id[card_id] for card_id in execution.card_ids]
        self._outlook = Outlook(turn)
        self._per_departure = _paid(player, EffectKind.GAIN_PER_DEPARTURE)
        self._per_placement = _paid(player, EffectKind.GAIN_PER_PLACEMENT)

    def best(self) -> Ending:
        """Return the best ending from the last answer given on.

        The replies to the next question are all tried out, further ones get the most promising reply.
        """
        executor, script, question = self._stand()
        if question is None:
            return Ending(self._outlook.value(executor.holdings), None)
        options = replies(question, self._prospect(executor))
        endings = [Ending(self._finish(executor, script, options[0]), options[0])]
        for option in options[1:]:
            endings.append(Ending(self._finish(*self._stand()[:2], option), option))
        return max(endings, key=lambda ending: ending.value)

    def _stand(self) -> tuple[Executor, Script, Question | None]:
        """Return the execution after the answers given so far, and what is asked then."""
        executor, script = begin(self._deck, _ANY_SEAT, self._player, self._execution)
        question = next(script, None)
        for given in self._execution.given:
            executor.explicit_runs = given.explicit_runs
            question = _send(script, given.answer)
        executor.explicit_runs = self._explicit_runs
        return executor, script, question

    def _finish(self, executor: Executor, script: Script, answer: Answer) -> float:
        """Return the value after an answer, and the most promising ones to all further questions."""
        question = _send(script, answer)
        while question is not None:
            question = _send(script, replies(question, self._prospect(executor))[0])
        return self._outlook.value(executor.holdings)

    def _prospect(self, executor: Executor) -> Prospect:
        holdings = executor.holdings
        running = areas_of(self._cards, holdings.paths)
        soon = [area for area in running if area not in executor.ran and area not in executor.skip]
        worths = self._outlook.worths(holdings.mat, soon)
        return Prospect(holdings.mat, soon, worths, self._per_departure, self._per_placement)


def imagined(player: PlayerView, card_ids: Sequence[str]) -> Execution:
    """Return the execution of cards that nobody else would choose, from what the player has now."""
    start = Holdings(player.money, (), player.mat, player.hqs, player.hqs_placed, player.paths)
    return Execution(
        slots=(),
        card_ids=tuple(card_ids),
        sole_picks=(True,) * len(card_ids),
        reservations=(),
        start=unused(start),
        explicit_runs=player.explicit_runs,
    )


def under_way(execution: ExecutionView) -> Execution:
    """Return the execution that a view shows."""
    start = execution.start
    return Execution(
        slots=execution.slots,
        card_ids=execution.card_ids,
        sole_picks=execution.sole_picks,
        reservations=(),
        start=Holdings(start.money, (), start.mat, start.hqs, start.hqs_placed, start.paths),
        explicit_runs=execution.explicit_runs,
        given=execution.given,
    )


_ANY_SEAT: Seat = 0
"""Whose events they would be, were they kept."""


def _send(script: Script, answer: Answer) -> Question | None:
    try:
        return script.send(answer)
    except StopIteration:
        return None


def _paid(player: PlayerView, kind: EffectKind) -> int:
    return sum(effect.amount for effect in player.active if effect.kind is kind)
