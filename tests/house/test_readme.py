"""The README says what is so."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

from promontory.runtime.settings import ALL

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
ROW = re.compile(r"^\| `(?P<name>[A-Z_]+)` \| [a-z, ]+ \| (?:none|`(?P<default>[^`]+)`) \| .+ \|$", re.MULTILINE)


def test_the_settings_table_holds_every_setting_with_its_default() -> None:
    """No setting is missing, none is left over, and the defaults are those of the code."""
    told = {row["name"]: row["default"] or "" for row in ROW.finditer(README)}
    assert told == {field.name.upper(): _text(field.default) for kind in ALL for field in fields(kind)}


def _text(default: object) -> str:
    return "" if default is None else str(default).lower() if isinstance(default, bool) else str(default)
