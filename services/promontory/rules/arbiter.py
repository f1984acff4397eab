"""What an arbiter decides: commands as players give them, time that runs out, departures, offers of an ending. Pure."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from msgspec.structs import replace

from promontory.codec.conduct import (
    Ending,
    EndingDeclined,
    EndingOffered,
    LeaveCause,
    MatchAborted,
    MatchCancelled,
    MatchEvent,
    SeatLeft,
    TurnTimedOut,
)
from promontory.codec.terms import TimeControl
from promontory.games.kernel import Rejected, Seat
from promontory.rules import clocks
from promontory.rules.conduct import Abort, Act, Cancel, Claim, Conduct, Decline, Enforce, Offer, evolve
from promontory.rules.domain import Decision, Happening, Match, Moment, happenings, judge

RULE = "conduct"
"""What refusals that are not the game's cite."""

MIN_STAYERS = 2
"""How many must stay for a leaver's seat to be taken over; one alone has won."""

MAX_PASSES = 100
"""How many commands the rules' own pass of one turn may take at most; no game comes near it."""


def submitted(moment: Moment, seat: Seat, commands: Sequence[Any]) -> Decision:
    """Return what `commands` of `seat`, at least one, cause; to resign, as the last of them, is to leave the match.

    Raises `Rejected` if the rules forbid one of them.
    """
    require_open(moment.match)
    game, state, draws = moment.game, moment.match.state, moment.draws
    happened, resign = judge(game, state, commands, draws), game.resign(seat)
    if commands[-1] != resign:
        return Decision(happened)
    _require_there(moment.match, seat)
    course = _Course(moment, judge(game, state, commands[:-1], draws))
    course.leave(seat, LeaveCause.RESIGNED)
    return course.decision()


def acted(moment: Moment, seat: Seat | None, act: Act) -> Decision:
    """Return what `act` of `seat` (None: of the platform) causes, or raise `Rejected`."""
    require_open(moment.match)
    if seat is not None:
        _require_there(moment.match, seat)
    course = _Course(moment)
    match act, seat:
        case Enforce(), None:
            course.enforce()
        case Cancel(note), None:
            course.cancel(note)
        case Abort(), int():
            course.abort(seat)
        case Claim(gone), int():
            course.claim(seat, gone)
        case Offer(ending), int():
            course.offer(seat, ending)
        case Decline(), int():
            course.decline(seat)
        case _:
            raise ValueError(f"seat {seat} cannot {type(act).__name__.lower()}")
    return course.decision(act)


def require_open(match: Match) -> None:
    """Raise `MATCH_OVER` if the match takes no more commands."""
    if match.result is not None:
        raise Rejected("MATCH_OVER", rule=RULE, closeReason=match.result.reason.value)


def _require_there(match: Match, seat: Seat) -> None:
    """Raise `SEAT_LEFT` if `seat` has been left already, and the house plays on."""
    leaver = match.conduct.leaver(seat)
    if leaver is not None:
        raise Rejected("SEAT_LEFT", rule=RULE, seat=seat, cause=leaver.cause.value)


def due(match: Match, now_ms: int) -> tuple[Seat, ...]:
    """Return the seats whose time is up at `now_ms`, ascending."""
    control = match.setup.time_control
    if control is None:
        return ()
    return tuple(seat for seat, clock in enumerate(match.conduct.clocks) if clocks.is_up(control, clock, now_ms))


def claimable_ms(match: Match, seat: Seat, last_seen_ms: int) -> int | None:
    """Return from when on `seat`, whose player was last seen at `last_seen_ms`, can be claimed; None: not at all."""
    since_ms = match.conduct.clocks[seat].since_ms
    if not match.setup.abandon_after_ms or since_ms is None:
        return None
    return max(since_ms, last_seen_ms) + match.setup.abandon_after_ms


class _Course:
    """What happens in a match one after the other, as far as a decision has come."""

    def __init__(self, moment: Moment, happened: Sequence[Happening] = ()) -> None:
        self._game, self._match, self._draws, self._now_ms = moment.game, moment.match, moment.draws, moment.now_ms
        self._conduct: Conduct = moment.match.conduct
        self._state: Any = happened[-1].state if happened else moment.match.state
        self._events: list[MatchEvent] = []
        self._happened = list(happened)

    def decision(self, act: Act | None = None) -> Decision:
        """Return all that happened, because of `act` if it was one."""
        return Decision(tuple(self._happened), tuple(self._events), act=act)

    def _note(self, event: MatchEvent) -> None:
        control, version = self._match.setup.time_control, self._match.version + 1
        self._conduct = evolve(self._conduct, event, control, version=version)
        self._events.append(event)

    def _play(self, command: Any) -> None:
        caused = happenings(self._game, self._state, self._game.decide(self._state, command, self._draws))
        self._happened += caused
        self._state = caused[-1].state

    @property
    def _is_over(self) -> bool:
        return self._game.outcome(self._state) is not None

    def leave(self, seat: Seat, cause: LeaveCause) -> None:
        """Have the player of `seat` leave: a house bot takes over if others go on, or the game ends by its rules."""
        policy = self._match.setup.stand_in_policy
        stayers = replace(self._match, conduct=self._conduct).stayers
        if policy and len(stayers) > MIN_STAYERS:
            self._note(SeatLeft(seat, cause, policy))
            return
        taken_over = [leaver.seat for leaver in self._conduct.leavers if leaver.policy]
        for giving_up in (*taken_over, seat):
            if not self._is_over:  # without the one before, the game may have come to its end
                self._play(self._game.resign(giving_up))
        self._note(SeatLeft(seat, cause))

    def enforce(self) -> None:
        """Have what follows happen to every seat whose time is up."""
        control = self._match.setup.time_control
        for seat in due(self._match, self._now_ms):
            if control is not None and not self._is_over:
                self._time_out(control, seat)

    def _time_out(self, control: TimeControl, seat: Seat) -> None:
        number = self._conduct.clocks[seat].timeouts + 1
        if number > control.default_moves:
            self._note(TurnTimedOut(seat, number))
            self.leave(seat, LeaveCause.TIMED_OUT)
            return
        self._note(TurnTimedOut(seat, number, control.default_policy))
        if not control.default_policy:
            self._pass_turn(seat)

    def _pass_turn(self, seat: Seat) -> None:
        period = self._game.period(self._state)
        for _ in range(MAX_PASSES):
            if seat not in self._game.to_act(self._state) or self._game.period(self._state) != period:
                return
            self._play(self._game.automatic(self._state, seat))
        raise RuntimeError(f"{self._game.name}: seat {seat} cannot pass its turn")

    def abort(self, seat: Seat) -> None:
        """Call the match off, in which no player has moved, and nobody's time has run out instead."""
        if self._conduct.movers or any(clock.timeouts for clock in self._conduct.clocks):
            raise Rejected("ABORT_TOO_LATE", rule=RULE)
        self._note(MatchAborted(seat))

    def cancel(self, note: str) -> None:
        """Have the platform end the match without a result."""
        self._note(MatchCancelled(note))

    def claim(self, seat: Seat, gone: Collection[Seat]) -> None:
        """Have the players of the seats `gone`, ascending, which are to act, leave, because `seat` claims it."""
        if not gone or [*gone] != [other for other in range(len(self._match.setup.seats)) if other in gone]:
            raise Rejected("NOTHING_TO_CLAIM", rule=RULE)
        for other in gone:
            claimable = claimable_ms(self._match, other, 0)
            if other == seat or claimable is None or self._now_ms < claimable:
                raise Rejected("NOTHING_TO_CLAIM", rule=RULE)
        for other in gone:
            if not self._is_over:
                self.leave(other, LeaveCause.ABANDONED)

    def offer(self, seat: Seat, ending: Ending) -> None:
        """Have `seat` agree to `ending`."""
        if self._match.setup.rated and any(each.is_house_bot for each in self._match.setup.seats):
            raise Rejected("ENDING_IMPOSSIBLE", rule=RULE, cause="house_bots")
        if any(offer.ending is ending and seat in offer.seats for offer in self._conduct.offers):
            raise Rejected("ENDING_IMPOSSIBLE", rule=RULE, cause="already_offered")
        self._note(EndingOffered(seat, ending))

    def decline(self, seat: Seat) -> None:
        """Have `seat` decline what others offered."""
        if all(seat in offer.seats for offer in self._conduct.offers):
            raise Rejected("NO_OFFER", rule=RULE)
        self._note(EndingDeclined(seat))
