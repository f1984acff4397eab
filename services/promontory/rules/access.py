"""Who may do what in a match: the seat's player, for a house bot's seat a service that plays for the house."""

from __future__ import annotations

from promontory.games.kernel import Seat
from promontory.rules.domain import Match, SeatSetup
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import Caller, Scope


def seat_of(match: Match, seat: Seat) -> SeatSetup:
    """Return who sits at `seat`, or raise the refusal `SEAT_OUT_OF_RANGE`."""
    seats = match.setup.seats
    if not 0 <= seat < len(seats):
        text = f"the match has the seats 0 to {len(seats) - 1}, not {seat}"
        raise Refusal(Kind.MALFORMED, "SEAT_OUT_OF_RANGE", text, metadata={"seat": seat, "seats": len(seats)})
    return seats[seat]


def require_seat(match: Match, seat: Seat, caller: Caller) -> None:
    """Raise the refusal that keeps `caller` from seeing and acting as `seat`, if there is one.

    It is `SEAT_OUT_OF_RANGE`, `SEAT_NOT_YOURS` or `SCOPE_MISSING`.
    """
    setup = seat_of(match, seat)
    is_holder = caller.service if setup.is_house_bot else not caller.service and caller.subject == setup.player_id
    if not is_holder:
        text = f"seat {seat} belongs to another player"
        raise Refusal(Kind.NOT_ALLOWED, "SEAT_NOT_YOURS", text, metadata={"seat": seat})
    caller.require(Scope.PLAY_FOR_THE_HOUSE if setup.is_house_bot else Scope.PLAY)


def require_audience(match: Match, seat: Seat | None, caller: Caller) -> None:
    """Raise the refusal that keeps `caller` from looking as `seat`; everybody may look as a spectator (None)."""
    if seat is not None:
        require_seat(match, seat, caller)


def require_house_bot(match: Match, seat: Seat) -> None:
    """Raise the refusal `NOT_A_HOUSE_BOT` unless the house plays `seat`, or `SEAT_OUT_OF_RANGE`."""
    if not seat_of(match, seat).is_house_bot:
        text = f"seat {seat} is not played by the house"
        raise Refusal(Kind.FORBIDDEN_NOW, "NOT_A_HOUSE_BOT", text, metadata={"seat": seat})
