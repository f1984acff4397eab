"""Handing out obligations: what is due becomes tasks, and what no worker meets is met without them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random

import msgspec
import structlog

from promontory.eventlog.port import (
    MANY_NOTES,
    Backlog,
    Claimed,
    ClockSkew,
    EventLog,
    EventLogUnavailable,
    PartlyUnavailable,
)
from promontory.games.registry import entry_by_code
from promontory.relay.agenda import AGAIN_MS, Agenda
from promontory.relay.deadlines import Deadlines
from promontory.relay.domain import KINDS, Ages, ArchiveDue, BotTurn, ClockDue, Task, kind_of, parse, task_of
from promontory.relay.fallbacks import Fallbacks
from promontory.relay.ports import BrokerUnavailable, Publisher
from promontory.runtime import clock, metrics

log = structlog.get_logger()

CLAIM_LIMIT = 100
LONGEST_WAIT_MS = 250
"""How long news is waited for at a time, so that a relay stops soon once it is told to."""
MAX_QUEUED = 2000
"""How many tasks may wait in a queue. More would only be sent again before their turn, and make a long queue longer."""


class Pace(msgspec.Struct, frozen=True):
    """How often everything is looked through, how long one attempt may take, and after how many the relay steps in.

    Clocks may differ by `max_skew_seconds`. After some news `gather_seconds` go by before the feeds are read again, so
    that one read brings several: what comes alone is handed out at once. It is `long_gather_seconds` while much goes on
    of which nothing is due. The relay stays away from a log that fails for `pause_seconds`, and for
    `skew_pause_seconds` once clocks differ by more than they may.
    """

    sweep_seconds: float = 1.0
    lease_seconds: float = 10.0
    max_attempts: int = 5
    max_skew_seconds: float = 5.0
    gather_seconds: float = 0.02
    long_gather_seconds: float = 0.05
    pause_seconds: float = 1.0
    skew_pause_seconds: float = 5.0


class OwnChores(msgspec.Struct, frozen=True):
    """What the relay does itself."""

    fallbacks: Fallbacks
    deadlines: Deadlines


class Dispatcher:
    """Hands out what is due in `buckets`, once their feeds tell of it, or when it was to be.

    All are swept now and then, because the feed is only a hint. Any number of dispatchers may run at once: an
    obligation is claimed under a lease, and tasks may come twice. While the broker takes nothing, nothing is claimed,
    so that no attempt is lost on it. While a queue is full, what is claimed is not sent, and comes again after its
    lease.
    """

    def __init__(
        self, event_log: EventLog, publisher: Publisher, chores: OwnChores, *, buckets: Sequence[str], pace: Pace
    ) -> None:
        self._log, self._publisher = event_log, publisher
        self._fallbacks, self._deadlines = chores.fallbacks, chores.deadlines
        self._buckets, self._pace = tuple(buckets), pace
        self._cursors: Mapping[str, str] = dict.fromkeys(buckets, "$")
        self._agenda = Agenda()
        self._random = Random()  # noqa: S311 - spreads leases
        self._gauges = _Gauges(buckets, pace.lease_seconds)
        self._next_sweep = 0.0
        self._room: dict[str, int] = {}
        self._broker_failed = False
        metrics.begin(metrics.RELAY_PAUSES, cause=("broker", "clock_skew", "event_log"))
        metrics.begin(metrics.OBLIGATIONS, kind=KINDS, outcome=("exhausted", "published"))

    async def run(self, stopping: asyncio.Event) -> None:
        """Hand out obligations until `stopping` is set; then let what is under way come to its end."""
        while not stopping.is_set():
            if pause := await self._step():
                await _wait(stopping, pause)
        await asyncio.gather(self._fallbacks.finish(), self._deadlines.finish())

    async def _step(self) -> float:
        """Wait for work and hand it out once; return for how many seconds to stay away after a failure."""
        try:
            await self._turn()
        except ClockSkew as error:
            self._deadlines.hold()
            metrics.RELAY_PAUSES.labels(cause="clock_skew").inc()
            return _stay_away(self._pace.skew_pause_seconds, log.error, "clock_skewed", cause=str(error))
        except EventLogUnavailable as error:
            self._deadlines.hold()
            metrics.RELAY_PAUSES.labels(cause="event_log").inc()
            return _stay_away(self._pace.pause_seconds, log.warning, "event_log_unavailable", cause=str(error))
        return 0.0

    async def _turn(self) -> None:
        self._cursors, notes = await self._log.feed(self._cursors, block_ms=self._wait_ms())
        self._agenda.note(notes, clock.now_ms())
        due = self._agenda.due(clock.now_ms())
        if clock.monotonic() >= self._next_sweep:
            self._next_sweep = clock.monotonic() + self._pace.sweep_seconds
            await self.sweep()
        else:
            await self._hand_out(due)
        if notes:
            is_needless = len(notes) >= MANY_NOTES and not due
            await asyncio.sleep(self._pace.long_gather_seconds if is_needless else self._pace.gather_seconds)

    def _wait_ms(self) -> int:
        """Return how long to wait for news: until the next sweep, or until something is due before that."""
        until_sweep = round((self._next_sweep - clock.monotonic()) * 1000)
        longest = min(LONGEST_WAIT_MS, max(0, until_sweep))
        return longest if self._broker_failed else self._agenda.wait_ms(clock.now_ms(), longest=longest)

    async def sweep(self) -> None:
        """Hand out all that is due in any bucket, and measure what waits.

        Raises `EventLogUnavailable`; if that is a part of the log, what is due in the others has been handed out.
        """
        try:
            backlogs = await self._log.backlogs(self._buckets)
        except PartlyUnavailable as error:
            await self._sweep(error.found)
            raise
        await self._sweep(backlogs)

    async def _sweep(self, backlogs: Mapping[str, Backlog]) -> None:
        self._gauges.show(backlogs)
        self._agenda.learn(backlogs)
        await self._look_for_room()
        await self._hand_out(self._due(backlogs))
        metrics.LAST_SWEEP.set(clock.now_ms() / 1000)

    def _due(self, backlogs: Mapping[str, Backlog]) -> Sequence[str]:
        """Return the buckets with something that is due, by the clock that is ahead."""
        horizon = clock.now_ms() + round(self._pace.max_skew_seconds * 1000)
        return [bucket for bucket, backlog in backlogs.items() if backlog.earliest_ms <= horizon]

    async def _look_for_room(self) -> None:
        try:
            queued = await self._publisher.queued()
        except BrokerUnavailable as error:
            self._lose_broker(error)
            return
        self._room = {queue: MAX_QUEUED - count for queue, count in queued.items()}
        for queue, count in queued.items():
            metrics.TASKS_QUEUED.labels(queue=queue).set(count)
        if self._broker_failed:
            self._broker_failed = False
            log.info("broker_back")

    def _lose_broker(self, error: BrokerUnavailable) -> None:
        metrics.RELAY_PAUSES.labels(cause="broker").inc()
        if not self._broker_failed:
            log.warning("broker_unavailable", cause=str(error))
        self._broker_failed = True

    async def _hand_out(self, buckets: Iterable[str]) -> None:
        """Hand out what is due in `buckets`, all claimed at once; raise the first failure once the others are met."""
        if self._broker_failed:
            return
        claiming = {asyncio.create_task(self._claim(bucket)) for bucket in buckets}
        failures = list[BaseException]()
        while claiming:
            done, claiming = await asyncio.wait(claiming, return_when=asyncio.FIRST_COMPLETED)
            failures += [error for each in done if (error := each.exception())]
            await self._meet([claimed for each in done if not each.exception() for claimed in each.result()])
        if failures:
            raise failures[0]

    async def _claim(self, bucket: str) -> Sequence[Claimed]:
        """Claim what is due in `bucket`, and note on the agenda when to look there again.

        Leases are up to a tenth shorter, so that what was handed out together does not come again together: a task that
        ends its worker would end the same others every time.
        """
        lease_ms = max(1, round(self._pace.lease_seconds * 1000 * self._random.uniform(0.9, 1)))
        attempts = self._pace.max_attempts
        claiming = self._log.claim(bucket, limit=CLAIM_LIMIT, lease_ms=lease_ms, max_attempts=attempts)
        claimed, earliest_ms = await asyncio.gather(claiming, self._log.oldest_due(bucket))  # in one round trip
        self._agenda.looked(bucket, earliest_ms, clock.now_ms() + (0 if claimed else AGAIN_MS))
        for each in claimed:
            self._gauges.handed_out(bucket, each)
        return claimed

    async def _meet(self, claimed: Sequence[Claimed]) -> None:
        tasks: list[Task] = []
        for each in claimed:
            obligation = parse(each.name)
            if obligation is None:
                metrics.OBLIGATIONS.labels(kind=kind_of(None), outcome="ignored").inc()
                log.error("obligation_unknown", obligation=each.name)
            elif isinstance(obligation, ClockDue):
                await self._deadlines.start(each.name, obligation)
            elif each.exhausted and isinstance(obligation, BotTurn):
                await self._fallbacks.start(each.name, obligation)
            else:
                tasks.append(task_of(obligation, each))
        self._report_parked(claimed)
        await self._publish(tasks)

    def _report_parked(self, claimed: Sequence[Claimed]) -> None:
        """Tell of each obligation once, when it is parked, and count it whenever it is handed out after that."""
        for each in claimed:
            if each.exhausted:
                metrics.OBLIGATIONS.labels(kind=kind_of(parse(each.name)), outcome="exhausted").inc()
            if each.attempt == self._pace.max_attempts + 1:
                log.error("obligation_parked", obligation=each.name, attempt=each.attempt)

    async def _publish(self, tasks: Sequence[Task]) -> None:
        fitting = self._fitting(tasks)
        outcome = "published"
        try:
            if fitting:
                await self._publisher.publish(fitting)
        except BrokerUnavailable as error:
            outcome = "publish_failed"
            self._lose_broker(error)
        _count(fitting, outcome)

    def _fitting(self, tasks: Sequence[Task]) -> Sequence[Task]:
        """Return those of `tasks` that their queues have room for."""
        fitting: list[Task] = []
        for task in tasks:
            self._room[task.queue] = self._room.get(task.queue, MAX_QUEUED) - 1
            if self._room[task.queue] >= 0:
                fitting.append(task)
        if left_out := [task for task in tasks if task not in fitting]:
            log.warning("queue_full", tasks=len(left_out))
            _count(left_out, "queue_full")
        return fitting


def _count(tasks: Sequence[Task], outcome: str) -> None:
    for task in tasks:
        metrics.OBLIGATIONS.labels(kind=kind_of(parse(task.obligation)), outcome=outcome).inc()


class _Gauges:
    """The gauges of each game: how many obligations are due, and how old the oldest is."""

    def __init__(self, buckets: Sequence[str], lease_seconds: float) -> None:
        self._games = {bucket: entry_by_code(bucket.partition(":")[0]).name for bucket in buckets}
        self._ages = {game: Ages(lease_seconds) for game in self._games.values()}

    def handed_out(self, bucket: str, claimed: Claimed) -> None:
        """Note that an obligation of `bucket` was handed out. One to archive may wait: it has gauges of its own."""
        if isinstance(parse(claimed.name), ArchiveDue):
            return
        self._ages[self._games[bucket]].handed_out(claimed, clock.monotonic())

    def show(self, backlogs: Mapping[str, Backlog]) -> None:
        """Set the gauges."""
        for game, ages in self._ages.items():
            waiting = [backlog for bucket, backlog in backlogs.items() if self._games[bucket] == game]
            overdue = [clock.now_ms() - backlog.earliest_ms for backlog in waiting if backlog.due]
            oldest = max(ages.oldest_seconds(clock.monotonic()), max(overdue, default=0) / 1000)
            metrics.OBLIGATIONS_DUE.labels(game=game).set(sum(backlog.due for backlog in waiting))
            metrics.OLDEST_OBLIGATION_SECONDS.labels(game=game).set(oldest)


def _stay_away(seconds: float, tell: Callable[..., object], event: str, *, cause: str) -> float:
    tell(event, cause=cause, pause_seconds=seconds)
    return seconds


async def _wait(stopping: asyncio.Event, seconds: float) -> None:
    try:
        async with asyncio.timeout(seconds):
            await stopping.wait()
    except TimeoutError:
        return
