"""The audit file as the service gives it out: in pieces that fit into messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from promontory.eventlog.audit_file import FORMAT, CommitLine, Footer, Header, audit_lines, encode_line

__all__ = ["FORMAT", "CommitLine", "Footer", "Header", "audit_lines", "chunks", "encode_line"]

CHUNK_BYTES = 64 * 1024


def chunks(lines: Iterable[bytes], size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Yield the bytes of `lines` in pieces of `size` bytes, the last one smaller."""
    waiting = b""
    for line in lines:
        waiting += line
        while len(waiting) >= size:
            yield waiting[:size]
            waiting = waiting[size:]
    if waiting:
        yield waiting
