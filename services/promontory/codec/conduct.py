"""What happens to a match beside its game, the same in every game: as structs, as messages, and as stored."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import msgspec
from google.protobuf.message import Message

from promontory.api.match.v1 import events_pb2, match_pb2
from promontory.codec.mapping import StructMapping, kinds_of
from promontory.codec.stored import canonical, parse
from promontory.games.kernel import Seat


class LeaveCause(StrEnum):
    """How a seat's player left an open match."""

    RESIGNED = "resigned"
    TIMED_OUT = "timed_out"
    ABANDONED = "abandoned"


class Ending(StrEnum):
    """How players may agree to end a match: as a draw, or without a result."""

    DRAW = "draw"
    CANCEL = "cancel"


class EndingOffer(msgspec.Struct, frozen=True):
    """An offer that stands: how to end the match, and the seats that agree, ascending."""

    ending: Ending
    seats: tuple[Seat, ...]


class TurnTimedOut(msgspec.Struct, frozen=True):
    """A seat's time ran out, the `number`-th time; `stand_in_policy` plays until its turn is over.

    The policy is empty if the rules' own pass follows, or if the seat forfeits.
    """

    seat: Seat
    number: int
    stand_in_policy: str = ""


class SeatLeft(msgspec.Struct, frozen=True):
    """A seat's player left; `stand_in_policy` plays on, or the game's own rules do if that is empty."""

    seat: Seat
    cause: LeaveCause
    stand_in_policy: str = ""


class EndingOffered(msgspec.Struct, frozen=True):
    """A seat's player agrees to end the match."""

    seat: Seat
    ending: Ending


class EndingDeclined(msgspec.Struct, frozen=True):
    """A seat's player declined the offers that stood."""

    seat: Seat


class MatchAborted(msgspec.Struct, frozen=True):
    """A seat's player called the match off before any player had moved."""

    seat: Seat


class MatchCancelled(msgspec.Struct, frozen=True):
    """The platform cancelled the match, which has no result; `note` says why, if it says anything."""

    note: str = ""


MatchEvent: TypeAlias = TurnTimedOut | SeatLeft | EndingOffered | EndingDeclined | MatchAborted | MatchCancelled

ENDING_NUMBERS = {ending: match_pb2.Ending.Value(f"ENDING_{ending.name}") for ending in Ending}
LEAVE_CAUSE_NUMBERS = {cause: match_pb2.LeaveCause.Value(f"LEAVE_CAUSE_{cause.name}") for cause in LeaveCause}
_OFFER = StructMapping(EndingOffer, match_pb2.EndingOffer)
_EVENT = StructMapping(MatchEvent, events_pb2.MatchEvent)
_FIELDS = {
    f"{events_pb2.DESCRIPTOR.package}.{name}": field
    for name, (field, _) in kinds_of(events_pb2.MatchEvent.DESCRIPTOR).items()
}
"""The field of a `MatchEvent` for each kind, by the name it is stored under."""


def encode_offer(offer: EndingOffer) -> match_pb2.EndingOffer:
    """Return `offer` as everybody may see it."""
    return match_pb2.EndingOffer(ending=ENDING_NUMBERS[offer.ending], seats=offer.seats)


def decode_offer(message: match_pb2.EndingOffer) -> EndingOffer:
    """Return the struct of an `EndingOffer`. Raises `Undecodable`."""
    offer: EndingOffer = _OFFER.decode(message)
    return offer


def encode(event: MatchEvent) -> events_pb2.MatchEvent:
    """Return `event` as everybody may see it."""
    message = _EVENT.encode(event)
    assert isinstance(message, events_pb2.MatchEvent)  # noqa: S101 - for the checker
    return message


def decode(message: events_pb2.MatchEvent) -> MatchEvent:
    """Return the struct of a `MatchEvent`. Raises `Undecodable`."""
    event: MatchEvent = _EVENT.decode(message)
    return event


def is_match_event(type_name: str) -> bool:
    """Tell whether what is stored under this full proto name happened beside the game."""
    return type_name in _FIELDS


def store(event: MatchEvent) -> tuple[str, bytes]:
    """Return the full proto name and the bytes under which `event` is stored."""
    message = encode(event)
    inner: Message = getattr(message, str(message.WhichOneof("kind")))
    return inner.DESCRIPTOR.full_name, canonical(inner)


def restore(type_name: str, payload: bytes) -> MatchEvent:
    """Return the struct of what is stored under the name of a match event. Raises `Undecodable`."""
    message = events_pb2.MatchEvent()
    inner: Message = getattr(message, _FIELDS[type_name])
    inner.CopyFrom(parse(type(inner), payload))
    inner.SetInParent()
    return decode(message)
