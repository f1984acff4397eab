"""What every store of tables does, whatever it keeps them in."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest
from msgspec.structs import replace

from promontory.eventlog.redis_server import Connections
from promontory.matchmaking.domain import Entrant
from promontory.matchmaking.listing import finished_by, live_of_player, matches_of
from promontory.matchmaking.ports import Change, Lists, RequestIdReused, Tables, Tickets, TooManyOpen
from promontory.matchmaking.table import CloseReason, Guest, Readiness, Table, TableState, agree, closed, join, leave
from promontory.runtime.clock import now_ms
from tests.contracts.conftest import RETENTION_SECONDS, Store
from tests.support.matchmaking import FOREVER_SECONDS, NOW_MS, guest, made, table

MOST = 3


async def open_table(tables: Tables, **given: object) -> Table:
    return await tables.open(table("ann", **given), most_open=MOST)


async def change(tables: Tables, apply: Callable[[Table], Table], name: str = "tb-ann") -> bool:
    found = await tables.find(name)
    assert found is not None
    return await tables.replace(replace(apply(found), revision=found.revision + 1), most_open=MOST)


async def start(tables: Tables) -> Table:
    """Let Bob take the last seat."""
    await open_table(tables)
    assert await change(tables, lambda found: join(found, guest("bob")))
    found = await tables.find("tb-ann")
    assert found is not None
    return found


def rematch(**given: object) -> Table:
    """Return the rematch of Ann and Bob that Ann has asked for."""
    asked = table("ann", id="rm-1", rematch_of="tc-000-1", reserved=("bob", "ann"), guests=(None, None), **given)
    return agree(replace(asked, host="", invite_code=""), guest("ann"))


async def test_an_opened_table_is_found_by_id_and_by_invite_code(tables: Tables) -> None:
    assert await open_table(tables) == table("ann")
    assert await tables.find("tb-ann") == await tables.find_invited(table("ann").invite_code) == table("ann")


async def test_a_table_that_is_not_there_is_none(tables: Tables) -> None:
    assert await tables.find("tb-nobody") is None
    assert await tables.find_invited("WRONGONE") is None
    assert not await tables.replace(replace(table("ann"), revision=2), most_open=MOST)


async def test_a_rematch_is_found_by_no_invite_code(tables: Tables) -> None:
    await tables.open(rematch(), most_open=MOST)
    assert await tables.find("rm-1") == rematch()
    assert [await tables.find_invited(code) for code in ("", "rm-1")] == [None, None]


async def test_opening_it_again_keeps_the_first_invite_code(tables: Tables) -> None:
    await open_table(tables)
    assert (await open_table(tables, invite_code="ANOTHER2")).invite_code == table("ann").invite_code


async def test_a_table_id_with_other_content_is_refused(tables: Tables) -> None:
    await open_table(tables)
    with pytest.raises(RequestIdReused):
        await open_table(tables, fingerprint="other")


async def test_only_the_next_revision_is_stored(tables: Tables) -> None:
    """Of two changes of the same table at once, the second finds the first."""
    await open_table(tables)
    joined = replace(join(table("ann", seats=2), guest("bob", Readiness.NOT_READY)), revision=2)
    assert await tables.replace(joined, most_open=MOST)
    assert not await tables.replace(replace(closed(table("ann"), CloseReason.HOST_CLOSED), revision=2), most_open=MOST)
    assert await tables.find("tb-ann") == joined


async def test_of_many_changes_at_once_one_is_stored(tables: Tables) -> None:
    opened = await open_table(tables)
    joined = [replace(join(opened, guest(f"p{n}", Readiness.NOT_READY)), revision=2) for n in range(10)]
    stored = await asyncio.gather(*(tables.replace(each, most_open=MOST) for each in joined))
    assert sorted(stored) == [False] * 9 + [True]


async def test_what_bytes_and_bots_a_table_holds_comes_back(tables: Tables) -> None:
    bot = Guest(Entrant("house-greedy-1", "greedy"), Readiness.ALWAYS_READY)
    await open_table(tables, guests=(guest("ann", entropy=b"\xff\x00"), bot), start_when_ready=False)
    found = await tables.find("tb-ann")
    assert found is not None
    assert (found.guests[0], found.guests[1]) == (guest("ann", entropy=b"\xff\x00"), bot)


# Who sits where


async def test_a_player_s_open_tables_come_newest_first(tables: Tables) -> None:
    await open_table(tables)
    await tables.open(table("bob"), most_open=MOST)
    await change(tables, lambda found: join(found, guest("ann", Readiness.NOT_READY)), "tb-bob")
    assert {found.id for found in await tables.of_player("ann")} == {"tb-ann", "tb-bob"}
    assert [found.id for found in await tables.of_player("bob")] == ["tb-bob"]
    assert list(await tables.of_player("cem")) == []


async def test_a_table_that_was_left_or_is_over_is_none_of_one_s_open_tables(tables: Tables) -> None:
    await open_table(tables)
    await change(tables, lambda found: join(found, guest("bob", Readiness.NOT_READY)))
    await change(tables, lambda found: leave(found, "bob"))
    assert list(await tables.of_player("bob")) == []
    await change(tables, lambda found: closed(found, CloseReason.HOST_CLOSED))
    assert list(await tables.of_player("ann")) == []


async def test_a_player_sits_at_a_limited_number_of_open_tables(tables: Tables) -> None:
    """[MAX_OPEN_TABLES] Opening and joining count."""
    for n in range(MOST):
        await open_table(tables, id=f"tb-{n}", invite_code=f"CODE{n}")
    await tables.open(table("bob"), most_open=MOST)
    with pytest.raises(TooManyOpen):
        await open_table(tables, id="tb-more", invite_code="CODEMORE")
    with pytest.raises(TooManyOpen):
        await change(tables, lambda found: join(found, guest("ann", Readiness.NOT_READY)), "tb-bob")
    assert await tables.find("tb-bob") == table("bob")
    assert await change(tables, lambda found: replace(found, draw_start=True), "tb-0")


async def test_a_rematch_is_among_the_tables_of_those_who_are_asked(tables: Tables) -> None:
    await tables.open(rematch(), most_open=MOST)
    assert [found.id for found in await tables.of_player("bob")] == ["rm-1"]
    await change(tables, lambda found: closed(found, CloseReason.DECLINED), "rm-1")
    assert list(await tables.of_player("bob")) == []


async def test_being_asked_does_not_count_as_sitting(tables: Tables) -> None:
    await tables.open(rematch(), most_open=MOST)
    assert await tables.open(table("bob"), most_open=1)


# Starting, and the end


async def test_a_starting_table_is_an_overdue_proposal(store: Store) -> None:
    starting = await start(store.tables)
    assert starting.state is TableState.STARTING
    assert list(await store.tickets.take_overdue(limit=10, lease_seconds=FOREVER_SECONDS)) == [starting.proposal()]


async def test_a_table_starts_once(store: Store) -> None:
    proposal = (await start(store.tables)).proposal()
    assert await store.tables.start(proposal, made("tc-1"))
    assert not await store.tables.start(proposal, made("tc-2"))
    started = await store.tables.find("tb-ann")
    assert started is not None
    assert (started.state, started.made) == (TableState.STARTED, made("tc-1"))
    assert list(await store.tickets.take_overdue(limit=10, lease_seconds=FOREVER_SECONDS)) == []


async def test_a_table_that_waits_does_not_start(tables: Tables) -> None:
    opened = await open_table(tables, guests=(guest("ann"), guest("bob", Readiness.NOT_READY)))
    assert not await tables.start(opened.proposal(), made())


async def test_a_table_s_match_is_in_its_guests_own_lists_only(tables: Tables, lists: Lists) -> None:
    await tables.start((await start(tables)).proposal(), made("tc-1"))
    names = [name(player) for player in ("ann", "bob") for name in (matches_of, live_of_player)]
    pages = [await lists.entries((name,), start=None, limit=5) for name in names]
    assert [[match and match.match_id for _, match in page] for page in pages] == [["tc-1"]] * 4
    assert list(await lists.entries((finished_by("ann"), "live:transcontinental"), start=None, limit=5)) == []


async def test_a_table_whose_time_is_up_is_told_until_it_is_closed(tables: Tables) -> None:
    await open_table(tables, expires_ms=now_ms())
    await tables.open(table("bob", expires_ms=now_ms() + 60_000), most_open=MOST)
    assert list(await tables.expired(limit=10)) == ["tb-ann"]
    await change(tables, lambda found: closed(found, CloseReason.EXPIRED))
    assert list(await tables.expired(limit=10)) == []


async def test_every_change_is_told(store: Store, tickets: Tickets) -> None:
    cursor = await tickets.feed_end()
    await start(store.tables)
    assert list((await tickets.feed(cursor))[1]) == [Change("", ("tb-ann",))] * 2


async def test_a_table_that_is_over_expires_after_the_retention(store: Store, redis_connections: Connections) -> None:
    client, keys = redis_connections.commands, ("{mm}:b:tb-ann", "{mm}:i:CODEANNX")
    await store.tables.open(table("ann", created_ms=NOW_MS), most_open=MOST)
    before = [await client.pttl(key) for key in keys]
    await change(store.tables, lambda found: closed(found, CloseReason.HOST_CLOSED))
    after = [await client.pttl(key) for key in keys]
    assert max(before) < 0
    assert max(after) <= RETENTION_SECONDS * 1000


async def test_a_table_is_starting_for_its_players_until_the_match_is_there(tables: Tables) -> None:
    """[players ForgetPlayer] Whoever is forgotten meanwhile is let out of the match that comes."""
    await open_table(tables)

    async def names(player: str) -> list[str]:
        return [each.id for each in await tables.starting(player)]

    before = await names("ann")
    started = (await start(tables)).proposal()
    during = [await names(player) for player in ("ann", "bob", "cem")]
    assert await tables.start(started, made())
    assert (before, during, await names("ann")) == ([], [["tb-ann"], ["tb-ann"], []], [])
