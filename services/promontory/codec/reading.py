"""From messages to structs: a function made for each plan.

Where one fails with `KeyError`, `faults` finds what is wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Never

from promontory.codec.compiling import Names
from promontory.codec.plans import EnumPlan, FieldPlan, MessagePlan, StructPlan, UnionPlan, ValuePlan

Reader = Callable[..., Any]
"""Takes a message and, by name, what was announced as given; returns its struct, or raises `KeyError`."""


def reader_of(plan: MessagePlan, given: Collection[str] = ()) -> Reader:
    """Return what makes the struct of a message; `given` are the struct's attributes that no field carries."""
    names = Names()
    parameters, passed = ", ".join(("message", *given)), [f"{name}={name}" for name in given]
    if isinstance(plan, UnionPlan):
        readers = names.of({option.name: reader_of(option.struct, given) for option in plan.options})
        which = f"name = message.WhichOneof({plan.oneof!r})"
        chosen = ", ".join(("getattr(message, name)", *passed))
        return names.function(parameters, which, f"return {readers}[name]({chosen})")
    values = {field.name: _expression(field, names) for field in plan.fields}
    in_order = (*values,) == plan.struct_type.__match_args__
    arguments = [value if in_order else f"{name}={value}" for name, value in values.items()]
    return names.function(parameters, f"return {names.of(plan.struct_type)}({', '.join((*arguments, *passed))})")


def _expression(field: FieldPlan, names: Names) -> str:
    """Return what reads `field` of `message`."""
    source = f"message.{field.name}"
    if field.collection is not None:
        each = _value("each", field.value, names)
        return f"{names.of(field.collection)}({source if each == 'each' else f'[{each} for each in {source}]'})"
    if not field.has_presence:
        return _value(source, field.value, names, may_be_none=field.may_be_none)
    missing = "None" if field.may_be_none else f"{names.of(_missing)}()"
    return f"({_value(source, field.value, names)} if message.HasField({field.name!r}) else {missing})"


def _value(source: str, plan: ValuePlan, names: Names, *, may_be_none: bool = False) -> str:
    """Return what makes a value of what `source` reads; None of an unspecified enum, if that `may_be_none`."""
    match plan:
        case StructPlan() | UnionPlan():
            return f"{names.of(reader_of(plan))}({source})"
        case EnumPlan(numbers):
            members: dict[int, Any] = {number: member for member, number in numbers.items()}
            return f"{names.of(members | {0: None} if may_be_none else members)}[{source}]"
        case _:
            return source


def _missing() -> Never:
    raise KeyError
