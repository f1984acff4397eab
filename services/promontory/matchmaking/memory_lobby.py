"""Tables and lists of matches in this process's memory: for tests, and for reading what the ports promise."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from msgspec.structs import replace

from promontory.matchmaking.domain import PRIVATE, Made, Proposal
from promontory.matchmaking.listing import Listed, Start, finished_by, listed, live_of_player, matches_of
from promontory.matchmaking.memory import Memory
from promontory.matchmaking.ports import RequestIdReused, TooManyOpen
from promontory.matchmaking.table import Table, TableState

ASKED_LENGTH = 50


class MemoryTables:
    """The port `Tables` in memory; a starting table's lease lasts `lease_seconds`. Tables are kept."""

    def __init__(self, memory: Memory, *, lease_seconds: float) -> None:
        self._memory, self._lease_seconds = memory, lease_seconds

    async def open(self, table: Table, *, most_open: int) -> Table:
        """Return `table`, opened; see `Tables.open`."""
        known = self._memory.tables.get(table.id)
        if known is None:
            await self._put(table, most_open=most_open)
            return table
        if known.fingerprint != table.fingerprint:
            raise RequestIdReused(table.id)
        return known

    async def find(self, table: str) -> Table | None:
        """Return a table, or None."""
        return self._memory.tables.get(table)

    async def find_invited(self, invite_code: str) -> Table | None:
        """Return the table with the invite code, or None."""
        invited = (table for table in self._memory.tables.values() if table.invite_code == invite_code != "")
        return next(invited, None)

    async def replace(self, table: Table, *, most_open: int) -> bool:
        """Store the next revision of a table; see `Tables.replace`."""
        known = self._memory.tables.get(table.id)
        if known is None or known.revision != table.revision - 1:
            return False
        await self._put(table, most_open=most_open)
        return True

    async def start(self, proposal: Proposal, made: Made) -> bool:
        """Give the starting table its match; see `Tables.start`."""
        found = self._memory.tables.get(proposal.id)
        if found is None or found.state is not TableState.STARTING:
            return False
        self._memory.list(listed(proposal, made))
        await self._put(replace(found, state=TableState.STARTED, made=made, revision=found.revision + 1), most_open=0)
        return True

    async def of_player(self, player: str) -> Sequence[Table]:
        """Return the open tables of the player; see `Tables.of_player`."""
        newest_first = [table for table in reversed(self._memory.tables.values()) if table.state is TableState.OPEN]
        asked = [table for table in newest_first if player in table.asked][:ASKED_LENGTH]
        return [table for table in newest_first if player in table.players or table in asked]

    async def starting(self, player: str) -> Sequence[Table]:
        """Return the tables whose match is being created, with the player in it."""
        found = self._memory.tables.values()
        return [table for table in found if table.state is TableState.STARTING and player in table.players]

    async def expired(self, *, limit: int) -> Sequence[str]:
        """Return open tables whose time is up; see `Tables.expired`."""
        now = self._memory.clock()
        found = [each for each in self._memory.tables.values() if each.state is TableState.OPEN]
        return [table.id for table in found if table.expires_ms <= now][:limit]

    async def _put(self, table: Table, *, most_open: int) -> None:
        known = self._memory.tables.get(table.id)
        newcomers = set(table.players) - set(known.players if known else ())
        self._memory.require_let_in(*newcomers)
        if table.state is TableState.OPEN and any(self._sitting(player) >= most_open for player in newcomers):
            raise TooManyOpen(table.id)
        self._memory.tables.pop(table.id, None)  # the one that changed last comes last
        self._memory.tables[table.id] = table
        if table.state is TableState.STARTING:
            self._memory.lease(table.id, self._lease_seconds)
        elif table.is_over:
            self._memory.settle(table.id)
        await self._memory.note(PRIVATE, table.id)

    def _sitting(self, player: str) -> int:
        found = self._memory.tables.values()
        return sum(table.state is TableState.OPEN and player in table.players for table in found)


class MemoryLists:
    """The port `Lists` in memory."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    async def record(self, match: Listed) -> bool:
        """Put a match into the lists where it belongs; see `Lists.record`."""
        return self._memory.list(match)

    async def restore(self, match: Listed) -> bool:
        """Do so whatever stands there; see `Lists.restore`."""
        return self._memory.list(match, overwrites=True)

    async def remove(self, match: Listed) -> None:
        """Take a match from all lists it may be in."""
        self._memory.unlist(match.match_id)
        self._memory.matches.pop(match.match_id, None)

    async def entries(
        self, names: Sequence[str], *, start: Start | None, limit: int
    ) -> Sequence[tuple[int, Listed | None]]:
        """Return entries of the lists called `names`, the latest first; see `Lists.entries`."""
        found = [(ms, match) for name in names for match, ms in self._memory.lists.get(name, {}).items()]
        rest = sorted((each for each in found if start is None or each[0] <= start.ms), reverse=True)
        skipped = start.skipped if start else 0
        return [(ms, self._memory.matches.get(match)) for ms, match in rest[skipped : skipped + limit]]

    async def count_open(self, player: str) -> int:
        """Return how many of the player's matches are not closed."""
        lists = self._memory.lists
        return len(lists.get(matches_of(player), {})) - len(lists.get(finished_by(player), {}))

    async def members(self) -> AsyncIterator[tuple[str, str]]:
        """Yield the name of every list with every match in it; see `Lists.members`."""
        for name, match_id in [(name, each) for name, entries in self._memory.lists.items() for each in entries]:
            yield name, match_id

    async def strike(self, name: str, match_id: str) -> None:
        """Remove a match from the list called `name`; see `Lists.strike`."""
        self._memory.lists[name].pop(match_id, None)

    async def drop(self, player: str, *, before_ms: int) -> None:
        """Remove the player's lists; see `Lists.drop`."""
        self._memory.gone[player] = before_ms
        for name in (matches_of(player), finished_by(player), live_of_player(player)):
            self._memory.lists.pop(name, None)

    async def find(self, player: str, match_id: str) -> Listed | None:
        """Return one of the player's matches, or None."""
        return self._memory.matches[match_id] if match_id in self._memory.lists.get(matches_of(player), {}) else None
