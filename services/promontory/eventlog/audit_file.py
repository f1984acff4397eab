"""The audit file `promontory-match/1`: a closed match's whole log as JSON lines, in one canonical form.

| line | fields |
|---|---|
| first | `format`, `match_id` |
| one for each commit, in order | `version`, `command_id`, `meta` (the text as stored), `events`, `head` (hex) |
| last | `commits`, `head` (hex), `sha256` of all bytes before this line (hex) |

An event has its `type`, a full proto name, and its `payload`, the stored bytes in base64. Every line is compact JSON
with the fields in this order, and ends with one newline.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator

import msgspec

from promontory.eventlog.port import Commit, StoredEvent

FORMAT = "promontory-match/1"


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The first line."""

    format: str
    match_id: str


class CommitLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The line of one commit."""

    version: int
    command_id: str
    meta: str
    events: tuple[StoredEvent, ...]
    head: str

    def commit(self) -> Commit:
        """Return the commit; raises `ValueError` if `head` is not hex."""
        head = bytes.fromhex(self.head)
        return Commit(self.version, self.events, self.command_id, self.meta.encode(), head)


class Footer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The last line."""

    commits: int
    head: str
    sha256: str


def encode_line(line: Header | CommitLine | Footer) -> bytes:
    """Return the one form in which `line` is written."""
    return msgspec.json.encode(line) + b"\n"


def audit_lines(match_id: str, commits: Iterable[Commit]) -> Iterator[bytes]:
    """Yield the lines of the audit file of a match with `commits`, all of them from the first."""
    digest, count, head = hashlib.sha256(), 0, ""
    for line in _before_footer(match_id, commits):
        encoded = encode_line(line)
        digest.update(encoded)
        yield encoded
        if isinstance(line, CommitLine):
            count, head = count + 1, line.head
    yield encode_line(Footer(count, head, digest.hexdigest()))


def _before_footer(match_id: str, commits: Iterable[Commit]) -> Iterator[Header | CommitLine]:
    yield Header(FORMAT, match_id)
    for commit in commits:
        meta = commit.meta.decode()
        yield CommitLine(commit.version, commit.command_id, meta, commit.events, commit.head.hex())
