"""What the workers archive matches with: a connection to the log, the archive, and the rules that judge a replay."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from threading import RLock

from promontory.archive.archiver import Archiver, Judge, Outcome
from promontory.archive.opening import open_indexed
from promontory.archive.redis_index import RedisArchiveIndex
from promontory.client.loops import LoopThread
from promontory.eventlog.redis_server import connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.rules.audit import audit, shipped_rulesets
from promontory.rules.ruleset import Ruleset
from promontory.runtime import clock
from promontory.runtime.settings import SettingsError, WorkerSettings, game_files


class Archiving:
    """Archives matches for tasks. Connects when first used, so that each process of a forking pool does by itself."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._connecting = RLock()

    def archive(self, match_id: str, closed_at_ms: int, *, attempt: int) -> Outcome:
        """Meet the obligation to archive a match, or put it off; see `Archiver.archive`.

        Raises `SettingsError` if this worker has no archive, or one at a malformed address.
        """
        with self._connecting:
            loop, archiver = self._loop, self._archiver
        return loop.run(archiver.archive(match_id, closed_at_ms, attempt=attempt))

    @cached_property
    def _loop(self) -> LoopThread:
        return LoopThread()

    @cached_property
    def _archiver(self) -> Archiver:
        settings = self._settings
        if not settings.archive_url:
            raise SettingsError("a match is to be archived, and PROMONTORY_ARCHIVE_URL does not say where")
        connections = connect(settings.redis_url)
        log = RedisEventLog(connections.commands, blocking=connections.blocking, clock=clock.now_ms)
        index = RedisArchiveIndex(log.caller)
        archive = self._loop.run(open_indexed(settings.archive_url, index))
        return Archiver(log, archive, index, judge_by(rulesets_of(settings.data_files)))


def rulesets_of(data_files: str) -> Sequence[Ruleset]:
    """Return every game with the shipped data and with the operator's files that the setting `data_files` names.

    Raises `SettingsError`, `OSError`, or `ValueError` if a game cannot read its file.
    """
    files = game_files(data_files)
    return shipped_rulesets({game: [file.read_bytes() for file in paths] for game, paths in files.items()})


def judge_by(rulesets: Sequence[Ruleset]) -> Judge:
    """Return the judge that replays a match by `rulesets`, and wants everything in it to follow from them."""

    def judge(audit_file: bytes) -> str | None:
        report = audit(audit_file, rulesets, secrecy=False)
        return None if report.ok else report.sentence()

    return judge
