"""What matchmaking needs from outside: a store of tickets, proposals and tables, the rules services, the ratings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import msgspec

from promontory.matchmaking.domain import Entrant, Made, MatchEntry, Proposal, Table, Ticket


class RequestIdReused(Exception):
    """The id was used before with other content."""


class AlreadyOpen(Exception):
    """The player waits in the pool already, with the ticket `ticket`."""

    def __init__(self, ticket: str) -> None:
        super().__init__(ticket)
        self.ticket = ticket


class TooManyOpen(Exception):
    """The player has as many open tickets as allowed."""


class TableFull(Exception):
    """Every seat of the table is taken."""


class CreationRefused(Exception):
    """A rules service refuses a match for good: repeating the creation cannot help. `reason` is its code for why."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code} {reason}")
        self.code = code
        self.reason = reason


class Change(msgspec.Struct, frozen=True):
    """A note that tickets of a pool have changed."""

    pool: str
    tickets: tuple[str, ...]


class Tickets(Protocol):
    """Tickets and the proposals that claim them. Every change is all or nothing, and safe to repeat.

    Any method may raise `EventLogUnavailable`: the outcome is unknown, and the call may be repeated.
    """

    async def create(self, ticket: Ticket, *, most_open: int) -> Ticket:
        """Return `ticket`, put into its pool's queue, or as it stands if it was created before.

        Raises:
            RequestIdReused: its id is that of a ticket with another fingerprint.
            AlreadyOpen: the player has a ticket in the pool that is not over.
            TooManyOpen: the player has `most_open` tickets that are not over.
        """

    async def find(self, ticket: str) -> Ticket | None:
        """Return a ticket, or None if there is none (any more)."""

    async def cancel(self, ticket: str) -> Ticket | None:
        """Cancel a ticket if it waits; return it as it then stands, or None if there is none."""

    async def waiting(self, pool: str) -> Sequence[Ticket]:
        """Return the tickets that wait in `pool`, in no order."""

    async def count_waiting(self, pools: Sequence[str]) -> Sequence[int]:
        """Return how many tickets wait in each of `pools`."""

    async def claim(self, proposal: Proposal, *, lease_seconds: float) -> bool:
        """Move all of the proposal's tickets out of the queue and keep the proposal, if all of them still wait.

        Return whether they did. For `lease_seconds` the claimer is expected to get the match made.
        """

    async def assign(self, proposal: Proposal, made: Made) -> bool:
        """Give the proposal's tickets the match, put it into its players' lists, and forget the proposal.

        Return whether this call did it; False if it was done before.
        """

    async def release(self, proposal: Proposal, *, retry_at_ms: int) -> bool:
        """Put the proposal's tickets back into the queue, refused once more, and forget the proposal.

        Return whether this call did it.
        """

    async def take_overdue(self, *, limit: int, lease_seconds: float) -> Sequence[Proposal]:
        """Return proposals, also those of full tables, whose lease ended without a match; they get a new lease.

        It grows with every time it is given, to four times `lease_seconds`.
        """

    async def feed_end(self) -> str:
        """Return the cursor after which all changes from now on come."""

    async def feed(self, cursor: str) -> tuple[str, Sequence[Change]]:
        """Return the changes after `cursor`, oldest first, and the cursor after them; wait for one some seconds."""


class Tables(Protocol):
    """Private tables, and the list of matches of every player. As safe to repeat as `Tickets`."""

    async def open(self, table: Table) -> Table:
        """Return `table`, opened, or as it stands if it was opened before.

        Raises `RequestIdReused` if its id is that of a table with another fingerprint.
        """

    async def find(self, table: str) -> Table | None:
        """Return a table, or None if there is none (any more)."""

    async def find_invited(self, invite_code: str) -> Table | None:
        """Return the table with the invite code, or None."""

    async def join(self, table: str, guest: Entrant, *, lease_seconds: float) -> Table | None:
        """Give `guest` the next seat unless the player has one; return the table, or None if there is none.

        Whoever takes the last seat makes the table's proposal, and is expected to get it made in `lease_seconds`.
        Raises `TableFull`.
        """

    async def start(self, proposal: Proposal, made: Made) -> bool:
        """Give the full table that became `proposal` its match, and put it into its players' lists.

        Return whether this call did it.
        """

    async def matches(self, player: str, *, before: int | None, limit: int) -> Sequence[tuple[int, MatchEntry]]:
        """Return up to `limit` numbered entries of the player's list, the newest first.

        Only those with a number less than `before`, if it is given.
        """


class Rules(Protocol):
    """The rules services of all games."""

    async def create_match(self, proposal: Proposal) -> Made:
        """Return the match of `proposal`, created now or earlier.

        Raises:
            CreationRefused: the rules service refuses it for good.
            Refusal: `PEER_UNAVAILABLE`; whether it was created is unknown, repeat it.
        """


class Ratings(Protocol):
    """The ratings of players in pools."""

    async def points(self, pool: str, player: str) -> float:
        """Return the player's rating in the pool in rating points; that of a new player if there is none.

        Raises the refusal `PEER_UNAVAILABLE`.
        """
