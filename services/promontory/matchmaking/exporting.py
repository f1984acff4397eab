"""All that the platform holds about a player, as one document."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from datetime import UTC, datetime
from typing import Protocol

import msgspec

from promontory.matchmaking.domain import Ticket
from promontory.matchmaking.farewells import listed_of
from promontory.matchmaking.forgetting import Forgetting, Forgettings
from promontory.matchmaking.listing import Listed
from promontory.matchmaking.ports import Lists, Tables, Tickets
from promontory.matchmaking.table import Table
from promontory.runtime import clock
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.forms import PLAYER_ID
from promontory.runtime.identity import Caller, Scope
from promontory.runtime.players import Directory, account_of

FORMAT = "promontory.player/1"


class Identity(msgspec.Struct, frozen=True):
    """What the identity provider calls the player, and when the platform first saw that, where it keeps it."""

    subject: str
    first_seen: str = ""


class TicketRecord(msgspec.Struct, frozen=True):
    """A ticket that is not over; `entropy` is the player's share in the match's randomness, in hex."""

    ticket_id: str
    pool: str
    state: str
    created: str
    rating: float
    entropy: str


class TableRecord(msgspec.Struct, frozen=True):
    """An open table, or a rematch the player is asked to; `players` sit there now."""

    table_id: str
    game: str
    created: str
    host: str
    players: tuple[str, ...]
    rematch_of: str


class ResultRecord(msgspec.Struct, frozen=True):
    """How a match ended for the player: why and when, the finishing place from 1, and the score in the game's unit."""

    reason: str
    closed: str
    place: int | None = None
    score: int | None = None


class MatchRecord(msgspec.Struct, frozen=True):
    """A match of the player's list; its moves are in its log, which `service` exports once it is over."""

    match_id: str
    game: str
    service: str
    pool: str
    rated: bool
    seat: int
    players: tuple[str, ...]
    created: str
    result: ResultRecord | None


class StepRecord(msgspec.Struct, frozen=True):
    """What one match made of a rating: mean and deviation before and after."""

    match_id: str
    closed: str
    place: int
    score: int
    mu_before: float
    sigma_before: float
    mu_after: float
    sigma_after: float


class RatingRecord(msgspec.Struct, frozen=True):
    """A rating, and all its steps, the newest first."""

    pool: str
    mu: float
    sigma: float
    points: float
    matches: int
    history: tuple[StepRecord, ...]


class Document(msgspec.Struct, frozen=True, kw_only=True):
    """The whole document; times are in ISO 8601, UTC. `suspended_until` is empty unless a suspension is in force."""

    format: str = FORMAT
    exported: str
    player_id: str
    identity: Identity | None
    suspended_until: str
    tickets: tuple[TicketRecord, ...]
    tables: tuple[TableRecord, ...]
    matches: tuple[MatchRecord, ...]
    ratings: tuple[RatingRecord, ...]
    forgetting: Forgetting | None


class RatingRecords(Protocol):
    """What scoring tells of a player."""

    async def record(self, pool: str, player: str) -> RatingRecord:
        """Return the player's rating in `pool` with its whole history. Raises the refusal `PEER_UNAVAILABLE`."""


class Sources(msgspec.Struct, frozen=True):
    """Where the platform keeps what it holds about players."""

    directory: Directory
    tickets: Tickets
    tables: Tables
    lists: Lists
    forgettings: Forgettings
    ratings: RatingRecords


class ExportPlayer:
    """Shows what is held; `opaque` says that player ids tell nothing of subjects, `pools` are those that are served."""

    def __init__(self, sources: Sources, *, opaque: bool, pools: Collection[str]) -> None:
        self._from, self._opaque, self._pools = sources, opaque, pools

    async def find(self, caller: Caller, subject: str) -> str:
        """Return the player id of the caller, or that of `subject` unless it is empty.

        Raises the refusals `SCOPE_MISSING` and `PLAYER_NOT_FOUND`.
        """
        if not subject:
            return caller.subject
        caller.require(Scope.EXPORT_PLAYER)
        found = await self._from.directory.find(subject) if self._opaque else PLAYER_ID.checked(subject, "subject")
        if found is None:
            raise Refusal(Kind.NOT_FOUND, "PLAYER_NOT_FOUND", "the subject has no player")
        return found

    async def __call__(self, caller: Caller, player: str) -> bytes:
        """Return the document about `player`, the caller if it is empty. Raises the refusal `SCOPE_MISSING`."""
        player = PLAYER_ID.checked(player or caller.subject, "player_id")
        if player != caller.subject:
            caller.require(Scope.EXPORT_PLAYER)
        matches = await listed_of(self._from.lists, player)
        document = Document(
            exported=_time(clock.now_ms()),
            player_id=player,
            identity=await self._identity(player),
            suspended_until=await self._suspended_until(player),
            tickets=tuple([_ticket(each) async for each in self._tickets(player)]),
            tables=tuple(map(_table, await self._from.tables.of_player(player))),
            matches=tuple(_match(match, player) for match in matches),
            ratings=await self._ratings(player, matches),
            forgetting=await self._from.forgettings.find(player),
        )
        return msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n"

    async def _identity(self, player: str) -> Identity | None:
        if not self._opaque:
            return Identity(player)
        found = await self._from.directory.registered(player)
        return Identity(found.subject, _time(found.created_ms)) if found else None

    async def _suspended_until(self, player: str) -> str:
        known = await self._from.directory.registered(player)
        until_ms = await self._from.directory.suspended_ms(account_of(known.subject if known else player))
        return _time(until_ms) if until_ms > 0 else ""

    async def _tickets(self, player: str) -> AsyncIterator[Ticket]:
        for ticket in await self._from.tickets.of_player(player):
            if found := await self._from.tickets.find(ticket):
                yield found

    async def _ratings(self, player: str, matches: Sequence[Listed]) -> tuple[RatingRecord, ...]:
        pools = dict.fromkeys((*self._pools, *(match.pool for match in matches if match.rated and match.pool)))
        found = [await self._from.ratings.record(pool, player) for pool in pools]
        return tuple(rating for rating in found if rating.matches)


def _ticket(ticket: Ticket) -> TicketRecord:
    return TicketRecord(
        ticket_id=ticket.id,
        pool=ticket.pool,
        state=ticket.state.value,
        created=_time(ticket.created_ms),
        rating=ticket.rating,
        entropy=ticket.entrant.entropy.hex(),
    )


def _table(table: Table) -> TableRecord:
    return TableRecord(
        table_id=table.id,
        game=table.game,
        created=_time(table.created_ms),
        host=table.host,
        players=table.players,
        rematch_of=table.rematch_of,
    )


def _match(match: Listed, player: str) -> MatchRecord:
    return MatchRecord(
        match_id=match.match_id,
        game=match.game,
        service=match.service,
        pool=match.pool,
        rated=match.rated,
        seat=match.players.index(player),
        players=match.players,
        created=_time(match.created_ms),
        result=_result(match, match.players.index(player)),
    )


def _result(match: Listed, seat: int) -> ResultRecord | None:
    if match.ended is None:
        return None
    reason, closed = match.ended.reason.value, _time(match.ended.closed_ms)
    if seat >= len(match.ended.places):
        return ResultRecord(reason, closed)
    return ResultRecord(reason, closed, place=match.ended.places[seat], score=match.ended.scores[seat])


def _time(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
