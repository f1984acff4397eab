"""Notes of the feed, but for those of changes that this process has made, and told of as it made them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from promontory.matchmaking.ports import Change

Note = tuple[bytes, Mapping[bytes, bytes]]
"""A note's id, which is a time and a number, and its fields."""


class Notes:
    """Tells a listener of this process's own changes at once; the feed tells of all others, and of all without one."""

    def __init__(self) -> None:
        self._listener: Callable[[Change], None] | None = None
        self._own: set[bytes] = set()
        self._read = (0, 0)

    def listen(self, listener: Callable[[Change], None]) -> None:
        """Tell `listener` of own changes from now on."""
        self._listener = listener

    def begin(self, last: bytes) -> None:
        """Begin to read the feed after the note `last`."""
        self._read = _order(last)
        self._own = {note for note in self._own if _order(note) > self._read}

    def made(self, note: bytes, change: Change) -> None:
        """Tell of a change that this process has made, unless the feed was quicker; `note` is that of the feed."""
        if self._listener is not None and _order(note) > self._read:
            self._own.add(note)
            self._listener(change)

    def read(self, page: Sequence[Note]) -> list[Change]:
        """Return the changes in a page of the feed that nobody here was told of."""
        if page:
            self._read = _order(page[-1][0])
        told = {note for note, _ in page if note in self._own}
        self._own -= told
        return [_change(fields) for note, fields in page if note not in told]


def _order(note: bytes) -> tuple[int, int]:
    milliseconds, _, number = note.partition(b"-")
    return int(milliseconds), int(number)


def _change(fields: Mapping[bytes, bytes]) -> Change:
    return Change(fields[b"p"].decode(), tuple(fields[b"t"].decode().split(",")), no_more=b"g" in fields)
