"""What one seat, or a spectator, may know of a game [Pacific 7]."""

from __future__ import annotations

import msgspec

from promontory.games.kernel import Seat
from promontory.games.pacific.decisions import Decision
from promontory.games.pacific.legal import LegalCommands
from promontory.games.pacific.state import Given, PastTurn, Result, Setup
from promontory.games.pacific.tokens import Effect, Hq, Tokens
from promontory.games.pacific.vocabulary import Arrow, Phase


class StartView(msgspec.Struct, frozen=True):
    """What a player had, beside the hand, when the execution of cards began."""

    money: int
    mat: tuple[Tokens, ...]
    hqs: tuple[Hq, ...]
    hqs_placed: int
    paths: tuple[Arrow, ...]


class ExecutionView(msgspec.Struct, frozen=True):
    """How a player executes cards; all of it is public.

    `slots`, `card_ids`, `sole_picks` and `reserved`, the numbers of cards reserved for what a card draws, are in the
    order of slots. `start`, `explicit_runs` and `given` tell how the player came to where it stands: nothing but a
    search ahead needs them. `decision` is the open one.
    """

    slots: tuple[int, ...]
    card_ids: tuple[str, ...]
    sole_picks: tuple[bool, ...]
    reserved: tuple[int, ...]
    start: StartView
    explicit_runs: bool
    given: tuple[Given, ...]
    decision: Decision | None
    done: bool


class PlayerView(msgspec.Struct, frozen=True):
    """What everybody may know of a player.

    `mat` holds the tokens of each area in ring order. `active` are the effects that work this turn, `pending` those of
    next turn. `ready` tells whether an answer is there in a secret phase; `execution` is None in all other phases.
    """

    money: int
    hand_size: int
    mat: tuple[Tokens, ...]
    hqs: tuple[Hq, ...]
    hqs_placed: int
    paths: tuple[Arrow, ...]
    active: tuple[Effect, ...]
    pending: tuple[Effect, ...]
    explicit_runs: bool
    decisions: int
    ready: bool
    execution: ExecutionView | None


class GameView(msgspec.Struct, frozen=True):
    """A game as `seat`, or a spectator, may know it.

    `table` holds the cards of the turn by slot, `""` where none lies face up: the seats' cards, then those of the
    dummies. `hand_card_ids` (in the order dealt and drawn; a card put out stays in it until it is revealed),
    `put_out_card_id`, `setup` and `chosen_slots` are the seat's own, empty or None for a spectator and before the seat
    has answered. `unseen_card_ids`, in the order of the deck's list, are the cards neither in the own hand nor ever
    face up: draw deck, reserved cards and other hands together.
    """

    seat: Seat | None
    turn: int
    phase: Phase
    players: tuple[PlayerView, ...]
    table: tuple[str, ...]
    history: tuple[PastTurn, ...]
    deck_size: int
    resigned: tuple[Seat, ...]
    hand_card_ids: tuple[str, ...] = ()
    put_out_card_id: str = ""
    setup: Setup | None = None
    chosen_slots: tuple[int, ...] = ()
    unseen_card_ids: tuple[str, ...] = ()
    legal: LegalCommands | None = None
    result: Result | None = None
