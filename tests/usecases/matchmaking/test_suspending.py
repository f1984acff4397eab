"""Suspending players: what they are taken out of, and what goes on."""

from __future__ import annotations

import pytest

from promontory.matchmaking.farewells import CancelTickets, LeaveTables
from promontory.matchmaking.memory import MemoryDoors, MemoryTickets
from promontory.matchmaking.memory_lobby import MemoryLists
from promontory.matchmaking.suspending import Suspended, SuspendPlayers
from promontory.runtime.clock import now_ms
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import Caller, Scope
from promontory.runtime.memory_players import MemoryDirectory
from promontory.runtime.players import account_of
from tests.support.halls import ANN, BOB, TRIO, Hall
from tests.support.matchmaking import listed, ticket

ADMIN = Caller("service:admin", frozenset({Scope.SUSPEND_PLAYER}), service=True)
HOUR_MS = 3_600_000


class World:
    """A hall, and what suspends its players."""

    def __init__(self, doors: type[MemoryDoors] = MemoryDoors) -> None:
        self.hall, self.directory = Hall(), MemoryDirectory()
        self.tickets = MemoryTickets(self.hall.memory)
        self.lists = MemoryLists(self.hall.memory)
        self.players = SuspendPlayers(
            self.directory,
            doors(self.hall.memory),
            farewells=(CancelTickets(self.tickets), LeaveTables(self.hall.tables, self.hall.seating)),
            lists=self.lists,
            house={"house-1"},
        )

    async def suspend(self, player: str = "ann") -> Suspended:
        """Suspend a player for an hour."""
        return await self.players.suspend(ADMIN, player, now_ms() + HOUR_MS)


async def test_a_suspended_player_waits_for_nothing_any_more() -> None:
    """[PlayersService.SuspendPlayer] Tickets are cancelled and tables left, once, and nobody else's."""
    world = World()
    await world.tickets.create(ticket("ann", created_ms=now_ms()), most_open=5)
    await world.tickets.create(ticket("bob"), most_open=5)
    await world.hall.lobby.create(ANN, TRIO)
    assert await world.suspend() == Suspended(1, 1, known=True)
    assert await world.suspend() == Suspended(0, 0, known=False)
    assert [each.account for each in await world.directory.suspensions()] == [account_of("ann")]
    assert len(await world.tickets.of_player("bob")) == 1


async def test_a_player_of_whom_nothing_is_known_is_kept_out_and_told_of() -> None:
    """[SuspendPlayerResponse.known] The id may be mistyped; or nothing of the player is kept any more."""
    world, player = World(), await MemoryDirectory().player_of("ann@example.org")
    assert not (await world.suspend("anm")).known
    assert not (await world.suspend(player)).known
    assert (await world.suspend(await world.directory.player_of("ann@example.org"))).known
    await world.lists.record(listed(0, "ann", "bob"))
    assert (await world.suspend("bob")).known


async def test_a_player_who_is_let_in_again_is_nobody_special() -> None:
    world = World()
    await world.suspend()
    assert await world.players.restore(ADMIN, "ann")
    assert not await world.players.restore(ADMIN, "ann")
    assert await world.directory.suspensions() == []


async def test_a_process_that_has_not_heard_of_it_seats_no_suspended_player() -> None:
    """[PLAYER_SUSPENDED] What a process remembers of suspensions is some seconds old."""
    world = World()
    await world.suspend()
    with pytest.raises(Refusal) as refused:
        await world.hall.lobby.create(ANN, TRIO)
    with pytest.raises(Refusal) as also:
        await world.hall.join(ANN, await world.hall.lobby.create(BOB, TRIO))
    assert {refused.value.reason, also.value.reason} == {"PLAYER_SUSPENDED"}
    await world.players.restore(ADMIN, "ann")
    assert await world.hall.lobby.create(ANN, TRIO)


async def test_a_door_does_not_stay_closed_when_a_suspension_is_lifted_while_it_is_made() -> None:
    class Restoring(MemoryDoors):
        async def keep_out(self, player: str, until_ms: int) -> None:
            await world.players.restore(ADMIN, player)
            await super().keep_out(player, until_ms)

    world = World(Restoring)
    await world.suspend()
    assert await world.hall.lobby.create(ANN, TRIO)


async def test_a_door_does_not_stay_open_when_a_suspension_is_made_while_another_is_lifted() -> None:
    """[PLAYER_SUSPENDED] The directory has the last word."""

    class Suspending(MemoryDoors):
        async def let_in(self, player: str) -> None:
            await world.suspend(player)
            await super().let_in(player)

    world = World(Suspending)
    await world.players.restore(ADMIN, "ann")
    with pytest.raises(Refusal, match="suspended"):
        await world.hall.lobby.create(ANN, TRIO)


async def test_an_opaque_player_is_suspended_by_the_account_behind_it() -> None:
    """[event_log 5.5] Being forgotten does not end a suspension, and it knows no subject."""
    world = World()
    player = await world.directory.player_of("Ann@example.org")
    await world.suspend(player)
    assert [each.account for each in await world.directory.suspensions()] == [account_of("Ann@example.org")]


@pytest.mark.parametrize(
    ("caller", "player", "ahead_ms", "reason"),
    [
        (Caller("ann", frozenset({Scope.PLAY})), "ann", HOUR_MS, "SCOPE_MISSING"),
        (ADMIN, "house-1", HOUR_MS, "BAD_REQUEST"),
        (ADMIN, "service:relay", HOUR_MS, "BAD_REQUEST"),
        (ADMIN, "ann", -1, "BAD_REQUEST"),
    ],
)
async def test_what_cannot_be_is_refused(caller: Caller, player: str, ahead_ms: int, reason: str) -> None:
    with pytest.raises(Refusal) as refused:
        await World().players.suspend(caller, player, now_ms() + ahead_ms)
    assert refused.value.reason == reason
