"""What is wrong with a message that is no struct: found once reading it has failed."""

from __future__ import annotations

from typing import Any

from promontory.codec.plans import EnumPlan, FieldPlan, MessagePlan, StructPlan, UnionPlan, ValuePlan
from promontory.codec.port import Undecodable


def fault_of(plan: MessagePlan, message: Any) -> Undecodable | None:
    """Return the first thing that keeps `message` from being what `plan` says, or None."""
    if isinstance(plan, UnionPlan):
        return _fault_of_union(plan, message)
    for field in plan.fields:
        if fault := _fault_of_field(field, message):
            return _outside(field.name, fault)
    return None


def _fault_of_union(plan: UnionPlan, message: Any) -> Undecodable | None:
    name = message.WhichOneof(plan.oneof)
    if name is None:
        return Undecodable(plan.oneof, "is not set")
    (struct,) = (option.struct for option in plan.options if option.name == name)
    fault = fault_of(struct, getattr(message, name))
    return fault and _outside(name, fault)


def _fault_of_field(field: FieldPlan, message: Any) -> Undecodable | None:
    value = getattr(message, field.name)
    if field.collection is not None:
        faults = ((index, _fault_of_value(field.value, each)) for index, each in enumerate(value))
        return next((_outside(f"[{index}]", fault) for index, fault in faults if fault), None)
    is_set = message.HasField(field.name) if field.has_presence else bool(value) or not field.may_be_none
    if is_set:
        return _fault_of_value(field.value, value)
    return None if field.may_be_none else Undecodable("", "is not set")


def _fault_of_value(plan: ValuePlan, value: Any) -> Undecodable | None:
    if isinstance(plan, StructPlan | UnionPlan):
        return fault_of(plan, value)
    if isinstance(plan, EnumPlan) and value not in plan.numbers.values():
        return Undecodable("", f"has the unknown value {value}" if value else "is not set")
    return None


def _outside(name: str, fault: Undecodable) -> Undecodable:
    """Return `fault` with its path continued outwards to `name`."""
    dot = "." if fault.field and not fault.field.startswith("[") else ""
    return Undecodable(f"{name}{dot}{fault.field}", fault.problem)
