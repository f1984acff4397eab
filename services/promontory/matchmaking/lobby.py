"""What players can do with private tables."""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Mapping, Sequence
from enum import StrEnum

import msgspec

from promontory.bots.registry import house_player, policy_names
from promontory.codec.terms import Terms, faults_of
from promontory.games.registry import AnyGame, seat_counts
from promontory.matchmaking.changes import Changes
from promontory.matchmaking.domain import Entrant, derived_id, fingerprint_of
from promontory.matchmaking.ports import Tables
from promontory.matchmaking.seating import Intent, Seating, no_table
from promontory.matchmaking.table import (
    CloseReason,
    Guest,
    Readiness,
    Table,
    TableState,
    closed,
    join,
    kick,
    leave,
    ready_to_go,
    require_guest,
    require_host,
    require_open,
    set_readiness,
    start,
)
from promontory.matchmaking.validation import checked_player
from promontory.runtime import clock
from promontory.runtime.errors import Refusal, malformed
from promontory.runtime.forms import REQUEST_ID
from promontory.runtime.identity import Caller, Scope

CODE_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
CODE_LENGTH = 8
HEARTBEAT_SECONDS = 5.0


class TableWish(msgspec.Struct, frozen=True, kw_only=True):
    """What a table is opened from; `house_bots` are seats, from 1, with the policies that play them."""

    request_id: str
    game: str
    seats: int
    draw_start: bool = False
    variant: str = ""
    entropy: bytes = b""
    readiness: Readiness = Readiness.NOT_READY
    start_when_ready: bool = True
    house_bots: tuple[tuple[int, str], ...] = ()
    terms: Terms = Terms()


class EndReason(StrEnum):
    """Why the watching of a table ended."""

    STARTED = "started"
    CLOSED = "closed"
    LEFT = "left"
    SERVER_DRAINING = "server_draining"


class Quiet(msgspec.Struct, frozen=True):
    """Nothing has changed since `revision`, at `now_ms`."""

    revision: int
    now_ms: int


class End(msgspec.Struct, frozen=True):
    """The watching of a table ended, `revision` being the last one shown."""

    reason: EndReason
    revision: int


class Lobby:
    """The use cases of private tables; `games` holds the games that are served, by name."""

    def __init__(self, tables: Tables, seating: Seating, *, changes: Changes, games: Mapping[str, AnyGame]) -> None:
        self._tables, self._seating, self._changes, self._games = tables, seating, changes, games

    async def create(self, caller: Caller, wish: TableWish) -> Table:
        """Open a table with the caller in seat 0; the same wish again finds the same table."""
        caller.require(Scope.PLAY)
        host = Guest(checked_player(caller, wish.entropy), wish.readiness)
        table_id = derived_id("tb", caller.subject, REQUEST_ID.checked(wish.request_id, "request_id"))
        self._check(wish)
        table = Table(
            id=table_id,
            invite_code="".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH)),
            host=caller.subject,
            game=wish.game,
            draw_start=wish.draw_start,
            variant=wish.variant,
            start_when_ready=wish.start_when_ready,
            terms=wish.terms,
            created_ms=clock.now_ms(),
            expires_ms=self._seating.limits.end_ms(is_rematch=False),
            fingerprint=fingerprint_of(wish),
            guests=_seats(wish, host),
        )
        return await self._seating.open(ready_to_go(table))

    def _check(self, wish: TableWish) -> None:
        if wish.game not in self._games:
            raise malformed("game", f"is one of {', '.join(self._games)}")
        game = self._games[wish.game]
        if wish.seats not in game.seats:
            raise malformed("seats", f"{wish.game} has {seat_counts(game.seats)} seats, not {wish.seats}")
        if wish.variant and wish.variant not in game.variants:
            raise malformed("variant", f"is empty or one of {', '.join(game.variants)}")
        policies = policy_names(wish.game)
        _check_house_bots(wish, policies)
        for field, problem in faults_of(wish.terms, policies):
            raise malformed(field, problem)

    async def join(self, caller: Caller, invite_code: str, guest: Guest, *, request_id: str = "") -> Table:
        """Take the lowest free seat of the table with `invite_code`."""
        caller.require(Scope.PLAY)
        table = await self._tables.find_invited(invite_code.strip().upper())
        if table is None:
            raise no_table()
        intent = Intent(caller.subject, request_id, ("join", guest))
        return await self._seating.change(table.id, intent, lambda found: join(found, guest))

    async def leave(self, caller: Caller, table: str, *, request_id: str) -> Table:
        """Give the caller's seat up."""
        intent = _intent(caller, request_id, "leave")
        return await self._seating.change(table, intent, lambda found: leave(found, caller.subject))

    async def set_ready(self, caller: Caller, table: str, readiness: Readiness, *, request_id: str) -> Table:
        """Say whether the caller is ready."""
        intent = _intent(caller, request_id, "ready", readiness)
        return await self._seating.change(table, intent, lambda found: set_readiness(found, caller.subject, readiness))

    async def start(self, caller: Caller, table: str, *, request_id: str) -> Table:
        """Start the match of a table of the caller's."""
        intent = _intent(caller, request_id, "start")
        return await self._seating.change(table, intent, lambda found: start(found, by=caller.subject))

    async def kick(self, caller: Caller, table: str, player: str, *, request_id: str) -> Table:
        """Send a guest away from a table of the caller's."""
        intent = _intent(caller, request_id, "kick", player)
        return await self._seating.change(table, intent, lambda found: kick(found, player, by=caller.subject))

    async def close(self, caller: Caller, table: str, *, request_id: str) -> Table:
        """Close a table of the caller's."""

        def close(found: Table) -> Table:
            require_host(found, caller.subject)
            require_open(found)
            return closed(found, CloseReason.HOST_CLOSED)

        return await self._seating.change(table, _intent(caller, request_id, "close"), close)

    async def find(self, caller: Caller, table: str) -> Table:
        """Return a table the caller sits at, or a rematch the caller is asked to."""
        found = await self._seating.current(table)
        if not _is_seen_by(found, caller.subject):
            require_guest(found, caller.subject)
        return await self._seating.completed(found)

    async def tables(self, caller: Caller) -> Sequence[Table]:
        """Return the open tables the caller sits at and the rematches the caller is asked to, the newest first."""
        now_ms = clock.now_ms()
        return [table for table in await self._tables.of_player(caller.subject) if table.expires_ms > now_ms]

    async def watch(self, caller: Caller, table: str) -> AsyncIterator[Table | Quiet | End]:
        """Yield a table of the caller's as it is and whenever it changes, what says that it has not, and an end."""
        with self._changes.watching(table) as bell:
            shown = await self.find(caller, table)
            yield shown
            while (reason := _end_of(shown, caller.subject)) is None:
                try:
                    await bell.wait(HEARTBEAT_SECONDS)
                except Refusal:
                    reason = EndReason.SERVER_DRAINING
                    break
                found = await self._seating.current(table)
                if not _is_seen_by(found, caller.subject):
                    reason = EndReason.LEFT
                    break
                yield Quiet(shown.revision, clock.now_ms()) if found.revision == shown.revision else found
                shown = found
            yield End(reason, shown.revision)


def _intent(caller: Caller, request_id: str, *content: object) -> Intent:
    caller.require(Scope.PLAY)
    return Intent(caller.subject, REQUEST_ID.checked(request_id, "request_id"), content)


def _check_house_bots(wish: TableWish, policies: Sequence[str]) -> None:
    seats = [seat for seat, _ in wish.house_bots]
    for index, (seat, policy) in enumerate(wish.house_bots):
        if not 1 <= seat < wish.seats:
            raise malformed(f"house_bots[{index}].seat", f"is 1 to {wish.seats - 1}")
        if seat in seats[:index]:
            raise malformed(f"house_bots[{index}].seat", "is taken by another of the house bots")
        if policy not in policies:
            raise malformed(f"house_bots[{index}].policy", f"is one of {', '.join(policies)}")


def _seats(wish: TableWish, host: Guest) -> tuple[Guest | None, ...]:
    """Return who sits at a new table: the host, and house bots, which are called by their policy and seat."""
    bots = {
        seat: Guest(Entrant(house_player(policy, seat), policy), Readiness.ALWAYS_READY)
        for seat, policy in wish.house_bots
    }
    return (host, *(bots.get(seat) for seat in range(1, wish.seats)))


def _is_seen_by(table: Table, player: str) -> bool:
    return player in table.players or player in table.reserved


def _end_of(table: Table, player: str) -> EndReason | None:
    """Return why nothing more can be told to `player` after `table`, or None if something can."""
    match table.state:
        case TableState.STARTED:
            return EndReason.STARTED
        case TableState.CLOSED:
            return EndReason.CLOSED if _is_seen_by(table, player) else EndReason.LEFT
    return None
