"""From a stream's entries to its commits: count, order and chain are verified on the way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

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
            if self.position.version >= until:
                return
            commit = self._take(entry_id, fields)
            if commit:
                yield commit

    def _take(self, entry_id: bytes, fields: Fields) -> Commit | None:
        expected = f"{self.position.version + 1}-{len(self._events)}".encode()
        if entry_id != expected:
            raise self.corrupt(f"entry {expected.decode()} is missing")
        try:
            self._keep(fields)
        except (KeyError, ValueError) as error:
            raise self.corrupt(f"entry {expected.decode()} is malformed") from error
        if self._header and len(self._events) == self._header.count:
            return self._complete(self._header)
        return None

    def corrupt(self, cause: str) -> LogCorrupt:
        """Return the error that the commit being read is damaged."""
        return LogCorrupt(self._stream, self.position.version + 1, cause)

    def _keep(self, fields: Fields) -> None:
        if not self._events:
            self._header = _Header(int(fields[b"n"]), fields[b"c"].decode(), fields[b"m"], fields[b"h"])
        self._events.append(StoredEvent(fields[b"t"].decode(), fields[b"d"]))

    def _complete(self, header: _Header) -> Commit:
        version = self.position.version + 1
        commit = Commit(version, tuple(self._events), header.command_id, header.meta, header.head)
        if chain(self._stream, self.position.head, version, commit) != header.head:
            raise self.corrupt("the hash chain does not fit")
        self.position = commit.position
        self._header, self._events = None, []
        return commit
