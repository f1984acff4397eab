"""Forgetting players: what goes, what stays, and that it comes to its end whatever fails in between."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from promontory.matchmaking import forgetting
from promontory.matchmaking.domain import TicketState
from promontory.matchmaking.farewells import STARTING, CancelTickets, DropLists, DropRatings, LeaveTables, ResignMatches
from promontory.matchmaking.forgetting import SETTLE_MS, ForgetPlayers, Forgetting
from promontory.matchmaking.listing import Listed, matches_of
from promontory.matchmaking.memory import MemoryTickets
from promontory.matchmaking.memory_forgettings import MemoryForgettings
from promontory.matchmaking.table import TableState
from promontory.runtime import clock
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import Caller
from promontory.runtime.memory_players import MemoryDirectory
from promontory.runtime.players import account_of
from tests.support.halls import ANN, BOB, TRIO, WISH, Hall
from tests.support.matchmaking import NOW_MS, POOL, listed, made, proposal, ticket
from tests.support.waiting import eventually

OPERATOR = Caller("service:operator", frozenset({"player:forget"}), service=True)
OTHER = "pacific.ranked.3"


class Peers:
    """The rules services and scoring, as far as they are asked; each thing in `down` is answered with a refusal."""

    def __init__(self) -> None:
        self.resigned: list[tuple[str, str]] = []
        self.forgotten: list[tuple[str, frozenset[str], frozenset[str]]] = []
        self.down: set[str] = set()
        self.left: set[str] = set()
        self.asked: list[str] = []

    async def resign(self, match: Listed, player: str, *, request_id: str) -> bool:
        self._answer("rules")
        self._answer(match.match_id)
        if match.match_id in self.left:
            return False
        self.resigned.append((match.match_id, player))
        return True

    async def forget(
        self, player: str, pools: Sequence[str], *, request_id: str, pending: Sequence[str]
    ) -> Sequence[str]:
        self._answer("scoring")
        self.forgotten.append((player, frozenset(pools), frozenset(pending)))
        return [POOL]

    def _answer(self, name: str) -> None:
        self.asked.append(name)
        if name in self.down:
            code = "UNAVAILABLE" if name == "rules" else "FAILED_PRECONDITION"
            raise Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", name, metadata={"code": code})


class World:
    """A hall with everything that belongs to forgetting, and a clock that can be put forward."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, opaque: bool) -> None:
        real = clock.now_ms
        self._ahead_ms = NOW_MS + 1000 - real()
        monkeypatch.setattr(clock, "now_ms", lambda: real() + self._ahead_ms)
        self.hall, self.peers, self.directory = Hall(), Peers(), MemoryDirectory()
        self.tickets, self.forgettings = MemoryTickets(self.hall.memory), MemoryForgettings()
        self.players = ForgetPlayers(
            self.directory,
            self.forgettings,
            farewells=(
                CancelTickets(self.tickets),
                LeaveTables(self.hall.tables, self.hall.seating),
                ResignMatches(self.hall.store, self.peers),
                DropRatings(self.hall.store, self.peers, pools=[POOL, OTHER]),
                DropLists(self.hall.store),
            ),
            opaque=opaque,
            house={"house-1"},
        )

    def wait(self, *, times: int = 1) -> None:
        """Let as much time pass as a revocation needs to be known everywhere, so many times."""
        self._ahead_ms += times * SETTLE_MS

    async def forget(self, player: str = "ann") -> Forgetting:
        """Have a player forgotten by an operator, or see how far it is."""
        return await self.players.forget(OPERATOR, player)

    async def listed(self, player: str) -> int:
        """Return how many matches the player's list holds."""
        return len(await self.hall.store.entries((matches_of(player),), start=None, limit=10))


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch, opaque=False)


@pytest.fixture
def opaque_world(monkeypatch: pytest.MonkeyPatch) -> World:
    return World(monkeypatch, opaque=True)


async def test_tickets_are_cancelled_and_tables_left(world: World) -> None:
    await world.tickets.create(ticket("ann"), most_open=5)
    own = await world.hall.lobby.create(ANN, TRIO)
    joined = await world.hall.join(ANN, await world.hall.lobby.create(BOB, TRIO))
    found = await world.forget()
    assert (found.tickets, found.tables) == (1, 2)
    assert (await world.tickets.find("tk-ann")).state is TicketState.CANCELLED  # type: ignore[union-attr]
    assert (await world.hall.tables.find(own.id)).state is TableState.CLOSED  # type: ignore[union-attr]
    assert (await world.hall.tables.find(joined.id)).players == ("bob",)  # type: ignore[union-attr]


async def test_open_matches_are_resigned_and_lists_removed(world: World) -> None:
    """Only the player's own; those who played along keep theirs."""
    await world.hall.store.record(listed(1))
    await world.hall.store.record(listed(2, ended_ms=9))
    found = await world.forget()
    assert (found.resigned, world.peers.resigned) == (("tc-000-1",), [("tc-000-1", "ann")])
    assert [await world.listed(player) for player in ("ann", "bob")] == [0, 2]


async def test_scoring_is_told_of_all_pools_and_at_the_end_of_those_with_matches_to_come(world: World) -> None:
    """[scoring ForgetPlayer] A match that was resigned is tallied after the player has gone."""
    await world.hall.store.record(listed(1, pool="old.ranked"))
    first = await world.forget()
    world.wait()
    last = await world.forget()
    assert (first.is_done, last.is_done, last.pools) == (False, True, (POOL,))
    assert world.peers.forgotten == [
        ("ann", frozenset({POOL, OTHER, "old.ranked"}), frozenset()),
        ("ann", frozenset({POOL, OTHER, "old.ranked"}), frozenset({"old.ranked"})),
    ]


async def test_what_old_tokens_begin_until_they_are_refused_goes_too(world: World) -> None:
    await world.forget()
    await world.tickets.create(ticket("ann"), most_open=5)
    await world.hall.store.record(listed(3, created_ms=clock.now_ms() + 1))
    world.wait()
    found = await world.forget()
    assert (found.is_done, found.tickets, found.resigned) == (True, 1, ("tc-000-3",))
    assert await world.listed("ann") == 0


async def test_tokens_are_revoked_once_and_again_only_when_it_is_asked_for_anew(world: World) -> None:
    first = await world.forget()
    world.wait()
    assert (await world.forget()).revoked_ms == first.revoked_ms
    assert (await world.forget()).revoked_ms > first.revoked_ms
    assert [each.account for each in await world.directory.revocations(0)] == [account_of("ann")]


@pytest.mark.parametrize("down", ["rules", "scoring"])
async def test_what_cannot_be_done_now_is_done_later(world: World, monkeypatch: pytest.MonkeyPatch, down: str) -> None:
    """[players ForgetPlayer] Once asked for it is brought to its end, by whatever replica looks for what is due."""
    monkeypatch.setattr(forgetting, "POLL_SECONDS", 0.001)
    await world.hall.store.record(listed(1))
    world.peers.down = {down}
    assert (await world.forget()).problem == "PEER_UNAVAILABLE"
    world.peers.down = set()
    running = asyncio.create_task(world.players.run())

    async def done() -> bool:
        world.wait()
        found = await world.forgettings.find("ann")
        return found is not None and found.is_done

    await eventually(done)
    running.cancel()
    assert (world.peers.resigned, await world.listed("ann")) == ([("tc-000-1", "ann")], 0)


async def test_a_match_that_cannot_be_resigned_keeps_nothing_else_from_being_done(world: World) -> None:
    """Its log is corrupt, say: other matches are resigned, ratings go, and only the lists wait for it."""
    for number in (1, 2, 3):
        await world.hall.store.record(listed(number))
    world.peers.down = {"tc-000-2"}
    found = await world.forget()
    assert (set(found.resigned), found.problem) == ({"tc-000-1", "tc-000-3"}, "PEER_UNAVAILABLE")
    assert (found.pools, await world.listed("ann")) == ((POOL,), 3)
    world.wait()
    world.peers.down = set()
    assert (await world.forget()).is_done
    assert [match for match, _ in world.peers.resigned] == ["tc-000-3", "tc-000-1", "tc-000-2"]


async def test_rules_that_cannot_be_reached_are_asked_once(world: World) -> None:
    """So that a thousand matches do not outlast the lease."""
    for number in (1, 2, 3):
        await world.hall.store.record(listed(number))
    world.peers.down = {"rules"}
    await world.forget()
    assert world.peers.asked.count("rules") == 1


async def test_a_match_that_was_left_before_is_still_to_be_tallied(world: World) -> None:
    """Others play it on; the player shall not come back to the leaderboard when it ends."""
    await world.hall.store.record(listed(1, pool="old.ranked"))
    world.peers.left = {"tc-000-1"}
    await world.forget()
    world.wait()
    await world.forget()
    assert world.peers.forgotten[-1] == ("ann", frozenset({POOL, OTHER, "old.ranked"}), frozenset({"old.ranked"}))


async def test_a_pairing_whose_match_is_not_made_yet_is_waited_for(world: World) -> None:
    """[players ForgetPlayer] The rules service is down for a while; the match that comes is resigned too."""
    paired = [ticket("ann"), ticket("bob")]
    for each in paired:
        await world.tickets.create(each, most_open=5)
    assert await world.tickets.claim(proposal(paired), lease_seconds=60)
    await world.forget()
    world.wait()
    assert (await world.forget()).problem == STARTING
    await world.tickets.assign(proposal(paired), made("tc-000-late", created_ms=clock.now_ms()))
    found = await world.forget()
    assert (found.is_done, found.resigned, await world.listed("ann")) == (True, ("tc-000-late",), 0)


async def test_a_table_whose_match_is_not_made_yet_is_waited_for(world: World) -> None:
    world.hall.rules.fault = Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", "away")
    table = await world.hall.lobby.create(BOB, WISH)
    with pytest.raises(Refusal):
        await world.hall.join(ANN, table)
    world.wait()
    assert (await world.forget()).problem == STARTING
    world.hall.rules.fault = None
    await world.hall.lobby.find(BOB, table.id)
    world.wait()
    found = await world.forget()
    assert (found.is_done, len(found.resigned), await world.listed("ann")) == (True, 1, 0)


async def test_who_has_come_back_while_it_is_stuck_is_left_alone(world: World) -> None:
    """With subjects for player ids they have the same one; a match that cannot be resigned must not keep them out."""
    await world.hall.store.record(listed(1, created_ms=clock.now_ms()))
    world.peers.down = {"tc-000-1"}
    await world.forget()
    world.wait(times=2)
    await world.tickets.create(ticket("ann", created_ms=clock.now_ms()), most_open=5)
    table = await world.hall.lobby.create(ANN, TRIO)
    await world.hall.store.record(listed(2, created_ms=clock.now_ms()))
    found = await world.forget()
    assert (found.problem, found.tickets, found.tables, found.resigned) == ("PEER_UNAVAILABLE", 0, 0, ())
    assert (await world.hall.tables.find(table.id)).state is TableState.OPEN  # type: ignore[union-attr]


class Dying(MemoryDirectory):
    """A directory that fails as the process dies: after it has revoked, before that is noted anywhere."""

    dies = True

    async def remove(self, player: str) -> None:
        if self.dies:
            self.dies = False
            raise KeyboardInterrupt
        await super().remove(player)


async def test_a_process_that_dies_half_way_leaves_it_to_others(
    opaque_world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The request is kept before anything is done for it."""
    directory = Dying()
    monkeypatch.setattr(opaque_world.players, "_directory", directory)
    player = await directory.player_of("ann@example.org")
    with pytest.raises(KeyboardInterrupt):
        await opaque_world.forget(player)
    opaque_world.wait(times=3)
    assert list(await opaque_world.forgettings.due(clock.now_ms(), limit=1)) == [player]
    found = await opaque_world.forget(player)
    assert (found.is_done, await directory.find("ann@example.org")) == (True, None)


async def test_with_opaque_ids_nothing_ties_the_player_to_the_person_any_more(opaque_world: World) -> None:
    """[event_log 5.5] Deleting the entry breaks the link, and the revocation knows a digest only."""
    subject = "ann@example.org"
    player = await opaque_world.directory.player_of(subject)
    found = await opaque_world.forget(player)
    assert found.account == account_of(subject)
    assert await opaque_world.directory.registered(player) is None
    assert await opaque_world.directory.player_of(subject) != player
    assert subject not in repr(await opaque_world.forgettings.find(player))


async def test_a_player_may_ask_for_it_and_nobody_else_without_the_scope(world: World) -> None:
    assert (await world.players.forget(ANN, "ann")).player == "ann"
    with pytest.raises(Refusal) as refused:
        await world.players.forget(BOB, "ann")
    assert refused.value.reason == "SCOPE_MISSING"


@pytest.mark.parametrize("player", ["house-1", "service:relay", "", "a b"])
async def test_who_is_no_player_cannot_be_forgotten(world: World, player: str) -> None:
    with pytest.raises(Refusal) as refused:
        await world.forget(player)
    assert refused.value.reason == "BAD_REQUEST"


async def test_an_opaque_id_that_stands_for_nobody_is_not_found(opaque_world: World) -> None:
    with pytest.raises(Refusal) as refused:
        await opaque_world.forget("pl-nobody")
    assert refused.value.reason == "PLAYER_NOT_FOUND"


async def test_an_opaque_id_that_was_forgotten_still_tells_so(opaque_world: World) -> None:
    player = await opaque_world.directory.player_of("ann@example.org")
    await opaque_world.forget(player)
    opaque_world.wait()
    done = await opaque_world.forget(player)
    assert (done.is_done, await opaque_world.forget(player)) == (True, done)
