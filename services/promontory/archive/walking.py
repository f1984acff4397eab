"""Going through all files of an archive."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from promontory.archive.port import Archive

AT_ONCE = 16


async def walk(archive: Archive, *, after: str = "") -> AsyncIterator[tuple[str, bytes]]:
    """Yield every match of `archive` whose id sorts after `after`, with its file, in the order of `Archive.scan`.

    Some are read ahead. Raises `ArchiveUnavailable`; whoever goes on later begins after the last one received.
    """
    batch: list[str] = []
    async for match_id in archive.scan(after=after):
        batch.append(match_id)
        if len(batch) == AT_ONCE:
            for each in await _fetched(archive, batch):
                yield each
            batch = []
    for each in await _fetched(archive, batch):
        yield each


async def _fetched(archive: Archive, match_ids: Sequence[str]) -> Sequence[tuple[str, bytes]]:
    contents = await asyncio.gather(*(archive.get(match_id) for match_id in match_ids))
    return [(match_id, raw) for match_id, raw in zip(match_ids, contents, strict=True) if raw is not None]
