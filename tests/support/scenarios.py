"""Plays the scenario file of Transcontinental: lines such as `CP meld W1 W2 W3 W4 = 4 rail line rail_line`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml

from promontory.games.kernel import Rejected
from promontory.games.transcontinental.commands import Command
from promontory.games.transcontinental.events import DeckShuffled, Event, HandRefilled, MeldPlayed
from promontory.games.transcontinental.state import State
from promontory.games.transcontinental.vocabulary import Side, Source
from tests.support.transcontinental import (
    DECK,
    GAME,
    SEAT,
    OldestFirst,
    after,
    begun,
    cards,
    codes,
    discard,
    draw,
    end_work,
    meld,
    resign,
    table,
    trim,
)

FILE = Path(__file__).parents[1] / "games" / "transcontinental" / "scenarios.yaml"
SCENARIOS: dict[str, dict[str, Any]] = {
    scenario["id"]: scenario for scenario in yaml.safe_load(FILE.read_text("utf-8"))
}

_COMMANDS: dict[str, Callable[[Side, str], Command]] = {
    "draw": lambda side, argument: draw(side, Source(argument)),
    "meld": meld,
    "end_work": lambda side, _: end_work(side),
    "discard": discard,
    "trim": trim,
    "resign": lambda side, _: resign(side),
}


class Played(NamedTuple):
    """A scenario played to its end: every event with the state after it, and the last state."""

    happened: list[tuple[Event, State]]
    state: State


class Step(NamedTuple):
    """One line of a scenario."""

    side: Side
    command: Command
    automatic: bool
    gives: str
    refused: str


def play(scenario_id: str) -> Played:
    """Play a scenario; every step must do, or be refused, as its line says."""
    scenario = SCENARIOS[scenario_id]
    state = _given(scenario["given"])
    happened: list[tuple[Event, State]] = []
    for line in scenario["steps"]:
        for event in _take(state, _parse(line)):
            state = after(state, event)
            happened.append((event, state))
    return Played(happened, state)


def observed(played: Played, keys: dict[str, Any]) -> dict[str, Any]:
    """Return what the end of a scenario looks like, in the words of `then`, for the same keys."""
    return {key: _OBSERVERS[key](played, expected) for key, expected in keys.items()}


def expected(scenario_id: str) -> dict[str, Any]:
    """Return what must hold at the end of a scenario; hands as sorted lists."""
    then = dict(SCENARIOS[scenario_id]["then"])
    if "hand" in then:
        then["hand"] = {side: codes(DECK.in_order(cards(hand))) for side, hand in then["hand"].items()}
    return then


def _given(words: dict[str, Any]) -> State:
    if "new_game" in words:
        return begun()
    hands, score, drew = (words.get(key, {}) for key in ("hands", "score", "drew_discard"))
    return table(
        hands.get("CP", ""),
        hands.get("UP", ""),
        deck=words.get("deck", ""),
        discard=words.get("discard", ""),
        rest=words.get("rest", "deck"),
        totals=(score.get("CP", 0), score.get("UP", 0)),
        drew_discard=(drew.get("CP", False), drew.get("UP", False)),
        active=Side(words.get("active", "CP")),
        idle=words.get("idle", 0),
    )


def _parse(line: str) -> Step:
    action, _, refused = line.partition(" ! ")
    action, _, gives = action.partition(" = ")
    name, verb, *arguments = action.split()
    automatic = verb == "auto"
    if automatic:
        verb, *arguments = arguments
    side = Side(name)
    return Step(side, _COMMANDS[verb](side, " ".join(arguments)), automatic, gives, refused)


def _take(state: State, step: Step) -> tuple[Event, ...]:
    if step.refused:
        with pytest.raises(Rejected) as refusal:
            GAME.decide(state, step.command, OldestFirst(state))
        assert refusal.value.reason == step.refused
        return ()
    if step.automatic:
        assert GAME.automatic(state, SEAT[step.side]) == step.command
    events = GAME.decide(state, step.command, OldestFirst(state))
    assert [_gives(event) for event in events if isinstance(event, MeldPlayed)] == [step.gives] * bool(step.gives)
    return events


def _gives(event: MeldPlayed) -> str:
    return " ".join([str(event.points), *event.kinds])


def _per_side(look: Any) -> Any:
    return lambda played, wanted: {side: look(played.state.of(Side(side))) for side in wanted}


def _end(played: Played, _: Any) -> dict[str, Any] | None:
    result = played.state.result
    return None if result is None else {"reason": result.reason.value, "winner": result.winner}


_OBSERVERS: dict[str, Any] = {
    "active": lambda played, _: played.state.active.value,
    "phase": lambda played, _: played.state.phase.value,
    "turn": lambda played, _: played.state.turn,
    "idle": lambda played, _: played.state.idle,
    "score": _per_side(lambda holding: holding.total),
    "hand": _per_side(lambda holding: codes(DECK.in_order(holding.hand))),
    "hand_size": _per_side(lambda holding: len(holding.hand)),
    "deck_size": lambda played, _: len(played.state.deck),
    "deck_top": lambda played, wanted: codes(played.state.deck[: len(wanted.split())]),
    "deck_bottom": lambda played, wanted: codes(played.state.deck[-len(wanted.split()) :]),
    "discard": lambda played, _: codes(played.state.discard),
    "discard_top": lambda played, wanted: codes(played.state.discard[: -len(wanted.split()) - 1 : -1]),
    "discard_size": lambda played, _: len(played.state.discard),
    "shuffles": lambda played, _: sum(isinstance(event, DeckShuffled) for event, _ in played.happened),
    "refills": lambda played, _: [event.count for event, _ in played.happened if isinstance(event, HandRefilled)],
    "over": _end,
}
