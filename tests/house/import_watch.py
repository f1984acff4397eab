"""Import every module of the package and print, as JSON, what the imports did besides defining names.

Run as a program, in a process of its own. What the standard library and other packages do is theirs; only what a
module of ours asks for counts: files, environment variables, sockets, processes, threads.
"""

from __future__ import annotations

import importlib
import json
import os
import pkgutil
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import FrameType
from typing import Any

import promontory

OURS = str(Path(promontory.__file__).parent)
GENERATED = str(Path(OURS) / "api")
NEVER_IMPORTED = ("promontory.api", "promontory.__main__")
FILES = {"open", "os.listdir", "os.mkdir", "os.scandir"}
SOCKETS = {"socket.bind", "socket.connect", "socket.getaddrinfo"}
PROCESSES = {"os.fork", "os.posix_spawn", "os.putenv", "subprocess.Popen"}
WATCHED = FILES | SOCKETS | PROCESSES

effects: list[str] = []


class WatchedEnvironment(dict[str, str]):
    """The environment, noting each variable that a module of ours looks at."""

    def __getitem__(self, key: str) -> str:
        _note("environment", key)
        return super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the variable `key`, or `default`."""
        _note("environment", key)
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        _note("environment", key)
        return super().__contains__(key)

    def __iter__(self) -> Iterator[str]:
        _note("environment", "all of it")
        return super().__iter__()


def _note(event: str, subject: object) -> None:
    if module := _asked_by(sys._getframe(2)):
        effects.append(f"{module}: {event} {subject}")


def _asked_by(frame: FrameType | None) -> str | None:
    """Return our module at whose request this happens, or None: the import system's and other packages' doings."""
    while frame:
        path = frame.f_code.co_filename
        if path.startswith(("<frozen importlib", GENERATED)) or "site-packages" in path:
            return None
        if path.startswith(OURS):
            return str(frame.f_globals["__name__"])
        frame = frame.f_back
    return None


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event in WATCHED:
        _note(event, arguments[0] if arguments else "")


def main() -> None:
    """Import the hand-written modules, and print what that did and which threads run afterwards."""
    os.environ = WatchedEnvironment(os.environ)  # type: ignore[assignment]  # noqa: B003, TID251
    sys.addaudithook(_watch)
    names = [module.name for module in pkgutil.walk_packages([OURS], "promontory.")]
    modules = [name for name in names if not name.startswith(NEVER_IMPORTED)]
    for module in modules:
        importlib.import_module(module)
    threads = [thread.name for thread in threading.enumerate() if thread is not threading.main_thread()]
    sys.stdout.write(json.dumps({"modules": modules, "effects": effects, "threads": threads}))


if __name__ == "__main__":
    main()
