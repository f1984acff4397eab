"""One match as it is followed for all who watch it alike: read once, kept for as long as the slowest may be behind."""

from __future__ import annotations

import asyncio
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Protocol

from promontory.eventlog.port import START, LogCorrupt, Position
from promontory.rules.domain import Match, Step
from promontory.rules.matches import Matches
from promontory.runtime import metrics

BUFFERED_STEPS = 64
"""How many commits a watcher may fall behind before it is told less than all of them."""

TOLD_STEPS = 4
"""Of how many commits the messages made for watchers are kept for others; slower ones have them made again."""

WOKEN_AT_ONCE = 64
"""How many watchers are woken before it is others' turn, who play and watch other matches."""


class Source(Protocol):
    """Where a lane reads its match: as the seats see it, or as spectators do."""

    async def fresh(self, match_id: str) -> Match:
        """Return the match at its last version; raise the refusal `MATCH_NOT_FOUND` if there is none."""

    async def following(self, match: Match) -> Sequence[Step]:
        """Return the steps after `match`, oldest first. Raises `LogCorrupt` if the log does not continue it."""


class Lane:
    """One match that somebody watches: its fold, and its latest steps without gaps."""

    def __init__(self, match_id: str, matches: Matches, source: Source) -> None:
        self.match_id, self._matches, self._source = match_id, matches, source
        self._match: Match | None = None
        self._before: Match | None = None
        self._steps: deque[Step] = deque()
        self._telling: OrderedDict[int, Step] = OrderedDict()
        self._reading = asyncio.Lock()
        self._failure: LogCorrupt | None = None
        self.watchers = 0
        self.rewinds = 0
        self.changes = 0
        self._waiting: dict[asyncio.Future[bool], None] = {}

    @property
    def position(self) -> Position:
        """The last position known, before the first read that before the first commit."""
        return START if self._match is None else self._match.position

    @property
    def match(self) -> Match:
        """The match at the last version known; raises what made following it impossible."""
        if self._failure is not None:
            raise self._failure
        assert self._match is not None, "a match is watched only after its first read"  # noqa: S101 - for the checker
        return self._match

    async def pull(self, *, at_least: int | None = None) -> None:
        """Read what came after the last version known, unless `at_least` that version is known by then."""
        async with self._reading:
            if at_least is not None and self.position.version >= at_least:
                return
            if self._match is None:
                self._begin(await self._source.fresh(self.match_id))
            else:
                await self._go_on(self._match)

    def _begin(self, match: Match) -> None:
        self._match = self._before = match
        self._steps.clear()

    async def _go_on(self, match: Match) -> None:
        try:
            steps = await self._source.following(match)
        except LogCorrupt:
            await self._begin_again()
        else:
            self._take(steps)

    async def _begin_again(self) -> None:
        """Take the history that the log tells now, which is not the one that was told here."""
        try:
            match = await self._source.fresh(self.match_id)
        except LogCorrupt as error:
            self._failure = error
            self.wake()
            raise
        self._begin(match)
        self.rewinds += 1
        metrics.LOG_REWINDS.labels(kind="match").inc()
        self.wake()

    def appended(self, before: Match, step: Step) -> None:
        """Take a `step` that this process appended, if it continues what is known here."""
        if before.position == self.position:
            self._take((step,))

    def _take(self, steps: Iterable[Step]) -> None:
        """Add those of `steps` that come next, and wake the watchers; however many come at once, all are kept."""
        news = [step for step in steps if step.version > self.position.version]
        if not news or news[0].version > self.position.version + 1:
            return
        while len(self._steps) >= BUFFERED_STEPS:
            self._before = self._steps.popleft().match
        self._match = news[-1].match
        self._steps += news
        self.wake()

    def wake(self) -> None:
        """Wake everybody who waits for a change, those first who have waited longest."""
        self.changes += 1
        waiting, self._waiting = self._waiting, {}
        _wake_some(iter(waiting))

    async def change(self, future: asyncio.Future[bool]) -> bool:
        """Return what `future` is given: True at the next change, if it was given nothing else before."""
        self._waiting[future] = None
        try:
            return await future
        finally:
            self._waiting.pop(future, None)

    def after(self, version: int) -> Sequence[Step] | None:
        """Return the steps after `version`, or None if they are no longer all here."""
        missing = self.match.version - version
        if missing > len(self._steps):
            return None
        return [self._steps[-number] for number in range(missing, 0, -1)]

    def tell(self, step: Step) -> Step:
        """Return `step` to be told to one more watcher, and forget what was made of those told before others."""
        if self._telling.get(step.version) is not step:
            self._telling[step.version] = step
            if len(self._telling) > TOLD_STEPS:
                _, old = self._telling.popitem(last=False)
                old.told = None
        return step

    async def at(self, version: int) -> Match:
        """Return the match at `version`, which must not lie ahead, and keep what follows if it is not too much."""
        async with self._reading:
            return self._kept(version) or await self._reach_back(version)

    def _kept(self, version: int) -> Match | None:
        if self._before is not None and self._before.version == version:
            return self._before
        return next((step.match for step in self._steps if step.version == version), None)

    async def _reach_back(self, version: int) -> Match:
        match, before = await self._matches.at(self.match_id, version), self._before
        if before is not None and self.position.version - version <= BUFFERED_STEPS:
            steps = await self._matches.following(match, limit=before.version - version)
            if self._before is before:
                self._steps.extendleft(reversed(steps))
                self._before = match
        return match


def _wake_some(waiting: Iterator[asyncio.Future[bool]]) -> None:
    """Wake the next of those who are `waiting`, and the others soon."""
    for number, each in enumerate(waiting, start=1):
        if not each.done():
            each.set_result(True)
        if number == WOKEN_AT_ONCE:
            asyncio.get_running_loop().call_soon(_wake_some, waiting)
            return
