"""Messages as they are stored: in one canonical form, so that equal content is equal bytes."""

from __future__ import annotations

from typing import TypeVar

from google.protobuf.message import DecodeError, Message

from promontory.codec.port import Undecodable

M = TypeVar("M", bound=Message)


def canonical(message: Message) -> bytes:
    """Return the bytes that are stored for `message`."""
    return message.SerializeToString(deterministic=True)


def parse(kind: type[M], payload: bytes) -> M:
    """Return the message that was stored as `payload`; raise `Undecodable` if that is none, or says more than it."""
    try:
        message = kind.FromString(payload)
    except DecodeError:
        raise Undecodable(kind.DESCRIPTOR.full_name, "is malformed") from None
    message.DiscardUnknownFields()
    if message.SerializeToString() != payload:  # none has a map, in whose order alone that could differ
        text = "has unknown fields or is not in the form it is stored in"
        raise Undecodable(kind.DESCRIPTOR.full_name, text)
    return message
