"""Whom the platform takes the bearer of a token for, and since when no longer."""

from __future__ import annotations

import asyncio

import pytest

from promontory.eventlog.port import EventLogUnavailable
from promontory.runtime import clock, players
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import Bearer, Caller
from promontory.runtime.memory_players import MemoryDirectory
from promontory.runtime.players import Players, Revocation, Suspension, account_of
from tests.support.waiting import eventually

ADA = "ada@example.org"
DAY_SECONDS, DAY_MS = 86_400, 86_400_000


def bearer(subject: str = ADA, *, issued_ms: int = 0) -> Bearer:
    return Bearer(Caller(subject, frozenset({"match:play"})), issued_ms)


def told_by(directory: MemoryDirectory, *, opaque: bool = True) -> Players:
    return Players(directory, opaque=opaque, token_seconds=DAY_SECONDS)


async def test_a_subject_is_the_player_id_unless_player_ids_are_opaque() -> None:
    who = await told_by(MemoryDirectory(), opaque=False).identify(bearer("ada"))
    assert who == Caller("ada", frozenset({"match:play"}), account=account_of("ada"))


async def test_an_opaque_player_id_is_the_same_in_every_process() -> None:
    directory = MemoryDirectory()
    first, second = [await told_by(directory).identify(bearer()) for _ in range(2)]
    assert first == second
    assert first.subject == await directory.find(ADA)


async def test_services_are_who_they_are() -> None:
    service = Bearer(Caller("service:relay", frozenset(), service=True), 0)
    assert await told_by(MemoryDirectory()).identify(service) == service.caller


async def test_the_directory_is_asked_once_for_each_bearer() -> None:
    """So a call costs no round trip of its own."""
    directory = MemoryDirectory()
    found = told_by(directory)
    before = await found.identify(bearer())
    await directory.remove(before.subject)
    assert await found.identify(bearer()) == before


async def test_not_more_bearers_are_remembered_than_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(players, "CACHED", 2)
    directory = MemoryDirectory()
    found = told_by(directory)
    before = [await found.identify(bearer(name)) for name in ("ada", "ben", "cyd")]
    assert len(found._known) == 2
    assert [await found.identify(bearer(name)) for name in ("ada", "ben", "cyd")] == before


async def test_tokens_from_before_a_revocation_are_refused_and_later_ones_are_not() -> None:
    """[TOKEN_REVOKED] Who comes back after being forgotten is somebody new."""
    directory, told = MemoryDirectory(), list[str]()
    found = told_by(directory)
    found.on_refused = lambda accounts, _: told.extend(accounts)
    before = await found.identify(bearer(issued_ms=clock.now_ms()))
    await directory.remove(before.subject)
    revoked = await directory.revoke(account_of(ADA))
    await found.refresh()
    with pytest.raises(Refusal, match="revoked") as refused:
        await found.identify(bearer(issued_ms=revoked.revoked_ms))
    assert refused.value.reason == "TOKEN_REVOKED"
    after = await found.identify(bearer(issued_ms=revoked.revoked_ms + 1))
    assert after.subject not in {before.subject, ADA}
    assert told == [account_of(ADA)]


async def test_a_new_token_is_somebody_new_where_the_revocation_is_not_known_yet() -> None:
    """[players ForgetPlayer] Else the first seconds after coming back would be spent as the player who is forgotten."""
    directory = MemoryDirectory()
    found = told_by(directory)
    before = await found.identify(bearer(issued_ms=clock.now_ms() - DAY_MS // 2))
    await directory.remove(before.subject)
    revoked = await directory.revoke(account_of(ADA))
    after = await found.identify(bearer(issued_ms=revoked.revoked_ms + 1))
    assert after.subject == await directory.find(ADA) != before.subject


async def test_an_old_token_registers_nobody_anew_where_the_revocation_is_not_known_yet() -> None:
    """[players ForgetPlayer] A process that has not seen the bearer before asks before it registers."""
    directory = MemoryDirectory()
    revoked = await directory.revoke(account_of(ADA))
    with pytest.raises(Refusal, match="revoked"):
        await told_by(directory).identify(bearer(issued_ms=revoked.revoked_ms))
    assert await directory.find(ADA) is None


class Overtaken(MemoryDirectory):
    """A directory in which the bearer is forgotten while being registered."""

    async def player_of(self, subject: str) -> str:
        await self.revoke(account_of(subject))
        return await super().player_of(subject)


async def test_a_registration_that_a_revocation_overtakes_is_undone() -> None:
    directory = Overtaken()
    with pytest.raises(Refusal, match="revoked"):
        await told_by(directory).identify(bearer(issued_ms=1))
    assert await directory.find(ADA) is None


async def test_who_is_suspended_while_being_looked_up_opens_no_stream_any_more() -> None:
    """[PLAYER_SUSPENDED] Whoever ends those that are open does not know of this one yet."""

    class Suspending(MemoryDirectory):
        async def player_of(self, subject: str) -> str:
            await self.suspend(Suspension(account_of(subject), clock.now_ms() + DAY_MS))
            await found.refresh()
            return await super().player_of(subject)

    found = told_by(Suspending())
    with pytest.raises(Refusal, match="suspended"):
        await found.identify(bearer(issued_ms=1))


async def test_a_suspension_that_follows_on_another_is_told_too() -> None:
    """[PLAYER_SUSPENDED] The player may have come back between them."""
    directory, told = MemoryDirectory(), list[str]()
    found = told_by(directory)
    found.on_refused = lambda accounts, _: told.extend(accounts)
    for end_ms in (DAY_MS, DAY_MS, 2 * DAY_MS):
        await directory.suspend(Suspension("account", clock.now_ms() // DAY_MS * DAY_MS + DAY_MS + end_ms))
        await found.refresh()
    assert told == ["account"] * 2


async def test_a_revocation_is_told_once_and_again_when_it_is_renewed(monkeypatch: pytest.MonkeyPatch) -> None:
    directory, told = MemoryDirectory(), list[str]()
    found = told_by(directory)
    found.on_refused = lambda accounts, _: told.extend(accounts)
    await directory.revoke("account")
    await found.refresh()
    await found.refresh()
    later_ms = clock.now_ms() + 1000
    monkeypatch.setattr(clock, "now_ms", lambda: later_ms)
    await directory.revoke("account")
    await found.refresh()
    assert told == ["account", "account"]


async def test_revocations_are_dropped_when_no_token_can_be_so_old(monkeypatch: pytest.MonkeyPatch) -> None:
    directory = MemoryDirectory()
    found = told_by(directory)
    await directory.revoke("account")
    await found.refresh()
    later_ms = clock.now_ms() + DAY_MS + players.OVERLAP_MS + 1
    monkeypatch.setattr(clock, "now_ms", lambda: later_ms)
    await found.refresh()
    assert found._revoked == {}


class Moody(MemoryDirectory):
    """A directory that fails the first time it is asked."""

    asked = 0

    async def revocations(self, since_ms: int) -> list[Revocation]:
        self.asked += 1
        if self.asked == 1:
            raise EventLogUnavailable("no answer")
        return list(await super().revocations(since_ms))


async def test_it_goes_on_asking_when_the_directory_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is known stays until then."""
    monkeypatch.setattr(players, "REFRESH_SECONDS", 0.001)
    directory = Moody()
    found = told_by(directory)
    await directory.revoke(account_of(ADA))
    running = asyncio.create_task(found.run())

    async def refuses() -> bool:
        return found._revoked.keys() == {account_of(ADA)}

    await eventually(refuses)
    running.cancel()
