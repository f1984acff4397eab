"""What one seat, or a spectator, may know of a game [Pacific 7]."""

from __future__ import annotations

from itertools import filterfalse

import msgspec
from msgspec.structs import replace

from promontory.games.kernel import Seat
from promontory.games.pacific.cards import Deck
from promontory.games.pacific.decisions import Decision
from promontory.games.pacific.events import (
    CardDrawn,
    CardPutOut,
    CardsRevealed,
    ChoicesRevealed,
    DeckShuffled,
    DummiesDealt,
    Event,
    HandDealt,
    SetupChosen,
    SetupPlaced,
    SlotsChosen,
)
from promontory.games.pacific.holdings import Holdings
from promontory.games.pacific.legal import LegalCommands, legal_commands
from promontory.games.pacific.phases import is_ready
from promontory.games.pacific.state import Execution, Given, PastTurn, Player, Result, Setup, State
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
    dummies; before turn 1 and after the last it is empty. `hand_card_ids` (in the order dealt and drawn; a card put out
    stays in it until it is revealed), `put_out_card_id`, `setup` and `chosen_slots` are the seat's own, empty or None
    for a spectator and before the seat has answered. `unseen_card_ids`, in the order of the deck's list, are the cards
    neither in the own hand nor ever face up: draw deck, reserved cards and other hands together.
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


def view_of(deck: Deck, state: State, seat: Seat | None) -> GameView:
    """Return what `seat`, or a spectator (None), may know of `state`.

    Raises `ValueError` for a seat that does not exist.
    """
    public = GameView(
        seat=None,
        turn=state.turn,
        phase=state.phase,
        players=tuple(_player_view(player) for player in state.players),
        table=state.table,
        history=state.history,
        deck_size=len(state.deck),
        resigned=state.resigned,
        result=state.result,
    )
    return public if seat is None else _seat_view(deck, state, seat, public=public)


def redacted(event: Event, seat: Seat | None) -> Event:
    """Return `event` as `seat`, or a spectator (None), may see it while the match is open [Pacific 7]."""
    match event:
        case DeckShuffled(size):
            return DeckShuffled(size)
        case HandDealt(holder, count) if holder != seat:
            return HandDealt(holder, count)
        case SetupChosen(chooser, _, _, again) if chooser != seat:
            return SetupChosen(None if again else chooser, again=again)
        case CardPutOut(owner, _, again) if owner != seat:
            return CardPutOut(None if again else owner, again=again)
        case SlotsChosen(chooser, _, again, False) if chooser != seat:
            return SlotsChosen(None if again else chooser, again=again)
        case ChoicesRevealed(choices, reservations):
            return ChoicesRevealed(choices, tuple(replace(one, drawn_card_ids=()) for one in reservations))
        case CardDrawn(drawer) if drawer != seat:
            return CardDrawn(drawer)
        case _:
            return event


def is_foreseeable(event: Event) -> bool:
    """Tell whether a seat could know `event` before it happens: neither hidden cards nor others' secret answers."""
    return not isinstance(
        event,
        DeckShuffled | HandDealt | SetupPlaced | CardsRevealed | DummiesDealt | ChoicesRevealed | CardDrawn,
    )


def _player_view(player: Player) -> PlayerView:
    holdings = player.holdings
    return PlayerView(
        money=holdings.money,
        hand_size=len(holdings.hand),
        mat=holdings.mat,
        hqs=holdings.hqs,
        hqs_placed=holdings.hqs_placed,
        paths=holdings.paths,
        active=player.active,
        pending=holdings.pending,
        explicit_runs=player.explicit_runs,
        decisions=player.decisions,
        ready=is_ready(player),
        execution=None if player.execution is None else _execution_view(player.execution),
    )


def _execution_view(execution: Execution) -> ExecutionView:
    counts = {one.card_id: one.count for one in execution.reservations}
    return ExecutionView(
        slots=execution.slots,
        card_ids=execution.card_ids,
        sole_picks=execution.sole_picks,
        reserved=tuple(counts.get(card_id, 0) for card_id in execution.card_ids),
        start=_start_view(execution.start),
        explicit_runs=execution.explicit_runs,
        given=execution.given,
        decision=execution.decision,
        done=execution.done,
    )


def _start_view(start: Holdings) -> StartView:
    return StartView(start.money, start.mat, start.hqs, start.hqs_placed, start.paths)


def _seat_view(deck: Deck, state: State, seat: Seat, *, public: GameView) -> GameView:
    legal = legal_commands(state, seat)
    player = state.players[seat]
    seen = {*player.holdings.hand, *state.table}.union(*(past.card_ids for past in state.history))
    return replace(
        public,
        seat=seat,
        hand_card_ids=player.holdings.hand,
        put_out_card_id=player.put_out_card_id,
        setup=player.setup,
        chosen_slots=player.slots,
        unseen_card_ids=tuple(filterfalse(seen.__contains__, deck.by_id)),
        legal=legal,
    )
