"""Structs as protobuf messages, by the names and types of their fields: built once for each pair of types, at import.

| in a struct | in a message |
|---|---|
| `int`, `str`, `bool`, `bytes`, `float` | a scalar field |
| an `Enum` | an enum, by the names of the values; `..._UNSPECIFIED` is refused |
| a struct | a message, which must be set |
| a union of structs | a message with one oneof, whose kinds are messages of the structs' names |
| `X | None` | an optional field, or an enum whose `..._UNSPECIFIED` means None |
| `tuple[X, ...]`, `frozenset[X]` | a repeated field, a frozenset in ascending order |

Types that do not match raise `TypeError` when a mapping is built, so drift between rules and protos stops the import.
"""

from __future__ import annotations

import types
from collections.abc import Collection, Mapping
from operator import attrgetter
from typing import Any, Union, get_args, get_origin

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import Message

from promontory.codec.parts import (
    Field,
    Part,
    enum_part,
    if_set,
    if_specified,
    must_be_set,
    none_or,
    repeated_part,
    same,
    struct_part,
    then,
    union_part,
    within_field,
)
from promontory.codec.port import Undecodable

_SCALARS: Mapping[type, Collection[int]] = {
    int: (
        FieldDescriptor.CPPTYPE_INT32,
        FieldDescriptor.CPPTYPE_INT64,
        FieldDescriptor.CPPTYPE_UINT32,
        FieldDescriptor.CPPTYPE_UINT64,
    ),
    bool: (FieldDescriptor.CPPTYPE_BOOL,),
    float: (FieldDescriptor.CPPTYPE_DOUBLE,),
}
_TEXTS: Mapping[type, int] = {str: FieldDescriptor.TYPE_STRING, bytes: FieldDescriptor.TYPE_BYTES}


class StructMapping:
    """Turns values of a struct type, or of a union of struct types, into messages of one type and back."""

    def __init__(self, hint: Any, message_type: type[Message], *, given: Collection[str] = ()) -> None:
        """Match `hint` with `message_type`; `given` are struct fields that no message carries.

        Raises `TypeError` if they do not match.
        """
        self.message_type = message_type
        self.name: str = message_type.DESCRIPTOR.full_name
        descriptor: Any = message_type.DESCRIPTOR
        self._encode, self._decode = _Builder(frozenset(given)).message(hint, descriptor)

    def encode(self, value: Any) -> Message:
        """Return `value` as a message."""
        return self.message_type(**self._encode(value))

    def decode(self, message: Any, **given: Any) -> Any:
        """Return the struct of `message`, with the fields that it does not carry. Raises `Undecodable`."""
        if type(message) is not self.message_type:
            raise Undecodable(self.name, f"is a {type(message).__name__}")
        return self._decode(message, **given)


def kinds_of(descriptor: Descriptor) -> dict[str, tuple[str, Descriptor]]:
    """Return the kinds of a message that is one oneof: the name of each message type, its field's name and itself.

    Raises `TypeError` if it is anything else.
    """
    fields = [(field, field.message_type) for field in _only_oneof(descriptor).fields]
    return {message.name: (field.name, message) for field, message in fields if message is not None}


def _only_oneof(descriptor: Descriptor) -> OneofDescriptor:
    if len(descriptor.oneofs) != 1 or len(descriptor.oneofs[0].fields) != len(descriptor.fields):
        raise TypeError(f"{descriptor.full_name} is more than one oneof")
    return descriptor.oneofs[0]


class _Builder:
    """Builds the parts of one mapping."""

    def __init__(self, given: frozenset[str]) -> None:
        self._given = given

    def message(self, hint: Any, descriptor: Descriptor) -> Part:
        """Return the part of a struct or a union of structs."""
        options = options_of(hint)
        if len(options) > 1:
            return self._union(options, descriptor)
        return self._struct(options[0], descriptor)

    def _union(self, options: tuple[type, ...], descriptor: Descriptor) -> Part:
        kinds = kinds_of(descriptor)
        if {option.__name__ for option in options} != set(kinds):
            raise TypeError(f"{descriptor.full_name} has not exactly the kinds {[o.__name__ for o in options]}")
        parts = {option: self._struct(option, kinds[option.__name__][1]) for option in options}
        names = {option: kinds[option.__name__][0] for option in options}
        return union_part(_only_oneof(descriptor).name, parts, names)

    def _struct(self, struct_type: type, descriptor: Descriptor) -> Part:
        if not (isinstance(struct_type, type) and issubclass(struct_type, msgspec.Struct)):
            raise TypeError(f"{struct_type} is no struct for {descriptor.full_name}")
        hints = {field.name: field.type for field in msgspec.structs.fields(struct_type)}
        carried = [name for name in hints if name not in self._given]
        if sorted(carried) != sorted(descriptor.fields_by_name):
            raise TypeError(f"{struct_type.__name__} and {descriptor.full_name} have different fields")
        fields = [self._field(name, hints[name], descriptor.fields_by_name[name]) for name in carried]
        return struct_part(struct_type, fields)

    def _field(self, name: str, hint: Any, field: FieldDescriptor) -> Field:
        if get_origin(hint) in {tuple, frozenset}:
            part = self._repeated(hint, field)
        elif type(None) in get_args(hint):
            part = self._optional(hint, field)
        else:
            part = self._required(hint, field)
        return Field(name, part.encode, within_field(name, part.decode))

    def _repeated(self, hint: Any, field: FieldDescriptor) -> Part:
        if not field.is_repeated:
            raise TypeError(f"{field.full_name} is not repeated")
        collection = get_origin(hint)
        arguments = get_args(hint)
        if collection is tuple and arguments[1:] != (Ellipsis,):
            raise TypeError(f"{hint} of {field.full_name} has no mapping")
        return repeated_part(collection, attrgetter(field.name), self._value(arguments[0], field))

    def _optional(self, hint: Any, field: FieldDescriptor) -> Part:
        read = attrgetter(field.name)
        value = self._value(hint, field)
        if field.has_presence:
            return Part(none_or(value.encode), if_set(field.name, read, value.decode))
        if field.enum_type is None or field.is_repeated:
            raise TypeError(f"{field.full_name} cannot be unset")
        return Part(none_or(value.encode), if_specified(read, value.decode))

    def _required(self, hint: Any, field: FieldDescriptor) -> Part:
        if field.is_repeated or (field.has_presence and field.message_type is None):
            raise TypeError(f"{field.full_name} is repeated or optional, {hint} is not")
        read = attrgetter(field.name)
        value = self._value(hint, field)
        if field.message_type is not None:
            return Part(value.encode, must_be_set(field.name, read, value.decode))
        if field.enum_type is None:
            return Part(value.encode, read)
        return Part(value.encode, then(read, value.decode))

    def _value(self, hint: Any, field: FieldDescriptor) -> Part:
        """Return the part of a single set value of `field`."""
        if field.message_type is not None:
            return _Builder(frozenset()).message(hint, field.message_type)
        (option,) = options_of(hint)
        if field.enum_type is not None:
            return enum_part(option, field.enum_type)
        if field.cpp_type not in _SCALARS.get(option, ()) and field.type != _TEXTS.get(option):
            raise TypeError(f"{field.full_name} cannot hold {hint}")
        return Part(same, same)


def options_of(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union but None, or the one type."""
    if get_origin(hint) not in {Union, types.UnionType}:
        return (hint,)
    return tuple(option for option in get_args(hint) if option is not type(None))
