"""Reading what processes wrote: errors and traces that no outage explains."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

_PLAIN = ("worker: Warm shutdown", "loaded ")
_LEVELS = frozenset({"debug", "info", "warning"})


def log_faults(directory: Path) -> Sequence[str]:
    """Return what is wrong in the process logs in `directory`."""
    return [f"{file.name}: {line}" for file in sorted(directory.glob("*.log")) for line in faults_of(file)]


def faults_of(log_file: Path) -> Sequence[str]:
    """Return the lines of one process that are errors, show a trace, or are not structured."""
    return [line for line in log_file.read_text(errors="replace").splitlines() if line and _is_fault(line)]


def _is_fault(line: str) -> bool:
    try:
        entry: Any = json.loads(line)
    except ValueError:
        return not line.startswith(_PLAIN)
    return entry["level"] not in _LEVELS or "exception" in entry
