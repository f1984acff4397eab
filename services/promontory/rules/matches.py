"""The matches of one game as folds of their logs, kept in a bounded cache that never decides what is true."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from promontory.eventlog.port import (
    START,
    Appended,
    CommandIdReused,
    Commit,
    EventLog,
    EventLogUnavailable,
    Fenced,
    LogCorrupt,
    StreamClosed,
    VersionConflict,
    chain,
)
from promontory.rules.domain import Match, Step
from promontory.rules.ledger import Draft, Ledger
from promontory.runtime import clock, metrics
from promontory.runtime.errors import match_not_found
from promontory.runtime.recent import Recent

Listener = Callable[[Match, Step], None]
"""Told the match before a step, and the step."""

READ_AT_ONCE = 64
"""How many commits are held while a match is folded to an earlier version."""

_OUTCOMES: dict[type[Exception], str] = {
    VersionConflict: "conflict",
    CommandIdReused: "reused",
    StreamClosed: "closed",
    Fenced: "fenced",
    EventLogUnavailable: "unavailable",
}


class Matches:
    """Reads and appends the matches of one game.

    A cached fold may be stale: reads that clients see go to the log for what came after it, and a write on a stale
    fold is refused by the log.
    """

    def __init__(self, log: EventLog, ledger: Ledger, *, game: str, cached: int) -> None:
        self.log, self._ledger, self._game = log, ledger, game
        self._folds = Recent[str, Match](cached)
        self._listeners: list[Listener] = []
        self._markers: list[Callable[[Match], None]] = []
        metrics.begin(metrics.LOG_REWINDS, kind=["match"])
        metrics.begin(metrics.APPENDS, outcome=("appended", *_OUTCOMES.values(), "failed"))

    def listen(self, listener: Listener) -> None:
        """Have `listener` told of every step that this process appends."""
        self._listeners.append(listener)

    def mark(self, marker: Callable[[Match], None]) -> None:
        """Have `marker` told of every `READ_AT_ONCE`th version that a match is folded through from its beginning."""
        self._markers.append(marker)

    async def recent(self, match_id: str) -> Match:
        """Return the match at a version that may be stale; raise the refusal `MATCH_NOT_FOUND` if there is none."""
        cached = self._folds.get(match_id)
        return await self.fresh(match_id) if cached is None else cached

    async def fresh(self, match_id: str) -> Match:
        """Return the match at its last version; raise the refusal `MATCH_NOT_FOUND` if there is none."""
        cached = self._folds.get(match_id)
        try:
            match = await self._caught_up(match_id, cached)
        except LogCorrupt:
            if cached is None:
                raise
            self._folds.drop(match_id)  # the log went back behind the fold: what it says now is what counts
            match = await self._caught_up(match_id, None)
            metrics.LOG_REWINDS.labels(kind="match").inc()
        if match is None:
            raise match_not_found(match_id)
        self._keep(match)
        return match

    async def _caught_up(self, match_id: str, match: Match | None) -> Match | None:
        marks = match is None
        for commit in await self._read(match_id, match):
            match = self._ledger.step(match_id, match, commit).match
            if marks and match.version % READ_AT_ONCE == 0:
                for marker in self._markers:
                    marker(match)
        return match

    async def following(self, match: Match, *, limit: int | None = None) -> Sequence[Step]:
        """Return the steps after `match`, oldest first, at most `limit`."""
        steps = await self._steps(match.match_id, match, limit=limit)
        if steps:
            self._keep(steps[-1].match)
        return steps

    async def at(self, match_id: str, version: int, *, start: Match | None = None) -> Match:
        """Return the match as it was at `version`, folded on from `start` if given, without holding all its steps.

        Raises `LogCorrupt` if there is no such version.
        """
        match = start
        while match is None or match.version < version:
            missing = version if match is None else version - match.version
            commits = await self._read(match_id, match, limit=min(missing, READ_AT_ONCE))
            if not commits:
                raise LogCorrupt(match_id, version, "the stream ends before it")
            for commit in commits:
                match = self._ledger.step(match_id, match, commit).match
        return match

    async def history(self, match_id: str, *, last: int) -> Sequence[Step]:
        """Return the steps from the first to version `last`, or fewer if there are no more."""
        return await self._steps(match_id, None, limit=last)

    async def step(self, match_id: str, version: int) -> Step:
        """Return the step of commit `version`, which must exist."""
        return (await self.history(match_id, last=version))[version - 1]

    async def _steps(self, match_id: str, match: Match | None, *, limit: int | None = None) -> Sequence[Step]:
        steps: list[Step] = []
        for commit in await self._read(match_id, match, limit=limit):
            step = self._ledger.step(match_id, match, commit)
            steps.append(step)
            match = step.match
        return steps

    async def _read(self, match_id: str, match: Match | None, *, limit: int | None = None) -> Sequence[Commit]:
        return await self.log.read(match_id, after=START if match is None else match.position, limit=limit)

    async def append(self, match: Match, draft: Draft) -> Step | Appended:
        """Append `draft` after `match` and return its step, or what was appended before under its command id.

        Raises what `EventLog.append` raises.
        """
        started = clock.monotonic()
        try:
            appended = await self.log.append(match.match_id, draft.proposed, expected=match.position)
        except Exception as error:
            self._count_failure(error)
            raise
        metrics.APPEND_SECONDS.observe(clock.monotonic() - started)
        metrics.labelled(metrics.APPENDS, outcome="duplicate" if appended.duplicate else "appended").inc()
        return appended if appended.duplicate else self._appended(match, draft, appended.head)

    def _appended(self, match: Match, draft: Draft, head: bytes | None) -> Step:
        metrics.APPENDED_EVENTS.inc(len(draft.proposed.events))
        step = draft.committed(head or chain(match.match_id, match.position.head, draft.step.version, draft.proposed))
        self._count(step.match)
        self._keep(step.match)
        for listener in self._listeners:
            listener(match, step)
        return step

    def _count_failure(self, error: Exception) -> None:
        if isinstance(error, VersionConflict):
            metrics.APPEND_CONFLICTS.labels(game=self._game).inc()
        metrics.APPENDS.labels(outcome=metrics.outcome_of(error, _OUTCOMES)).inc()

    def _count(self, match: Match) -> None:
        if match.version == 1:
            metrics.MATCHES_CREATED.labels(game=self._game).inc()
        if match.result is not None:
            metrics.MATCHES_CLOSED.labels(game=self._game, reason=match.result.reason.value).inc()

    def _keep(self, match: Match) -> None:
        cached = self._folds.get(match.match_id)
        if cached is None or cached.version <= match.version:
            self._folds.keep(match.match_id, match)
