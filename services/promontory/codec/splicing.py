"""Messages put together from parts that are encoded already, so that what several messages hold is encoded once.

In the wire format of protobuf a message is its fields one after the other, in any order, so it can be made of pieces:
scalar fields encoded by the message itself, and parts that are added to them here.
"""

from __future__ import annotations

from collections.abc import Iterable

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from promontory.codec.writing import sizes


class Splicing:
    """Encodes fields of one message type whose values are messages or bytes, and encoded already."""

    def __init__(self, message_type: type[Message]) -> None:
        self._sizes = {
            field.name: sizes(field.number)
            for field in message_type.DESCRIPTOR.fields
            if field.type in {FieldDescriptor.TYPE_MESSAGE, FieldDescriptor.TYPE_BYTES}
        }

    def part(self, name: str, content: bytes) -> bytes:
        """Return the field `name` with one value."""
        return self._sizes[name][len(content)] + content

    def parts(self, name: str, contents: Iterable[bytes]) -> bytes:
        """Return the repeated field `name` with several values."""
        return b"".join([self.part(name, content) for content in contents])
