"""Commands and refusals as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import msgspec


def shown(value: Any) -> str:
    """Return a command, or what was taken for one, as one would write it in Python: `DrawCard(seat=0, source=...)`."""
    if isinstance(value, Enum):
        return f"{type(value).__name__}.{value.name}"
    if isinstance(value, msgspec.Struct):
        fields = ", ".join(f"{name}={shown(getattr(value, name))}" for name in value.__struct_fields__)
        return f"{type(value).__name__}({fields})"
    return repr(value)


def refusal(reason: str, message: str, values: Mapping[str, Any]) -> str:
    """Return why the rules refuse something: the reason, the rule it cites, and the values that matter, each once."""
    if "rule" not in values:
        return message if reason in message else f"{reason}: {message}"
    others = ", ".join(f"{name} {value}" for name, value in values.items() if name != "rule")
    return f"{reason} [{values['rule']}]" + (f" ({others})" if others else "")
