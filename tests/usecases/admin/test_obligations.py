"""What is owed, and obligations that nobody meets, on a log in memory."""

from __future__ import annotations

import pytest

from promontory.admin.inspection import Filter, Inspection
from promontory.admin.obligations import Obligations, Wanted
from promontory.api.match.v1 import match_pb2
from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.obligations import archive_name, clock_name, tally_name
from promontory.eventlog.port import START, StreamStatus, bucket_of
from promontory.runtime.clock import now_ms
from promontory.runtime.errors import Kind, Refusal
from tests.support.conduct import table
from tests.support.event_logs import append_chain, proposal
from tests.support.refereeing import Bench

MATCHES = ("tc-000-a", "tc-001-b", "pc-000-c")
TALLY = tally_name(MATCHES[0])


class Debts:
    """Three matches of which a tally is owed, two of them with a clock; nothing is handed out more than once."""

    def __init__(self) -> None:
        self.log = MemoryEventLog(clock=now_ms)
        self.obligations = Obligations(self.log, buckets=2, max_attempts=1)

    async def owe(self) -> None:
        """Make the matches."""
        for match_id in MATCHES:
            due = {tally_name(match_id): 0, clock_name(match_id): 60_000}
            await self.log.append(match_id, proposal(due=due), expected=START)

    async def park(self, match_id: str = MATCHES[0]) -> None:
        """Hand out what is due of a match's bucket until it is parked."""
        for _ in range(2):
            await self.log.claim(bucket_of(match_id), limit=10, lease_ms=0, max_attempts=1)

    async def names(self, wanted: Wanted) -> list[str]:
        """Return the names on all pages of a list."""
        found, token = await self.obligations.page(wanted)
        names = [each.name for each in found]
        next_page = Wanted(wanted.game, wanted.parked, wanted.size, token)
        return names + (await self.names(next_page) if token else [])


@pytest.fixture
async def debts() -> Debts:
    made = Debts()
    await made.owe()
    return made


@pytest.mark.parametrize("size", [0, 1, 2, 4])
async def test_all_that_is_owed_is_listed_in_pages(debts: Debts, size: int) -> None:
    """[ListObligations] Each once, whatever the size of pages."""
    names = await debts.names(Wanted(size=size))
    assert sorted(names) == sorted(name for each in MATCHES for name in (tally_name(each), clock_name(each)))
    assert await debts.names(Wanted(game="pacific", size=size)) == [tally_name(MATCHES[2]), clock_name(MATCHES[2])]


async def test_what_is_parked_is_told_from_what_is_worked_at(debts: Debts) -> None:
    assert await debts.names(Wanted(parked=True)) == []
    await debts.park()
    assert await debts.names(Wanted(parked=True)) == [TALLY]


async def test_a_released_obligation_is_tried_as_if_for_the_first_time(debts: Debts) -> None:
    """[ReleaseObligation] Due now, with all its attempts before it."""
    await debts.park()
    await debts.obligations.release(TALLY, again=False)
    (claimed,) = await debts.log.claim(bucket_of(MATCHES[0]), limit=10, lease_ms=0, max_attempts=1)
    assert (claimed.name, claimed.attempt, claimed.exhausted) == (TALLY, 1, False)


async def test_a_dropped_obligation_is_gone(debts: Debts) -> None:
    """[DropObligation] And whoever repeats it, not knowing whether it was done, learns nothing bad."""
    await debts.park()
    await debts.obligations.drop(TALLY, again=False)
    assert [each.name for each in await debts.obligations.of_match(MATCHES[0])] == [clock_name(MATCHES[0])]
    await debts.obligations.drop(TALLY, again=True)


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (TALLY, "OBLIGATION_NOT_PARKED"),
        (archive_name(MATCHES[0], 1), "OBLIGATION_NOT_FOUND"),
        (tally_name("tc-000-other"), "OBLIGATION_NOT_FOUND"),
        ("nonsense", "BAD_REQUEST"),
        ("tally|nonsense", "BAD_REQUEST"),
    ],
)
async def test_only_what_is_parked_can_be_dropped(debts: Debts, name: str, reason: str) -> None:
    with pytest.raises(Refusal) as refused:
        await debts.obligations.drop(name, again=False)
    assert refused.value.reason == reason


async def test_an_unknown_game_is_no_game_without_obligations(debts: Debts) -> None:
    with pytest.raises(Refusal, match="chess"):
        await debts.obligations.page(Wanted(game="chess"))


class Rules:
    """A rules service that is down."""

    async def look(self, match_id: str) -> match_pb2.Match:
        raise Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", "down", metadata={"code": "UNAVAILABLE"})

    async def cancel(self, match_id: str, note: str, *, request_id: str) -> None:
        raise NotImplementedError


async def test_a_match_is_inspected_also_while_its_service_is_down(debts: Debts) -> None:
    """[InspectMatch] What the log tells is told, and what keeps the rest from it."""
    await append_chain(debts.log, MATCHES[1], 3, after=(await debts.log.read(MATCHES[1]))[-1].position)
    found = await Inspection(debts.log, Rules(), debts.obligations).match(MATCHES[1], commits=2)
    assert (found.head.status, found.head.position.version, found.match) == (StreamStatus.OPEN, 4, None)
    assert [commit.version for commit in found.commits] == [3, 4]
    assert (len(found.owings), found.problem) == (2, "PEER_UNAVAILABLE: down (UNAVAILABLE)")


async def test_a_match_that_does_not_exist_is_not_found(debts: Debts) -> None:
    with pytest.raises(Refusal, match="no such match"):
        await Inspection(debts.log, Rules(), debts.obligations).match("tc-000-nothing", commits=1)


async def test_open_matches_are_found_by_what_they_are_pinned_to() -> None:
    """[ListOpenMatches] By game and rules version."""
    bench = Bench(game="pacific")
    match = await bench.create(table())
    inspection = Inspection(bench.log, Rules(), Obligations(MemoryEventLog(), buckets=1, max_attempts=1))

    async def found(wanted: Filter) -> list[str]:
        return [match_id async for page in inspection.open_matches(wanted) for match_id, _ in page]

    filters = (Filter(), Filter(game="pacific"), Filter(game="transcontinental"), Filter(rules_version="pacific/0"))
    assert [await found(wanted) for wanted in filters] == [[match.match_id], [match.match_id], [], []]
