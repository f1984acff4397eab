"""The lobby: private tables, and rematches."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import aclosing
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeAlias

import msgspec

from promontory.api.lobby.v1 import lobby_service_pb2 as pb
from promontory.client.clocks import TimeControl, time_control_of
from promontory.client.connection import Connection, Remote
from promontory.client.errors import TableClosed, understanding
from promontory.client.matches import known
from promontory.client.seats import GameRemote, Seat, new_request_id
from promontory.codec.times import duration, in_ms, span_of, time_of
from promontory.games import registry

LOBBY = pb.DESCRIPTOR.services_by_name["LobbyService"]


class Readiness(StrEnum):
    """Whether a guest is ready: not, with those who sit at the table now, or whoever comes or goes."""

    NOT_READY = "not_ready"
    READY = "ready"
    ALWAYS_READY = "always_ready"


class TableState(StrEnum):
    """Where a table stands; `STARTING` is when its match is being made."""

    OPEN = "open"
    STARTING = "starting"
    STARTED = "started"
    CLOSED = "closed"


class TableCloseReason(StrEnum):
    """Why a table was closed without a match."""

    HOST_CLOSED = "host_closed"
    EMPTY = "empty"
    EXPIRED = "expired"
    DECLINED = "declined"
    MATCH_REFUSED = "match_refused"


class TableOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What a table is opened for: `seats` is as few as the game allows if None.

    `draw_start` draws who starts; `variant` is one of the game's `variants`, the usual one if empty. `house_bots` maps
    seats, from 1, to the policies that play them. The host is `ready`, whoever comes, or says so later. Without
    `start_when_ready` the host starts the match. `stand_in` is the policy that plays on for those who leave,
    `abandon_after` how long one who is to act may be gone before the match can be claimed, and `spectator_delay` by how
    many commits spectators are behind.
    """

    seats: int | None = None
    draw_start: bool = False
    variant: str = ""
    house_bots: Mapping[int, str] = {}
    ready: bool = True
    start_when_ready: bool = True
    time_control: TimeControl | None = None
    stand_in: str = ""
    abandon_after: timedelta | None = None
    spectator_delay: int = 0

    def request(self, game: str, request_id: str, entropy: bytes) -> pb.CreateTableRequest:
        """Return the request for a table of `game`."""
        fewest = registry.entry(game).load().seats.start
        absence = self.abandon_after
        return pb.CreateTableRequest(
            request_id=request_id,
            game=game,
            seats=fewest if self.seats is None else self.seats,
            draw_start=self.draw_start,
            variant=self.variant,
            client_entropy=entropy,
            readiness=readiness_number(ready=self.ready),
            start_when_ready=self.start_when_ready,
            house_bots=[pb.HouseBotSeat(seat=seat, policy=policy) for seat, policy in self.house_bots.items()],
            time_control=self.time_control.message() if self.time_control else None,
            stand_in_policy=self.stand_in,
            abandon_after=None if absence is None else duration(in_ms(absence)),
            spectator_delay=self.spectator_delay,
        )


USUAL = TableOptions()


class TableSeat(msgspec.Struct, frozen=True):
    """A seat of a table, and who sits there, or who it is kept for if `readiness` is None; empty for a free one.

    `bot_policy` is empty but for house bots.
    """

    seat: int
    player_id: str
    bot_policy: str
    readiness: Readiness | None


class TableUpdate(msgspec.Struct, frozen=True):
    """A table as it stands at `revision`.

    Whoever joins needs `invite_code`, which a rematch has none of; nor does that have a `host`, and it names the match
    it is `rematch_of`. `players` are those who sit there, in the order of `places`; `your_seat` is the player's, or the
    one that is kept for the player. `match_id` is empty until the match has begun. Times are in UTC; an open table is
    closed at `expire_time` if nothing changes. For the match's options see `TableOptions`.
    """

    table_id: str
    revision: int
    state: TableState
    close_reason: TableCloseReason | None
    invite_code: str
    host: str
    game: str
    places: tuple[TableSeat, ...]
    players: tuple[str, ...]
    match_id: str
    create_time: datetime
    expire_time: datetime | None
    variant: str
    draw_start: bool
    start_when_ready: bool
    pool: str
    rated: bool
    rematch_of: str
    time_control: TimeControl | None
    stand_in: str
    abandon_after: timedelta | None
    spectator_delay: int
    your_seat: int | None

    @property
    def is_settled(self) -> bool:
        """Whether nothing can change any more."""
        return self.state in {TableState.STARTED, TableState.CLOSED}


OnUpdate: TypeAlias = Callable[[TableUpdate], object]


class Table:
    """A table, where the player sits or is asked to; `last` is how it stood when the server last told.

    table = await client.create_table("transcontinental")
    print(table.invite_code)
    seated = await table.seat()
    """

    def __init__(self, connection: Connection, last: TableUpdate) -> None:
        self.last = last
        self._connection = connection
        self._remote = Remote(connection, LOBBY)

    @property
    def table_id(self) -> str:
        """The table's id."""
        return self.last.table_id

    @property
    def invite_code(self) -> str:
        """What others need to join."""
        return self.last.invite_code

    @property
    def players(self) -> tuple[str, ...]:
        """Those who sat there when the server last told, in the order of their seats."""
        return self.last.players

    @property
    def match_id(self) -> str:
        """The match, empty as long as it has not begun."""
        return self.last.match_id

    async def look(self) -> TableUpdate:
        """Return the table as it is now."""
        return await self._call("GetTable", pb.GetTableRequest(table_id=self.table_id))

    async def watch(self) -> AsyncGenerator[TableUpdate]:
        """Yield the table as it is now, then whenever it changes, until its match begins or it is closed.

        Ends too when the player does not sit there any more.
        """
        patience, seen = self._remote.patience(), 0
        request = pb.WatchTableRequest(table_id=self.table_id)
        async with aclosing(self._remote.resuming("WatchTable", lambda: request, patience)) as messages:
            async for message in messages:
                kind = message.WhichOneof("kind")
                if kind == "end" and not message.end.resumable:
                    return
                if kind != "end":
                    patience.renew()
                if kind == "table" and message.table.revision != seen:
                    seen = message.table.revision
                    yield self._told(message.table)

    def __aiter__(self) -> AsyncIterator[TableUpdate]:
        return self.watch()

    async def ready(self, ready: bool = True, *, request_id: str | None = None) -> TableUpdate:
        """Say whether the player is ready to play with those who sit there now: it lapses when somebody comes or goes.

        Raises `FailedPrecondition` once the match has begun or the table was closed.
        """
        readiness = pb.READINESS_READY if ready else pb.READINESS_NOT_READY
        return await self._change("SetReady", request_id, readiness=readiness)

    async def start(self, *, request_id: str | None = None) -> TableUpdate:
        """Start the match: for the host only, once all seats are taken and all are ready.

        Raises `PermissionDenied` and `FailedPrecondition` otherwise.
        """
        return await self._change("StartTable", request_id)

    async def leave(self, *, request_id: str | None = None) -> TableUpdate:
        """Give the seat up; leaving a rematch declines it."""
        return await self._change("LeaveTable", request_id)

    async def kick(self, player: str, *, request_id: str | None = None) -> TableUpdate:
        """Send a guest away for good: for the host only."""
        return await self._change("KickGuest", request_id, player_id=player)

    async def close(self, *, request_id: str | None = None) -> TableUpdate:
        """Close the table without a match: for the host only."""
        return await self._change("CloseTable", request_id)

    async def seat(self, *, on_update: OnUpdate | None = None) -> Seat:
        """Wait for the match to begin and return the player's seat in it; `on_update` is told what happens till then.

        Raises `TableClosed` if the table is closed instead, or the player sits there no longer.
        """
        async with aclosing(self.watch()) as updates:
            async for update in updates:
                if on_update is not None:
                    on_update(update)
                if update.match_id and update.your_seat is not None:
                    game = GameRemote(self._connection, registry.entry(update.game))
                    return Seat(game, update.match_id, update.your_seat)
        reason = self.last.close_reason
        text = f"the table was closed: {reason}" if reason else "the player left the table, or was sent away"
        metadata = {"tableId": self.table_id, "closeReason": reason.value if reason else ""}
        raise TableClosed(text, reason="TABLE_CLOSED", metadata=metadata)

    async def _change(self, method: str, request_id: str | None, **fields: Any) -> TableUpdate:
        kind = getattr(pb, f"{method}Request")
        request = kind(request_id=request_id or new_request_id(), table_id=self.table_id, **fields)
        return await self._call(method, request)

    async def _call(self, method: str, request: Any) -> TableUpdate:
        return self._told((await self._remote.call(method, request)).table)

    def _told(self, message: pb.Table) -> TableUpdate:
        self.last = table_of(message)
        return self.last


class Lobby:
    """The lobby's tables."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._remote = Remote(connection, LOBBY)

    async def call(self, method: str, request: Any) -> Table:
        """Return the table that a method answers with."""
        return Table(self._connection, table_of((await self._remote.call(method, request)).table))

    async def tables(self) -> list[Table]:
        """Return the open tables the player sits at or is asked to, the newest first."""
        answer = await self._remote.call("ListTables", pb.ListTablesRequest())
        return [Table(self._connection, table_of(table)) for table in answer.tables]


_STATES: dict[int, TableState] = {pb.TableState.Value(f"TABLE_STATE_{state.name}"): state for state in TableState}
_CLOSE_REASONS: dict[int, TableCloseReason | None] = {
    pb.TABLE_CLOSE_REASON_UNSPECIFIED: None,
    **{pb.TableCloseReason.Value(f"TABLE_CLOSE_REASON_{reason.name}"): reason for reason in TableCloseReason},
}
_READINESS: dict[int, Readiness | None] = {
    pb.READINESS_UNSPECIFIED: None,
    **{pb.Readiness.Value(f"READINESS_{each.name}"): each for each in Readiness},
}


def readiness_number(*, ready: bool) -> pb.Readiness.ValueType:
    """Return what a request says of a player who is always ready, or not at all."""
    return pb.READINESS_ALWAYS_READY if ready else pb.READINESS_NOT_READY


def table_of(message: Any) -> TableUpdate:
    """Return the struct of a `Table`. Raises `Incompatible` if it says what the SDK does not know."""
    with understanding():
        return TableUpdate(
            table_id=message.table_id,
            revision=message.revision,
            state=known(_STATES, message.state, "state"),
            close_reason=known(_CLOSE_REASONS, message.close_reason, "close_reason"),
            invite_code=message.invite_code,
            host=message.host_id,
            game=message.game,
            places=tuple(_seat_of(seat) for seat in message.places),
            players=tuple(message.player_ids),
            match_id=message.match_id,
            create_time=time_of(message.create_time),
            expire_time=time_of(message.expire_time) if message.HasField("expire_time") else None,
            variant=message.variant,
            draw_start=message.draw_start,
            start_when_ready=message.start_when_ready,
            pool=message.pool,
            rated=message.rated,
            rematch_of=message.rematch_of,
            time_control=time_control_of(message),
            stand_in=message.stand_in_policy,
            abandon_after=span_of(message.abandon_after) if message.HasField("abandon_after") else None,
            spectator_delay=message.spectator_delay,
            your_seat=message.your_seat if message.HasField("your_seat") else None,
        )


def _seat_of(message: Any) -> TableSeat:
    readiness = known(_READINESS, message.readiness, "readiness")
    return TableSeat(message.seat, message.player_id, message.bot_policy, readiness)
