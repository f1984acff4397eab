"""How the values of a struct's fields travel: functions that a mapping is put together from."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from operator import attrgetter
from typing import Any, NamedTuple

from google.protobuf.descriptor import EnumDescriptor

from promontory.codec.port import Undecodable


class Part(NamedTuple):
    """How a value travels: `encode` gives what a message's constructor takes, `decode` reads a message's content."""

    encode: Callable[[Any], Any]
    decode: Callable[..., Any]


class Field(NamedTuple):
    """How a struct's field travels in the message's field of the same name: `decode` takes the whole message."""

    name: str
    encode: Callable[[Any], Any]
    decode: Callable[[Any], Any]


def same(value: Any) -> Any:
    """Return `value`, of a type that structs and messages share."""
    return value


def struct_part(struct_type: type, fields: Iterable[Field]) -> Part:
    """Return the part of a struct; its `decode` also takes the attributes that no field carries.

    A struct of older rules may lack attributes that came later: their fields stay unset.
    """
    fields = tuple(fields)
    encoders = tuple((field.name, attrgetter(field.name), field.encode) for field in fields)
    decoders = tuple((field.name, field.decode) for field in fields)

    def encode(value: Any) -> dict[str, Any]:
        try:
            return {name: convert(read(value)) for name, read, convert in encoders}
        except AttributeError:
            if type(value) is struct_type:
                raise
            return {name: convert(read(value)) for name, read, convert in encoders if hasattr(value, name)}

    def decode(message: Any, **values: Any) -> Any:
        for name, convert in decoders:
            values[name] = convert(message)
        return struct_type(**values)

    return Part(encode, decode)


def union_part(oneof: str, parts: Mapping[type, Part], names: Mapping[type, str]) -> Part:
    """Return the part of a union of structs, each with its own part and its field's name in `oneof`."""
    encoders = {option: (names[option], part.encode) for option, part in parts.items()}
    decoders = {names[option]: part.decode for option, part in parts.items()}

    def encode(value: Any) -> dict[str, Any]:
        name, convert = encoders[type(value)]
        return {name: convert(value)}

    def decode(message: Any, **given: Any) -> Any:
        name = message.WhichOneof(oneof)
        if name is None:
            raise Undecodable(oneof, "is not set")
        try:
            return decoders[name](getattr(message, name), **given)
        except Undecodable as error:
            raise _outside(name, error) from error

    return Part(encode, decode)


def enum_part(enum_type: Any, descriptor: EnumDescriptor) -> Part:
    """Return the part of an enum's members, which travel as numbers.

    Raises `TypeError` if the two enums have different names of values.
    """
    if not (isinstance(enum_type, type) and issubclass(enum_type, Enum)):
        raise TypeError(f"{enum_type} is no enum for {descriptor.full_name}")
    prefix = descriptor.values_by_number[0].name.removesuffix("UNSPECIFIED")
    numbers = {value.name.removeprefix(prefix): value.number for value in descriptor.values if value.number}
    if set(numbers) != set(enum_type.__members__):
        raise TypeError(f"{enum_type.__name__} and {descriptor.full_name} have different values")
    encoded = {enum_type[name]: number for name, number in numbers.items()}
    decoded = {number: member for member, number in encoded.items()}

    def decode(number: int) -> Any:
        try:
            return decoded[number]
        except KeyError:
            raise Undecodable("", f"has the unknown value {number}" if number else "is not set") from None

    return Part(encoded.__getitem__, decode)


def repeated_part(collection: Any, read: Callable[[Any], Any], value: Part) -> Part:
    """Return the part of a `collection` (tuple or frozenset) of values; `read` gets the field from a message."""
    order: Callable[[Any], Any] = sorted if collection is frozenset else same
    if value.decode is same:
        return Part(order, lambda message: collection(read(message)))

    def encode(values: Any) -> list[Any]:
        return [value.encode(each) for each in order(values)]

    def decode(message: Any) -> Any:
        values: list[Any] = []  # its length so far is the index of a failure
        try:
            for each in read(message):
                values.append(value.decode(each))
        except Undecodable as error:
            raise _outside(f"[{len(values)}]", error) from error
        return collection(values)

    return Part(encode, decode)


def none_or(encode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return `encode` for values that may be None, which leaves a field unset."""
    return lambda value: None if value is None else encode(value)


def then(read: Callable[[Any], Any], decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what decodes a message by what `read` gets from it."""
    return lambda message: decode(read(message))


def if_set(field: str, read: Callable[[Any], Any], decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what decodes `field`, or gives None if it is unset."""
    return lambda message: decode(read(message)) if message.HasField(field) else None


def if_specified(read: Callable[[Any], Any], decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what decodes an enum's field, or gives None for its `..._UNSPECIFIED`."""
    return lambda message: decode(read(message)) if read(message) else None


def must_be_set(field: str, read: Callable[[Any], Any], decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return what decodes `field` and refuses it unset."""

    def decode_set(message: Any) -> Any:
        if not message.HasField(field):
            raise Undecodable("", "is not set")
        return decode(read(message))

    return decode_set


def within_field(field: str, decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return `decode`, naming `field` in what it raises; readers of scalars, which never raise, stay as they are."""
    if isinstance(decode, attrgetter):
        return decode

    def decode_within(message: Any) -> Any:
        try:
            return decode(message)
        except Undecodable as error:
            raise _outside(field, error) from error

    return decode_within


def _outside(name: str, error: Undecodable) -> Undecodable:
    """Return `error` with its path continued outwards to `name`."""
    dot = "." if error.field and not error.field.startswith("[") else ""
    return Undecodable(f"{name}{dot}{error.field}", error.problem)
