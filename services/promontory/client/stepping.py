"""Going through numbered steps at a terminal, with keys."""

from __future__ import annotations

import os
import re
import select
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum

import msgspec

CLEAR = "\x1b[H\x1b[2J"
PLAY_SECONDS = 1.0
"""How long each step is shown while they are played."""

Read = Callable[[float | None], str | None]
"""Returns the next key pressed, None if there was none for so many seconds, or an empty text at the end of input."""


class Move(Enum):
    """What a key asks for."""

    NEXT = "next"
    PREVIOUS = "previous"
    FIRST = "first"
    LAST = "last"
    JUMP = "jump"
    PLAY = "play"
    QUIT = "quit"


KEYS = {
    **dict.fromkeys(("n", " ", "\x1b[C", "\x1b[B", "\x1bOC", "\x1bOB"), Move.NEXT),
    **dict.fromkeys(("p", "b", "\x7f", "\x1b[D", "\x1b[A", "\x1bOD", "\x1bOA"), Move.PREVIOUS),
    **dict.fromkeys(("^", "\x1b[H", "\x1b[1~", "\x1bOH"), Move.FIRST),
    **dict.fromkeys(("$", "\x1b[F", "\x1b[4~", "\x1bOF"), Move.LAST),
    **dict.fromkeys(("\r", "\n"), Move.JUMP),
    "a": Move.PLAY,
    **dict.fromkeys(("q", "\x04", ""), Move.QUIT),
}
HELP = "n next, p previous, number and enter jump, ^ first, $ last, a play, q quit"


class Place(msgspec.Struct, frozen=True):
    """Where one is among `last` steps, counted from 1; `typed` is a number that is being entered."""

    step: int
    last: int
    typed: str = ""
    playing: bool = False
    done: bool = False

    def after(self, key: str | None) -> Place:
        """Return where `key` leads to, or time that passed without one (None)."""
        if key is None:
            return self._at(self.step + 1, playing=self.step + 1 < self.last)
        if key.isdecimal():
            return Place(self.step, self.last, self.typed + key)
        match KEYS.get(key):
            case Move.NEXT:
                return self._at(self.step + 1)
            case Move.PREVIOUS:
                return self._at(self.step - 1)
            case Move.FIRST:
                return self._at(1)
            case Move.LAST:
                return self._at(self.last)
            case Move.JUMP:
                return self._at(int(self.typed) if self.typed else self.step + 1)
            case Move.PLAY:
                return self._at(self.step, playing=not self.playing and self.step < self.last)
            case Move.QUIT:
                return Place(self.step, self.last, done=True)
        return self._at(self.step)

    def _at(self, step: int, *, playing: bool = False) -> Place:
        return Place(max(1, min(step, self.last)), self.last, playing=playing)


def step_through(place: Place, show: Callable[[int], str], read: Read, write: Callable[[str], object]) -> None:
    """Show the step at `place`, and every other that keys lead to, until they quit."""
    shown = 0
    while not place.done:
        if place.step != shown:
            shown = place.step
            write(f"{CLEAR}{show(shown)}\n\n{HELP}\n")
        write(f"\r\x1b[K{place.step}/{place.last}{' playing' if place.playing else ''}> {place.typed}")
        place = place.after(read(PLAY_SECONDS if place.playing else None))
    write("\n")


class Keyboard:
    """The keys pressed at a terminal, one after the other, however many arrive at once."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._waiting: list[str] = []

    def read(self, seconds: float | None) -> str | None:
        """Return the next key; see `Read`."""
        if not self._waiting:
            if not select.select([self._descriptor], [], [], seconds)[0]:
                return None
            self._waiting = keys_in(os.read(self._descriptor, 1024).decode(errors="replace"))
        return self._waiting.pop(0) if self._waiting else ""


def keys_in(text: str) -> list[str]:
    """Return the keys that a terminal sent as `text`; arrows and the like are several characters."""
    return re.findall("\x1b[\\[O][0-9;]*[A-Za-z~]|.", text, re.DOTALL)


@contextmanager
def keyboard(descriptor: int) -> Iterator[Keyboard]:
    """Have keys of the terminal at `descriptor` read one by one while the body runs."""
    import termios  # noqa: PLC0415 - is not everywhere
    import tty  # noqa: PLC0415

    before = termios.tcgetattr(descriptor)
    try:
        tty.setcbreak(descriptor, termios.TCSADRAIN)
        yield Keyboard(descriptor)
    finally:
        termios.tcsetattr(descriptor, termios.TCSADRAIN, before)
