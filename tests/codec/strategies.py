"""Values of struct types for hypothesis, by the types of their fields."""

from __future__ import annotations

import types
from typing import Any, Union, get_args, get_origin

import msgspec
from hypothesis import strategies as st

NUMBERS = st.integers(min_value=-(2**31), max_value=2**31 - 1)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    int: NUMBERS,
    float: st.floats(allow_nan=False),
    str: TEXTS,
    bool: st.booleans(),
    type(None): st.none(),
}


def values_of(hint: Any) -> st.SearchStrategy[Any]:
    """Return a strategy for the values of a type: scalars, enums, structs, unions, tuples and frozensets of them."""
    if get_origin(hint) in {Union, types.UnionType}:
        return st.one_of([values_of(option) for option in get_args(hint)])
    if get_origin(hint) is tuple:
        return st.lists(values_of(get_args(hint)[0]), max_size=5).map(tuple)
    if get_origin(hint) is frozenset:
        return st.frozensets(values_of(get_args(hint)[0]), max_size=5)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return st.builds(hint, **{field.name: values_of(field.type) for field in msgspec.structs.fields(hint)})
    return SCALARS[hint] if hint in SCALARS else st.sampled_from(hint)
