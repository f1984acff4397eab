"""Who may do what in a match: the seat's player, and for a seat that the house plays a service."""

from __future__ import annotations

from promontory.games.kernel import Seat
from promontory.rules.domain import Match, SeatSetup
from promontory.runtime.errors import Kind, Refusal, match_open
from promontory.runtime.identity import Caller, Scope


def seat_of(match: Match, seat: Seat) -> SeatSetup:
    """Return who sits at `seat`, or raise the refusal `SEAT_OUT_OF_RANGE`."""
    seats = match.setup.seats
    if not 0 <= seat < len(seats):
        text = f"the match has the seats 0 to {len(seats) - 1}, not {seat}"
        raise Refusal(Kind.MALFORMED, "SEAT_OUT_OF_RANGE", text, metadata={"seat": seat, "seats": len(seats)})
    return seats[seat]


def require_seat(match: Match, seat: Seat, caller: Caller) -> None:
    """Raise the refusal that keeps `caller` from looking from `seat`, if there is one.

    It is `SEAT_OUT_OF_RANGE`, `SEAT_NOT_YOURS` or `SCOPE_MISSING`.
    """
    setup = seat_of(match, seat)
    if caller.service:
        if not match.house_policy(seat):
            raise _not_yours(seat)
        caller.require(Scope.PLAY_FOR_THE_HOUSE)
        return
    _require_player(setup, seat, caller)


def require_player(match: Match, seat: Seat, caller: Caller) -> None:
    """Raise the refusal that keeps `caller` from acting for `seat` as its player, if there is one, as `require_seat`.

    It is also `SEAT_LEFT` if the player has left.
    """
    _require_player(seat_of(match, seat), seat, caller)
    leaver = match.conduct.leaver(seat)
    if leaver is not None and not match.is_closed:
        text = f"the player of seat {seat} has left the match"
        raise Refusal(Kind.FORBIDDEN_NOW, "SEAT_LEFT", text, metadata={"seat": seat, "cause": leaver.cause.value})


def as_player(match: Match, seat: Seat, caller: Caller) -> Caller:
    """Return the player of `seat` where a service lets a forgotten player out of the match, and else the caller."""
    setup = seat_of(match, seat)
    if Scope.FORGET_PLAYER not in caller.scopes or setup.is_house_bot:
        return caller
    return Caller(setup.player_id, frozenset({Scope.PLAY}))


def require_in_time(match: Match, seat: Seat, expected_version: int | None) -> None:
    """Raise the refusal `TIME_UP` if time ran out for the turn of `seat` that is meant by `expected_version`."""
    clock = match.conduct.clocks[seat]
    is_for_earlier = expected_version is not None and expected_version < clock.timeout_version
    is_gone = match.is_closed or seat not in match.to_act or bool(match.conduct.stand_in(seat))
    if not clock.timeout_version or not (is_for_earlier or is_gone):
        return
    result = "forfeit" if match.conduct.leaver(seat) else "default_move"
    if match.result is not None:
        result = match.result.reason.value
    text = f"the time of seat {seat} ran out at version {clock.timeout_version}: {result}"
    metadata: dict[str, str | int] = {"seat": seat, "timeoutVersion": clock.timeout_version, "result": result}
    raise Refusal(Kind.FORBIDDEN_NOW, "TIME_UP", text, metadata={**metadata, "currentVersion": match.version})


def _require_player(setup: SeatSetup, seat: Seat, caller: Caller) -> None:
    if setup.is_house_bot or caller.service or caller.subject != setup.player_id:
        raise _not_yours(seat)
    caller.require(Scope.PLAY)


def _not_yours(seat: Seat) -> Refusal:
    return Refusal(
        Kind.NOT_ALLOWED, "SEAT_NOT_YOURS", f"seat {seat} belongs to another player", metadata={"seat": seat}
    )


def require_audience(match: Match, seat: Seat | None, caller: Caller) -> None:
    """Raise the refusal that keeps `caller` from looking as `seat`.

    Everybody may look as a spectator (None), and from every seat once the match is closed.
    """
    if seat is None:
        return
    if match.is_closed:
        seat_of(match, seat)
    else:
        require_seat(match, seat, caller)


def require_closed(match: Match) -> None:
    """Raise the refusal `MATCH_OPEN` unless all about the match may be told."""
    if not match.is_closed:
        raise match_open(match.match_id)


def require_house_played(match: Match, seat: Seat) -> None:
    """Raise the refusal `NOT_A_HOUSE_BOT` unless the house plays `seat`, or `SEAT_OUT_OF_RANGE`."""
    seat_of(match, seat)
    if not match.house_policy(seat):
        text = f"seat {seat} is not played by the house"
        raise Refusal(Kind.FORBIDDEN_NOW, "NOT_A_HOUSE_BOT", text, metadata={"seat": seat})
