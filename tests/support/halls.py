"""The lobby on a store in memory."""

from __future__ import annotations

import asyncio

from promontory.eventlog.memory import MemoryEventLog
from promontory.games.registry import GAMES
from promontory.matchmaking.changes import Changes
from promontory.matchmaking.creation import Creation
from promontory.matchmaking.lists import MatchLists
from promontory.matchmaking.lobby import Lobby, TableWish
from promontory.matchmaking.memory import Memory, MemoryTickets
from promontory.matchmaking.memory_lobby import MemoryLists, MemoryTables
from promontory.matchmaking.rematch import Rematches
from promontory.matchmaking.room import Room
from promontory.matchmaking.seating import Seating, TableLimits
from promontory.matchmaking.table import Readiness, Table
from promontory.runtime.clock import now_ms
from promontory.runtime.identity import Caller
from tests.support.matchmaking import FOREVER_SECONDS, RulesStandIn, guest

ANN, BOB, CEM, DEE = (Caller(name, frozenset({"match:play", "history:read"})) for name in ("ann", "bob", "cem", "dee"))
HASTY = Readiness.ALWAYS_READY
WISH = TableWish(request_id="one", game="transcontinental", seats=2, entropy=b"mine", readiness=HASTY)
TRIO = TableWish(request_id="one", game="pacific", seats=3, readiness=HASTY)
MOST_MATCHES = 20
"""How many open matches players of the hall may have."""


class Hall:
    """Everything the lobby is made of. Its clock can be put forward."""

    def __init__(self, limits: TableLimits | None = None) -> None:
        self.rules = RulesStandIn()
        self.memory = Memory(now_ms)
        self.tables = MemoryTables(self.memory, lease_seconds=FOREVER_SECONDS)
        tickets = MemoryTickets(self.memory)
        self.creation = Creation(self.rules, tickets=tickets, tables=self.tables)
        self.store = MemoryLists(self.memory)
        room = Room(self.store, most_tickets=5, most_matches=MOST_MATCHES)
        self.seating = Seating(self.tables, self.creation, limits or TableLimits(), room)
        self.changes = Changes(tickets, ("pool",), on_change=lambda _: None)
        games = {entry.name: entry.load() for entry in GAMES}
        self.lobby = Lobby(self.tables, self.seating, changes=self.changes, games=games)
        self.rematches = Rematches(self.rules, self.seating)
        self.log = MemoryEventLog()
        self.lists = MatchLists(self.store, self.rules, self.log)

    async def join(
        self, caller: Caller, table: Table, readiness: Readiness = HASTY, *, entropy: bytes = b"", request_id: str = ""
    ) -> Table:
        """Let `caller` join."""
        sitting = guest(caller.subject, readiness, entropy=entropy)
        return await self.lobby.join(caller, table.invite_code, sitting, request_id=request_id)

    def follow(self) -> asyncio.Task[None]:
        """Follow the store's changes until cancelled."""
        return asyncio.create_task(self.changes.run())
