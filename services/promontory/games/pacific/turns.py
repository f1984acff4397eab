"""How a game goes from one decision to the next: phases, reveals, executions, turns [Pacific 2]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from promontory.games.kernel import Seat
from promontory.games.pacific.answers import default_answer
from promontory.games.pacific.cards import Deck
from promontory.games.pacific.commands import AnswerDecision, Choose, PutOut, SetupPlace
from promontory.games.pacific.decisions import Answer
from promontory.games.pacific.events import (
    CardPutOut,
    CardsRevealed,
    Choice,
    ChoicesRevealed,
    DecisionAnswered,
    DecisionOpened,
    DummiesDealt,
    Event,
    ExecutionDone,
    GameOver,
    PhaseStarted,
    Reservation,
    SeatCard,
    SeatEffect,
    SetupChosen,
    SetupPlaced,
    SlotsChosen,
    TurnEnded,
)
from promontory.games.pacific.execution import proceed
from promontory.games.pacific.phases import asked, is_ready, slot_choice, waited_for
from promontory.games.pacific.state import DUMMIES, TURNS, Execution, Given, State, evolve, with_player
from promontory.games.pacific.vocabulary import AREAS, EffectKind, EndReason, Phase


class Course:
    """A game going on from `state`, with all that happens on the way in `events`."""

    def __init__(self, deck: Deck, state: State) -> None:
        self._deck = deck
        self.state = state
        self.events: list[Event] = []

    def happen(self, *events: Event) -> None:
        """Let events happen."""
        self.events += events
        state = self.state
        for event in events:
            state = evolve(state, event)
        self.state = state

    def take(self, command: SetupPlace | PutOut | Choose | AnswerDecision) -> None:
        """Let the answer of a seat happen, which must be allowed, without what follows from it."""
        seat = command.seat
        again = is_ready(self.state.players[seat])
        match command:
            case PutOut():
                self.happen(CardPutOut(seat, command.card_id, again))
            case Choose():
                self.happen(SlotsChosen(seat, tuple(sorted(command.slots)), again))
            case AnswerDecision():
                self._answer(seat, command.answer)
            case SetupPlace():
                self.happen(SetupChosen(seat, command.hotel, command.factory, again))

    def settle(self) -> None:
        """Go on until somebody who has not resigned is to decide, or the game is over."""
        while self.state.result is None:
            waiting, resigned = waited_for(self.state), self.state.resigned
            absent = [seat for seat in waiting if seat in resigned] if resigned else ()
            if absent:
                self.take(default_command(self.state, absent[0]))
            elif waiting:
                return
            else:
                self._next_phase()

    def start_turn(self, turn: int) -> None:
        """Begin a turn with the first put-out phase that asks anybody [P-10]."""
        late = [player.has(EffectKind.LATE_PUT_OUT) for player in self.state.players]
        self.happen(PhaseStarted(turn, Phase.PUT_OUT_LATE if all(late) else Phase.PUT_OUT_FIRST))

    def _next_phase(self) -> None:
        match self.state.phase:
            case Phase.SETUP_PLACE:
                self.happen(*self._set_up())
                self.start_turn(1)
            case Phase.PUT_OUT_FIRST | Phase.PUT_OUT_LATE:
                self._reveal_cards()
            case Phase.CHOOSE:
                self._reveal_choices()
            case _:
                self._end_turn()

    def _set_up(self) -> Iterator[Event]:
        for seat, player in enumerate(self.state.players):
            if player.setup is not None:
                yield SetupPlaced(seat, player.setup.hotel, player.setup.factory)

    def _reveal_cards(self) -> None:
        state = self.state
        cards = tuple(SeatCard(seat, state.players[seat].put_out_card_id) for seat in asked(state))
        self.happen(CardsRevealed(state.phase, cards))
        late = any(player.has(EffectKind.LATE_PUT_OUT) for player in state.players)
        if late and state.phase is Phase.PUT_OUT_FIRST:
            self.happen(PhaseStarted(state.turn, Phase.PUT_OUT_LATE))
            return
        if state.slots > len(state.players):
            self.happen(DummiesDealt(self.state.deck[:DUMMIES]))
        self.happen(PhaseStarted(state.turn, Phase.CHOOSE))
        for seat in asked(self.state):
            forced = slot_choice(self.state, seat).forced
            if forced is not None:
                self.happen(SlotsChosen(seat, forced, forced=True))

    def _reveal_choices(self) -> None:
        choices = tuple(_choices(self.state))
        self.happen(ChoicesRevealed(choices, tuple(self._reservations(choices))))
        self.happen(PhaseStarted(self.state.turn, Phase.EXECUTE))
        for seat, player in enumerate(self.state.players):
            if player.execution is not None:
                self._proceed(seat, player.execution)

    def _reservations(self, choices: Sequence[Choice]) -> Iterator[Reservation]:
        """Yield the cards to be drawn, taken off the deck by seat, then by slot [P-3]."""
        deck = self.state.deck
        for choice in choices:
            for slot in choice.slots:
                card = self._deck.by_id[self.state.table[slot]]
                if card.draws and deck:
                    drawn, deck = deck[: card.draws], deck[card.draws :]
                    yield Reservation(choice.seat, card.id, len(drawn), drawn)

    def _answer(self, seat: Seat, answer: Answer) -> None:
        player = self.state.players[seat]
        execution = player.execution
        if execution is None or execution.decision is None:
            return
        given = (*execution.given, Given(answer, player.explicit_runs))
        self._proceed(
            seat, replace(execution, given=given), DecisionAnswered(seat, execution.decision.decision_id, answer)
        )

    def _proceed(self, seat: Seat, execution: Execution, *before: Event) -> None:
        events, decision, holdings = proceed(self._deck, seat, self.state.players[seat], execution)
        self.happen(*before)
        self.events.extend(events)  # they change holdings only, to what is known already
        self.state = with_player(self.state, seat, replace(self.state.players[seat], holdings=holdings))
        self.happen(ExecutionDone(seat) if decision is None else DecisionOpened(seat, decision))

    def _end_turn(self) -> None:
        state = self.state
        if state.turn == TURNS:
            self.happen(TurnEnded(state.turn), game_over(state, EndReason.TENTH_TURN))
            return
        effects = [
            SeatEffect(seat, effect) for seat, player in enumerate(state.players) for effect in player.holdings.pending
        ]
        self.happen(TurnEnded(state.turn, tuple(effects)))
        self.start_turn(state.turn + 1)


def default_command(state: State, seat: Seat) -> SetupPlace | PutOut | Choose | AnswerDecision:
    """Return what is answered for `seat`, which is waited for but absent [P-52].

    The set-up has no default in the sheet: hotel and factory go to the first two areas in ring order.
    """
    player = state.players[seat]
    match state.phase:
        case Phase.SETUP_PLACE:
            return SetupPlace(seat, AREAS[0], AREAS[1])
        case Phase.PUT_OUT_FIRST | Phase.PUT_OUT_LATE:
            return PutOut(seat, player.holdings.hand[0])
        case Phase.CHOOSE:
            choice = slot_choice(state, seat)
            others = [slot for slot in choice.slots if slot != seat]
            return Choose(seat, (seat, *others[: choice.count - 1]))
        case _:
            assert player.execution is not None  # noqa: S101 - for the checker
            assert player.execution.decision is not None  # noqa: S101 - for the checker
            decision = player.execution.decision
            return AnswerDecision(seat, decision.decision_id, default_answer(decision.question))


def game_over(state: State, reason: EndReason) -> GameOver:
    """Return the end of the game as it stands: of those who have not resigned the richest win [P-12]."""
    money = tuple(player.holdings.money for player in state.players)
    playing = [seat for seat in range(len(money)) if seat not in state.resigned]
    most = max(money[seat] for seat in playing)
    return GameOver(reason, money, tuple(seat for seat in playing if money[seat] == most))


def _choices(state: State) -> Iterator[Choice]:
    chosen = [slot for player in state.players for slot in player.slots]
    for seat, player in enumerate(state.players):
        yield Choice(seat, player.slots, tuple([chosen.count(slot) == 1 for slot in player.slots]))
