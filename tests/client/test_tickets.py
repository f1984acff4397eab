"""Waiting in a queue: from entering it to the seat, or out of it again."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from datetime import timedelta

import pytest

import promontory
from promontory import AsyncClient
from promontory.client.tickets import TicketState, WaitReason, game_of_service
from promontory.games.registry import UnknownGameError
from tests.client.conftest import World
from tests.client.referee import Referee
from tests.client.services import POOL
from tests.client.test_watching import STOPPED
from tests.support.waiting import eventually


async def test_pools_say_what_they_lead_to(client: AsyncClient) -> None:
    ranked, casual = await client.pools()
    assert (ranked.pool, ranked.game, ranked.seats, ranked.rated) == (POOL, "transcontinental", 2, True)
    assert ranked.house_bots_after == timedelta(seconds=20)
    assert casual.house_bots_after is None


async def test_a_ticket_tells_why_it_waits_and_then_its_match(client: AsyncClient) -> None:
    waiting, assigned = [update async for update in await client.enter(POOL)]
    assert waiting.waiting is not None
    assert waiting.waiting.reason is WaitReason.POOL_EMPTY
    assert (waiting.waiting.lowest_rating, waiting.waiting.highest_rating) == (1400, 1600)
    assert assigned.assignment is not None
    assert (assigned.assignment.match_id, assigned.assignment.seat) == (Referee.match_id, 0)
    assert assigned.waiting is None


async def test_a_ticket_is_watched_over_broken_streams(world: World, client: AsyncClient) -> None:
    world.faults.cut((1, STOPPED), (0, None), (2, STOPPED), (1, None))
    seated = await client.play(POOL)
    assert (seated.game, seated.match_id, seated.seat) == ("transcontinental", Referee.match_id, 0)
    assert len(world.faults.requests("WatchTicket")) == 5


async def test_a_ticket_is_found_again_by_its_id(client: AsyncClient) -> None:
    ticket = await client.enter(POOL)
    again = client.ticket(ticket.ticket_id)
    assert (await again.look()).player_id == "ada"
    assert (await again.seat()).seat == 0


async def test_a_cancelled_ticket_gets_no_seat(world: World, client: AsyncClient) -> None:
    world.queue.open.clear()
    ticket = await client.enter(POOL)
    async with aclosing(ticket.updates()) as updates:
        assert (await anext(updates)).state is TicketState.WAITING
        await ticket.cancel()
        assert (await anext(updates)).state is TicketState.CANCELLED
    with pytest.raises(promontory.TicketCancelled) as caught:
        await ticket.seat()
    assert caught.value.metadata == {"ticketId": ticket.ticket_id}


async def test_giving_up_the_wait_gives_up_the_ticket(world: World, client: AsyncClient) -> None:
    """Whoever stops waiting must not be seated in a match that nobody plays."""
    world.queue.open.clear()
    playing = asyncio.create_task(client.play(POOL))
    await eventually(lambda: _has_watched(world))
    playing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await playing
    assert len(world.faults.requests("CancelTicket")) == 1


async def test_giving_up_while_entering_gives_up_the_ticket_that_was_made(world: World, client: AsyncClient) -> None:
    playing = asyncio.create_task(client.play(POOL))
    world.faults.on_call["CreateTicket"] = playing.cancel
    with pytest.raises(asyncio.CancelledError):
        await playing
    (ticket,) = world.queue.tickets.values()
    assert [request.ticket_id for request in world.faults.requests("CancelTicket")] == [ticket.ticket_id]


async def _has_watched(world: World) -> bool:
    return bool(world.faults.requests("WatchTicket"))


async def test_a_ticket_that_was_lost_is_taken_once_more(world: World, client: AsyncClient) -> None:
    """[high-availability] A failover may lose the last ones; whoever waits in `play` still gets a match."""
    world.faults.on_call["WatchTicket"] = lambda: lose_once(world)
    assert (await client.play(POOL)).match_id
    assert len(world.faults.requests("CreateTicket")) == 2


def lose_once(world: World) -> None:
    """Forget all tickets, the first time."""
    if len(world.faults.requests("CreateTicket")) == 1:
        world.queue.tickets.clear()


async def test_an_unknown_ticket_is_not_found(client: AsyncClient) -> None:
    with pytest.raises(promontory.NotFound, match="TICKET_NOT_FOUND"):
        await client.ticket("t-none").seat()


async def test_a_house_bot_enters_without_entropy(world: World, client: AsyncClient) -> None:
    await client.enter(POOL, house_bot="greedy-1")
    (request,) = world.faults.requests("CreateTicket")
    assert (request.house_bot, request.client_entropy) == ("greedy-1", b"")


def test_a_game_that_the_sdk_does_not_know_asks_for_a_newer_one() -> None:
    with pytest.raises(UnknownGameError, match="update promontory"):
        game_of_service("promontory.api.chess.v1.ChessService")


async def test_a_leaderboard_is_read_page_after_page(client: AsyncClient) -> None:
    entries = [entry async for entry in client.leaderboard(POOL)]
    assert [(entry.rank, entry.rating.player_id) for entry in entries] == [
        (1, "player-1"),
        (2, "player-2"),
        (3, "player-3"),
    ]


async def test_a_rating_history_is_ones_own_unless_a_player_is_named(client: AsyncClient) -> None:
    own = [step.change.player_id async for step in client.rating_history(POOL)]
    others = [step.change.player_id async for step in client.rating_history(POOL, "bob")]
    assert (own, others) == (["ada"] * 3, ["bob"] * 3)
