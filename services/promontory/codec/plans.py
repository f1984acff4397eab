"""What travels how: a struct type beside its message type, field by field, once both were found to fit."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any, NamedTuple, TypeAlias

from google.protobuf.descriptor import EnumDescriptor
from msgspec import Struct


class ScalarPlan(NamedTuple):
    """A value that structs and messages share, of the type `kind`; a number lies in `limits`, if there are any."""

    kind: type
    limits: range | None = None


class EnumPlan(NamedTuple):
    """A member of an enum, which travels as a number, never 0."""

    numbers: Mapping[Enum, int]


class StructPlan(NamedTuple):
    """A struct, which travels as a message with its `fields`, in the order of the struct.

    If it `lasts`, the same values are written again and again.
    """

    struct_type: type[Struct]
    fields: tuple[FieldPlan, ...]
    lasts: bool = False


class OptionPlan(NamedTuple):
    """A struct that a union may be, which travels in the field `name` of the oneof."""

    name: str
    number: int
    struct: StructPlan


class UnionPlan(NamedTuple):
    """A union of structs, which travels as a message that is one oneof."""

    oneof: str
    options: tuple[OptionPlan, ...]


MessagePlan: TypeAlias = StructPlan | UnionPlan
ValuePlan: TypeAlias = ScalarPlan | EnumPlan | MessagePlan


class FieldPlan(NamedTuple):
    """A struct's field, which travels in the message's field of its name.

    It holds many values in a `collection`, tuple or frozenset, or a single one, or None if it `may_be_none`. A message
    tells whether a field that `has_presence` was set.
    """

    name: str
    number: int
    value: ValuePlan
    collection: type | None = None
    may_be_none: bool = False
    has_presence: bool = False


def enum_plan(enum_type: Any, descriptor: EnumDescriptor) -> EnumPlan:
    """Return how an enum's members travel; raise `TypeError` if the two enums have different names of values."""
    if not (isinstance(enum_type, type) and issubclass(enum_type, Enum)):
        raise TypeError(f"{enum_type} is no enum for {descriptor.full_name}")
    prefix = descriptor.values_by_number[0].name.removesuffix("UNSPECIFIED")
    numbers = {value.name.removeprefix(prefix): value.number for value in descriptor.values if value.number}
    if set(numbers) != set(enum_type.__members__):
        raise TypeError(f"{enum_type.__name__} and {descriptor.full_name} have different values")
    return EnumPlan({enum_type[name]: number for name, number in numbers.items()})
