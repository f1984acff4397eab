"""Requests gone wrong: bytes with bits flipped, and messages in which one field holds what nobody would put there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

_INT32 = (-(2**31), -1, 0, 1, 2**31 - 1)
_INT64 = (-(2**63), -1, 0, 1, 2**63 - 1)
_TEXTS = ("", "?", "\0", "a" * 5000, "../../etc/passwd", "☃")
EXTREMES: Mapping[int, Sequence[Any]] = {
    FieldDescriptor.CPPTYPE_INT32: _INT32,
    FieldDescriptor.CPPTYPE_ENUM: _INT32,
    FieldDescriptor.CPPTYPE_INT64: _INT64,
    FieldDescriptor.CPPTYPE_BOOL: (False, True),
    FieldDescriptor.CPPTYPE_STRING: _TEXTS,
}
TIMES = (0, 1, 2, 40, 30_000)
"""How often a repeated field holds the same, if there is room for it."""
MOST_BYTES = 60_000
"""A little less than a request may have, so that what is in it is looked at."""


def flipped(request: bytes, random: Random) -> bytes:
    """Return `request` with one to three bits flipped."""
    found = bytearray(request)
    for _ in range(random.randint(1, 3)):
        found[random.randrange(len(found))] ^= 1 << random.randrange(8)
    return bytes(found)


def cut(request: bytes, random: Random) -> bytes:
    """Return `request` without its end."""
    return request[: random.randrange(len(request))]


def doubled(request: bytes, random: Random) -> bytes:
    """Return `request` with a piece of it there twice."""
    first, last = sorted(random.sample(range(len(request) + 1), 2))
    return request[:last] + request[first:]


MUTATIONS: Sequence[Callable[[bytes, Random], bytes]] = (flipped, flipped, cut, doubled)


def mutant(request: bytes, random: Random) -> bytes:
    """Return bytes that are almost `request`, which is not empty."""
    return random.choice(MUTATIONS)(request, random)


def warped(message: Any, random: Random) -> Any:
    """Return `message` with one field, somewhere in it, that holds something extreme, or nothing."""
    found = type(message)()
    found.CopyFrom(message)
    inside = random.choice([each for each in _messages(found) if each.DESCRIPTOR.fields])
    _warp(inside, random.choice(inside.DESCRIPTOR.fields), random)
    return found


def _messages(message: Any) -> Iterator[Any]:
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in [value] if isinstance(value, Message) else value:
                yield from _messages(each)


def _warp(message: Any, field: FieldDescriptor, random: Random) -> None:
    if field.message_type is not None:
        _fill(message, field, random)
    elif field.is_repeated:
        values = getattr(message, field.name)
        value = random.choice([*values, *EXTREMES[field.cpp_type]])
        values.extend([value] * _times(len(str(value)), random))
    else:
        setattr(message, field.name, random.choice(EXTREMES[field.cpp_type]))


def _fill(message: Any, field: FieldDescriptor, random: Random) -> None:
    """Put a message with one warped field into `field`, several that are all the same if it is repeated."""
    part = GetMessageClass(field.message_type)()
    if part.DESCRIPTOR.fields:
        _warp(part, random.choice(part.DESCRIPTOR.fields), random)
    if field.is_repeated:
        getattr(message, field.name).extend([part] * _times(part.ByteSize(), random))
    else:
        getattr(message, field.name).CopyFrom(part)


def _times(size: int, random: Random) -> int:
    return min(random.choice(TIMES), MOST_BYTES // (size + 2))
