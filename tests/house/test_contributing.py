"""CONTRIBUTING tells the truth about the tree."""

from __future__ import annotations

import re
from itertools import chain

import pytest

from tests.house.source import PACKAGE, ROOT

GUIDE = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
HOMES = [ROOT, PACKAGE, ROOT / "protos" / "promontory" / "api" / "match" / "v1"]


def quoted(text: str) -> list[str]:
    """Return what stands in backquotes."""
    return re.findall(r"`([^`\n]+)`", text)


def row(line: str) -> list[str]:
    """Return the paths in the first cell of a table's line; all but the first one lie beside it."""
    first, *others = quoted(line.split("|")[1])
    home = first.rstrip("/").rpartition("/")[0]
    return [first, *(f"{home}/{other}" for other in others)]


TABLE = set(chain.from_iterable(row(line) for line in GUIDE.splitlines() if line.startswith("| `")))
PATHS = TABLE | {name for name in quoted(GUIDE) if re.fullmatch(r"[\w./]+\.(py|toml|md|proto|binpb)|\w+/[\w/]+/", name)}


@pytest.mark.parametrize("path", sorted(PATHS))
def test_a_path_it_names_is_there(path: str) -> None:
    assert any((home / path).exists() for home in HOMES)


def test_its_table_names_every_folder() -> None:
    homes = (PACKAGE, ROOT / "tests")
    folders = {
        f"{folder.relative_to(ROOT)}/" for home in homes for folder in home.iterdir() if any(folder.rglob("*.py"))
    }
    assert sorted(folders - TABLE) == []
