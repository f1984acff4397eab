"""From waiting tickets to a match, and what remains of it when something fails on the way."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from contextlib import suppress

import msgspec
import pytest
from prometheus_client import REGISTRY

from promontory.eventlog.port import EventLogUnavailable
from promontory.matchmaking.creation import Creation
from promontory.matchmaking.domain import Made, Proposal, Ticket, TicketState
from promontory.matchmaking.matcher import Matcher, Pace
from promontory.matchmaking.memory import Memory, MemoryTickets
from promontory.matchmaking.memory_lobby import MemoryTables
from promontory.matchmaking.ports import Change, CreationRefused
from promontory.runtime import metrics
from promontory.runtime.clock import now_ms
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.server import cancel
from tests.support.matchmaking import FOREVER_SECONDS, POOL, RulesStandIn, changed, pool, ticket

UNAVAILABLE = Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", "down")
REFUSED = CreationRefused("INVALID_ARGUMENT", "BAD_REQUEST")


class DyingTickets(MemoryTickets):
    """A store whose process dies (its task is cancelled) in the middle of what `dies_in` names."""

    dies_in = ""

    async def claim(self, proposal: Proposal, *, lease_seconds: float) -> bool:
        claimed = await super().claim(proposal, lease_seconds=lease_seconds)
        self._die("after claim")
        return claimed

    async def assign(self, proposal: Proposal, made: Made) -> bool:
        self._die("before assign")
        assigned = await super().assign(proposal, made)
        self._die("after assign")
        return assigned

    def _die(self, where: str) -> None:
        if self.dies_in == where:
            raise EventLogUnavailable("this process is dead")


class NothingIsRead(MemoryTickets):
    """A store that tells of its tickets only when all of them are asked for."""

    async def still_waiting(self, pool: str, tickets: Sequence[str]) -> Sequence[Ticket]:
        return ()


class RefusingTickets(MemoryTickets):
    """A store that tells when a claim has failed, and when one has not."""

    def __init__(self, memory: Memory) -> None:
        super().__init__(memory)
        self.refused, self.claimed = asyncio.Event(), asyncio.Event()

    async def claim(self, proposal: Proposal, *, lease_seconds: float) -> bool:
        claimed = await super().claim(proposal, lease_seconds=lease_seconds)
        (self.claimed if claimed else self.refused).set()
        return claimed


class BusyRules(RulesStandIn):
    """A rules service that takes a while, and notes how many creations have been under way at a time."""

    def __init__(self) -> None:
        super().__init__()
        self.under_way = self.most = 0

    async def create_match(self, proposal: Proposal) -> Made:
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        await asyncio.sleep(0)
        self.under_way -= 1
        return await super().create_match(proposal)


class World(msgspec.Struct):
    """One store and one rules service, and any number of matchers."""

    memory: Memory
    rules: RulesStandIn

    def tickets(self, kind: type[MemoryTickets] = MemoryTickets) -> MemoryTickets:
        return kind(self.memory)

    def matcher(
        self, tickets: MemoryTickets | None = None, *, lease_seconds: float = 0.0, interval_seconds: float = 0.01
    ) -> Matcher:
        tickets = tickets or self.tickets()
        creation = Creation(self.rules, tickets=tickets, tables=MemoryTables(self.memory, lease_seconds=1))
        pace = Pace(interval_seconds=interval_seconds, lease_seconds=lease_seconds)
        return Matcher({POOL: pool()}, tickets, creation=creation, bots=lambda _: [], pace=pace)

    async def enter(self, *players: str) -> None:
        for player in players:
            await self.tickets().create(ticket(player, created_ms=now_ms()), most_open=5)

    def found(self, player: str) -> Ticket:
        return self.memory.tickets[f"tk-{player}"]

    def states(self) -> set[TicketState]:
        return {each.state for each in self.memory.tickets.values()}


@pytest.fixture
def world() -> World:
    return World(Memory(now_ms), RulesStandIn())


async def match_once(matcher: Matcher) -> None:
    await matcher.match(pool())
    await matcher.drain()


async def recover_once(matcher: Matcher) -> None:
    await matcher.recover()
    await matcher.drain()


async def test_two_tickets_get_one_match(world: World) -> None:
    await world.enter("ann", "bob")
    await match_once(world.matcher())
    matches = {world.found(player).assignment.match_id for player in ("ann", "bob")}  # type: ignore[union-attr]
    assert len(matches) == len(world.rules.matches) == 1
    assert [world.found(player).assignment.seat for player in ("ann", "bob")] == [0, 1]  # type: ignore[union-attr]


async def test_the_match_is_created_from_the_pool_and_the_tickets(world: World) -> None:
    """[fairness 2.3] A ticket's entropy goes into the match."""
    await world.enter("ann", "bob")
    await match_once(world.matcher())
    [proposal] = world.rules.matches.values()
    assert (proposal.pool, proposal.rated, proposal.draw_start) == (POOL, True, True)
    assert proposal.variant == "standard"
    assert [place.entrant.entropy for place in proposal.places] == [b"ann", b"bob"]


@pytest.mark.parametrize("dies_in", ["after claim", "before assign", "after assign"])
async def test_whatever_a_matcher_leaves_behind_another_completes_it_as_one_match(world: World, dies_in: str) -> None:
    await world.enter("ann", "bob")
    dying = DyingTickets(world.memory)
    dying.dies_in = dies_in
    with suppress(EventLogUnavailable):
        await match_once(world.matcher(dying))
    await recover_once(world.matcher())
    assert world.states() == {TicketState.ASSIGNED}
    assert len(world.rules.matches) == 1


async def test_a_creation_whose_answer_was_lost_is_repeated_under_the_same_id(world: World) -> None:
    await world.enter("ann", "bob")
    world.rules.fault = UNAVAILABLE
    await match_once(world.matcher())
    assert world.states() == {TicketState.PROPOSED}
    world.rules.fault = None
    await recover_once(world.matcher())
    assert world.states() == {TicketState.ASSIGNED}
    assert world.rules.calls == 2


async def test_nobody_takes_up_a_proposal_within_its_lease(world: World) -> None:
    await world.enter("ann", "bob")
    world.rules.fault = UNAVAILABLE
    await match_once(world.matcher(lease_seconds=FOREVER_SECONDS))
    await recover_once(world.matcher())
    assert world.rules.calls == 1


async def test_tickets_of_a_match_refused_for_good_wait_again_after_a_back_off(world: World) -> None:
    await world.enter("ann", "bob")
    world.rules.fault = REFUSED
    before = now_ms()
    await match_once(world.matcher())
    ann = world.found("ann")
    assert (ann.state, ann.refusals) == (TicketState.WAITING, 1)
    assert before + 1000 <= ann.retry_at_ms <= now_ms() + 1000


async def test_the_back_off_doubles_to_a_minute_at_most(world: World) -> None:
    for player, refusals in (("ann", 3), ("bob", 0)):
        await world.tickets().create(ticket(player, created_ms=now_ms(), refusals=refusals), most_open=5)
    world.rules.fault = REFUSED
    before = now_ms()
    await match_once(world.matcher())
    assert before + 8000 <= world.found("bob").retry_at_ms <= now_ms() + 8000
    assert world.found("bob").refusals == 4


async def test_a_note_that_tickets_are_gone_is_believed(world: World) -> None:
    """Without it, ann would be paired with bob, and the claim fail."""
    await world.enter("ann")
    matcher = world.matcher()
    await matcher.match(pool())
    await world.tickets().cancel("tk-ann")
    await world.enter("bob", "cem")
    matcher.ring(Change(POOL, ("tk-ann",), no_more=True))
    matcher.ring(Change(POOL, ("tk-bob", "tk-cem")))
    await match_once(matcher)
    assert [proposal.players for proposal in world.rules.matches.values()] == [("bob", "cem")]


async def test_a_ticket_that_is_at_hand_is_not_read(world: World) -> None:
    matcher = world.matcher(NothingIsRead(world.memory))
    await matcher.match(pool())
    for player in ("ann", "bob"):
        await world.enter(player)
        matcher.ring(Change(POOL, (f"tk-{player}",), arrived=world.found(player)))
    await match_once(matcher)
    assert world.states() == {TicketState.ASSIGNED}


async def test_what_no_note_told_of_is_found_by_comparing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("promontory.matchmaking.kept_line.COMPARE_SECONDS", -1.0)
    await world.enter("ann")
    matcher = world.matcher()
    await matcher.match(pool())
    await world.enter("bob", "cem")
    world.memory.tickets["tk-ann"] = changed(world.found("ann"), state=TicketState.CANCELLED)
    await match_once(matcher)
    assert [proposal.players for proposal in world.rules.matches.values()] == [("bob", "cem")]


async def test_the_age_of_the_oldest_ticket_is_told_though_nothing_changes(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An alert is to notice who waits in vain."""
    monkeypatch.setattr("promontory.matchmaking.kept_line.COMPARE_SECONDS", -1.0)
    await world.tickets().create(ticket("ann", created_ms=now_ms() - 60_000), most_open=5)
    matcher = world.matcher()
    await matcher.match(pool())
    metrics.OLDEST_TICKET_SECONDS.labels(pool=POOL).set(0)
    await matcher.match(pool())
    assert (REGISTRY.get_sample_value("promontory_oldest_ticket_seconds", {"pool": POOL}) or 0) >= 60


async def test_a_ticket_whose_claim_failed_is_read_again(world: World) -> None:
    """Ann has left, and nobody has told of it yet."""
    await world.enter("ann")
    matcher = world.matcher()
    await matcher.match(pool())
    await world.tickets().cancel("tk-ann")
    await world.enter("bob")
    matcher.ring(Change(POOL, ("tk-bob",)))
    await matcher.match(pool())
    assert world.found("bob").state is TicketState.WAITING
    await world.enter("cem")
    matcher.ring(Change(POOL, ("tk-cem",)))
    await match_once(matcher)
    assert [proposal.players for proposal in world.rules.matches.values()] == [("bob", "cem")]


async def test_whose_claim_failed_is_matched_anew_when_a_note_says_who_is_gone(world: World) -> None:
    """Bob is nearer to ann, who has left, than to dan."""
    for player, rating in (("ann", 1500), ("dan", 1690)):
        await world.tickets().create(ticket(player, rating, created_ms=now_ms() - 1), most_open=5)
    store = RefusingTickets(world.memory)
    matcher = world.matcher(store, interval_seconds=FOREVER_SECONDS)
    await matcher.match(pool())
    await store.cancel("tk-ann")
    await store.create(ticket("bob", 1594, created_ms=now_ms()), most_open=5)
    matcher.ring(Change(POOL, ("tk-bob",)))
    running = asyncio.create_task(matcher.run())
    async with asyncio.timeout(FOREVER_SECONDS):
        await store.refused.wait()
        matcher.ring(Change(POOL, ("tk-ann",), no_more=True))
        await store.claimed.wait()
    await matcher.drain()
    await cancel([running])
    assert [proposal.players for proposal in world.rules.matches.values()] == [("dan", "bob")]


async def test_of_many_matches_only_some_are_created_at_a_time(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of thousands at once, most would be answered too late."""
    monkeypatch.setattr("promontory.matchmaking.matcher.CREATIONS_AT_ONCE", 2)
    world.rules = rules = BusyRules()
    await world.enter(*(f"p{n}" for n in range(20)))
    await match_once(world.matcher())
    assert (len(rules.matches), rules.most) == (10, 2)
    assert world.states() == {TicketState.ASSIGNED}


async def test_a_proposal_that_waits_its_turn_is_not_taken_up_twice(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promontory.matchmaking.matcher.CREATIONS_AT_ONCE", 1)
    await world.enter("ann", "bob", "cem", "dia")
    matcher = world.matcher()
    await matcher.match(pool())
    await matcher.recover()
    await matcher.drain()
    assert (len(world.rules.matches), world.rules.calls) == (2, 2)


async def test_a_draining_matcher_claims_nothing_more(world: World) -> None:
    await world.enter("ann", "bob")
    matcher = world.matcher()
    await matcher.drain()
    await matcher.match(pool())
    assert world.states() == {TicketState.WAITING}


async def test_many_matchers_at_once_lose_and_double_nobody(world: World) -> None:
    players = [f"p{n}" for n in range(100)]
    await world.enter(*players)
    matchers = [world.matcher() for _ in range(4)]
    await asyncio.gather(*(matcher.match(pool()) for matcher in matchers))
    await asyncio.gather(*(matcher.drain() for matcher in matchers))
    assert world.states() == {TicketState.ASSIGNED}
    seated = [player for proposal in world.rules.matches.values() for player in proposal.players]
    assert sorted(seated) == sorted(players)
