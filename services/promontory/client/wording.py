"""Commands, events and refusals as people read them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from enum import Enum
from typing import Any

import msgspec

from promontory.games.text import joined, words


def shown(value: Any) -> str:
    """Return a command, or what was taken for one, as one would write it in Python: `DrawCard(seat=0, source=...)`."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, msgspec.Struct):
        fields = ", ".join(f"{name}={shown(getattr(value, name))}" for name in value.__struct_fields__)
        return f"{type(value).__name__}({fields})"
    return repr(value)


def told(event: Any) -> str:
    """Return what happened in words, without what is empty: `meld played: side UP, cards crews and camps, points 4`."""
    kind = re.sub("(?<!^)(?=[A-Z])", " ", type(event).__name__).lower()
    values = ", ".join(_values(event))
    return f"{kind}: {values}" if values else kind


def _values(value: msgspec.Struct) -> Iterator[str]:
    for name in value.__struct_fields__:
        part = getattr(value, name)
        if part not in (None, "", ()) and part is not False:
            label = words(name.removesuffix("_id") if name.endswith("_id") else re.sub("_ids$", "s", name))
            yield label if part is True else f"{label} {_in_words(part)}"


def _in_words(value: Any) -> str:
    if isinstance(value, msgspec.Struct):
        return f"({', '.join(_values(value))})"
    if isinstance(value, tuple | frozenset):
        return joined(map(_in_words, value if isinstance(value, tuple) else sorted(value)))
    return words(value) if isinstance(value, str) else str(value)


def refusal(reason: str, message: str, values: Mapping[str, Any]) -> str:
    """Return why the rules refuse something: the reason, the rule it cites, and the values that matter, each once."""
    if "rule" not in values:
        return message if reason in message else f"{reason}: {message}"
    others = ", ".join(f"{name} {value}" for name, value in values.items() if name != "rule")
    return f"{reason} [{values['rule']}]" + (f" ({others})" if others else "")
