"""The relay's dispatcher on the log in memory."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager

import msgspec
import pytest
from structlog.testing import capture_logs

from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import START, Backlog, Claimed, ClockSkew, EventLogUnavailable, PartlyUnavailable
from promontory.relay.deadlines import Deadlines
from promontory.relay.dispatcher import MAX_QUEUED, Dispatcher, OwnChores, Pace
from promontory.relay.domain import BotTurn, ClockDue, Task
from promontory.relay.fallbacks import Fallbacks
from promontory.relay.ports import BrokerUnavailable, Enforced, GameUnavailable
from promontory.runtime.clock import now_ms
from tests.support.event_logs import proposal
from tests.support.waiting import eventually

MATCH = "tc-000-abcdefghijklmnopqrstuvwxyz"
BOT, TALLY = f"bot|{MATCH}|1|12", f"tally|{MATCH}"
CLOCK = f"clock|{MATCH}"
ARCHIVE = f"archive|{MATCH}|1790000000000"
TOO_EARLY = Enforced(recorded=False, due_in_seconds=0.01)
ONCE = Pace(sweep_seconds=0.01, lease_seconds=600, max_attempts=5)
SELDOM = Pace(sweep_seconds=0.5, lease_seconds=600, max_attempts=5)
IMPATIENT = Pace(sweep_seconds=0.01, lease_seconds=0.001, max_attempts=1)


class Broker:
    """Takes tasks while it is up."""

    def __init__(self) -> None:
        self.is_up = True
        self.waiting = 0
        self.sent: list[str] = []

    async def publish(self, tasks: Sequence[Task]) -> None:
        """Note the tasks' ids."""
        if not self.is_up:
            raise BrokerUnavailable("down")
        self.sent += [task.task_id for task in tasks]

    async def queued(self) -> dict[str, int]:
        """Return how many wait, the same in both queues."""
        if not self.is_up:
            raise BrokerUnavailable("down")
        return {"bots": self.waiting, "tallies": self.waiting}


class Rules:
    """Plays automatically while it is up."""

    def __init__(self) -> None:
        self.is_up = True
        self.asked: list[str] = []

    async def play(self, turn: BotTurn, *, request_id: str) -> bool:
        """Note the request."""
        self.asked.append(request_id)
        if not self.is_up:
            raise GameUnavailable("down")
        return True

    async def enforce(self, due: ClockDue) -> Enforced:
        """Note the match, whose time ran out just when it is asked about for the second time."""
        self.asked.append(due.match_id)
        if not self.is_up:
            raise GameUnavailable("down")
        return Enforced(recorded=True, due_in_seconds=None) if self.asked.count(due.match_id) > 1 else TOO_EARLY


class Relay:
    """A dispatcher with all around it."""

    def __init__(self, log: MemoryEventLog) -> None:
        self.log, self.broker, self.rules = log, Broker(), Rules()
        self.hold_seconds = 0.0

    @asynccontextmanager
    async def running(self, pace: Pace) -> AsyncIterator[None]:
        """Run beside the body."""
        chores = OwnChores(Fallbacks(self.log, self.rules), Deadlines(self.rules, hold_seconds=self.hold_seconds))
        dispatcher = Dispatcher(self.log, self.broker, chores, buckets=["tc:000", "tc:001"], pace=pace)
        stopping = asyncio.Event()
        task = asyncio.create_task(dispatcher.run(stopping))
        yield
        stopping.set()
        await task

    async def oblige(self, *names: str) -> None:
        """Append a commit that sets obligations."""
        await self.log.append(MATCH, proposal(due=dict.fromkeys(names, 0)), expected=START)


@pytest.fixture
def relay() -> Relay:
    return Relay(MemoryEventLog(clock=now_ms))


def true(condition: Callable[[], object]) -> Callable[[], object]:
    async def ask() -> object:
        return condition()

    return ask


async def test_what_is_due_becomes_one_task_a_lease(relay: Relay) -> None:
    """[event_log 2.9] Sent at once, and not again before the lease ends."""
    async with relay.running(ONCE):
        await relay.oblige(BOT, TALLY)
        await eventually(true(lambda: len(relay.broker.sent) == 2))
        await relay.log.append("tc-001-x", proposal(due={f"tally|{MATCH}2": 0}), expected=START)
        await eventually(true(lambda: len(relay.broker.sent) == 3))
    assert sorted(relay.broker.sent) == [f"{BOT}|1", f"{TALLY}2|1", f"{TALLY}|1"]


async def test_of_several_matches_that_went_on_those_with_something_due_are_handed_out(relay: Relay) -> None:
    """[event_log 2.9] However many commits the feed tells of at once, and in however many buckets."""
    async with relay.running(SELDOM):
        await relay.oblige(TALLY)
        await eventually(true(lambda: relay.broker.sent == [f"{TALLY}|1"]))
        await relay.log.append("tc-000-x", proposal(), expected=START)
        await relay.log.append("tc-001-x", proposal(due={f"tally|{MATCH}2": 0}), expected=START)
        await eventually(true(lambda: relay.broker.sent == [f"{TALLY}|1", f"{TALLY}2|1"]))


async def test_what_is_due_later_is_handed_out_then_and_not_at_the_next_sweep(relay: Relay) -> None:
    """[event_log 2.9] The feed tells when; so does each look at a bucket."""
    pace = Pace(sweep_seconds=600, lease_seconds=0.05, max_attempts=5)
    async with relay.running(pace):
        await relay.log.append(MATCH, proposal(due={TALLY: 20}), expected=START)
        await eventually(true(lambda: relay.broker.sent[:2] == [f"{TALLY}|1", f"{TALLY}|2"]))


async def test_what_was_due_before_the_relay_started_is_found(relay: Relay) -> None:
    """[event_log 2.9] The feed is a hint; the sweep finds what it does not tell."""
    await relay.oblige(BOT)
    async with relay.running(ONCE):
        await eventually(true(lambda: relay.broker.sent == [f"{BOT}|1"]))


async def test_a_task_that_is_not_met_is_sent_again(relay: Relay) -> None:
    """[event_log 2.9] A lost task is sent again when the lease ends, under an id of its own."""
    await relay.oblige(TALLY)
    async with relay.running(IMPATIENT):
        await eventually(true(lambda: f"{TALLY}|4" in relay.broker.sent))


async def test_an_exhausted_bot_turn_is_played_by_the_rules_and_settled(relay: Relay) -> None:
    """[event_log 2.9] A fallback keeps the game going; its request id names the turn."""
    await relay.oblige(BOT)
    async with relay.running(IMPATIENT):
        await eventually(lambda: _settled(relay))
    assert set(relay.rules.asked) == {f"auto:{BOT}"}
    assert relay.broker.sent == [f"{BOT}|1"]


async def test_a_fallback_that_fails_comes_again(relay: Relay) -> None:
    """The obligation stays until the rules have played."""
    await relay.oblige(BOT)
    relay.rules.is_up = False
    async with relay.running(IMPATIENT):
        await eventually(true(lambda: len(relay.rules.asked) >= 3))
        assert await relay.log.oldest_due("tc:000") is not None
        relay.rules.is_up = True
        await eventually(lambda: _settled(relay))


async def test_an_exhausted_tally_goes_on_being_sent_and_is_reported_once(relay: Relay) -> None:
    """Ratings wait, but are never lost; whoever reads the log is not told of each attempt."""
    await relay.oblige(TALLY)
    with capture_logs() as lines:
        async with relay.running(IMPATIENT):
            await eventually(true(lambda: f"{TALLY}|4" in relay.broker.sent))
    assert [line["event"] for line in lines] == ["obligation_parked"]


async def test_an_archiving_goes_to_its_own_queue_with_the_number_of_its_attempt(relay: Relay) -> None:
    """[event_log 2.9] Bots do not wait behind it, and a worker puts off what fails again and again."""
    await relay.oblige(ARCHIVE)
    async with relay.running(IMPATIENT):
        await eventually(true(lambda: f"{ARCHIVE}|2" in relay.broker.sent))


async def test_nothing_is_claimed_while_the_broker_is_down(relay: Relay) -> None:
    """No attempt is lost on a broker that takes nothing: the second one comes after it is back."""
    relay.broker.is_up = False
    await relay.oblige(BOT)
    with capture_logs() as lines:
        async with relay.running(IMPATIENT):
            await eventually(true(lambda: "broker_unavailable" in {line["event"] for line in lines}))
            relay.broker.is_up = True
            await eventually(lambda: _settled(relay))
    assert [line["event"] for line in lines].count("broker_unavailable") == 1


async def test_nothing_is_sent_into_a_full_queue(relay: Relay) -> None:
    """A long queue does not grow longer by what waits in it already; what is left out comes again."""
    relay.broker.waiting = MAX_QUEUED - 1
    await relay.oblige(BOT, f"bot|{MATCH}|0|12", TALLY)
    with capture_logs() as lines:
        async with relay.running(msgspec.structs.replace(IMPATIENT, max_attempts=1000)):
            await eventually(true(lambda: "queue_full" in {line["event"] for line in lines}))
            assert {task.split("|")[0] for task in relay.broker.sent} == {"bot", "tally"}
            relay.broker.waiting = 0
            await eventually(true(lambda: len({task.rpartition("|")[0] for task in relay.broker.sent}) == 3))


async def test_a_bot_s_turn_that_never_fits_is_played_by_the_rules(relay: Relay) -> None:
    """[event_log 2.9] A bot never holds up a match, not even when the workers are hopelessly behind."""
    relay.broker.waiting = MAX_QUEUED
    await relay.oblige(BOT)
    async with relay.running(IMPATIENT):
        await eventually(lambda: _settled(relay))
    assert relay.broker.sent == []


async def test_an_obligation_of_an_unknown_kind_stays_and_is_reported(relay: Relay) -> None:
    """A newer relay may know it."""
    await relay.oblige("clock|x")
    with capture_logs() as lines:
        async with relay.running(ONCE):
            await eventually(true(lambda: "obligation_unknown" in {line["event"] for line in lines}))
    assert await relay.log.oldest_due("tc:000") is not None


@pytest.mark.parametrize(
    ("error", "event", "level"),
    [
        (ClockSkew("an hour"), "clock_skewed", "error"),
        (EventLogUnavailable("gone"), "event_log_unavailable", "warning"),
    ],
)
async def test_a_relay_stays_away_after_a_failure_and_stops_when_told(error: Exception, event: str, level: str) -> None:
    """[event_log 2.10] [event_log R17] Clocks that differ pause it, and so does a log that does not answer.

    Nobody can trust clocks that differ until somebody has set them; a log that restarts comes back by itself.
    """
    relay = Relay(_Failing(error))
    await relay.oblige(BOT)
    with capture_logs() as lines:
        async with relay.running(ONCE):
            await eventually(true(lambda: lines))
    assert [(line["event"], line["log_level"]) for line in lines] == [(event, level)]
    assert relay.broker.sent == []


async def test_what_is_due_in_a_part_of_the_log_is_handed_out_while_another_is_away() -> None:
    """[event_log R9] One shard of a cluster has no primary: the bots of the others play on."""
    relay = Relay(_Partial(clock=now_ms))
    await relay.oblige(BOT)
    with capture_logs() as lines:
        async with relay.running(ONCE):
            await eventually(true(lambda: relay.broker.sent and lines))
    assert (relay.broker.sent, {line["event"] for line in lines}) == ([f"{BOT}|1"], {"event_log_unavailable"})


async def test_a_relay_that_stops_finishes_the_fallbacks_it_started(relay: Relay) -> None:
    """[event_log 2.14] Drain."""
    await relay.oblige(BOT)
    gate = asyncio.Event()

    class Slow(Rules):
        async def play(self, turn: BotTurn, *, request_id: str) -> bool:
            self.asked.append(request_id)
            await gate.wait()
            return True

    relay.rules = Slow()
    async with relay.running(IMPATIENT):
        await eventually(true(lambda: relay.rules.asked))
        asyncio.get_running_loop().call_later(0.02, gate.set)
    assert await relay.log.oldest_due("tc:000") is None


async def test_a_clock_is_enforced_by_the_rules_service_and_not_by_a_worker(relay: Relay) -> None:
    """[event_log 2.10] Asked early, it waits; not the relay, but the commit that records it clears the obligation."""
    await relay.oblige(CLOCK)
    async with relay.running(ONCE):
        await eventually(true(lambda: len(relay.rules.asked) == 2))
    assert (relay.rules.asked, relay.broker.sent) == ([MATCH, MATCH], [])
    assert await relay.log.oldest_due("tc:000") is not None


async def test_a_clock_is_held_after_the_relay_was_away(relay: Relay) -> None:
    """Players are to come back first: nobody loses because the platform was not there."""
    relay.hold_seconds = 600
    await relay.oblige(CLOCK, TALLY)
    async with relay.running(ONCE):
        await eventually(true(lambda: relay.broker.sent))
    assert relay.rules.asked == []


async def test_a_clock_that_cannot_be_enforced_now_comes_again(relay: Relay) -> None:
    """[event_log R1] However often, while the rules service is away."""
    relay.rules.is_up = False
    await relay.oblige(CLOCK)
    async with relay.running(IMPATIENT):
        await eventually(true(lambda: len(relay.rules.asked) > 3))


async def _settled(relay: Relay) -> bool:
    return await relay.log.oldest_due("tc:000") is None


class _Partial(MemoryEventLog):
    """A log that never answers for all buckets."""

    async def backlogs(self, buckets: Sequence[str]) -> Mapping[str, Backlog]:
        """Tell of some, and fail."""
        raise PartlyUnavailable(await super().backlogs(buckets[:1]), EventLogUnavailable("a node is gone"))


class _Failing(MemoryEventLog):
    """A log that hands nothing out."""

    def __init__(self, error: Exception) -> None:
        super().__init__(clock=now_ms)
        self._error = error

    async def claim(self, bucket: str, *, limit: int, lease_ms: int, max_attempts: int) -> Sequence[Claimed]:
        """Fail."""
        raise self._error
