"""How a match ended, the same in every game: as a struct, and as a message."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from promontory.api.match.v1 import match_pb2
from promontory.codec.port import Undecodable


class CloseReason(StrEnum):
    """Why a match was closed.

    The rules of the game ended it; or all seats but one left, the last of them like that; or a player called it off
    before any had moved; or the players agreed on a draw, or to cancel it, or the platform cancelled it.
    """

    PLAYED_OUT = "played_out"
    RESIGNED = "resigned"
    TIMED_OUT = "timed_out"
    ABANDONED = "abandoned"
    ABORTED = "aborted"
    DRAWN = "drawn"
    CANCELLED = "cancelled"


class Result(msgspec.Struct, frozen=True):
    """How a match was closed; places from 1 and scores in the order of seats, none if it has no result."""

    reason: CloseReason
    places: tuple[int, ...] = ()
    scores: tuple[int, ...] = ()


_NUMBERS = {reason: match_pb2.CloseReason.Value(f"CLOSE_REASON_{reason.name}") for reason in CloseReason}
_REASONS = {number: reason for reason, number in _NUMBERS.items()}


def outcome_message(result: Result) -> match_pb2.Outcome:
    """Return `result` as everybody may see it."""
    placements = [
        match_pb2.Placement(seat=seat, place=place, score=score)
        for seat, (place, score) in enumerate(zip(result.places, result.scores, strict=True))
    ]
    return match_pb2.Outcome(reason=_NUMBERS[result.reason], placements=placements)


def result_of(outcome: match_pb2.Outcome) -> Result:
    """Return what a message says, whose placements are in the order of seats. Raises `Undecodable`."""
    if outcome.reason not in _REASONS:
        raise Undecodable("outcome.reason", f"has the unknown value {outcome.reason}")
    return Result(
        _REASONS[outcome.reason],
        tuple(placement.place for placement in outcome.placements),
        tuple(placement.score for placement in outcome.placements),
    )
