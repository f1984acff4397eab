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
from functools import cached_property
from typing import Any, NamedTuple, Union, get_args, get_origin

import msgspec
from google.protobuf.descriptor import Descriptor, FieldDescriptor, OneofDescriptor
from google.protobuf.message import Message

from promontory.codec.faults import fault_of
from promontory.codec.plans import (
    FieldPlan,
    MessagePlan,
    OptionPlan,
    ScalarPlan,
    StructPlan,
    UnionPlan,
    ValuePlan,
    enum_plan,
)
from promontory.codec.port import Undecodable
from promontory.codec.reading import Reader, reader_of
from promontory.codec.stored import parse
from promontory.codec.writing import Writer, writer_of

_INTEGERS: Mapping[int, range] = {
    FieldDescriptor.CPPTYPE_INT32: range(-(1 << 31), 1 << 31),
    FieldDescriptor.CPPTYPE_INT64: range(-(1 << 63), 1 << 63),
    FieldDescriptor.CPPTYPE_UINT32: range(1 << 32),
    FieldDescriptor.CPPTYPE_UINT64: range(1 << 64),
}
_VARINTS = {
    FieldDescriptor.TYPE_INT32,
    FieldDescriptor.TYPE_INT64,
    FieldDescriptor.TYPE_UINT32,
    FieldDescriptor.TYPE_UINT64,
}
_OTHERS: Mapping[type, int] = {
    bool: FieldDescriptor.TYPE_BOOL,
    float: FieldDescriptor.TYPE_DOUBLE,
    str: FieldDescriptor.TYPE_STRING,
    bytes: FieldDescriptor.TYPE_BYTES,
}


class StructMapping:
    """Turns values of a struct type, or of a union of struct types, into messages of one type and back."""

    def __init__(
        self, hint: Any, message_type: type[Message], *, given: Collection[str] = (), lasting: Collection[type] = ()
    ) -> None:
        """Match `hint` with `message_type`; `given` are struct fields that no message carries.

        Structs in it of the types `lasting`, which can be hashed, are written again and again: what is written of them
        is remembered. Raises `TypeError` if `hint` and `message_type` do not match.
        """
        self.message_type = message_type
        self.name: str = message_type.DESCRIPTOR.full_name
        descriptor: Any = message_type.DESCRIPTOR
        wanted = _Wanted(frozenset(given), frozenset(lasting))
        self._given, self._plan = given, _message_plan(hint, descriptor, wanted=wanted)

    def encode(self, value: Any) -> Message:
        """Return `value` as a message."""
        return self.message_type.FromString(self.write(value))

    @cached_property
    def write(self) -> Writer:
        """What returns the bytes of a value's message, in the form in which it is stored."""
        return writer_of(self._plan)

    def decode(self, message: Any, **given: Any) -> Any:
        """Return the struct of `message`, with the fields that it does not carry. Raises `Undecodable`."""
        if type(message) is not self.message_type:
            raise Undecodable(self.name, f"is a {type(message).__name__}")
        try:
            return self._read(message, **given)
        except KeyError:
            raise self._fault(message) from None

    def restore(self, payload: bytes) -> Any:
        """Return the struct of a message that was stored as `payload`. Raises `Undecodable`."""
        message = parse(self.message_type, payload)
        try:
            return self._read(message)
        except KeyError:
            raise self._fault(message) from None

    def _fault(self, message: Any) -> Undecodable:
        return fault_of(self._plan, message) or Undecodable(self.name, "is malformed")

    @cached_property
    def _read(self) -> Reader:
        return reader_of(self._plan, self._given)


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


class _Wanted(NamedTuple):
    """What is said of a mapping beside its types."""

    given: frozenset[str]
    lasting: frozenset[type]


def _message_plan(hint: Any, descriptor: Descriptor, *, wanted: _Wanted) -> MessagePlan:
    options = options_of(hint)
    if len(options) > 1:
        return _union_plan(options, descriptor, wanted=wanted)
    return _struct_plan(options[0], descriptor, wanted=wanted)


def _union_plan(options: tuple[type, ...], descriptor: Descriptor, *, wanted: _Wanted) -> UnionPlan:
    kinds = kinds_of(descriptor)
    if {option.__name__ for option in options} != set(kinds):
        raise TypeError(f"{descriptor.full_name} has not exactly the kinds {[o.__name__ for o in options]}")
    plans = []
    for option in options:
        name, message = kinds[option.__name__]
        number = descriptor.fields_by_name[name].number
        plans.append(OptionPlan(name, number, _struct_plan(option, message, wanted=wanted)))
    return UnionPlan(_only_oneof(descriptor).name, tuple(plans))


def _struct_plan(struct_type: type, descriptor: Descriptor, *, wanted: _Wanted) -> StructPlan:
    if not (isinstance(struct_type, type) and issubclass(struct_type, msgspec.Struct)):
        raise TypeError(f"{struct_type} is no struct for {descriptor.full_name}")
    hints = {field.name: field.type for field in msgspec.structs.fields(struct_type)}
    carried = [name for name in hints if name not in wanted.given]
    if sorted(carried) != sorted(descriptor.fields_by_name):
        raise TypeError(f"{struct_type.__name__} and {descriptor.full_name} have different fields")
    within = wanted._replace(given=frozenset())
    fields = [_field_plan(hints[name], descriptor.fields_by_name[name], wanted=within) for name in carried]
    return StructPlan(struct_type, tuple(fields), lasts=struct_type in wanted.lasting)


def _field_plan(hint: Any, field: FieldDescriptor, *, wanted: _Wanted) -> FieldPlan:
    if get_origin(hint) in {tuple, frozenset}:
        return _repeated_plan(hint, field, wanted=wanted)
    value, may_be_none = _value_plan(hint, field, wanted=wanted), type(None) in get_args(hint)
    if field.is_repeated:
        raise TypeError(f"{field.full_name} is repeated, {hint} is not")
    if may_be_none and not field.has_presence and field.enum_type is None:
        raise TypeError(f"{field.full_name} cannot be unset")
    if field.has_presence and field.message_type is None and not may_be_none:
        raise TypeError(f"{field.full_name} is optional, {hint} is not")
    return FieldPlan(field.name, field.number, value, may_be_none=may_be_none, has_presence=field.has_presence)


def _repeated_plan(hint: Any, field: FieldDescriptor, *, wanted: _Wanted) -> FieldPlan:
    collection, arguments = get_origin(hint), get_args(hint)
    if not field.is_repeated:
        raise TypeError(f"{field.full_name} is not repeated")
    if collection is tuple and arguments[1:] != (Ellipsis,):
        raise TypeError(f"{hint} of {field.full_name} has no mapping")
    return FieldPlan(field.name, field.number, _value_plan(arguments[0], field, wanted=wanted), collection=collection)


def _value_plan(hint: Any, field: FieldDescriptor, *, wanted: _Wanted) -> ValuePlan:
    """Return how a single set value of `field` travels."""
    if field.message_type is not None:
        return _message_plan(hint, field.message_type, wanted=wanted)
    (option,) = options_of(hint)
    if field.enum_type is not None:
        return enum_plan(option, field.enum_type)
    if option is int and field.type in _VARINTS:
        return ScalarPlan(int, _INTEGERS[field.cpp_type])
    if _OTHERS.get(option) != field.type:
        raise TypeError(f"{field.full_name} cannot hold {hint}")
    return ScalarPlan(option)


def options_of(hint: Any) -> tuple[Any, ...]:
    """Return the types of a union but None, or the one type."""
    if get_origin(hint) not in {Union, types.UnionType}:
        return (hint,)
    return tuple(option for option in get_args(hint) if option is not type(None))
