"""Functions that are written for one type each, in Python's own source, so that a call does no more than it must."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Names:
    """The values that a function's source refers to, each by a name of its own."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}

    def of(self, value: Any) -> str:
        """Return the name of `value`, a new one."""
        name = f"_{len(self._values)}"
        self._values[name] = value
        return name

    def function(self, parameters: str, *lines: str) -> Callable[..., Any]:
        """Return a function with these lines, which are made of names of fields and names given here, no more."""
        body = "".join(f"\n    {line}" for line in lines)
        exec(compile(f"def made({parameters}):{body}", "<codec>", "exec"), self._values)  # noqa: S102
        made: Callable[..., Any] = self._values.pop("made")
        return made
