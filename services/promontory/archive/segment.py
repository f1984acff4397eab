"""What the archive keeps of a match, and the file it is in.

The file is one zstd frame with JSON lines, each compact and ended by one newline:

| line | fields |
|---|---|
| first | `format`, `match_id`, `fingerprints`: what stands for the content of each commit's command, in order |
| then | the match's audit file, as `ExportMatch` gives it (`promontory.eventlog.audit_file`) |

After it comes a frame that decompressors skip, with the SHA-256 of all bytes before it: compressed bytes may be changed
so that they say the same as before, and even that is to be found.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TypeVar

import msgspec

from promontory.eventlog.audit_file import CommitLine, audit_lines
from promontory.eventlog.port import GENESIS, START, Commit, LogCorrupt, Position, chain

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FORMAT = "promontory-archive/1"
SEAL_HEADER = (0x184D2A50).to_bytes(4, "little") + hashlib.sha256().digest_size.to_bytes(4, "little")
SEAL_BYTES = len(SEAL_HEADER) + hashlib.sha256().digest_size

LARGEST_BYTES = 256 * 1024 * 1024
"""More than any match has: a damaged file must not fill the memory."""

Line = TypeVar("Line", bound=msgspec.Struct)


class _Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    format: str
    match_id: str
    fingerprints: tuple[str, ...]


class Segment(msgspec.Struct, frozen=True, dict=True):
    """All commits of a closed match, at least one, and for each the fingerprint of the command that made it."""

    match_id: str
    commits: tuple[Commit, ...]
    fingerprints: tuple[str, ...]

    @property
    def position(self) -> Position:
        """The position after the last commit."""
        return self.commits[-1].position

    @property
    def audit_file(self) -> bytes:
        """The match's audit file."""
        return b"".join(audit_lines(self.match_id, self.commits))

    def after(self, position: Position, limit: int | None = None) -> Sequence[Commit]:
        """Return the commits after `position`, at most `limit`; raise `LogCorrupt` if it is none of the match's."""
        if position != START and self._at(position.version) != position:
            raise LogCorrupt(self.match_id, position.version, "the archive does not hold the position read from")
        following = self.commits[position.version :]
        return following if limit is None else following[:limit]

    def _at(self, version: int) -> Position | None:
        return self.commits[version - 1].position if 1 <= version <= len(self.commits) else None

    def find(self, command_id: str) -> tuple[str, int] | None:
        """Return the fingerprint and version of the commit `command_id` made, or None."""
        version = self._made_by.get(command_id)
        return None if version is None else (self.fingerprints[version - 1], version)

    @cached_property
    def _made_by(self) -> Mapping[str, int]:
        return {commit.command_id: commit.version for commit in self.commits}


def pack(segment: Segment) -> bytes:
    """Return the file of `segment`."""
    header = _Header(FORMAT, segment.match_id, segment.fingerprints)
    text = msgspec.json.encode(header) + b"\n" + segment.audit_file
    return sealed(zstd.compress(text, options=_OPTIONS))


def sealed(frame: bytes) -> bytes:
    """Return `frame` and after it the frame with its SHA-256."""
    return frame + SEAL_HEADER + hashlib.sha256(frame).digest()


_OPTIONS: Mapping[int, int] = {
    zstd.CompressionParameter.compression_level: 10,
    zstd.CompressionParameter.checksum_flag: 1,
}


def unpack(match_id: str, raw: bytes) -> Segment:
    """Return what the file `raw` of `match_id` holds; raise `LogCorrupt` unless every byte of it is right."""
    frame = raw[:-SEAL_BYTES]
    if raw != sealed(frame):
        raise _corrupt(match_id, "its bytes are not those that were sealed")
    text = _decompressed(match_id, frame)
    first, _, body = text.partition(b"\n")
    header = _decoded(match_id, first, _Header)
    if (header.format, header.match_id) != (FORMAT, match_id):
        raise _corrupt(match_id, f"it is the file of {header.match_id!r} in the format {header.format!r}")
    segment = Segment(match_id, _commits(match_id, body), header.fingerprints)
    if segment.audit_file != body or len(segment.fingerprints) != len(segment.commits):
        raise _corrupt(match_id, "its parts do not fit one another")
    return segment


def _decompressed(match_id: str, frame: bytes) -> bytes:
    decompressor = zstd.ZstdDecompressor()
    try:
        text = decompressor.decompress(frame, max_length=LARGEST_BYTES)
    except zstd.ZstdError as error:
        raise _corrupt(match_id, f"it cannot be unpacked: {error}") from error
    if not decompressor.eof or decompressor.unused_data:
        raise _corrupt(match_id, "it is cut off, or something is added to it")
    return text


def _commits(match_id: str, body: bytes) -> tuple[Commit, ...]:
    """Return the commits in the lines of an audit file; their hashes fit."""
    lines = body.removesuffix(b"\n").split(b"\n")[1:-1]
    if not lines:
        raise _corrupt(match_id, "it has no commits")
    try:
        commits = tuple(_decoded(match_id, line, CommitLine).commit() for line in lines)
    except ValueError as error:
        raise _corrupt(match_id, str(error)) from error
    head = GENESIS
    for version, commit in enumerate(commits, start=1):
        if commit.version != version or chain(match_id, head, version, commit) != commit.head:
            raise LogCorrupt(match_id, version, "the hash chain of the archived file does not fit")
        head = commit.head
    return commits


def _decoded(match_id: str, line: bytes, kind: type[Line]) -> Line:
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.MsgspecError as error:
        raise _corrupt(match_id, f"a line of it is malformed: {error}") from error


def _corrupt(match_id: str, cause: str) -> LogCorrupt:
    return LogCorrupt(match_id, 0, f"the archived file: {cause}")
