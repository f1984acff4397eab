"""What players and services can do with tickets."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing

import pytest

from promontory.matchmaking.changes import Changes
from promontory.matchmaking.domain import Assignment, TicketState
from promontory.matchmaking.memory import Memory, MemoryTickets
from promontory.matchmaking.memory_lobby import MemoryLists
from promontory.matchmaking.room import Room
from promontory.matchmaking.usecases import Queues, Standing, Wish
from promontory.runtime.clock import now_ms
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import Caller
from tests.support.matchmaking import (
    FOREVER_SECONDS,
    POOL,
    SERVICE,
    RatingsStandIn,
    house_bots,
    listed,
    made,
    pool,
    proposal,
)

ANN = Caller("ann", frozenset({"pool:join"}))
BOB = Caller("bob", frozenset({"pool:join"}))
HOUSE = Caller("service:demo", frozenset({"pool:house"}), service=True)
POOLS = {
    POOL: pool(house_bots=house_bots("house-1"), house_bots_after_seconds=15),
    "casual": pool(id="casual", rated=False, house_bots=house_bots("house-1")),
    "third": pool(id="third", house_bots=house_bots("house-1")),
}


@pytest.fixture
def memory() -> Memory:
    return Memory(now_ms)


@pytest.fixture
def tickets(memory: Memory) -> MemoryTickets:
    return MemoryTickets(memory)


@pytest.fixture
def ratings() -> RatingsStandIn:
    return RatingsStandIn(ann=1620.0)


@pytest.fixture
async def changes(tickets: MemoryTickets) -> AsyncIterator[Changes]:
    changes = Changes(tickets, POOLS, on_change=lambda _: None)
    following = asyncio.create_task(changes.run())
    yield changes
    following.cancel()


@pytest.fixture
def queues(memory: Memory, tickets: MemoryTickets, ratings: RatingsStandIn, changes: Changes) -> Queues:
    room = Room(MemoryLists(memory), most_tickets=2, most_matches=3)
    return Queues(POOLS, tickets, ratings=ratings, changes=changes, room=room)


def wish(request_id: str = "one", **given: object) -> Wish:
    return Wish(**{"request_id": request_id, "pool": POOL, **given})  # type: ignore[arg-type]


async def assign(tickets: MemoryTickets, standing: Standing) -> None:
    claimed = proposal([standing.ticket])
    await tickets.claim(claimed, lease_seconds=FOREVER_SECONDS)
    await tickets.assign(claimed, made("tc-1"))


# Creating


async def test_a_ticket_waits_with_the_players_rating(queues: Queues) -> None:
    standing = await queues.create(ANN, wish(entropy=b"mine"))
    ticket = standing.ticket
    assert (ticket.state, ticket.rating, ticket.entrant.player) == (TicketState.WAITING, 1620.0, "ann")
    assert ticket.entrant.entropy == b"mine"


async def test_an_unrated_pool_takes_everyone_for_a_new_player(queues: Queues, ratings: RatingsStandIn) -> None:
    ratings.fault = RuntimeError("not asked")
    standing = await queues.create(ANN, wish(pool="casual"))
    assert standing.ticket.rating == 1500.0


async def test_the_same_request_id_gives_the_same_ticket(queues: Queues) -> None:
    first = await queues.create(ANN, wish())
    assert (await queues.create(ANN, wish())).ticket == first.ticket


async def test_a_request_id_is_the_players_own(queues: Queues) -> None:
    ann, bob = await queues.create(ANN, wish()), await queues.create(BOB, wish())
    assert ann.ticket.id != bob.ticket.id


async def test_a_repeated_request_finds_an_ended_ticket(queues: Queues) -> None:
    ticket = (await queues.create(ANN, wish())).ticket
    await queues.cancel(ANN, ticket.id)
    assert (await queues.create(ANN, wish())).ticket.state is TicketState.CANCELLED


async def test_a_repeated_request_needs_no_scoring(queues: Queues, ratings: RatingsStandIn) -> None:
    first = await queues.create(ANN, wish())
    ratings.fault = Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", "down")
    assert (await queues.create(ANN, wish())).ticket == first.ticket


async def test_without_scoring_no_ranked_ticket_is_created(
    queues: Queues, ratings: RatingsStandIn, tickets: MemoryTickets
) -> None:
    ratings.fault = Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", "down")
    with pytest.raises(Refusal, match="down"):
        await queues.create(ANN, wish())
    assert await tickets.waiting(POOL) == []


@pytest.mark.parametrize(
    ("caller", "wished", "reason"),
    [
        (ANN, wish(pool="nowhere"), "POOL_NOT_FOUND"),
        (ANN, wish(entropy=bytes(33)), "BAD_REQUEST"),
        (ANN, wish(""), "BAD_REQUEST"),
        (ANN, wish("x" * 129), "BAD_REQUEST"),
        (ANN, wish("line\nbreak"), "BAD_REQUEST"),
        (ANN, wish(house_bot="house-1"), "SCOPE_MISSING"),
        (HOUSE, wish(house_bot="house-9"), "BAD_REQUEST"),
        (HOUSE, wish(house_bot="house-1", entropy=b"x"), "BAD_REQUEST"),
        (HOUSE, wish(), "SCOPE_MISSING"),
        (Caller("ann", frozenset()), wish(), "SCOPE_MISSING"),
        (Caller("house-1", frozenset({"pool:join"})), wish(), "NOT_YOURS"),
    ],
)
async def test_a_wish_that_cannot_be_granted_is_refused(
    queues: Queues, caller: Caller, wished: Wish, reason: str
) -> None:
    with pytest.raises(Refusal) as refused:
        await queues.create(caller, wished)
    assert refused.value.reason == reason


async def test_a_request_id_with_other_content_is_refused(queues: Queues) -> None:
    await queues.create(ANN, wish())
    with pytest.raises(Refusal) as refused:
        await queues.create(ANN, wish(pool="casual"))
    assert refused.value.reason == "REQUEST_ID_REUSED"


async def test_a_player_waits_once_in_a_pool(queues: Queues) -> None:
    first = await queues.create(ANN, wish())
    with pytest.raises(Refusal) as refused:
        await queues.create(ANN, wish("two"))
    assert (refused.value.reason, refused.value.metadata["ticketId"]) == ("TICKET_OPEN", first.ticket.id)


async def test_a_player_waits_in_a_limited_number_of_pools(queues: Queues) -> None:
    await queues.create(ANN, wish())
    await queues.create(ANN, wish("two", pool="casual"))
    with pytest.raises(Refusal) as refused:
        await queues.create(ANN, wish("three", pool="third"))
    assert (refused.value.reason, refused.value.metadata["limit"]) == ("LIMIT_REACHED", 2)


async def test_a_player_with_too_many_open_matches_seeks_no_other(memory: Memory, queues: Queues) -> None:
    """[MAX_OPEN_MATCHES] Until one has ended; a wish that was granted is granted still, and house bots are not held."""
    granted = await queues.create(ANN, wish())
    for number in range(3):
        memory.list(listed(number, "ann", "house-1", policies=("", "greedy")))
    with pytest.raises(Refusal) as refused:
        await queues.create(ANN, wish("two", pool="casual"))
    metadata = {"limitName": "max_open_matches", "limit": 3, "retrySeconds": "5"}
    assert (refused.value.reason, refused.value.metadata) == ("LIMIT_REACHED", metadata)
    assert (await queues.create(ANN, wish())).ticket.id == granted.ticket.id
    await queues.create(HOUSE, wish("bot", pool="casual", house_bot="house-1"))
    memory.list(listed(1, "ann", "house-1", policies=("", "greedy"), ended_ms=9))
    await queues.create(ANN, wish("two", pool="casual"))


async def test_a_service_enters_a_house_bot(queues: Queues) -> None:
    standing = await queues.create(HOUSE, wish(house_bot="house-1"))
    assert (standing.ticket.entrant.player, standing.ticket.entrant.policy) == ("house-1", "greedy")


async def test_a_house_bot_may_wait_in_every_pool(queues: Queues) -> None:
    """It is the house's, which plays everywhere; what a player may have open limits players."""
    waiting = [await queues.create(HOUSE, wish(name, pool=name, house_bot="house-1")) for name in POOLS]
    assert [standing.ticket.state for standing in waiting] == [TicketState.WAITING] * 3


# Reading and cancelling


async def test_a_ticket_tells_how_many_others_wait(queues: Queues) -> None:
    ticket = (await queues.create(ANN, wish())).ticket
    await queues.create(BOB, wish())
    assert (await queues.find(ANN, ticket.id)).others_waiting == 1


async def test_a_ticket_is_its_players_and_the_houses_only(queues: Queues) -> None:
    ticket = (await queues.create(ANN, wish())).ticket
    assert (await queues.find(HOUSE, ticket.id)).ticket == ticket
    with pytest.raises(Refusal) as refused:
        await queues.find(BOB, ticket.id)
    assert refused.value.reason == "NOT_YOURS"


async def test_an_unknown_ticket_is_not_found(queues: Queues) -> None:
    with pytest.raises(Refusal) as refused:
        await queues.cancel(ANN, "tk-none")
    assert refused.value.reason == "TICKET_NOT_FOUND"


async def test_cancelling_twice_is_fine(queues: Queues) -> None:
    ticket = (await queues.create(ANN, wish())).ticket
    first = await queues.cancel(ANN, ticket.id)
    second = await queues.cancel(ANN, ticket.id)
    assert first.ticket.state is TicketState.CANCELLED
    assert first.ticket == second.ticket


async def test_a_ticket_with_a_match_is_not_cancelled(queues: Queues, tickets: MemoryTickets) -> None:
    standing = await queues.create(ANN, wish())
    await assign(tickets, standing)
    with pytest.raises(Refusal) as refused:
        await queues.cancel(ANN, standing.ticket.id)
    assert (refused.value.reason, refused.value.metadata["state"]) == ("TICKET_NOT_WAITING", "assigned")


async def test_pools_come_in_the_order_of_the_configuration(queues: Queues) -> None:
    await queues.create(ANN, wish(pool="casual"))
    assert [(found.id, waiting) for found, waiting in await queues.pools()] == [(POOL, 0), ("casual", 1), ("third", 0)]


# Watching


async def test_a_watch_shows_the_ticket_at_once_and_ends_with_its_match(queues: Queues, tickets: MemoryTickets) -> None:
    standing = await queues.create(ANN, wish())
    async with aclosing(queues.watch(ANN, standing.ticket.id)) as watch:  # type: ignore[type-var]
        assert (await anext(watch)).ticket == standing.ticket
        await assign(tickets, standing)
        seen = [each.ticket async for each in watch]
    assert seen[-1].assignment == Assignment(SERVICE, "tc-1", 0)


async def test_a_watch_of_an_ended_ticket_shows_it_and_ends(queues: Queues) -> None:
    ticket = (await queues.create(ANN, wish())).ticket
    await queues.cancel(ANN, ticket.id)
    assert [each.ticket.state async for each in queues.watch(ANN, ticket.id)] == [TicketState.CANCELLED]


async def test_a_stopping_server_ends_watches(queues: Queues, changes: Changes) -> None:
    ticket = (await queues.create(ANN, wish())).ticket
    async with aclosing(queues.watch(ANN, ticket.id)) as watch:  # type: ignore[type-var]
        await anext(watch)
        await changes.close()
        with pytest.raises(Refusal) as refused:
            await anext(watch)
    assert refused.value.reason == "SERVER_DRAINING"


async def test_watching_another_players_ticket_is_refused(queues: Queues) -> None:
    ticket = (await queues.create(ANN, wish())).ticket
    with pytest.raises(Refusal) as refused:
        await anext(queues.watch(BOB, ticket.id))
    assert refused.value.reason == "NOT_YOURS"
