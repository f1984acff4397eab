"""Given, when, then for Pacific: mats from words, answers from words, and games in any phase.

Unless a test says otherwise seat 0 is the one that a test is about.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from random import Random
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from promontory.games.fairness import BlindDraws
from promontory.games.kernel import Draws, Rejected
from promontory.games.pacific.cards import load_deck, shipped_deck
from promontory.games.pacific.commands import AnswerDecision, Choose, Command, PutOut, Resign, SetupPlace
from promontory.games.pacific.decider import Pacific
from promontory.games.pacific.decisions import (
    Answer,
    AreaPick,
    ArrowPick,
    CardOrder,
    Decision,
    FactoryRun,
    Fetch,
    Fetches,
    Moves,
    PartOrder,
    Removals,
    Replacements,
    RunAreas,
    Step,
    SteppedRun,
)
from promontory.games.pacific.events import Event, PhaseStarted
from promontory.games.pacific.holdings import Holdings
from promontory.games.pacific.state import Player, State
from promontory.games.pacific.tokens import Effect, Hq, Mat, TokenPick, Tokens
from promontory.games.pacific.vocabulary import AREAS, Area, Arrow, EffectKind, Kind, Phase

DECK = load_deck(shipped_deck())
GAME = Pacific(DECK)
BLIND = BlindDraws()
FILE: dict[str, Any] = json.loads(shipped_deck())
_ENTRIES: dict[str, dict[str, Any]] = {card["id"]: card for card in FILE["cards"]}

T = TypeVar("T")
E = TypeVar("E")


def seeded(seed: int) -> Random:
    """Return random numbers that are the same in every run; put `seed` into the test's parameters, so it is printed."""
    return Random(seed)


# Words for tokens, mats and answers


def tokens(words: str) -> Tokens:
    """Return the tokens that `words` lists: `2 fish 1 boat`; `-` for none."""
    counts = [word for word in words.split() if word != "-"]
    return Tokens(**{kind: int(number) for number, kind in zip(counts[::2], counts[1::2], strict=True)})


def mat(words: str) -> Mat:
    """Return the mat that `words` describes: `peru 1 factory 2 fish / japan 3 hotel`."""
    described = [part.split(maxsplit=1) for part in words.split("/") if part.strip()]
    areas = {Area(name): tokens(content) for name, content in described}
    return tuple(areas.get(area, Tokens()) for area in AREAS)


def words_of(mat: Mat) -> str:
    """Return what describes a mat, empty areas left out."""
    described = [
        " ".join([area, *(f"{number} {kind}" for kind, number in content.present())])
        for area, content in zip(AREAS, mat, strict=True)
        if content.total
    ]
    return " / ".join(described)


def picks(words: str) -> tuple[TokenPick, ...]:
    """Return the picks that `words` lists: `2 fish peru, 1 hotel japan`."""
    listed = [part.split() for part in words.split(",") if part.strip()]
    return tuple(TokenPick(Kind(kind), Area(area), int(number)) for number, kind, area in listed)


def answer(words: str) -> Answer:
    """Return the answer that `words` gives, beginning with one of the keys of the table below."""
    key, _, rest = words.partition(" ")
    return _ANSWERS[key](rest)


def _moves(words: str) -> Moves:
    """Read `1 boat japan from japan to california`, of which any part may be missing."""
    moved, _, destination = words.partition("to ")
    moved, _, source = moved.partition("from ")
    return Moves(
        picks(moved),
        Area(source.strip()) if source.strip() else None,
        Area(destination.strip()) if destination.strip() else None,
    )


def _fetches(words: str) -> Fetches:
    listed = [part.split() for part in words.split(",") if part.strip()]
    return Fetches(tuple(Fetch(Kind(kind), Area(area)) for kind, area in listed))


def _step(words: str) -> Step:
    """Read `2 boat`, or `factory` with what it removes."""
    first, _, rest = words.strip().partition(" ")
    if first == "factory":
        return Step(Kind.FACTORY, 1, tokens(rest))
    return Step(Kind(rest), int(first))


_ANSWERS: dict[str, Callable[[str], Answer]] = {
    "cards": lambda words: CardOrder(tuple(words.split())),
    "area": lambda words: AreaPick(Area(words)),
    "arrow": lambda words: ArrowPick(Arrow(words)),
    "order": lambda words: PartOrder(tuple(map(int, words.split()))),
    "move": _moves,
    "remove": lambda words: Removals(picks(words)),
    "replace": lambda words: Replacements(picks(words)),
    "run": lambda words: RunAreas(tuple(map(Area, words.split()))),
    "fetch": _fetches,
    "factories": lambda words: FactoryRun(tuple(tokens(part) for part in words.split("/") if part.strip())),
    "steps": lambda words: SteppedRun(tuple(map(_step, words.split(",")))),
}


# Games in any phase


def effect(card_id: str) -> Effect:
    """Return the effect that a card of the shipped deck arms for the next turn."""
    (armed,) = [entry for entry in _ENTRIES[card_id]["instructions"] if entry["op"] == "next_turn"]
    brought = Tokens(**armed["tokens"]) if "tokens" in armed else None
    return Effect(card_id, EffectKind(armed["effect"]), armed.get("amount", armed.get("n", 0)), brought)


def effects(words: str) -> tuple[Effect, ...]:
    """Return the effects that the cards in `words` arm."""
    return tuple(map(effect, words.split()))


def holdings(words: str = "", *, money: int = 0, hand: str = "", paths: str = "", pending: str = "") -> Holdings:
    """Return what a player has; HQs have copied nothing yet."""
    content = mat(words)
    places = [area for area, here in zip(AREAS, content, strict=True) for _ in range(here.hq)]
    hqs = tuple(Hq(number, area) for number, area in enumerate(places, start=1))
    laid = tuple(map(Arrow, paths.split()))
    return Holdings(money, tuple(hand.split()), content, hqs, len(hqs), laid, effects(pending))


def player(words: str = "", *, active: str = "", **fields: Any) -> Player:
    """Return a player with the effects of the cards `active`; for the rest see `holdings`."""
    return Player(holdings(words, **fields), effects(active))


def choosing(*players: Player, table: str, deck: str = "", turn: int = 5, **fields: Any) -> State:
    """Return a game in which everybody is to choose from `table`, with this draw deck."""
    state = State(players=players, turn=turn, phase=Phase.CHOOSE, deck=tuple(deck.split()), table=tuple(table.split()))
    return replace(state, **fields)


def putting_out(*players: Player, turn: int = 5, late: bool = False, deck: str = "") -> State:
    """Return a game in which cards are to be put out."""
    phase = Phase.PUT_OUT_LATE if late else Phase.PUT_OUT_FIRST
    state = State(players=players, phase=phase, deck=tuple(deck.split()), turn=turn)
    return replace(state, table=("",) * state.slots)


def begun(seats: int, rng: Draws = BLIND, *, game: Pacific = GAME) -> State:
    """Return a game at its first decision, dealt in the order of the deck file unless `rng` shuffles."""
    state = game.initial(seats)
    return after(state, *game.begin(state, rng, draw_start=False))


def after(state: State, *events: Event) -> State:
    """Return `state` after `events`."""
    for event in events:
        state = GAME.evolve(state, event)
    return state


def decide(state: State, *commands: Command, game: Pacific = GAME) -> tuple[list[Event], State]:
    """Return all that `commands` cause, and the state after it."""
    events: list[Event] = []
    for command in commands:
        caused = game.decide(state, command, BLIND)
        state = after(state, *caused)
        events += caused
    return events, state


def state_after(state: State, *commands: Command, game: Pacific = GAME) -> State:
    """Return the state after `commands`, all of which must be accepted."""
    return decide(state, *commands, game=game)[1]


def open_decision(state: State, seat: int = 0) -> Decision | None:
    """Return the decision that `seat` has to take."""
    execution = state.players[seat].execution
    return None if execution is None else execution.decision


def answers(state: State, *said: str, seat: int = 0, game: Pacific = GAME) -> tuple[list[Event], State]:
    """Let `seat` answer its decisions in words, one after another; see `answer`."""
    events: list[Event] = []
    for words in said:
        decision = open_decision(state, seat)
        assert decision is not None, f"nothing is asked that {words!r} could answer"
        command = AnswerDecision(seat, decision.decision_id, answer(words))
        caused, state = decide(state, command, game=game)
        events += caused
    return events, state


class given:  # noqa: N801 - the first word of a sentence
    """The state a test starts from."""

    def __init__(self, state: State, *, game: Pacific = GAME) -> None:
        self._state, self._game = state, game

    def when(self, *commands: Command) -> when:
        """Take the commands, in order."""
        return when(self._state, commands, game=self._game)

    def said(self, *words: str, seat: int = 0) -> when:
        """Let `seat` answer its decisions in words; only the last answer may be refused."""
        _, state = answers(self._state, *words[:-1], seat=seat, game=self._game)
        decision = open_decision(state, seat)
        number = 0 if decision is None else decision.decision_id
        return when(state, (AnswerDecision(seat, number, answer(words[-1])),), game=self._game)


class when:  # noqa: N801 - the second word of a sentence
    """Commands given in a state; all but the last must be accepted."""

    def __init__(self, state: State, commands: tuple[Command, ...], *, game: Pacific) -> None:
        self._state, self._commands, self._game = state, commands, game

    def then(self, *events: Event) -> State:
        """Expect exactly `events` of all the commands, and return the state after them."""
        caused, state = decide(self._state, *self._commands, game=self._game)
        assert caused == list(events)
        return state

    def then_last(self, *events: Event) -> State:
        """Expect exactly `events` of the last command, and return the state after it."""
        _, state = decide(self._state, *self._commands[:-1], game=self._game)
        caused, state = decide(state, self._commands[-1], game=self._game)
        assert caused == list(events)
        return state

    def then_state(self, look: Callable[[State], T]) -> T:
        """Return what `look` sees in the state after the commands."""
        return look(decide(self._state, *self._commands, game=self._game)[1])

    def refused(self, reason: str, *, rule: str, **details: str | int) -> None:
        """Expect the last command to be refused for `reason`, citing `rule`, with exactly `details`."""
        _, state = decide(self._state, *self._commands[:-1], game=self._game)
        with pytest.raises(Rejected) as refusal:
            decide(state, self._commands[-1], game=self._game)
        seen = refusal.value
        assert (seen.reason, seen.rule, seen.details) == (reason, rule, details)


def put_out(*card_ids: str) -> list[PutOut]:
    """Return the commands by which the seats, from 0, put out cards."""
    return [PutOut(seat, card_id) for seat, card_id in enumerate(card_ids)]


def choose(*slots: int | Sequence[int]) -> list[Choose]:
    """Return the commands by which the seats, from 0, choose one slot or several."""
    return [Choose(seat, (one,) if isinstance(one, int) else tuple(one)) for seat, one in enumerate(slots)]


def set_up(seat: int, hotel: str, factory: str) -> SetupPlace:
    """Return the command by which `seat` chooses its first areas."""
    return SetupPlace(seat, Area(hotel), Area(factory))


def resign(seat: int) -> Resign:
    """Return the command by which `seat` resigns."""
    return Resign(seat)


# Executing cards


def house_card(card_id: str, instructions: Sequence[dict[str, Any]], colours: Sequence[str] = ("orange",)) -> Any:
    """Return a card for a deck file."""
    name = card_id.replace("_", " ").title()
    fields = {"source": "house", "worth": 0, "colours": list(colours), "instructions": list(instructions)}
    return {"name": name, "id": card_id, **fields}


def deck_with(*cards: Any) -> bytes:
    """Return the shipped deck file with more cards at its end."""
    return json.dumps({**FILE, "cards": [*FILE["cards"], *cards]}).encode()


def _bench() -> Pacific:
    """Return the game with a card more for each area, which runs it and nothing else."""
    others = {area: [other.value for other in AREAS if other is not area] for area in AREAS}
    runs = [house_card(f"run_{area}", [{"op": "run", "areas": {"each": {"not": others[area]}}}]) for area in AREAS]
    return Pacific(load_deck(deck_with(*runs)))


BENCH = _bench()


def executing(card_ids: Iterable[str], seat: Player, *, game: Pacific = GAME, sole_pick: bool = True) -> State:
    """Return a game for three in which seat 0, that is `seat`, has begun to execute cards; see `begin_executing`."""
    return begin_executing(card_ids, seat, game=game, sole_pick=sole_pick)[1]


def begin_executing(
    card_ids: Iterable[str], seat: Player, *, game: Pacific = GAME, sole_pick: bool = True
) -> tuple[list[Event], State]:
    """Return what seat 0, that is `seat`, does up to its first decision when it executes cards, and the game then.

    Seat 1 executes the same card as seat 0 unless `sole_pick`; seat 2 is asked for an arrow, so the turn does not end.
    """
    own = list(card_ids)
    table = " ".join([*[*own, "diversify"][:2], "direct_flight"])
    state = choosing(seat, Player(), Player(), table=table, deck="spas port dugongs")
    events, state = decide(state, *choose(range(len(own)), 2 if sole_pick else 0, 2), game=game)
    started = next(n for n, event in enumerate(events) if isinstance(event, PhaseStarted))
    return [event for event in events[started + 1 :] if getattr(event, "seat", None) == 0], state


def played(
    do: str, seat: Player, *said: str, sole_pick: bool = True, game: Pacific | None = None
) -> tuple[list[Event], Player]:
    """Let `seat` execute the cards that `do` lists, or run an area (`run peru`), answering in words.

    Returns all that it did, and the player once nothing is left to decide; all answers must be used up.
    """
    area = do.removeprefix("run ")
    card_ids = [f"run_{area}"] if area != do else do.split()
    order = [f"cards {do}"] if len(card_ids) > 1 else []
    rules = game or BENCH
    events, state = begin_executing(card_ids, seat, game=rules, sole_pick=sole_pick)
    more, state = answers(state, *order, *said, game=rules)
    assert open_decision(state) is None, "an answer is missing"
    return events + more, state.players[0]


def only(kind: type[E], events: Iterable[Event]) -> list[E]:
    """Return those of `events` that are of a kind."""
    return [event for event in events if isinstance(event, kind)]


def outcome(player: Player) -> str:
    """Return money and mat of a player in words."""
    return f"${player.holdings.money} {words_of(player.holdings.mat)}".strip()
