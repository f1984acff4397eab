"""Long contents in pieces that fit into messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

CHUNK_BYTES = 64 * 1024


def chunks(parts: Iterable[bytes], size: int = CHUNK_BYTES) -> Iterator[bytes]:
    """Yield the bytes of `parts`, one after the other, in pieces of `size` bytes, the last one smaller."""
    waiting = bytearray()
    for part in parts:
        waiting += part
        while len(waiting) >= size:
            yield bytes(waiting[:size])
            del waiting[:size]
    if waiting:
        yield bytes(waiting)
