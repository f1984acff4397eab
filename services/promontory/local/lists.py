"""Making the lists of matches anew on the server that holds the logs, and from the archive."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from promontory.archive.opening import open_archive, with_archive
from promontory.archive.redis_index import RedisArchiveIndex
from promontory.archive.segment import unpack
from promontory.archive.walking import walk
from promontory.eventlog.port import Commit, LogCorrupt, StreamArchived
from promontory.eventlog.redis_server import connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.games.registry import GAMES
from promontory.local.log import closed_logs, operators_log
from promontory.matchmaking.rebuild import Progress, Rebuilt, rebuild_lists
from promontory.matchmaking.redis_lists import RedisLists
from promontory.matchmaking.redis_tickets import Server
from promontory.runtime.settings import SettingsError


async def rebuild(redis_url: str, *, archive_url: str, progress: Progress) -> Rebuilt:
    """Make the lists anew from the logs at `redis_url`, and from the archive if there is one.

    Raises `SettingsError` without an archive where one has matches, which would seem to be gone, and `UnsafeServer` or
    `LibraryMissing` for a server that the services would refuse.
    """
    async with operators_log(redis_url) as log, connect(redis_url) as connections:
        server = Server(connections.commands, blocking=connections.blocking)
        await server.start()
        if not archive_url and not await RedisArchiveIndex(log.caller).is_empty():
            raise SettingsError("matches are in an archive, and PROMONTORY_ARCHIVE_URL does not say where that is")
        whole = await with_archive(log, archive_url)
        return await rebuild_lists(RedisLists(server), _logs(log, archive_url), whole, progress=progress)


async def _logs(log: RedisEventLog, archive_url: str) -> AsyncIterator[tuple[str, Sequence[Commit] | None]]:
    for game in GAMES:
        async for page in log.openings(game.code):
            for opening in page:
                yield opening.stream, await _first(log, opening.stream)
    async for match_id, commits in closed_logs(log):
        yield match_id, commits
    if archive_url:
        async for match_id, raw in walk(open_archive(archive_url, is_new=False)):
            yield match_id, _unpacked(match_id, raw)


async def _first(log: RedisEventLog, stream: str) -> Sequence[Commit] | None:
    """Return the first commit of an open match; none if it has left the log since, which the archive tells."""
    try:
        return await log.read(stream, limit=1)
    except StreamArchived:
        return ()
    except LogCorrupt:
        return None


def _unpacked(match_id: str, raw: bytes) -> Sequence[Commit] | None:
    try:
        return unpack(match_id, raw).commits
    except LogCorrupt:
        return None
