"""The state of a game, and how events change it [Pacific 1.3, Pacific 2]."""

from __future__ import annotations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.pacific.decisions import Answer, Decision
from promontory.games.pacific.events import Choice, Reservation
from promontory.games.pacific.tokens import EMPTY_MAT, Effect, Hq, Mat, Paths
from promontory.games.pacific.vocabulary import Area, EffectKind, EndReason, Phase

TURNS = 10
HAND_SIZE = 10
DUMMIES = 2
"""How many cards dummies put out in a game for two [Pacific 1.5]."""


class Holdings(msgspec.Struct, frozen=True):
    """What belongs to a player and changes while cards are executed.

    `hand` is in the order dealt and drawn, `paths` in the order laid, `pending` the effects of next turn in the order
    armed. `hqs_placed` numbers the HQs.
    """

    money: int = 0
    hand: tuple[str, ...] = ()
    mat: Mat = EMPTY_MAT
    hqs: tuple[Hq, ...] = ()
    hqs_placed: int = 0
    paths: Paths = ()
    pending: tuple[Effect, ...] = ()


class Setup(msgspec.Struct, frozen=True):
    """The areas for the first hotel and the first factory in a game for two."""

    hotel: Area
    factory: Area


class Given(msgspec.Struct, frozen=True):
    """An answer, and whether every run was to be asked for from then on."""

    answer: Answer
    explicit_runs: bool


class Execution(msgspec.Struct, frozen=True):
    """How a player executes cards: where it started, and the answers given since, which lead to where it stands.

    `card_ids` and `sole_picks` are in the order of `slots`; `explicit_runs` is the setting at the start.
    """

    slots: tuple[int, ...]
    card_ids: tuple[str, ...]
    sole_picks: tuple[bool, ...]
    reservations: tuple[Reservation, ...]
    start: Holdings
    explicit_runs: bool
    given: tuple[Given, ...] = ()
    decision: Decision | None = None
    done: bool = False


class Player(msgspec.Struct, frozen=True):
    """What belongs to a seat. `decisions` counts those opened in the match.

    `setup`, `put_out_card_id` and `slots` are its answers in a secret phase, None or empty before and after.
    """

    holdings: Holdings = Holdings()
    active: tuple[Effect, ...] = ()
    explicit_runs: bool = False
    decisions: int = 0
    setup: Setup | None = None
    put_out_card_id: str = ""
    slots: tuple[int, ...] = ()
    execution: Execution | None = None

    def has(self, kind: EffectKind) -> bool:
        """Tell whether an effect of `kind` works for the player this turn."""
        return any(effect.kind is kind for effect in self.active)


class PastTurn(msgspec.Struct, frozen=True):
    """The cards of an earlier turn by slot, and what every seat chose of them."""

    turn: int
    card_ids: tuple[str, ...]
    choices: tuple[Choice, ...]


class Result(msgspec.Struct, frozen=True):
    """How the game ended; more than one winner share the victory."""

    reason: EndReason
    winners: tuple[Seat, ...]


class State(msgspec.Struct, frozen=True):
    """A game between two events. Before the first turn `turn` is 0.

    `deck` is the draw deck, top first, without reserved cards. `table` holds the cards of the turn by slot: those of
    the seats, then those of the dummies, `""` where none lies face up. `resigned` are the seats that gave up, in that
    order.
    """

    players: tuple[Player, ...]
    turn: int = 0
    phase: Phase = Phase.PUT_OUT_FIRST
    deck: tuple[str, ...] = ()
    table: tuple[str, ...] = ()
    history: tuple[PastTurn, ...] = ()
    resigned: tuple[Seat, ...] = ()
    result: Result | None = None
