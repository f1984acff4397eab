"""Tickets and proposals in a Redis 7 or Valkey server; every change is one call of a server-side function."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from redis.asyncio import Redis

from promontory.eventlog.functions import Library, packaged_library, verify_library
from promontory.eventlog.redis_calls import Caller
from promontory.matchmaking.domain import Assignment, Made, Proposal, Ticket, TicketState
from promontory.matchmaking.listing import Listed, listed
from promontory.matchmaking.ports import AlreadyOpen, Change, KeptOut, Queued, RequestIdReused, TooManyOpen
from promontory.matchmaking.redis_notes import Notes
from promontory.matchmaking.redis_records import read
from promontory.matchmaking.table import Table, TableState
from promontory.runtime.players import account_of

ATTEMPTS = 3
DEADLINE_SECONDS = 4.0
BLOCK_MS = 5_000
FEED_PAGE_NOTES = 500
_TAG = "{mm}"
_FIELDS = ("body", "state", "refusals", "retry", "assignment")

DUE, TRIES, FEED, ENDS, OUT = (f"{_TAG}:{part}" for part in ("due", "tries", "feed", "ends", "out"))
_decode_ticket = msgspec.json.Decoder(Ticket).decode
_decode_proposal = msgspec.json.Decoder(Proposal).decode
_decode_table = msgspec.json.Decoder(Table).decode


def matchmaking_library() -> Library:
    """Return the library of functions that matchmaking calls."""
    return packaged_library("matchmaking", "promontory.matchmaking", "matchmaking.lua")


def key(kind: str, name: str) -> str:
    """Return the key of the `kind` that matchmaking.lua lists, for `name`."""
    return f"{_TAG}:{kind}:{name}"


class Server:
    """Calls matchmaking's functions, and commands that are safe to repeat."""

    def __init__(self, client: Redis, *, blocking: Redis) -> None:
        self._client, self._library = client, matchmaking_library()
        self.caller = Caller(client, attempts=ATTEMPTS, deadline_seconds=DEADLINE_SECONDS)
        self._blocking = Caller(blocking, attempts=ATTEMPTS, deadline_seconds=DEADLINE_SECONDS)
        self.command, self.pipeline, self.wait = self.caller.command, self.caller.pipeline, self._blocking.command

    async def start(self) -> None:
        """Return if the server has the functions, else raise `functions.LibraryMissing`."""
        await self.caller.call(lambda: verify_library(self._client, self._library))

    async def function(self, name: str, keys: Sequence[str], *arguments: Any) -> Any:
        """Return what the function `name` answers."""
        return await self.command("FCALL", self._library.function(name), len(keys), *keys, *arguments)

    async def now_ms(self) -> int:
        """Return the server's time in ms since the epoch."""
        seconds, microseconds = await self.command("TIME")
        return int(seconds) * 1000 + int(microseconds) // 1000

    async def does(self, name: str, keys: Sequence[str], *arguments: Any) -> bool:
        """Return whether the function `name` did now what it is for."""
        reply: list[bytes] = await self.function(name, keys, *arguments)
        return reply[0] == b"OK"


class RedisDoors:
    """The port `Doors`; players are kept as digests, and for no longer than they are kept out."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def keep_out(self, player: str, until_ms: int) -> None:
        """Keep `player` out; see `Doors.keep_out`."""
        over = ("ZREMRANGEBYSCORE", OUT, "-inf", await self._server.now_ms())
        await self._server.pipeline(("ZADD", OUT, until_ms, account_of(player)), over)

    async def let_in(self, player: str) -> None:
        """Let `player` in again."""
        await self._server.command("ZREM", OUT, account_of(player))


class RedisTickets:
    """The port `Tickets`; tickets that are over are kept for `retention_seconds`."""

    def __init__(self, server: Server, *, retention_seconds: float) -> None:
        self._server, self._retention_ms = server, int(retention_seconds * 1000)
        self._notes = Notes()
        self.listen = self._notes.listen

    async def before_creating(self, ticket: str, player: str) -> tuple[Ticket | None, int]:
        """Return the ticket, and how many of the player's matches are open; see `Tickets.before_creating`."""
        fields, made, closed = await self._server.pipeline(
            ("HMGET", key("t", ticket), *_FIELDS), ("ZCARD", key("m", player)), ("ZCARD", key("f", player))
        )
        return _standing(fields), int(made) - int(closed)

    async def create(self, ticket: Ticket, *, most_open: int) -> Queued:
        """Return `ticket`, put into its pool's queue; see `Tickets.create`."""
        player, body = ticket.entrant.player, msgspec.json.encode(ticket)
        keys = (key("t", ticket.id), key("o", player), key("w", ticket.pool), FEED, OUT)
        wanted = (ticket.id, ticket.pool, ticket.fingerprint, body)
        match await self._server.function("create", keys, *wanted, most_open, account_of(player)):
            case [b"OK", note, waiting]:
                self._notes.made(note, Change(ticket.pool, (ticket.id,), arrived=ticket))
                return Queued(ticket, waiting)
            case [b"KNOWN"]:
                return await self.look(ticket.id, ticket.pool) or Queued(ticket, 0)
            case [b"OPEN", open_ticket]:
                raise AlreadyOpen(open_ticket.decode())
            case [b"LIMIT"]:
                raise TooManyOpen(player)
            case [b"OUT", until_ms]:
                raise kept_out(until_ms)
        raise RequestIdReused(ticket.id)

    async def find(self, ticket: str) -> Ticket | None:
        """Return a ticket, or None."""
        return _standing(await self._server.command("HMGET", key("t", ticket), *_FIELDS))

    async def look(self, ticket: str, pool: str) -> Queued | None:
        """Return a ticket of `pool` with how many wait there; see `Tickets.look`."""
        row, waiting = await self._server.pipeline(("HMGET", key("t", ticket), *_FIELDS), ("HLEN", key("w", pool)))
        found = _standing(row)
        return Queued(found, waiting) if found else None

    async def of_player(self, player: str) -> Sequence[str]:
        """Return the tickets of the player that are not over."""
        return [ticket.decode() for ticket in await self._server.command("HVALS", key("o", player))]

    async def cancel(self, ticket: str) -> Ticket | None:
        """Cancel a ticket if it waits; see `Tickets.cancel`."""
        found = await self.find(ticket)
        if found is None or found.is_over:
            return found
        keys = (key("t", ticket), key("o", found.entrant.player), key("w", found.pool), FEED)
        gone = Change(found.pool, (ticket,), no_more=True)
        await self._makes(gone, "cancel", keys, ticket, found.pool, self._retention_ms)
        return await self.find(ticket)

    async def waiting(self, pool: str) -> Sequence[Ticket]:
        """Return the tickets that wait in `pool`."""
        return _readable(await self._server.command("HVALS", key("w", pool)))

    async def waiting_ids(self, pool: str) -> Collection[str]:
        """Return the ids of the tickets that wait in `pool`."""
        return [ticket.decode() for ticket in await self._server.command("HKEYS", key("w", pool))]

    async def still_waiting(self, pool: str, tickets: Sequence[str]) -> Sequence[Ticket]:
        """Return those of `tickets` that wait in `pool`."""
        return _readable(await self._server.command("HMGET", key("w", pool), *tickets)) if tickets else ()

    async def count_waiting(self, pools: Sequence[str]) -> Sequence[int]:
        """Return how many tickets wait in each of `pools`."""
        return await self._server.pipeline(*(("HLEN", key("w", pool)) for pool in pools))

    async def claim(self, proposal: Proposal, *, lease_seconds: float) -> bool:
        """Move all of the proposal's tickets out of the queue, or none; see `Tickets.claim`."""
        tickets = proposal.tickets
        keys = (DUE, key("x", proposal.id), key("w", proposal.pool), FEED, *(key("t", ticket) for ticket in tickets))
        body, lease_ms = msgspec.json.encode(proposal), int(lease_seconds * 1000)
        arguments = (proposal.id, body, proposal.pool, lease_ms, ",".join(tickets), *tickets)
        return await self._makes(_gone(proposal), "claim", keys, *arguments)

    async def assign(self, proposal: Proposal, made: Made) -> bool:
        """Give the proposal's tickets the match; see `Tickets.assign`."""
        seated = [(seat, place) for seat, place in enumerate(proposal.places) if place.ticket]
        lists, rows = listing(listed(proposal, made))
        keys = (
            *(DUE, TRIES, key("x", proposal.id), FEED),
            *(name for _, place in seated for name in (key("t", place.ticket), key("o", place.entrant.player))),
            *lists,
        )
        found = [msgspec.json.encode(Assignment(made.service, made.match_id, seat)) for seat, _ in seated]
        first = (proposal.id, proposal.pool, self._retention_ms, ",".join(proposal.tickets), len(found))
        return await self._makes(_gone(proposal), "assign", keys, *first, *found, *rows)

    async def release(self, proposal: Proposal, *, retry_at_ms: int) -> bool:
        """Put the proposal's tickets back into the queue; see `Tickets.release`."""
        placed = [(place.ticket, place.entrant.player) for place in proposal.places if place.ticket]
        keys = (
            *(DUE, TRIES, key("x", proposal.id), key("w", proposal.pool), FEED, OUT),
            *(name for ticket, player in placed for name in (key("t", ticket), key("o", player))),
        )
        joined = ",".join(proposal.tickets)
        first = (proposal.id, proposal.pool, joined, proposal.refusals + 1, retry_at_ms, self._retention_ms)
        each = (word for ticket, player in placed for word in (ticket, account_of(player)))
        return await self._makes(Change(proposal.pool, proposal.tickets), "release", keys, *first, *each)

    async def _makes(self, change: Change, name: str, keys: Sequence[str], *arguments: Any) -> bool:
        """Return whether the function `name` did what it is for; if it did so now, tell of the change."""
        reply: list[bytes] = await self._server.function(name, keys, *arguments)
        for note in reply[1:]:
            self._notes.made(note, change)
        return reply[0] == b"OK"

    async def take_overdue(self, *, limit: int, lease_seconds: float) -> Sequence[Proposal]:
        """Return proposals whose lease ended without a match; see `Tickets.take_overdue`."""
        names = await self._server.function("overdue", (DUE, TRIES), limit, int(lease_seconds * 1000))
        found = [await self._proposal(name.decode()) for name in names]
        return [proposal for proposal in found if proposal]

    async def _proposal(self, name: str) -> Proposal | None:
        body, row = await self._server.pipeline(*(("HGET", key(kind, name), "body") for kind in "xb"))
        if body:
            return read(_decode_proposal, body)
        table = table_of(row)
        return table.proposal() if table and table.state is TableState.STARTING else None

    async def feed_end(self) -> str:
        """Return the cursor after which all changes from now on come."""
        last = await self._server.command("XREVRANGE", FEED, "+", "-", "COUNT", 1)
        end: bytes = last[0][0] if last else b"0-0"
        self._notes.begin(end)
        return end.decode()

    async def feed(self, cursor: str) -> tuple[str, Sequence[Change]]:
        """Return the changes after `cursor`; see `Tickets.feed`."""
        reply = await self._server.wait("XREAD", "COUNT", FEED_PAGE_NOTES, "BLOCK", BLOCK_MS, "STREAMS", FEED, cursor)
        page = reply[0][1] if reply else ()
        return (page[-1][0].decode() if page else cursor), self._notes.read(page)


def _gone(proposal: Proposal) -> Change:
    return Change(proposal.pool, proposal.tickets, no_more=True)


def kept_out(until_ms: bytes) -> KeptOut:
    """Return what a player is refused with whose score in `OUT` is `until_ms`."""
    return KeptOut(int(float(until_ms)))


def listing(match: Listed, *, overwrites: bool = False, without: Collection[str] = ()) -> tuple[list[str], list[Any]]:
    """Return the keys and the arguments that matchmaking.lua's `list` takes for `match`, but for players `without`."""
    live = [key("l", name.partition(":")[2]) for name in match.live_lists]
    own = [key(kind, player) for player in match.keepers if player not in without for kind in "mfe"]
    closed = match.ended.closed_ms if match.ended else ""
    row = msgspec.json.encode(match)
    arguments = [match.match_id, match.created_ms, closed, row, len(live), int(overwrites)]
    return [key("k", match.match_id), *live, *own], arguments


def table_of(body: bytes | None) -> Table | None:
    """Return the table in the body of a `b` hash, or None if there is none."""
    return read(_decode_table, body)


def _standing(row: Sequence[bytes | None]) -> Ticket | None:
    """Return the ticket of a `t` hash's `_FIELDS` as it stands now, or None if there is none."""
    body, state, refusals, retry, assignment = row
    ticket = read(_decode_ticket, body)
    if ticket is None or state is None:
        return None
    return msgspec.structs.replace(
        ticket,
        state=TicketState(state.decode()),
        refusals=int(refusals or 0),
        retry_at_ms=int(retry or 0),
        assignment=msgspec.json.decode(assignment, type=Assignment) if assignment else None,
    )


def _readable(rows: Sequence[bytes | None]) -> Sequence[Ticket]:
    """Return the tickets in rows of a queue, but for those that cannot be read."""
    return [ticket for ticket in (read(_queued, row) for row in rows) if ticket]


def _queued(row: bytes) -> Ticket:
    refusals, retry, body = row.split(b"|", 2)
    ticket = _decode_ticket(body)
    if refusals == b"0":
        return ticket
    return msgspec.structs.replace(ticket, refusals=int(refusals), retry_at_ms=int(retry))
