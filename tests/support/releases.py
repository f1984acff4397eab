"""The next release, as a copy of this one that differs in what a release differs in."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import promontory

NEXT = "99.0.0"
LIBRARIES = ("eventlog/eventlog.lua", "matchmaking/matchmaking.lua")


def next_release(directory: Path) -> Path:
    """Return where processes of the next release import from: another version, and server-side functions of its own."""
    package = directory / "promontory"
    shutil.copytree(Path(promontory.__file__).parent, package, ignore=shutil.ignore_patterns("__pycache__"))
    front = package / "__init__.py"
    changed = re.sub(r'^__version__ = ".*"$', f'__version__ = "{NEXT}"', front.read_text("utf-8"), flags=re.MULTILINE)
    front.write_text(changed, "utf-8")
    for name in LIBRARIES:
        library = package / name
        library.write_text(f"{library.read_text('utf-8')}\n-- Of the next release.\n", "utf-8")
    return directory
