"""What keeps players out of tickets and tables, whatever these are kept in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import pytest
from msgspec.structs import replace

from promontory.matchmaking.domain import TicketState
from promontory.matchmaking.ports import KeptOut
from promontory.matchmaking.table import CloseReason, Readiness, TableState, agree, closed, join, set_readiness
from promontory.runtime.clock import now_ms
from tests.contracts.conftest import Store
from tests.support.matchmaking import FOREVER_SECONDS, POOL, guest, proposal, table, ticket

HOUR_MS, MOST = 3_600_000, 5
Wish = Callable[[Store], Awaitable[object]]


async def take_seat(store: Store) -> object:
    """Let Bob take the last seat of a table of Cem's, which would start its match."""
    opened = await store.tables.open(table("cem"), most_open=MOST)
    return await store.tables.replace(replace(join(opened, guest("bob")), revision=2), most_open=MOST)


async def ask_for_rematch(store: Store) -> object:
    asked = table("bob", id="rm-1", rematch_of="tc-000-1", reserved=("bob", "ann"), guests=(None, None))
    wanted = agree(replace(asked, host="", invite_code=""), guest("bob"))
    return await store.tables.open(wanted, most_open=MOST)


WISHES: dict[str, Wish] = {
    "ticket": lambda store: store.tickets.create(ticket("bob"), most_open=MOST),
    "table": lambda store: store.tables.open(table("bob"), most_open=MOST),
    "seat": take_seat,
    "rematch": ask_for_rematch,
}
every_wish = pytest.mark.parametrize("wish", WISHES.values(), ids=WISHES)


@every_wish
async def test_who_is_kept_out_gets_no_ticket_and_no_seat(store: Store, wish: Wish) -> None:
    """[PlayersService.SuspendPlayer] From the moment that it is set, whatever a process remembers."""
    until_ms = now_ms() + HOUR_MS
    await store.doors.keep_out("bob", until_ms)
    with pytest.raises(KeptOut) as refused:
        await wish(store)
    assert refused.value.until_ms == until_ms
    assert (await store.tickets.of_player("bob"), await store.tables.of_player("bob")) == ([], [])
    assert await store.tables.starting("bob") == []


@every_wish
async def test_others_and_who_is_let_in_again_get_them(store: Store, wish: Wish) -> None:
    await store.doors.keep_out("ann", now_ms() + HOUR_MS)
    await store.doors.keep_out("bob", now_ms() + HOUR_MS)
    await store.doors.let_in("bob")
    assert await wish(store)


@every_wish
async def test_a_time_that_is_over_keeps_nobody_out(store: Store, wish: Wish) -> None:
    await store.doors.keep_out("bob", now_ms() + HOUR_MS)
    await store.doors.keep_out("bob", now_ms() - 1)
    assert await wish(store)


async def test_a_ticket_that_is_given_back_after_its_player_was_kept_out_is_cancelled(store: Store) -> None:
    """[PlayersService.SuspendPlayer] Whoever took the player out of the queues found it on its way to a match."""
    ann, bob = [(await store.tickets.create(ticket(name), most_open=MOST)).ticket for name in ("ann", "bob")]
    await store.tickets.claim(proposal([ann, bob]), lease_seconds=FOREVER_SECONDS)
    await store.doors.keep_out("bob", now_ms() + HOUR_MS)
    assert await store.tickets.release(proposal([ann, bob]), retry_at_ms=0)
    assert await store.tickets.find(bob.id) == replace(bob, state=TicketState.CANCELLED)
    assert [each.id for each in await store.tickets.waiting(POOL)] == [ann.id]
    assert await store.tickets.of_player("bob") == []
    await store.doors.let_in("bob")
    assert await store.tickets.create(ticket("bob", id="tk-2"), most_open=MOST)


async def test_what_was_there_before_is_found_again_and_can_be_given_up(store: Store) -> None:
    """A repetition is answered as before, and a table can change for the others who sit there."""
    opened = await store.tables.open(table("bob", seats=3), most_open=MOST)
    await store.tickets.create(ticket("bob"), most_open=MOST)
    await store.doors.keep_out("bob", now_ms() + HOUR_MS)
    assert (await store.tickets.create(ticket("bob"), most_open=MOST)).ticket == ticket("bob")
    assert await store.tables.open(opened, most_open=MOST) == opened
    joined = replace(join(opened, guest("ann")), revision=2)
    assert await store.tables.replace(joined, most_open=MOST)
    readied = replace(set_readiness(joined, "bob", Readiness.NOT_READY), revision=3)
    assert await store.tables.replace(readied, most_open=MOST)
    assert await store.tables.replace(replace(closed(readied, CloseReason.HOST_CLOSED), revision=4), most_open=MOST)
    found = await store.tables.find(opened.id)
    assert found is not None
    assert found.state is TableState.CLOSED
