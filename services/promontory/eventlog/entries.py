"""From a stream's entries to its commits: count, order and chain are verified on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache

import msgspec

from promontory.eventlog.port import Commit, LogCorrupt, Position, StoredEvent, chain

Fields = Mapping[bytes, bytes]
"""An entry's fields: `t` type and `d` payload of its event; in a commit's first entry also `n` the number of events,
`c` command id, `m` meta and `h` head hash."""


class _Header(msgspec.Struct, frozen=True):
    """What the first entry of a commit says about all of it."""

    count: int
    command_id: str
    meta: bytes
    head: bytes


@lru_cache(maxsize=1024)
def _name(encoded: bytes) -> str:
    """Return the name of an event's type; there are few, and all events of a type share one."""
    return encoded.decode()


class Assembler:
    """Puts the entries of `stream` after the position `after` back together into commits.

    Entry ids are `<commit>-<index>`, without gaps. Whatever does not fit raises `LogCorrupt`.
    """

    def __init__(self, stream: str, after: Position) -> None:
        self._stream = stream
        self._header: _Header | None = None
        self._events: list[StoredEvent] = []
        self.position = after

    @property
    def is_between_commits(self) -> bool:
        """Whether no commit is incomplete."""
        return not self._events

    def take(self, entries: Iterable[tuple[bytes, Fields]], *, until: int) -> Iterator[Commit]:
        """Take the next entries, as far as the end of commit `until`, and give the commits they complete."""
        for entry_id, fields in entries:
            version, events = self.position.version + 1, self._events
            if version > until:
                return
            expected = b"%d-%d" % (version, len(events))
            if entry_id != expected:
                raise self.corrupt(f"entry {expected.decode()} is missing")
            try:
                if not events:
                    self._header = _Header(int(fields[b"n"]), fields[b"c"].decode(), fields[b"m"], fields[b"h"])
                events.append(StoredEvent(_name(fields[b"t"]), fields[b"d"]))
            except (KeyError, ValueError) as error:
                raise self.corrupt(f"entry {expected.decode()} is malformed") from error
            if self._header and len(events) == self._header.count:
                yield self._complete(self._header)

    def corrupt(self, cause: str) -> LogCorrupt:
        """Return the error that the commit being read is damaged."""
        return LogCorrupt(self._stream, self.position.version + 1, cause)

    def _complete(self, header: _Header) -> Commit:
        version = self.position.version + 1
        commit = Commit(version, tuple(self._events), header.command_id, header.meta, header.head)
        if chain(self._stream, self.position.head, version, commit) != header.head:
            raise self.corrupt("the hash chain does not fit")
        self.position = commit.position
        self._header, self._events = None, []
        return commit
