"""Backups: everything in the server that holds the logs, and the archive; and a server's directory made from one."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import AsyncIterator, Iterator
from datetime import datetime
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from promontory import __version__
from promontory.archive.opening import open_archive
from promontory.archive.port import match_of
from promontory.archive.segment import unpack
from promontory.archive.walking import walk
from promontory.eventlog.port import LogCorrupt, StreamStatus
from promontory.eventlog.redis_cluster import address_of, primaries
from promontory.eventlog.redis_restoring import surrender_to_archive
from promontory.eventlog.redis_server import connect
from promontory.eventlog.redis_snapshot import snapshot
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.games.registry import GAMES
from promontory.games.text import counted
from promontory.local.log import closed_logs, operators_log
from promontory.runtime import clock
from promontory.runtime.embedded import EmbeddedServer

NOTE = "backup.json"
ARCHIVE = "archive"
REWRITE_SECONDS = 600


class Part(msgspec.Struct, frozen=True):
    """A file of a backup: the content of one server at one moment."""

    name: str
    bytes: int
    sha256: str


class Backup(msgspec.Struct, frozen=True):
    """What a backup holds, and when it was begun (UTC): all that was acknowledged before is in it.

    `archived` counts the matches that it took from the archive and that were not in the directory before.
    """

    release: str
    begun: datetime
    parts: tuple[Part, ...]
    archived: int

    def sentence(self) -> str:
        """Return it in one sentence."""
        size = sum(part.bytes for part in self.parts)
        log = f"backed up {size} bytes of the log as of {self.begun:%Y-%m-%d %H:%M:%S} UTC"
        return f"{log}, and {counted(self.archived, 'more match', 'more matches')} of the archive"


class UnusableBackup(Exception):
    """The directory holds no whole backup, or is none; the message says what is amiss."""


async def back_up(redis_url: str, directory: Path, *, archive_url: str) -> Backup:
    """Write the content of the server, or of each of a cluster's, and then what the archive has more, to `directory`.

    In this order, so that a match that is moved to the archive meanwhile is in both rather than in none. An archive in
    a bucket is left to the store. The log's file is replaced once its successor is whole.
    """
    _prepare(directory)
    begun, parts = clock.now(), list[Part]()
    async with connect(redis_url) as connections:
        for server in await primaries(connections.commands):
            name = f"log-{address_of(server).replace(':', '-')}.rdb" if address_of(server) else "log.rdb"
            parts.append(await _written(directory / name, snapshot(server)))
    archived = _copy_new(_directory_of(archive_url), directory / ARCHIVE) if archive_url.startswith("file:") else 0
    backup = Backup(__version__, begun, tuple(parts), archived)
    _note(directory / NOTE, backup)
    return backup


def _note(file: Path, backup: Backup) -> None:
    """Write the note in place of the one before, which another name of that file may still stand for."""
    partial = file.with_name(file.name + ".partial")
    partial.write_bytes(msgspec.json.format(msgspec.json.encode(backup)))
    partial.replace(file)


def _prepare(directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)


def _directory_of(archive_url: str) -> Path:
    return Path(unquote(urlsplit(archive_url).path))


async def _written(file: Path, pieces: AsyncIterator[bytes]) -> Part:
    partial, digest, size = file.with_name(file.name + ".partial"), hashlib.sha256(), 0
    with partial.open("wb") as opened:
        partial.chmod(0o600)
        async for piece in pieces:
            opened.write(piece)
            digest.update(piece)
            size += len(piece)
        opened.flush()
        os.fsync(opened.fileno())
    partial.replace(file)
    return Part(file.name, size, digest.hexdigest())


def _copy_new(source: Path, target: Path) -> int:
    """Copy the files of `source` that `target` lacks, which never change; return how many are of matches."""
    count = 0
    for file in _files(source):
        copy = target / file.relative_to(source)
        if not copy.exists():
            copy.parent.mkdir(parents=True, exist_ok=True)
            partial = copy.with_name(copy.name + ".copying")
            shutil.copyfile(file, partial)
            partial.replace(copy)
            count += bool(match_of(file.relative_to(source).as_posix()))
    return count


def _files(directory: Path) -> Iterator[Path]:
    """Yield the whole files of an archive: what is still being written has another name."""
    return (file for file in sorted(directory.rglob("*")) if file.is_file() and not file.name.endswith(".partial"))


async def restore(backup: Path, directory: Path) -> None:
    """Make the data of `promontory up` in `directory` from a backup; its keys are not in there.

    The server starts from the file once without an append-only file, because it reads nothing else where there is one,
    and then writes that. Raises `UnusableBackup`, `FileExistsError` if there is data already.
    """
    part = _checked(backup)
    target = directory / "valkey"
    if (target / "appendonlydir").exists():
        raise FileExistsError(f"{target} holds data: move it away first, nothing is overwritten")
    target.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(backup / part.name, target / "dump.rdb")
    server = EmbeddedServer(target, settings={"appendonly": "no"})
    server.start()
    try:
        await _keep_append_only_file(server.url)
    finally:
        server.stop()
    (target / "dump.rdb").unlink()
    _copy_new(backup / ARCHIVE, directory / ARCHIVE)


def _checked(backup: Path) -> Part:
    try:
        found = msgspec.json.decode((backup / NOTE).read_bytes(), type=Backup)
    except (OSError, msgspec.MsgspecError) as error:
        raise UnusableBackup(f"{backup} holds no whole backup: {error}") from error
    if len(found.parts) != 1:
        raise UnusableBackup(f"{backup} is a cluster's: restore each server from its own file (docs/backup.md)")
    (part,) = found.parts
    with (backup / part.name).open("rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    if digest != part.sha256:
        raise UnusableBackup(f"{backup / part.name} is not what was backed up: its SHA-256 is another")
    return part


async def _keep_append_only_file(url: str) -> None:
    async with connect(url) as connections:
        await connections.commands.config_set("appendonly", "yes")
        deadline = clock.monotonic() + REWRITE_SECONDS
        while not _is_kept(await connections.commands.info("persistence")):
            if clock.monotonic() > deadline:
                raise UnusableBackup("the server did not write its append-only file")
            clock.pause(0.05)


def _is_kept(facts: dict[str, object]) -> bool:
    pending = facts["aof_rewrite_in_progress"] or facts["aof_rewrite_scheduled"]
    return bool(facts["aof_enabled"]) and not pending and facts["aof_last_bgrewrite_status"] == "ok"


class Reconciled(msgspec.Struct, frozen=True):
    """What a restored log holds: how many matches are right, which are not, and which are over in the archive."""

    matches: int
    unreadable: tuple[str, ...]
    surrendered: tuple[str, ...]

    def sentence(self) -> str:
        """Return it in one sentence."""
        right = counted(self.matches, "match is right", "matches are right")
        over = f"{len(self.surrendered)} were over in the archive and are left to it"
        which = f": {', '.join(self.unreadable)}" if self.unreadable else ""
        return f"{right}, {over}, {len(self.unreadable)} cannot be read{which}"


async def reconcile(redis_url: str, *, archive_url: str) -> Reconciled:
    """Verify every match of a log that was restored, and leave to the archive those that went on to their end there.

    Only while no service runs.
    """
    async with operators_log(redis_url) as log:
        surrendered = [each async for each in _overtaken(log, archive_url)] if archive_url else []
        read = {match_id: is_right async for match_id, is_right in _judged(log)}
    unreadable = tuple(match_id for match_id, is_right in read.items() if not is_right)
    return Reconciled(len(read) - len(unreadable), unreadable, tuple(surrendered))


async def _judged(log: RedisEventLog) -> AsyncIterator[tuple[str, bool]]:
    """Yield every match in the log, and whether its commits verify."""
    for game in GAMES:
        async for page in log.openings(game.code):
            for opening in page:
                yield opening.stream, await _verifies(log, opening.stream)
    async for match_id, commits in closed_logs(log):
        yield match_id, commits is not None


async def _verifies(log: RedisEventLog, match_id: str) -> bool:
    try:
        await log.read(match_id)
    except LogCorrupt:
        return False
    return True


async def _overtaken(log: RedisEventLog, archive_url: str) -> AsyncIterator[str]:
    archive = open_archive(archive_url, is_new=False)
    async for match_id, raw in walk(archive):
        head = await log.head(match_id)
        if head is not None and head.status is StreamStatus.OPEN:
            end = unpack(match_id, raw).position
            await surrender_to_archive(log, match_id, end, archive.location(match_id))
            yield match_id
