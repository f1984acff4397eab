"""The state of a game, and how events change it [Pacific 1.3, Pacific 2]."""

from __future__ import annotations

from collections.abc import Callable
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
    SeatResigned,
    SetupChosen,
    SetupPlaced,
    SlotsChosen,
    TurnEnded,
)
from promontory.games.pacific.holdings import HOLDINGS_EVENTS, Holdings, HoldingsEvent, changed, unused
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
        return bool(self.active) and kind in [effect.kind for effect in self.active]


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


def with_player(state: State, seat: Seat, player: Player) -> State:
    """Return `state` with `player` in `seat`."""
    players = list(state.players)
    players[seat] = player
    return replace(state, players=tuple(players))


def evolve(state: State, event: Event) -> State:
    """Return `state` after `event`."""
    return _EVOLVED[type(event)](state, event)


def _unchanged(state: State, _: AreaRunStarted | AreaRunEnded) -> State:
    return state


def _holding(state: State, event: HoldingsEvent) -> State:
    player = state.players[event.seat]
    return with_player(state, event.seat, replace(player, holdings=changed(player.holdings, event)))


def _set_up(state: State, event: SetupPlaced) -> State:
    player = state.players[event.seat]
    return with_player(state, event.seat, replace(player, setup=None, holdings=changed(player.holdings, event)))


def _setup_chosen(state: State, event: SetupChosen) -> State:
    if event.seat is None or event.hotel is None or event.factory is None:
        return state
    return with_player(state, event.seat, replace(state.players[event.seat], setup=Setup(event.hotel, event.factory)))


def _card_put_out(state: State, event: CardPutOut) -> State:
    if event.seat is None:
        return state
    return with_player(state, event.seat, replace(state.players[event.seat], put_out_card_id=event.card_id))


def _slots_chosen(state: State, event: SlotsChosen) -> State:
    if event.seat is None:
        return state
    return with_player(state, event.seat, replace(state.players[event.seat], slots=event.slots))


def _explicit_runs_set(state: State, event: ExplicitRunsSet) -> State:
    return with_player(state, event.seat, replace(state.players[event.seat], explicit_runs=event.on))


def _decision_opened(state: State, event: DecisionOpened) -> State:
    player = state.players[event.seat]
    if player.execution is None:
        return state
    execution = replace(player.execution, decision=event.decision)
    return with_player(state, event.seat, replace(player, decisions=player.decisions + 1, execution=execution))


def _decision_answered(state: State, event: DecisionAnswered) -> State:
    player = state.players[event.seat]
    if player.execution is None:
        return state
    given = (*player.execution.given, Given(event.answer, player.explicit_runs))
    execution = replace(player.execution, decision=None, given=given)
    return with_player(state, event.seat, replace(player, execution=execution))


def _executed(state: State, event: ExecutionDone) -> State:
    player = state.players[event.seat]
    if player.execution is None:
        return state
    return with_player(state, event.seat, replace(player, execution=replace(player.execution, done=True)))


def _phase_started(state: State, event: PhaseStarted) -> State:
    table = state.table if event.turn == state.turn else ("",) * state.slots
    return replace(state, turn=event.turn, phase=event.phase, table=table)


def _dummies_dealt(state: State, event: DummiesDealt) -> State:
    card_ids = event.card_ids
    empty = ("",) * (DUMMIES - len(card_ids))
    table = (*state.table[: len(state.players)], *card_ids, *empty)
    return replace(state, deck=state.deck[len(card_ids) :], table=table)


def _shuffled(state: State, event: DeckShuffled) -> State:
    return replace(state, deck=event.card_ids)


def _dealt(state: State, event: HandDealt) -> State:
    player = state.players[event.seat]
    dealt = replace(player, holdings=replace(player.holdings, hand=event.card_ids))
    return replace(with_player(state, event.seat, dealt), deck=state.deck[event.count :])


def _resigned(state: State, event: SeatResigned) -> State:
    return replace(state, resigned=(*state.resigned, event.seat))


def _over(state: State, event: GameOver) -> State:
    players = tuple(replace(player, setup=None, put_out_card_id="", slots=()) for player in state.players)
    return replace(state, players=players, phase=Phase.OVER, result=Result(event.reason, event.winners))


def _revealed(state: State, event: CardsRevealed) -> State:
    players, table = list(state.players), list(state.table)
    for seat, card_id in ((card.seat, card.card_id) for card in event.cards):
        table[seat] = card_id
        holdings = players[seat].holdings
        hand = tuple([other for other in holdings.hand if other != card_id])
        players[seat] = replace(players[seat], put_out_card_id="", holdings=replace(holdings, hand=hand))
    return replace(state, players=tuple(players), table=tuple(table))


def _chosen(state: State, event: ChoicesRevealed) -> State:
    """Begin the execution of every seat, its HQs having copied nothing this turn."""
    players = list(state.players)
    for choice in event.choices:
        player = players[choice.seat]
        start = unused(player.holdings)
        execution = Execution(
            slots=choice.slots,
            card_ids=tuple([state.table[slot] for slot in choice.slots]),
            sole_picks=choice.sole_picks,
            reservations=tuple([one for one in event.reservations if one.seat == choice.seat]),
            start=start,
            explicit_runs=player.explicit_runs,
        )
        players[choice.seat] = replace(player, slots=(), holdings=start, execution=execution)
    return replace(state, players=tuple(players), deck=state.deck[sum(one.count for one in event.reservations) :])


def _ended(state: State, event: TurnEnded) -> State:
    choices = tuple(
        Choice(seat, player.execution.slots, player.execution.sole_picks)
        for seat, player in enumerate(state.players)
        if player.execution is not None
    )
    players = list(state.players)
    for seat, player in enumerate(players):
        active = tuple([one.effect for one in event.effects if one.seat == seat])
        players[seat] = replace(player, active=active, execution=None, holdings=replace(player.holdings, pending=()))
    past = PastTurn(event.turn, state.table, choices)
    return replace(state, players=tuple(players), table=(), history=(*state.history, past))


_EVOLVED: dict[type[Event], Callable[[State, Any], State]] = {
    AreaRunStarted: _unchanged,
    AreaRunEnded: _unchanged,
    **dict.fromkeys(HOLDINGS_EVENTS, _holding),
    SetupPlaced: _set_up,
    SetupChosen: _setup_chosen,
    CardPutOut: _card_put_out,
    SlotsChosen: _slots_chosen,
    ExplicitRunsSet: _explicit_runs_set,
    DecisionOpened: _decision_opened,
    DecisionAnswered: _decision_answered,
    ExecutionDone: _executed,
    PhaseStarted: _phase_started,
    CardsRevealed: _revealed,
    DummiesDealt: _dummies_dealt,
    ChoicesRevealed: _chosen,
    TurnEnded: _ended,
    SeatResigned: _resigned,
    GameOver: _over,
    DeckShuffled: _shuffled,
    HandDealt: _dealt,
}
