"""The pools of the tests that have all processes up: one for each game."""

from __future__ import annotations

import tomllib
from pathlib import Path

POOLS_FILE = Path(__file__).parents[1] / "e2e" / "pools.toml"


def pools() -> tuple[str, ...]:
    """Return the ids of all pools."""
    return tuple(pool["id"] for pool in tomllib.loads(POOLS_FILE.read_text())["pools"])
