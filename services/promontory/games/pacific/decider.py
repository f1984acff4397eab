"""The decider of Pacific: what each command causes, and what forbids it [Pacific 2]."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from promontory.games.kernel import Draws, Malformed, Outcome, Pile, Rejected, Seat
from promontory.games.pacific.cards import RULES_VERSION, Deck
from promontory.games.pacific.commands import (
    AnswerDecision,
    Choose,
    Command,
    PutOut,
    Resign,
    SetExplicitRuns,
    SetupPlace,
)
from promontory.games.pacific.events import (
    CardPutOut,
    DeckShuffled,
    Event,
    ExplicitRunsSet,
    HandDealt,
    PhaseStarted,
    SeatResigned,
    SetupChosen,
    SlotsChosen,
)
from promontory.games.pacific.legal import LegalCommands, legal_commands
from promontory.games.pacific.phases import is_asked, slot_choice, waited_for
from promontory.games.pacific.state import HAND_SIZE, Player, State, evolve
from promontory.games.pacific.turns import Course, default_command, game_over
from promontory.games.pacific.view import GameView, is_foreseeable, redacted, view_of
from promontory.games.pacific.vocabulary import EndReason, Phase

_QUOTED_CHARACTERS = 64

_PHASES: dict[type[Command], tuple[Phase, ...]] = {
    SetupPlace: (Phase.SETUP_PLACE,),
    PutOut: (Phase.PUT_OUT_FIRST, Phase.PUT_OUT_LATE),
    Choose: (Phase.CHOOSE,),
    AnswerDecision: (Phase.EXECUTE,),
}


class Pacific:
    """The rules `pacific/1`, played with one deck; implements `promontory.games.kernel.Game`."""

    name = "pacific"
    variants = ("standard",)
    rules_version = RULES_VERSION

    def __init__(self, deck: Deck) -> None:
        self.deck = deck
        self.data_hash = deck.data_hash
        self.seats = deck.seats

    def initial(self, seats: int) -> State:
        """Return the state before anything happened.

        Raises `ValueError` unless the deck is large enough for so many seats [Pacific 1.4].
        """
        if seats not in self.seats:
            raise ValueError(f"this deck is for {self.seats.start} to {self.seats.stop - 1} seats, not {seats}")
        return State(players=(Player(),) * seats)

    def begin(self, state: State, rng: Draws, *, draw_start: bool, variant: str = "") -> tuple[Event, ...]:
        """Return shuffle, deal and first phase. Nobody starts [P-2], so `draw_start` changes nothing."""
        order = rng.shuffle(self.deck.ids, "shuffle", 1)
        seats = range(len(state.players))
        hands = [order[HAND_SIZE * seat : HAND_SIZE * (seat + 1)] for seat in seats]
        first = PhaseStarted(0, Phase.SETUP_PLACE) if len(seats) == 2 else PhaseStarted(1, Phase.PUT_OUT_FIRST)
        dealt = (HandDealt(seat, HAND_SIZE, hand) for seat, hand in enumerate(hands))
        return (DeckShuffled(len(order), order), *dealt, first)

    def decide(self, state: State, command: Command, rng: Draws) -> tuple[Event, ...]:
        """Return the events `command` causes up to the next decision of anybody.

        Raises `Rejected` if the rules forbid it; nothing in it depends on what is hidden from the seat.
        """
        self._check(state, command)
        course = Course(self.deck, state)
        match command:
            case PutOut() | Choose() | AnswerDecision() | SetupPlace():
                course.take(command)
            case SetExplicitRuns(seat, on):
                course.happen(ExplicitRunsSet(seat, on))
            case Resign(seat):
                course.happen(SeatResigned(seat))
                playing = len(state.players) - len(course.state.resigned)
                if playing == 1:
                    course.happen(game_over(course.state, EndReason.RESIGNATION))
        course.settle()
        return tuple(course.events)

    evolve = staticmethod(evolve)

    def to_act(self, state: State) -> tuple[Seat, ...]:
        """Return the seats whose answers are missing; those that have answered may still change their minds [P-4]."""
        return waited_for(state)

    def legal(self, state: State, seat: Seat) -> LegalCommands:
        """Return what `seat` may do now."""
        return legal_commands(state, seat)

    def view(self, state: State, seat: Seat | None) -> GameView:
        """Return what `seat`, or a spectator (None), may know of `state`."""
        return view_of(self.deck, state, seat)

    def hidden(self, state: State) -> tuple[Pile, ...]:
        """Return the draw deck, and the cards that are reserved and not drawn yet, in the order of seats [P-3]."""
        reserved = tuple(
            card_id
            for player in state.players
            if player.execution is not None
            for reservation in player.execution.reservations
            for card_id in reservation.drawn_card_ids
            if card_id not in player.holdings.hand
        )
        return Pile("draw_deck", state.deck), Pile("reserved_cards", reserved)

    def redact(self, state: State, event: Event, seat: Seat | None) -> Event:
        """Return `event` as `seat`, or a spectator (None), may see it; `state` is the one after it."""
        return redacted(event, seat)

    def foreseeable(self, state: State, event: Event) -> bool:
        """Tell whether a seat could know `event` before it happens."""
        return is_foreseeable(event)

    def repeatable(self, event: Event) -> bool:
        """Tell whether `event` is a changed answer [P-4] or a changed setting, which any number may follow."""
        match event:
            case ExplicitRunsSet() | SetupChosen(again=True) | CardPutOut(again=True) | SlotsChosen(again=True):
                return True
            case _:
                return False

    def seat_of(self, command: Command) -> Seat:
        """Return the seat that gives `command`."""
        return command.seat

    def resign(self, seat: Seat) -> Command:
        """Return the command by which `seat` gives up."""
        return Resign(seat)

    def automatic(self, state: State, seat: Seat) -> Command:
        """Return the default answer of `seat`, which is to act but absent [P-52]."""
        return default_command(state, seat)

    def period(self, state: State) -> Hashable:
        """Return the turn and its phase: what all choose at the same time is one period."""
        return state.turn, state.phase

    def scores(self, state: State) -> tuple[int, ...]:
        """Return each seat's money [Pacific 2.2]."""
        return tuple(player.holdings.money for player in state.players)

    def outcome(self, state: State) -> Outcome | None:
        """Return places and money by seat once the game is over.

        Equal money shares a place [P-12]. Seats that resigned come after all others, the first to resign last.
        """
        if state.result is None:
            return None
        money = self.scores(state)
        standings = [
            (0, money[seat]) if seat not in state.resigned else (state.resigned.index(seat) - len(money), 0)
            for seat in range(len(money))
        ]
        return Outcome(
            reason=state.result.reason.value,
            resigned=state.result.reason is EndReason.RESIGNATION,
            places=tuple(1 + sum(other > own for other in standings) for own in standings),
            scores=money,
        )

    def _check(self, state: State, command: Command) -> None:
        if state.result is not None:
            raise Rejected("MATCH_OVER", rule="Pacific 2.2")
        if not 0 <= command.seat < len(state.players):
            raise Malformed("SEAT_OUT_OF_RANGE", rule="Pacific 1.4", seat=command.seat)
        if command.seat in state.resigned:
            raise Rejected("SEAT_RESIGNED", rule="P-52")
        if isinstance(command, PutOut) and command.card_id not in self.deck.by_id:
            raise Malformed("UNKNOWN_CARD", rule="Pacific 2.2", cardId=command.card_id[:_QUOTED_CHARACTERS])
        phases = _PHASES.get(type(command))
        if phases is None:
            return
        if state.phase not in phases:
            raise Rejected("WRONG_PHASE", rule="Pacific 2.1", phase=state.phase.value)
        if not is_asked(state, command.seat):
            raise Rejected("NOT_YOUR_DECISION", rule="Pacific 2.1")
        _CHECKS[type(command)](state, command)


def _check_areas(_: State, command: SetupPlace) -> None:
    if command.hotel is command.factory:
        raise Rejected("SAME_AREA", rule="P-13", area=command.hotel.value)


def _check_card(state: State, command: PutOut) -> None:
    if command.card_id not in state.players[command.seat].holdings.hand:
        raise Rejected("NOT_IN_HAND", rule="Pacific 2.2", cardId=command.card_id)


def _check_decision(state: State, command: AnswerDecision) -> None:
    execution = state.players[command.seat].execution
    decision = None if execution is None else execution.decision
    if decision is None or decision.decision_id != command.decision_id:
        raise Rejected("NOT_YOUR_DECISION", rule="Pacific 3.7")


def _check_slots(state: State, command: Choose) -> None:
    slots, choice = command.slots, slot_choice(state, command.seat)
    for place, slot in enumerate(slots):
        if slot not in choice.slots or slot in slots[:place]:
            raise Rejected("BAD_SLOT", rule="Pacific 2.2", slot=slot)
    if len(slots) != choice.count:
        raise Rejected("WRONG_NUMBER", rule="Pacific 2.2", required=choice.count)
    if choice.required is not None and choice.required not in slots:
        raise Rejected("OWN_CARD_REQUIRED", rule="P-9", slot=choice.required)


_CHECKS: dict[type[Command], Callable[[State, Any], None]] = {
    SetupPlace: _check_areas,
    PutOut: _check_card,
    Choose: _check_slots,
    AnswerDecision: _check_decision,
}
