"""Making the lists of matches anew on the server that holds the logs, and from the archive."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from promontory.archive.opening import open_archive, with_archive
from promontory.archive.segment import unpack
from promontory.archive.walking import walk
from promontory.eventlog.port import Commit, LogCorrupt
from promontory.eventlog.redis_server import connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.games.registry import GAMES
from promontory.local.log import closed_matches, operators_log
from promontory.matchmaking.rebuild import Progress, Rebuilt, rebuild_lists
from promontory.matchmaking.redis_lists import RedisLists
from promontory.matchmaking.redis_tickets import Server


async def rebuild(redis_url: str, *, archive_url: str, progress: Progress) -> Rebuilt:
    """Make the lists anew from the logs at `redis_url`, and from the archive if there is one.

    Raises `UnsafeServer` or `LibraryMissing` for a server that the services would refuse.
    """
    async with operators_log(redis_url) as log, connect(redis_url) as connections:
        server = Server(connections.commands, blocking=connections.blocking)
        await server.start()
        whole = await with_archive(log, archive_url)
        return await rebuild_lists(RedisLists(server), _logs(log, archive_url), whole, progress=progress)


async def _logs(log: RedisEventLog, archive_url: str) -> AsyncIterator[tuple[str, Sequence[Commit] | None]]:
    for game in GAMES:
        async for page in log.openings(game.code):
            for opening in page:
                yield opening.stream, await _commits(log, opening.stream, limit=1)
    async for match_id in closed_matches(log):
        yield match_id, await _commits(log, match_id)
    if archive_url:
        async for match_id, raw in walk(open_archive(archive_url, is_new=False)):
            yield match_id, _unpacked(match_id, raw)


async def _commits(log: RedisEventLog, stream: str, *, limit: int | None = None) -> Sequence[Commit] | None:
    try:
        return await log.read(stream, limit=limit)
    except LogCorrupt:
        return None


def _unpacked(match_id: str, raw: bytes) -> Sequence[Commit] | None:
    try:
        return unpack(match_id, raw).commits
    except LogCorrupt:
        return None
