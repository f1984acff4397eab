"""What every directory of players does, whatever it keeps them in."""

from __future__ import annotations

import asyncio
import uuid

import pytest

from promontory.eventlog.redis_calls import Caller
from promontory.eventlog.redis_server import Connections
from promontory.runtime.clock import now_ms
from promontory.runtime.forms import PLAYER_ID
from promontory.runtime.memory_players import MemoryDirectory
from promontory.runtime.players import Directory, Revocation, Suspension, account_of
from promontory.runtime.redis_players import RedisDirectory


@pytest.fixture(params=["memory", "redis"])
def directory(request: pytest.FixtureRequest, redis_connections: Connections) -> Directory:
    if request.param == "memory":
        return MemoryDirectory()
    return RedisDirectory(Caller(redis_connections.commands, attempts=2, deadline_seconds=2), token_seconds=60)


@pytest.fixture
def subject() -> str:
    """A subject that no other test has."""
    return f"ada.{uuid.uuid4().hex}@example.org"


async def test_a_subject_has_one_player_however_often_and_at_once_it_is_asked_for(
    directory: Directory, subject: str
) -> None:
    found = set(await asyncio.gather(*(directory.player_of(subject) for _ in range(5))))
    assert found == {await directory.find(subject)}


async def test_a_player_id_tells_nothing_of_the_subject(directory: Directory, subject: str) -> None:
    """[event_log 5.5] Only opaque player ids in logs."""
    player = await directory.player_of(subject)
    assert PLAYER_ID.fits(player)
    assert player.startswith("pl-")
    assert player != await directory.player_of(f"{subject}x")


async def test_it_tells_whom_a_player_stands_for_and_since_when(directory: Directory, subject: str) -> None:
    player = await directory.player_of(subject)
    first = await directory.registered(player)
    await directory.player_of(subject)
    assert first is not None
    assert first.subject == subject
    assert await directory.registered(player) == first


async def test_who_was_never_seen_has_no_player(directory: Directory, subject: str) -> None:
    assert await directory.find(subject) is None
    assert await directory.registered("pl-nobody") is None


async def test_a_removed_player_stands_for_nobody_and_the_subject_becomes_another(
    directory: Directory, subject: str
) -> None:
    """[event_log 5.5] Deleting a profile breaks the link."""
    player = await directory.player_of(subject)
    await directory.remove(player)
    assert (await directory.registered(player), await directory.find(subject)) == (None, None)
    another = await directory.player_of(subject)
    await directory.remove(player)
    assert another == await directory.find(subject) != player


async def test_what_was_revoked_is_told_from_a_moment_on(directory: Directory, subject: str) -> None:
    account = account_of(subject)
    first = await directory.revoke(account)
    assert first in await directory.revocations(first.revoked_ms)
    assert first not in await directory.revocations(first.revoked_ms + 1)
    again = await directory.revoke(account)
    assert again.revoked_ms >= first.revoked_ms
    assert [each for each in await directory.revocations(0) if each.account == account] == [again]
    assert await directory.revoked_ms(account) == again.revoked_ms


async def test_it_tells_until_when_an_account_is_suspended(directory: Directory, subject: str) -> None:
    """[PLAYER_SUSPENDED] As it is now, not as a process remembers it."""
    account, until_ms = account_of(subject), now_ms() + 60_000
    before = await directory.suspended_ms(account)
    await directory.suspend(Suspension(account, until_ms))
    during = await directory.suspended_ms(account)
    await directory.suspend(Suspension(account, now_ms() - 1))
    assert (before, during, await directory.suspended_ms(account)) == (-1, until_ms, -1)


async def test_what_was_never_revoked_has_no_time(directory: Directory, subject: str) -> None:
    assert await directory.revoked_ms(account_of(subject)) == -1


async def test_revocations_are_forgotten_when_no_token_can_be_so_old(
    redis_connections: Connections, subject: str
) -> None:
    caller = Caller(redis_connections.commands, attempts=2, deadline_seconds=2)
    old, new = account_of(subject), account_of(f"{subject}x")
    await caller.command("ZADD", "{pl}:revoked", 1, old)
    directory = RedisDirectory(caller, token_seconds=60)
    assert Revocation(old, 1) in await directory.revocations(0)
    await directory.revoke(new)
    assert {old, new} & {each.account for each in await directory.revocations(0)} == {new}
