"""From structs to the bytes of their messages: a function made for each plan, which writes the wire format itself.

These are the bytes under which a message is stored: fields in ascending order, none that holds its default, numbers
packed. To set the fields of a message and have it say them takes two to five times as long.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from struct import Struct
from typing import Any

from promontory.codec.compiling import Names
from promontory.codec.plans import EnumPlan, FieldPlan, MessagePlan, ScalarPlan, StructPlan, UnionPlan

Writer = Callable[[Any], bytes]

REMEMBERED = 1024
"""How many values are kept as they are written: in a table, before it begins anew, and of each struct that lasts."""
REMEMBERED_LENGTH = 64
"""Of how many bytes a value in a table is at most that is kept."""

_VARINT, _FIXED, _SIZED = 0, 1, 2  # wire types: integers, doubles, and all that tells its own length
_LOW_64_BITS = (1 << 64) - 1
_DOUBLE: Writer = Struct("<d").pack


class Table(dict[Any, bytes]):
    """Values as they are written: what `write` made of each of them, as long as it remembers."""

    def __init__(self, write: Writer) -> None:
        super().__init__()
        self._write = write

    def __missing__(self, value: Any) -> bytes:
        written = self._write(value)
        if len(written) <= REMEMBERED_LENGTH:
            if len(self) >= REMEMBERED:
                self.clear()
            self[value] = written
        return written


def writer_of(plan: MessagePlan, *, number: int = 0) -> Writer:
    """Return what writes a struct: the content of its message, or that as the field `number` of another message."""
    names = Names()
    if isinstance(plan, UnionPlan):
        writers = {each.struct.struct_type: writer_of(each.struct, number=each.number) for each in plan.options}
        return names.function("value", *_returned(f"{names.of(writers)}[type(value)](value)", names, number))
    fields = [_expression(field, names) for field in sorted(plan.fields, key=lambda field: field.number)]
    written = f"b''.join(({', '.join(fields)}))" if len(fields) > 2 else " + ".join(fields) or "b''"
    made = names.function(
        "value",
        "try:",
        *(f"    {line}" for line in _returned(written, names, number)),
        "except AttributeError:",
        f"    if type(value) is {names.of(plan.struct_type)}:",
        "        raise",
        f"    return {names.of(_writer_of_older(plan, number))}(value)",
    )
    return lru_cache(REMEMBERED)(made) if plan.lasts else made


def _returned(written: str, names: Names, number: int) -> list[str]:
    if not number:
        return [f"return {written}"]
    return [f"written = {written}", f"return {names.of(sizes(number))}[len(written)] + written"]


def _writer_of_older(plan: StructPlan, number: int) -> Writer:
    """Return what writes a struct of older rules: fields stay unset whose attributes came later."""
    writers: dict[type, Writer] = {}

    def write(value: Any) -> bytes:
        older = type(value)
        if older not in writers:
            fields = tuple(field for field in plan.fields if hasattr(value, field.name))
            writers[older] = writer_of(StructPlan(older, fields), number=number)
        return writers[older](value)

    return write


def _expression(field: FieldPlan, names: Names) -> str:
    """Return what writes `field` of `value`."""
    source = f"value.{field.name}"
    if field.collection is not None:
        return _repeated(field, f"sorted({source})" if field.collection is frozenset else source, names)
    match field.value:
        case ScalarPlan(kind) if kind is float:
            return f"{names.of(_double(field))}({source})"
        case ScalarPlan(kind) as plan:
            unset = None if field.has_presence else kind()
            return f"{names.of(_scalars(field.number, plan, unset=(unset,)))}[{source}]"
        case EnumPlan(numbers):
            tag = _tag(field.number, _VARINT)
            members: dict[Any, bytes] = {member: tag + _varint(number) for member, number in numbers.items()}
            return f"{names.of(members | {None: b''} if field.may_be_none else members)}[{source}]"
        case plan:
            written = f"{names.of(writer_of(plan, number=field.number))}({source})"
            return f"(b'' if {source} is None else {written})" if field.may_be_none else written


def _repeated(field: FieldPlan, values: str, names: Names) -> str:
    """Return what writes all of `values` as `field`: numbers together, all else one by one."""
    match field.value:
        case ScalarPlan(kind) as plan if kind in (str, bytes):
            return f"b''.join(map({names.of(_scalars(field.number, plan).__getitem__)}, {values}))"
        case ScalarPlan(kind) as plan:
            each: Writer = _DOUBLE if kind is float else _contents(plan).__getitem__
        case EnumPlan(numbers):
            each = {member: _varint(number) for member, number in numbers.items()}.__getitem__
        case plan:
            return f"b''.join([{names.of(writer_of(plan, number=field.number))}(each) for each in {values}])"
    return f"{names.of(_packed(field.number))}(b''.join(map({names.of(each)}, {values})))"


@cache
def _scalars(number: int, plan: ScalarPlan, *, unset: tuple[Any, ...] = ()) -> Table:
    """Return values as the field `number` holds them: nothing at all for those that leave it `unset`."""
    tag, contents = _tag(number, _SIZED if plan.kind in (str, bytes) else _VARINT), _contents(plan)
    return Table(lambda value: b"" if value in unset else tag + contents[value])


@cache
def _contents(plan: ScalarPlan) -> Table:
    write, limits = _CONTENTS[plan.kind], plan.limits

    def checked(value: Any) -> bytes:
        if limits is not None and value not in limits:
            raise ValueError(f"{value} is too small or too large for its field")
        return write(value)

    return Table(checked)


@cache
def sizes(number: int) -> Table:
    """Return how the field `number` begins that holds a text or a message, by how many bytes follow."""
    tag = _tag(number, _SIZED)
    return Table(lambda size: tag + _varint(size))


@cache
def _packed(number: int) -> Writer:
    beginnings = sizes(number)
    return lambda written: beginnings[len(written)] + written if written else b""


def _double(field: FieldPlan) -> Writer:
    tag = _tag(field.number, _FIXED)

    def write(value: float | None) -> bytes:
        if value is None:
            return b""
        written = _DOUBLE(value)
        return tag + written if field.has_presence or any(written) else b""

    return write


def _tag(number: int, wire_type: int) -> bytes:
    return _varint(number << 3 | wire_type)


def _varint(number: int) -> bytes:
    """Return a number of 64 bits, which may be negative, seven bits a byte, the low ones first."""
    number &= _LOW_64_BITS
    written = bytearray()
    while number > 0x7F:
        written.append(number & 0x7F | 0x80)
        number >>= 7
    written.append(number)
    return bytes(written)


def _sized(content: bytes) -> bytes:
    return _varint(len(content)) + content


_CONTENTS: dict[type, Writer] = {
    int: _varint,
    bool: _varint,
    str: lambda text: _sized(str.encode(text)),
    bytes: _sized,
}
