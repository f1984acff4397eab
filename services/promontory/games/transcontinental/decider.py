"""The decider of Transcontinental: what each command causes, and what forbids it [Transcontinental 3 to 9]."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence

from promontory.games.kernel import Draws, Malformed, Outcome, Pile, Rejected, Seat
from promontory.games.transcontinental.cards import RULES_VERSION, Deck
from promontory.games.transcontinental.commands import (
    Command,
    DiscardCards,
    DrawCard,
    EndWork,
    PlayMeld,
    Resign,
    TrimHand,
)
from promontory.games.transcontinental.events import (
    CardDrawn,
    CardsDiscarded,
    DeckShuffled,
    Event,
    GameOver,
    HandRefilled,
    HandsDealt,
    MeldPlayed,
    SidesAssigned,
    TurnEnded,
    TurnStarted,
    WorkEnded,
)
from promontory.games.transcontinental.legal import MOST_DISCARDS, LegalCommands, legal_commands
from promontory.games.transcontinental.melds import points, recognise
from promontory.games.transcontinental.state import HAND_LIMIT, SideState, State, evolve
from promontory.games.transcontinental.view import GameView, is_foreseeable, redacted, view_of
from promontory.games.transcontinental.vocabulary import EndReason, Phase, Side, Source

WINNING_TOTAL = 100
IDLE_LIMIT = 100
SEATS = 2
_QUOTED_CHARACTERS = 64

_PHASES: dict[type[Command], Phase] = {
    DrawCard: Phase.PLANNING,
    PlayMeld: Phase.WORK,
    EndWork: Phase.WORK,
    DiscardCards: Phase.SURVEYORS,
    TrimHand: Phase.LOGISTICS,
}


class Transcontinental:
    """The rules `transcontinental/1`, played with one deck; implements `promontory.games.kernel.Game`."""

    name = "transcontinental"
    variants = ("standard",)
    rules_version = RULES_VERSION
    seats = range(SEATS, SEATS + 1)

    def __init__(self, deck: Deck) -> None:
        self.deck = deck
        self.data_hash = deck.data_hash

    def initial(self, seats: int) -> State:
        """Return the state before anything happened.

        Raises `ValueError` unless there are 2 seats.
        """
        if seats not in self.seats:
            raise ValueError(f"Transcontinental is a game for {SEATS} seats, not {seats}")
        return State()

    def begin(self, state: State, rng: Draws, *, draw_start: bool, variant: str = "") -> tuple[Event, ...]:
        """Return sides, shuffle, deal and first turn. CP is seat 0, or drawn if `draw_start` [T-4]; CP begins."""
        cp_seat = rng.integer(SEATS, "start", 0, 0) if draw_start else 0
        order = rng.shuffle(self.deck.ids, "shuffle", 1)
        dealt = order[: 2 * HAND_LIMIT]
        return (
            SidesAssigned(cp_seat),
            DeckShuffled(1, len(order), order),
            HandsDealt(dealt[0::2], dealt[1::2]),
            TurnStarted(1, Side.CP),
        )

    def decide(self, state: State, command: Command, rng: Draws) -> tuple[Event, ...]:
        """Return the events `command` causes up to the next decision.

        Raises `Rejected` with the first failing check in the order of [Transcontinental 9.2].
        """
        if state.phase is Phase.OVER:
            raise Rejected("MATCH_OVER", rule="Transcontinental 7")
        self._check_names(command)
        if isinstance(command, Resign):
            return (_game_over(state, EndReason.RESIGNATION, state.side_of(command.seat).other),)
        _check_turn(state, command)
        match command:
            case DrawCard(_, source):
                return self._draw(state, source, rng)
            case PlayMeld(_, card_ids):
                return self._play_meld(state, card_ids)
            case EndWork():
                return self._end_work(state, rng)
            case DiscardCards(_, card_ids):
                return _discard(state, card_ids)
            case TrimHand(_, card_ids):
                return _trim(state, card_ids)

    def evolve(self, state: State, event: Event) -> State:
        """Return `state` after `event`."""
        return evolve(state, event)

    def to_act(self, state: State) -> tuple[Seat, ...]:
        """Return the active side's seat; empty once the game is over. Resigning is open to both seats."""
        return () if state.phase is Phase.OVER else (state.seat_of(state.active),)

    def legal(self, state: State, seat: Seat) -> LegalCommands:
        """Return what `seat` may do now."""
        return legal_commands(self.deck, state, seat)

    def view(self, state: State, seat: Seat | None) -> GameView:
        """Return what `seat`, or a spectator (None), may know of `state`."""
        return view_of(self.deck, state, seat)

    def hidden(self, state: State) -> tuple[Pile, ...]:
        """Return the draw pile."""
        return (Pile("draw_pile", state.deck),)

    def redact(self, state: State, event: Event, seat: Seat | None) -> Event:
        """Return `event` as `seat`, or a spectator (None), may see it; `state` is the one after it."""
        return redacted(event, None if seat is None else state.side_of(seat))

    def foreseeable(self, state: State, event: Event) -> bool:
        """Tell whether a seat could know `event` before it happens."""
        return is_foreseeable(event)

    def repeatable(self, event: Event) -> bool:
        """Tell that no event can be caused without end: every command brings the game on."""
        return False

    def seat_of(self, command: Command) -> Seat:
        """Return the seat that gives `command`."""
        return command.seat

    def resign(self, seat: Seat) -> Command:
        """Return the command by which `seat` gives up."""
        return Resign(seat)

    def automatic(self, state: State, seat: Seat) -> Command:
        """Return the command played for `seat`, which is to act but absent; it never melds [Transcontinental 9.5]."""
        match state.phase:
            case Phase.PLANNING:
                return DrawCard(seat, Source.DECK)
            case Phase.WORK:
                return EndWork(seat)
            case Phase.LOGISTICS:
                return TrimHand(seat, self.deck.in_order(state.of(state.side_of(seat)).hand)[HAND_LIMIT:])
            case _:
                return DiscardCards(seat, ())

    def period(self, state: State) -> Hashable:
        """Return the number of the turn."""
        return state.turn

    def scores(self, state: State) -> tuple[int, ...]:
        """Return the points of each seat's side [Transcontinental 7.1]."""
        return tuple(state.of(state.side_of(seat)).total for seat in range(SEATS))

    def outcome(self, state: State) -> Outcome | None:
        """Return places and totals by seat once the game is over; a draw is a shared first place."""
        if state.result is None:
            return None
        reason, winner = state.result.reason, state.result.winner
        sides = [state.side_of(seat) for seat in range(SEATS)]
        return Outcome(
            reason=reason.value,
            resigned=reason is EndReason.RESIGNATION,
            places=tuple(1 if winner in (None, side) else 2 for side in sides),
            scores=self.scores(state),
        )

    def _check_names(self, command: Command) -> None:
        if command.seat not in range(SEATS):
            raise Malformed("SEAT_OUT_OF_RANGE", rule="Transcontinental 2", seat=command.seat)
        match command:
            case DrawCard(_, source) if not isinstance(source, Source):
                raise Malformed("BAD_REQUEST", rule="Transcontinental 9.2", field="source")
            case PlayMeld(_, card_ids) | DiscardCards(_, card_ids) | TrimHand(_, card_ids):
                unknown = next((card_id for card_id in card_ids if card_id not in self.deck.by_id), None)
                if unknown is not None:
                    raise Malformed("UNKNOWN_CARD", rule="Transcontinental 9.2", cardId=unknown[:_QUOTED_CHARACTERS])

    def _draw(self, state: State, source: Source, rng: Draws) -> tuple[Event, ...]:
        side = state.active
        if source is Source.DECK:
            if state.deck:
                return (CardDrawn(side, source, state.deck[0]),)
            shuffled = self._reshuffle(state, rng)
            return (shuffled, CardDrawn(side, source, "".join(shuffled.card_ids[:1])))
        if not state.discard:
            raise Rejected("DISCARD_EMPTY", rule="Transcontinental 3.2")
        if state.of(side).drew_discard:
            raise Rejected("DISCARD_TWICE", rule="T-9")
        return (CardDrawn(side, source, state.discard[-1]),)

    def _play_meld(self, state: State, card_ids: tuple[str, ...]) -> tuple[Event, ...]:
        side = state.active
        holding = state.of(side)
        _check_held(holding, card_ids)
        cards = [self.deck.by_id[card_id] for card_id in card_ids]
        for card in cards:
            if card.rank is None:
                raise Rejected("DIFFICULTY_IN_MELD", rule="Transcontinental 5.2", cardId=card.id)
        for card in cards:
            if card.is_dead_for(side):
                raise Rejected("RESTRICTED_CARD", rule="T-20", cardId=card.id)
        kinds = recognise(cards)
        if not kinds:
            raise Rejected("NOT_A_MELD", rule="Transcontinental 4.1", size=len(cards))
        scored = points(kinds, len(cards), self.deck.meld_points)
        played = MeldPlayed(side, card_ids, kinds, points=scored, total=holding.total + scored)
        if played.total < WINNING_TOTAL:
            return (played,)
        return (played, _game_over(evolve(state, played), EndReason.VICTORY, side))

    def _end_work(self, state: State, rng: Draws) -> tuple[Event, ...]:
        side = state.active
        ended = WorkEnded(side, state.melds)
        missing = HAND_LIMIT - len(state.of(side).hand)
        if not state.melds or missing <= 0:
            return (ended,)
        return (ended, *self._refill(state, missing, rng))

    def _refill(self, state: State, missing: int, rng: Draws) -> Sequence[Event]:
        side = state.active
        drawn = state.deck[:missing]
        events: list[Event] = [HandRefilled(side, len(drawn), drawn)] if drawn else []
        if len(drawn) < missing:
            shuffled = self._reshuffle(state, rng)
            drawn = shuffled.card_ids[: missing - len(drawn)]
            events += (shuffled, HandRefilled(side, len(drawn), drawn))
        return events

    def _reshuffle(self, state: State, rng: Draws) -> DeckShuffled:
        assert state.discard, "[T-24] both piles are empty"  # noqa: S101 - the sheet asks for an assertion
        number = state.shuffles + 1
        order = rng.shuffle(self.deck.in_order(state.discard), "shuffle", number)
        return DeckShuffled(number, len(order), order)


def _check_turn(state: State, command: Command) -> None:
    to_act = state.seat_of(state.active)
    if command.seat != to_act:
        raise Rejected("NOT_YOUR_TURN", rule="Transcontinental 3.1", toAct=to_act)
    if state.phase is not _PHASES[type(command)]:
        raise Rejected("WRONG_PHASE", rule="Transcontinental 3.1", phase=state.phase.value)


def _check_held(holding: SideState, card_ids: Collection[str]) -> None:
    named: set[str] = set()
    for card_id in card_ids:
        if card_id in named:
            raise Rejected("DUPLICATE_CARD", rule="Transcontinental 9.2", cardId=card_id)
        named.add(card_id)
    for card_id in card_ids:
        if card_id not in holding.hand:
            raise Rejected("CARD_NOT_IN_HAND", rule="Transcontinental 9.2", cardId=card_id)


def _discard(state: State, card_ids: tuple[str, ...]) -> tuple[Event, ...]:
    holding = state.of(state.active)
    _check_held(holding, card_ids)
    if len(card_ids) > MOST_DISCARDS:
        raise Rejected("TOO_MANY_DISCARDS", rule="Transcontinental 3.5", count=len(card_ids))
    discarded = CardsDiscarded(state.active, Phase.SURVEYORS, card_ids)
    if len(holding.hand) - len(card_ids) > HAND_LIMIT:
        return (discarded,)
    return (discarded, *_end_turn(state))


def _trim(state: State, card_ids: tuple[str, ...]) -> tuple[Event, ...]:
    holding = state.of(state.active)
    _check_held(holding, card_ids)
    required = len(holding.hand) - HAND_LIMIT
    if len(card_ids) != required:
        raise Rejected("WRONG_DISCARD_COUNT", rule="Transcontinental 3.6", count=len(card_ids), required=required)
    return (CardsDiscarded(state.active, Phase.LOGISTICS, card_ids), *_end_turn(state))


def _end_turn(state: State) -> tuple[Event, ...]:
    side = state.active
    idle = 0 if state.melds else state.idle + 1
    ended = TurnEnded(state.turn, side, idle)
    if idle < IDLE_LIMIT:
        return (ended, TurnStarted(state.turn + 1, side.other))
    return (ended, _game_over(state, EndReason.NO_PROGRESS, _leader(state)))


def _leader(state: State) -> Side | None:
    if state.cp.total == state.up.total:
        return None
    return Side.CP if state.cp.total > state.up.total else Side.UP


def _game_over(state: State, reason: EndReason, winner: Side | None) -> GameOver:
    return GameOver(reason, winner, cp_total=state.cp.total, up_total=state.up.total)
