"""What matchmaking needs from outside: a store of tickets, tables and lists, the rules services, the ratings."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Collection, Sequence
from typing import Protocol

import msgspec

from promontory.codec.terms import Terms
from promontory.matchmaking.domain import Made, Proposal, Ticket
from promontory.matchmaking.listing import Listed, Start
from promontory.matchmaking.table import Table


class RequestIdReused(Exception):
    """The id was used before with other content."""


class AlreadyOpen(Exception):
    """The player waits in the pool already, with the ticket `ticket`."""

    def __init__(self, ticket: str) -> None:
        super().__init__(ticket)
        self.ticket = ticket


class TooManyOpen(Exception):
    """The player has as many open tickets, or sits at as many open tables, as allowed."""


class KeptOut(Exception):
    """A player is kept out until `until_ms`, in ms since the epoch."""

    def __init__(self, until_ms: int) -> None:
        super().__init__(until_ms)
        self.until_ms = until_ms


class CreationRefused(Exception):
    """A rules service refuses a match for good: repeating the creation cannot help. `reason` is its code for why."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code} {reason}")
        self.code = code
        self.reason = reason


class Change(msgspec.Struct, frozen=True):
    """A note that tickets of a pool have changed, or a table, whose pool is empty.

    Unless it says that they wait `no_more`, they may. `arrived` is a ticket that is new in its queue, if it is at hand.
    """

    pool: str
    tickets: tuple[str, ...]
    no_more: bool = False
    arrived: Ticket | None = None


class Queued(msgspec.Struct, frozen=True):
    """A ticket as it stands, and how many wait in its pool."""

    ticket: Ticket
    waiting: int


class Played(msgspec.Struct, frozen=True, kw_only=True):
    """A match as its rules service tells of it; forks, which belong to nobody's record, say so."""

    listed: Listed
    variant: str
    terms: Terms
    is_fork: bool = False


class Tickets(Protocol):
    """Tickets and the proposals that claim them. Every change is all or nothing, and safe to repeat.

    Any method may raise `EventLogUnavailable`: the outcome is unknown, and the call may be repeated.
    """

    async def before_creating(self, ticket: str, player: str) -> tuple[Ticket | None, int]:
        """Return the ticket, if it was created before, and how many of the player's matches are not closed."""

    async def create(self, ticket: Ticket, *, most_open: int) -> Queued:
        """Return `ticket`, put into its pool's queue, or as it stands if it was created before.

        Raises:
            RequestIdReused: its id is that of a ticket with another fingerprint.
            KeptOut: the player is kept out, by `Doors`.
            AlreadyOpen: the player has a ticket in the pool that is not over.
            TooManyOpen: the player has `most_open` tickets that are not over.
        """

    async def find(self, ticket: str) -> Ticket | None:
        """Return a ticket, or None if there is none (any more)."""

    async def look(self, ticket: str, pool: str) -> Queued | None:
        """Return a ticket of `pool` with how many wait there, or None if there is none (any more)."""

    async def of_player(self, player: str) -> Sequence[str]:
        """Return the tickets of the player that are not over."""

    async def cancel(self, ticket: str) -> Ticket | None:
        """Cancel a ticket if it waits; return it as it then stands, or None if there is none."""

    async def waiting(self, pool: str) -> Sequence[Ticket]:
        """Return the tickets that wait in `pool`, in no order."""

    async def waiting_ids(self, pool: str) -> Collection[str]:
        """Return the ids of the tickets that wait in `pool`, in no order."""

    async def still_waiting(self, pool: str, tickets: Sequence[str]) -> Sequence[Ticket]:
        """Return those of `tickets` that wait in `pool`, in no order."""

    async def count_waiting(self, pools: Sequence[str]) -> Sequence[int]:
        """Return how many tickets wait in each of `pools`."""

    async def claim(self, proposal: Proposal, *, lease_seconds: float) -> bool:
        """Move all of the proposal's tickets out of the queue and keep the proposal, if all of them still wait.

        Return whether they did. For `lease_seconds` the claimer is expected to get the match made.
        """

    async def assign(self, proposal: Proposal, made: Made) -> bool:
        """Give the proposal's tickets the match, list it, and forget the proposal.

        Return whether this call did it; False if it was done before.
        """

    async def release(self, proposal: Proposal, *, retry_at_ms: int) -> bool:
        """Put the proposal's tickets back into the queue, refused once more, and forget the proposal.

        Tickets of players who are kept out by now, by `Doors`, are cancelled: nobody else would ever do that.
        Return whether this call did it.
        """

    async def take_overdue(self, *, limit: int, lease_seconds: float) -> Sequence[Proposal]:
        """Return proposals, also those of starting tables, whose lease ended without a match; they get a new lease.

        It grows with every time it is given, to four times `lease_seconds`.
        """

    def listen(self, listener: Callable[[Change], None]) -> None:
        """Have `listener` told at once of each change of tickets that is made here; the feed may leave those out."""

    async def feed_end(self) -> str:
        """Return the cursor after which all changes from now on come."""

    async def feed(self, cursor: str) -> tuple[str, Sequence[Change]]:
        """Return the changes after `cursor`, oldest first, and the cursor after them; wait for one some seconds."""


class Doors(Protocol):
    """Who is kept out of tickets and tables: from the moment that it is set, none is created and no seat taken."""

    async def keep_out(self, player: str, until_ms: int) -> None:
        """Keep `player` out until a time, in ms since the epoch; another than before if that was so already."""

    async def let_in(self, player: str) -> None:
        """Let `player` in again."""


class Tables(Protocol):
    """Private tables and rematches. As safe to repeat as `Tickets`.

    Whoever stores a table that is starting has made a proposal of it, and is expected to get it made while its lease
    lasts. A table that is over is forgotten after a while.
    """

    async def open(self, table: Table, *, most_open: int) -> Table:
        """Return `table`, opened, or as it stands if it was opened before.

        Raises:
            RequestIdReused: its id is that of a table with another fingerprint.
            KeptOut: a player in it is kept out, by `Doors`.
            TooManyOpen: a player in it sits at `most_open` open tables.
        """

    async def find(self, table: str) -> Table | None:
        """Return a table, or None if there is none (any more)."""

    async def find_invited(self, invite_code: str) -> Table | None:
        """Return the table with the invite code, or None."""

    async def replace(self, table: Table, *, most_open: int) -> bool:
        """Store the next revision of a table; return False if it is not the next one any more.

        Raises `TooManyOpen` if a player who is new in it sits at `most_open` open tables, `KeptOut` if one is kept out.
        """

    async def start(self, proposal: Proposal, made: Made) -> bool:
        """Give the starting table that became `proposal` its match, and list it. Return whether this call did it."""

    async def of_player(self, player: str) -> Sequence[Table]:
        """Return the open tables that the player sits at, and the last 50 rematches that wait for the player.

        The newest first.
        """

    async def starting(self, player: str) -> Sequence[Table]:
        """Return the tables whose match is being created, with the player in it."""

    async def expired(self, *, limit: int) -> Sequence[str]:
        """Return up to `limit` open tables whose time is up."""


class Lists(Protocol):
    """Lists of matches, which tickets' and tables' matches are put into by the port that records them.

    All can be rebuilt from the matches' logs. A player's hold the 1000 matches that were made last.
    """

    async def record(self, match: Listed) -> bool:
        """Put a match, open or closed, into the lists where it belongs, and take it from the others.

        An open match never takes the place of the same one closed. Return whether anything changed.
        """

    async def restore(self, match: Listed) -> bool:
        """Do so whatever stands there."""

    async def remove(self, match: Listed) -> None:
        """Take a match from all lists it may be in."""

    async def entries(
        self, names: Sequence[str], *, start: Start | None, limit: int
    ) -> Sequence[tuple[int, Listed | None]]:
        """Return up to `limit` entries of the lists called `names`, merged, from `start` on.

        Each has the time that it stands at, in ms since the epoch, the latest first, and is None where the match has
        just left the list.
        """

    async def count_open(self, player: str) -> int:
        """Return how many of the player's matches are not closed."""

    def members(self) -> AsyncIterator[tuple[str, str]]:
        """Yield the name of every list with every match in it, in no order; what changes meanwhile may be missing."""

    async def strike(self, name: str, match_id: str) -> None:
        """Remove a match from the list called `name`, whatever else it is in."""

    async def drop(self, player: str, *, before_ms: int) -> None:
        """Remove the player's lists; matches made at `before_ms` or earlier never get into them again."""

    async def find(self, player: str, match_id: str) -> Listed | None:
        """Return one of the player's matches, or None if it is not in the lists."""


class Rules(Protocol):
    """The rules services of all games."""

    async def create_match(self, proposal: Proposal) -> Made:
        """Return the match of `proposal`, created now or earlier.

        Raises:
            CreationRefused: the rules service refuses it for good.
            Refusal: `PEER_UNAVAILABLE`; whether it was created is unknown, repeat it.
        """

    async def find_match(self, match_id: str) -> Played | None:
        """Return a match as it now is, or None if there is none. Raises the refusal `PEER_UNAVAILABLE`."""


class Ratings(Protocol):
    """The ratings of players in pools."""

    async def points(self, pool: str, player: str) -> float:
        """Return the player's rating in the pool in rating points; that of a new player if there is none.

        Raises the refusal `PEER_UNAVAILABLE`.
        """
