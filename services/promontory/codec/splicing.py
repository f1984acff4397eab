"""Messages put together from parts that are encoded already, so that what several messages hold is encoded once.

In the wire format of protobuf a message is its fields one after the other, in any order, so it can be made of pieces:
scalar fields encoded by the message itself, and parts that are added to them here.
"""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

_LENGTH_DELIMITED = 2
_SEVEN_BITS = 0x7F
_MORE = 0x80


class Splicing:
    """Encodes fields of one message type whose values are messages or bytes, and encoded already."""

    def __init__(self, message_type: type[Message]) -> None:
        self._tags = {
            field.name: _varint(field.number << 3 | _LENGTH_DELIMITED)
            for field in message_type.DESCRIPTOR.fields
            if field.type in {FieldDescriptor.TYPE_MESSAGE, FieldDescriptor.TYPE_BYTES}
        }

    def part(self, name: str, content: bytes) -> bytes:
        """Return the field `name` with one value."""
        return b"".join((self._tags[name], _varint(len(content)), content))

    def parts(self, name: str, contents: Iterable[bytes]) -> bytes:
        """Return the repeated field `name` with several values."""
        return b"".join([self.part(name, content) for content in contents])


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > _SEVEN_BITS:
        encoded.append(number & _SEVEN_BITS | _MORE)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
