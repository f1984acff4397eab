"""The state of a game, and how events change it [Pacific 1.3, Pacific 2]."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec
from msgspec.structs import replace

from promontory.games.kernel import Seat
from promontory.games.pacific.decisions import Answer, Decision
from promontory.games.pacific.events import (
    AreaRunEnded,
    AreaRunStarted,
    CardPutOut,
    CardsRevealed,
    Choice,
    ChoicesRevealed,
    DecisionAnswered,
    DecisionOpened,
    DeckShuffled,
    DummiesDealt,
    Event,
    ExecutionDone,
    ExplicitRunsSet,
    GameOver,
    HandDealt,
    PhaseStarted,
    Reservation,
    SeatCard,
    SeatResigned,
    SetupChosen,
    SetupPlaced,
    SlotsChosen,
    TurnEnded,
)
from promontory.games.pacific.holdings import HOLDINGS_EVENTS, Holdings, changed, unused
from promontory.games.pacific.tokens import Effect
from promontory.games.pacific.vocabulary import Area, EffectKind, EndReason, Phase

TURNS = 10
HAND_SIZE = 10
DUMMIES = 2
"""How many cards dummies put out in a game for two [Pacific 1.5]."""


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
        return kind in [effect.kind for effect in self.active]


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

    @property
    def slots(self) -> int:
        """How many cards a turn offers: one of each seat, and two of dummies in a game for two."""
        return len(self.players) + (DUMMIES if len(self.players) == 2 else 0)


def with_player(state: State, seat: Seat, **changes: Any) -> State:
    """Return `state` after `changes` to the player in `seat`."""
    player = replace(state.players[seat], **changes)
    return replace(state, players=(*state.players[:seat], player, *state.players[seat + 1 :]))


def evolve(state: State, event: Event) -> State:
    """Return `state` after `event`."""
    match event:
        case AreaRunStarted() | AreaRunEnded():
            return state
        case SetupPlaced(seat):
            return with_player(state, seat, setup=None, holdings=changed(state.players[seat].holdings, event))
        case CardPutOut(int() as seat, card_id):
            return with_player(state, seat, put_out_card_id=card_id)
        case SlotsChosen(int() as seat, slots):
            return with_player(state, seat, slots=slots)
        case SetupChosen(int() as seat, Area() as hotel, Area() as factory):
            return with_player(state, seat, setup=Setup(hotel, factory))
        case ExplicitRunsSet(seat, on):
            return with_player(state, seat, explicit_runs=on)
        case DecisionOpened() | DecisionAnswered() | ExecutionDone():
            return _executing(state, event)
        case _:
            if isinstance(event, HOLDINGS_EVENTS):
                return with_player(state, event.seat, holdings=changed(state.players[event.seat].holdings, event))
            return _at_table(state, event)


def _executing(state: State, event: DecisionOpened | DecisionAnswered | ExecutionDone) -> State:
    player = state.players[event.seat]
    execution = player.execution
    if execution is None:
        return state
    match event:
        case DecisionOpened(seat, decision):
            execution = replace(execution, decision=decision)
            return with_player(state, seat, decisions=player.decisions + 1, execution=execution)
        case DecisionAnswered(seat, _, answer):
            given = (*execution.given, Given(answer, player.explicit_runs))
            return with_player(state, seat, execution=replace(execution, decision=None, given=given))
        case ExecutionDone(seat):
            return with_player(state, seat, execution=replace(execution, done=True))


def _at_table(state: State, event: Event) -> State:
    """Return `state` after what changes more than one player."""
    match event:
        case PhaseStarted(turn, phase):
            table = state.table if turn == state.turn else ("",) * state.slots
            return replace(state, turn=turn, phase=phase, table=table)
        case CardsRevealed(_, cards):
            return _revealed(state, cards)
        case DummiesDealt(card_ids):
            empty = ("",) * (DUMMIES - len(card_ids))
            table = (*state.table[: len(state.players)], *card_ids, *empty)
            return replace(state, deck=state.deck[len(card_ids) :], table=table)
        case ChoicesRevealed():
            return _chosen(state, event)
        case TurnEnded():
            return _ended(state, event)
        case SeatResigned(seat):
            return replace(state, resigned=(*state.resigned, seat))
        case GameOver(reason, _, winners):
            players = tuple(replace(player, setup=None, put_out_card_id="", slots=()) for player in state.players)
            return replace(state, players=players, phase=Phase.OVER, result=Result(reason, winners))
        case DeckShuffled(_, card_ids):
            return replace(state, deck=card_ids)
        case HandDealt(seat, count, card_ids):
            dealt = replace(state.players[seat].holdings, hand=card_ids)
            return replace(with_player(state, seat, holdings=dealt), deck=state.deck[count:])
        case _:
            return state


def _revealed(state: State, cards: Iterable[SeatCard]) -> State:
    table = list(state.table)
    for card in cards:
        table[card.seat] = card.card_id
        holdings = state.players[card.seat].holdings
        hand = tuple(card_id for card_id in holdings.hand if card_id != card.card_id)
        state = with_player(state, card.seat, put_out_card_id="", holdings=replace(holdings, hand=hand))
    return replace(state, table=tuple(table))


def _chosen(state: State, event: ChoicesRevealed) -> State:
    """Begin the execution of every seat, its HQs having copied nothing this turn."""
    for choice in event.choices:
        player = state.players[choice.seat]
        start = unused(player.holdings)
        execution = Execution(
            slots=choice.slots,
            card_ids=tuple(state.table[slot] for slot in choice.slots),
            sole_picks=choice.sole_picks,
            reservations=tuple(one for one in event.reservations if one.seat == choice.seat),
            start=start,
            explicit_runs=player.explicit_runs,
        )
        state = with_player(state, choice.seat, slots=(), holdings=start, execution=execution)
    return replace(state, deck=state.deck[sum(one.count for one in event.reservations) :])


def _ended(state: State, event: TurnEnded) -> State:
    choices = tuple(
        Choice(seat, player.execution.slots, player.execution.sole_picks)
        for seat, player in enumerate(state.players)
        if player.execution is not None
    )
    for seat, player in enumerate(state.players):
        active = tuple(one.effect for one in event.effects if one.seat == seat)
        state = with_player(state, seat, active=active, execution=None, holdings=replace(player.holdings, pending=()))
    past = PastTurn(event.turn, state.table, choices)
    return replace(state, table=(), history=(*state.history, past))
