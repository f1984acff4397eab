"""What every store of tickets and proposals does, whatever it keeps them in."""

from __future__ import annotations

import asyncio

import pytest

from promontory.eventlog.functions import load_library
from promontory.eventlog.redis_server import Connections
from promontory.matchmaking.domain import Assignment, Entrant, Ticket, TicketState
from promontory.matchmaking.ports import AlreadyOpen, Change, Queued, RequestIdReused, Tickets, TooManyOpen
from promontory.matchmaking.redis_notes import Notes
from promontory.matchmaking.redis_tickets import RedisTickets, Server, matchmaking_library
from tests.contracts.conftest import OVER_SECONDS, RETENTION_SECONDS
from tests.support.matchmaking import FOREVER_SECONDS, POOL, SERVICE, changed, made, proposal, ticket


async def wait_in_line(tickets: Tickets, *players: str) -> list[Ticket]:
    return [(await tickets.create(ticket(player), most_open=5)).ticket for player in players]


def ids(found: list[Ticket] | tuple[Ticket, ...]) -> set[str]:
    return {each.id for each in found}


# Creating


async def test_a_created_ticket_waits_in_its_pool(tickets: Tickets) -> None:
    created = await tickets.create(ticket("ann"), most_open=5)
    assert created == await tickets.look("tk-ann", POOL) == Queued(ticket("ann"), 1)
    assert await tickets.find("tk-ann") == ticket("ann")
    assert list(await tickets.waiting(POOL)) == [ticket("ann")]


async def test_an_unknown_ticket_is_none(tickets: Tickets) -> None:
    assert await tickets.find("tk-nobody") is None
    assert await tickets.look("tk-nobody", POOL) is None
    assert await tickets.cancel("tk-nobody") is None


async def test_creating_it_again_returns_it_as_it_stands(tickets: Tickets) -> None:
    await wait_in_line(tickets, "ann")
    await tickets.cancel("tk-ann")
    await wait_in_line(tickets, "bob")
    again = await tickets.create(ticket("ann", 1700), most_open=5)
    assert (again.ticket.state, again.ticket.rating, again.waiting) == (TicketState.CANCELLED, 1500, 1)


async def test_an_id_with_other_content_is_refused(tickets: Tickets) -> None:
    await wait_in_line(tickets, "ann")
    with pytest.raises(RequestIdReused):
        await tickets.create(ticket("ann", fingerprint="other"), most_open=5)


async def test_a_second_ticket_in_the_same_pool_is_refused_with_the_first_ones_id(tickets: Tickets) -> None:
    await wait_in_line(tickets, "ann")
    with pytest.raises(AlreadyOpen) as refused:
        await tickets.create(ticket("ann", id="tk-second"), most_open=5)
    assert refused.value.ticket == "tk-ann"


async def test_a_player_has_a_limited_number_of_open_tickets(tickets: Tickets) -> None:
    await wait_in_line(tickets, "ann")
    with pytest.raises(TooManyOpen):
        await tickets.create(ticket("ann", id="tk-second", pool="other"), most_open=1)


async def test_a_ticket_that_is_over_does_not_count(tickets: Tickets) -> None:
    await wait_in_line(tickets, "ann")
    await tickets.cancel("tk-ann")
    second = await tickets.create(ticket("ann", id="tk-second"), most_open=1)
    assert second.ticket.state is TicketState.WAITING


async def test_one_of_many_tickets_at_once_is_created(tickets: Tickets) -> None:
    wanted = [tickets.create(ticket("ann", id=f"tk-{n}"), most_open=5) for n in range(10)]
    results = await asyncio.gather(*wanted, return_exceptions=True)
    assert sorted(type(result).__name__ for result in results) == ["AlreadyOpen"] * 9 + ["Queued"]


async def test_pools_are_counted_apart(tickets: Tickets) -> None:
    await wait_in_line(tickets, "ann", "bob")
    await tickets.create(ticket("cem", pool="other"), most_open=5)
    assert list(await tickets.count_waiting((POOL, "other", "empty"))) == [2, 1, 0]


# Cancelling


async def test_a_cancelled_ticket_leaves_the_queue(tickets: Tickets) -> None:
    await wait_in_line(tickets, "ann")
    cancelled = await tickets.cancel("tk-ann")
    assert cancelled is not None
    assert cancelled.state is TicketState.CANCELLED
    assert list(await tickets.waiting(POOL)) == []


async def test_of_some_tickets_those_that_wait_in_a_pool_are_told(tickets: Tickets) -> None:
    """One that was cancelled, waits elsewhere, or never was does not."""
    for each in (ticket("ann"), ticket("bob"), ticket("cem"), ticket("dan", pool="other")):
        await tickets.create(each, most_open=5)
    await tickets.cancel("tk-bob")
    wanted = ("tk-ann", "tk-bob", "tk-dan", "tk-eve")
    assert list(await tickets.still_waiting(POOL, wanted)) == [ticket("ann")]
    assert list(await tickets.still_waiting(POOL, ())) == []
    assert sorted(await tickets.waiting_ids(POOL)) == ["tk-ann", "tk-cem"]


async def test_cancelling_twice_changes_nothing(tickets: Tickets) -> None:
    await wait_in_line(tickets, "ann")
    assert await tickets.cancel("tk-ann") == await tickets.cancel("tk-ann")


async def test_a_proposed_ticket_is_not_cancelled(tickets: Tickets) -> None:
    await tickets.claim(proposal(await wait_in_line(tickets, "ann", "bob")), lease_seconds=FOREVER_SECONDS)
    found = await tickets.cancel("tk-ann")
    assert found is not None
    assert found.state is TicketState.PROPOSED


# Claiming


async def test_a_claim_takes_its_tickets_out_of_the_queue(tickets: Tickets) -> None:
    ann, bob, _ = await wait_in_line(tickets, "ann", "bob", "cem")
    assert await tickets.claim(proposal([ann, bob]), lease_seconds=FOREVER_SECONDS)
    assert ids(list(await tickets.waiting(POOL))) == {"tk-cem"}
    assert await tickets.find("tk-ann") == changed(ann, state=TicketState.PROPOSED)


async def test_a_claim_takes_all_or_nothing(tickets: Tickets) -> None:
    ann, bob, cem = await wait_in_line(tickets, "ann", "bob", "cem")
    await tickets.claim(proposal([ann, bob]), lease_seconds=FOREVER_SECONDS)
    assert not await tickets.claim(proposal([bob, cem], id="pr-2"), lease_seconds=FOREVER_SECONDS)
    assert ids(list(await tickets.waiting(POOL))) == {"tk-cem"}


async def test_a_claim_of_a_cancelled_ticket_fails(tickets: Tickets) -> None:
    ann, bob = await wait_in_line(tickets, "ann", "bob")
    await tickets.cancel("tk-ann")
    assert not await tickets.claim(proposal([ann, bob]), lease_seconds=FOREVER_SECONDS)


async def test_claiming_again_under_the_same_id_succeeds(tickets: Tickets) -> None:
    """A claim whose answer was lost is repeated."""
    claimed = proposal(await wait_in_line(tickets, "ann", "bob"))
    assert await tickets.claim(claimed, lease_seconds=FOREVER_SECONDS)
    assert await tickets.claim(claimed, lease_seconds=FOREVER_SECONDS)


async def test_of_many_claims_of_one_ticket_at_once_one_succeeds(tickets: Tickets) -> None:
    ann, *others = await wait_in_line(tickets, *(f"p{n}" for n in range(11)))
    claims = [proposal([ann, other], id=f"pr-{other.id}") for other in others]
    won = await asyncio.gather(*(tickets.claim(claim, lease_seconds=FOREVER_SECONDS) for claim in claims))
    assert sorted(won) == [False] * 9 + [True]
    assert len(await tickets.waiting(POOL)) == 9


# Assigning and releasing


async def test_an_assigned_ticket_holds_its_match_and_seat(tickets: Tickets) -> None:
    claimed = proposal(await wait_in_line(tickets, "ann", "bob"))
    await tickets.claim(claimed, lease_seconds=FOREVER_SECONDS)
    assert await tickets.assign(claimed, made("tc-1"))
    bob = await tickets.find("tk-bob")
    assert bob is not None
    assert (bob.state, bob.assignment) == (TicketState.ASSIGNED, Assignment(SERVICE, "tc-1", 1))


async def test_assigning_again_changes_nothing(tickets: Tickets) -> None:
    claimed = proposal(await wait_in_line(tickets, "ann", "bob"))
    await tickets.claim(claimed, lease_seconds=FOREVER_SECONDS)
    await tickets.assign(claimed, made("tc-1"))
    assert not await tickets.assign(claimed, made("tc-2"))
    ann = await tickets.find("tk-ann")
    assert ann is not None
    assert ann.assignment == Assignment(SERVICE, "tc-1", 0)


async def test_an_assigned_player_may_wait_again(tickets: Tickets) -> None:
    claimed = proposal(await wait_in_line(tickets, "ann", "bob"))
    await tickets.claim(claimed, lease_seconds=FOREVER_SECONDS)
    await tickets.assign(claimed, made())
    again = await tickets.create(ticket("ann", id="tk-second"), most_open=1)
    assert again.ticket.state is TicketState.WAITING


async def test_a_released_ticket_waits_again_with_its_age_and_a_back_off(tickets: Tickets) -> None:
    ann, bob = await wait_in_line(tickets, "ann", "bob")
    await tickets.claim(proposal([ann, bob]), lease_seconds=FOREVER_SECONDS)
    assert await tickets.release(proposal([ann, bob]), retry_at_ms=42)
    waiting = {each.id: each for each in await tickets.waiting(POOL)}
    assert waiting["tk-ann"] == await tickets.find("tk-ann") == changed(ann, refusals=1, retry_at_ms=42)


async def test_a_released_ticket_can_be_claimed_and_cancelled(tickets: Tickets) -> None:
    ann, bob = await wait_in_line(tickets, "ann", "bob")
    await tickets.claim(proposal([ann, bob]), lease_seconds=FOREVER_SECONDS)
    await tickets.release(proposal([ann, bob]), retry_at_ms=0)
    assert await tickets.claim(proposal([ann], Entrant("bot", "greedy"), id="pr-2"), lease_seconds=FOREVER_SECONDS)
    cancelled = await tickets.cancel("tk-bob")
    assert cancelled is not None
    assert cancelled.state is TicketState.CANCELLED


async def test_nothing_is_released_after_it_was_assigned(tickets: Tickets) -> None:
    claimed = proposal(await wait_in_line(tickets, "ann", "bob"))
    await tickets.claim(claimed, lease_seconds=FOREVER_SECONDS)
    await tickets.assign(claimed, made())
    assert not await tickets.release(claimed, retry_at_ms=0)
    assert list(await tickets.waiting(POOL)) == []


# Leases


async def test_a_proposal_is_overdue_when_its_lease_has_ended(tickets: Tickets) -> None:
    claimed = proposal(await wait_in_line(tickets, "ann", "bob"), Entrant("bot", "greedy"))
    await tickets.claim(claimed, lease_seconds=OVER_SECONDS)
    assert list(await tickets.take_overdue(limit=10, lease_seconds=FOREVER_SECONDS)) == [claimed]


async def test_a_proposal_is_not_overdue_before(tickets: Tickets) -> None:
    await tickets.claim(proposal(await wait_in_line(tickets, "ann", "bob")), lease_seconds=FOREVER_SECONDS)
    assert list(await tickets.take_overdue(limit=10, lease_seconds=FOREVER_SECONDS)) == []


async def test_whoever_takes_an_overdue_proposal_gets_a_lease(tickets: Tickets) -> None:
    await tickets.claim(proposal(await wait_in_line(tickets, "ann", "bob")), lease_seconds=OVER_SECONDS)
    await tickets.take_overdue(limit=10, lease_seconds=FOREVER_SECONDS)
    assert list(await tickets.take_overdue(limit=10, lease_seconds=FOREVER_SECONDS)) == []


async def test_an_assigned_proposal_is_never_overdue(tickets: Tickets) -> None:
    claimed = proposal(await wait_in_line(tickets, "ann", "bob"))
    await tickets.claim(claimed, lease_seconds=OVER_SECONDS)
    await tickets.assign(claimed, made())
    assert list(await tickets.take_overdue(limit=10, lease_seconds=OVER_SECONDS)) == []


async def test_overdue_proposals_come_in_limited_numbers(tickets: Tickets) -> None:
    for n in range(3):
        waiting = await wait_in_line(tickets, f"a{n}", f"b{n}")
        await tickets.claim(proposal(waiting, id=f"pr-{n}"), lease_seconds=OVER_SECONDS)
    assert len(await tickets.take_overdue(limit=2, lease_seconds=FOREVER_SECONDS)) == 2
    assert len(await tickets.take_overdue(limit=2, lease_seconds=FOREVER_SECONDS)) == 1


# Changes


async def test_every_change_is_told_in_order(tickets: Tickets) -> None:
    cursor = await tickets.feed_end()
    claimed = proposal(await wait_in_line(tickets, "ann", "bob"))
    await tickets.claim(claimed, lease_seconds=FOREVER_SECONDS)
    await tickets.assign(claimed, made())
    both = Change(POOL, ("tk-ann", "tk-bob"), no_more=True)
    _, changes = await tickets.feed(cursor)
    assert list(changes) == [Change(POOL, ("tk-ann",)), Change(POOL, ("tk-bob",)), both, both]


async def test_the_feed_goes_on_after_its_cursor(tickets: Tickets) -> None:
    cursor = await tickets.feed_end()
    await wait_in_line(tickets, "ann", "bob")
    cursor, _ = await tickets.feed(cursor)
    await tickets.cancel("tk-bob")
    assert (await tickets.feed(cursor))[1] == [Change(POOL, ("tk-bob",), no_more=True)]


async def test_tickets_that_are_given_back_are_told_to_wait_again(tickets: Tickets) -> None:
    claimed = proposal(await wait_in_line(tickets, "ann", "bob"))
    await tickets.claim(claimed, lease_seconds=FOREVER_SECONDS)
    cursor = await tickets.feed_end()
    await tickets.release(claimed, retry_at_ms=0)
    assert (await tickets.feed(cursor))[1] == [Change(POOL, ("tk-ann", "tk-bob"))]


async def test_the_feed_waits_for_a_change(tickets: Tickets) -> None:
    following = asyncio.ensure_future(tickets.feed(await tickets.feed_end()))
    await wait_in_line(tickets, "ann")
    assert (await following)[1] == [Change(POOL, ("tk-ann",))]


async def test_a_change_is_told_once_by_the_listener_or_by_the_feed(tickets: Tickets) -> None:
    told: list[Change] = []
    cursor = await tickets.feed_end()
    tickets.listen(told.append)
    ann, bob, _ = await wait_in_line(tickets, "ann", "bob", "cem")
    await tickets.claim(proposal([ann, bob]), lease_seconds=FOREVER_SECONDS)
    await tickets.assign(proposal([ann, bob]), made())
    await tickets.cancel("tk-cem")
    told += (await tickets.feed(cursor))[1]
    both = ("tk-ann", "tk-bob")
    assert [(change.tickets, change.no_more) for change in told] == [
        *((("tk-ann",), False), (("tk-bob",), False), (("tk-cem",), False)),
        *((both, True), (both, True), (("tk-cem",), True)),
    ]


# The server's own promises


async def test_the_feed_tells_one_process_of_what_another_one_has_changed(redis_connections: Connections) -> None:
    client = redis_connections.commands
    await client.flushdb()
    await load_library(client, matchmaking_library())
    server = Server(client, blocking=redis_connections.blocking)
    ours, theirs = (RedisTickets(server, retention_seconds=RETENTION_SECONDS) for _ in range(2))
    told: list[Change] = []
    ours.listen(told.append)
    cursor = await ours.feed_end()
    ann, bob = await wait_in_line(ours, "ann", "bob")
    await theirs.cancel("tk-bob")
    assert told == [Change(POOL, (each.id,), arrived=each) for each in (ann, bob)]
    assert (await ours.feed(cursor))[1] == [Change(POOL, ("tk-bob",), no_more=True)]


async def test_what_the_feed_was_quicker_to_tell_is_not_told_again() -> None:
    notes, told = Notes(), list[Change]()
    notes.listen(told.append)
    change = Change(POOL, ("tk-ann",))
    assert notes.read([(b"7-1", {b"p": POOL.encode(), b"t": b"tk-ann"})]) == [change]
    notes.made(b"7-1", change)
    assert told == []


async def test_a_ticket_that_is_over_expires_after_the_retention(redis_connections: Connections) -> None:
    client = redis_connections.commands
    await client.flushdb()
    await load_library(client, matchmaking_library())
    tickets = RedisTickets(Server(client, blocking=redis_connections.blocking), retention_seconds=RETENTION_SECONDS)
    ann, bob = await wait_in_line(tickets, "ann", "bob")
    await tickets.cancel(ann.id)
    assert 0 < await client.pttl("{mm}:t:tk-ann") <= RETENTION_SECONDS * 1000
    assert await client.pttl(f"{{mm}}:t:{bob.id}") == -1


async def test_a_players_tickets_are_those_that_are_not_over(tickets: Tickets) -> None:
    await wait_in_line(tickets, "ann", "bob")
    await tickets.create(ticket("ann", id="tk-other", pool="other"), most_open=5)
    assert set(await tickets.of_player("ann")) == {"tk-ann", "tk-other"}
    await tickets.cancel("tk-ann")
    assert list(await tickets.of_player("ann")) == ["tk-other"]
    assert list(await tickets.of_player("nobody")) == []
