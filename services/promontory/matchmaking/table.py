"""Private tables and rematches: who sits there, whether they are ready, and what becomes of it. Pure."""

from __future__ import annotations

from collections.abc import Collection
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from promontory.codec.terms import Terms
from promontory.matchmaking.domain import PRIVATE, Entrant, Made, Place, Proposal
from promontory.runtime.errors import Kind, Refusal

REMEMBERED_REQUESTS = 100
"""How many changes a table remembers, so that repeating one of them changes nothing."""


class Readiness(StrEnum):
    """Whether a guest is ready: not, with those who sit there now, or whoever comes or goes."""

    NOT_READY = "not_ready"
    READY = "ready"
    ALWAYS_READY = "always_ready"


class TableState(StrEnum):
    """Where a table stands; `STARTING` is when its match is being created."""

    OPEN = "open"
    STARTING = "starting"
    STARTED = "started"
    CLOSED = "closed"


class CloseReason(StrEnum):
    """Why a table was closed without a match."""

    HOST_CLOSED = "host_closed"
    EMPTY = "empty"
    EXPIRED = "expired"
    DECLINED = "declined"
    MATCH_REFUSED = "match_refused"


class Guest(msgspec.Struct, frozen=True):
    """Who sits at a table: a player, or a house bot."""

    entrant: Entrant
    readiness: Readiness = Readiness.NOT_READY

    @property
    def player(self) -> str:
        """The player's id."""
        return self.entrant.player

    @property
    def is_house_bot(self) -> bool:
        """Whether the platform's workers will play the seat."""
        return bool(self.entrant.policy)


class Request(msgspec.Struct, frozen=True):
    """A change that was asked for: its name, and what stands for its content."""

    name: str
    fingerprint: str


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A private table, or a rematch; times in ms since the epoch.

    `guests` has an entry for each seat, None where nobody sits. A rematch, whose `rematch_of` names the match, has no
    host and no invite code: `reserved` names each seat's player. Whom the host has sent away is in `barred`. `revision`
    counts the changes; `requests` remembers the last of them. `made` is the match once there is one.
    """

    id: str
    game: str
    created_ms: int
    expires_ms: int
    fingerprint: str
    guests: tuple[Guest | None, ...]
    invite_code: str = ""
    host: str = ""
    variant: str = ""
    draw_start: bool = False
    start_when_ready: bool = True
    pool: str = PRIVATE
    rated: bool = False
    terms: Terms = Terms()
    rematch_of: str = ""
    reserved: tuple[str, ...] = ()
    barred: tuple[str, ...] = ()
    state: TableState = TableState.OPEN
    close_reason: CloseReason | None = None
    made: Made | None = None
    revision: int = 1
    requests: tuple[Request, ...] = ()

    @property
    def seated(self) -> tuple[Guest, ...]:
        """Those who sit there, in the order of their seats."""
        return tuple(guest for guest in self.guests if guest)

    @property
    def players(self) -> tuple[str, ...]:
        """The players who sit there and are no house bots, in the order of their seats."""
        return tuple(guest.player for guest in self.seated if not guest.is_house_bot)

    @property
    def asked(self) -> tuple[str, ...]:
        """The players whom a rematch waits for."""
        sitting = {guest.player for guest in self.seated}
        return tuple(player for player in self.reserved if player not in sitting)

    def seat_of(self, player: str) -> int | None:
        """Return the player's seat, or the one that is kept for the player, or None."""
        names = [guest and guest.player for guest in self.guests]
        held = names if player in names else self.reserved
        return held.index(player) if player in held else None

    @property
    def is_full(self) -> bool:
        """Whether every seat is taken."""
        return None not in self.guests

    @property
    def is_over(self) -> bool:
        """Whether nothing can change any more."""
        return self.state in (TableState.STARTED, TableState.CLOSED)

    @property
    def unready(self) -> tuple[str, ...]:
        """The guests who are not ready."""
        return tuple(guest.player for guest in self.seated if guest.readiness is Readiness.NOT_READY)

    def proposal(self) -> Proposal:
        """Return the match that this table, which is full, is to become.

        A table that is opened anew under the same request id, or a rematch that is asked for anew, once the first one
        was forgotten, becomes another match.
        """
        return Proposal(
            id=self.id,
            game=self.game,
            rated=self.rated,
            draw_start=self.draw_start,
            places=tuple(Place(guest.entrant) for guest in self.seated),
            pool=self.pool,
            variant=self.variant,
            terms=self.terms,
            from_table=True,
            occasion=str(self.created_ms),
        )


def ready_to_go(table: Table) -> Table:
    """Return `table`, starting if all are there and ready and it starts by itself."""
    is_ready = table.start_when_ready and table.is_full and not table.unready
    return replace(table, state=TableState.STARTING) if is_ready else table


def join(table: Table, guest: Guest) -> Table:
    """Return `table` with `guest` in the lowest free seat, or as it is if the player sits there already.

    Raises the refusals `TABLE_CLOSED`, `TABLE_BARRED`, `TABLE_FULL`, and `NOT_YOURS` for the id of a house bot there.
    """
    if any(each.player == guest.player and each.is_house_bot for each in table.seated):
        raise Refusal(Kind.NOT_ALLOWED, "NOT_YOURS", "the player id belongs to a house bot at the table")
    if guest.player in table.players and table.state is not TableState.CLOSED:
        return table
    require_open(table)
    require_unbarred(table, guest.player)
    if table.is_full:
        text = f"all {len(table.guests)} seats of the table are taken"
        raise Refusal(Kind.FORBIDDEN_NOW, "TABLE_FULL", text, metadata={"tableId": table.id})
    return _placed(table, guest, table.guests.index(None))


def agree(table: Table, guest: Guest) -> Table:
    """Return a rematch with `guest`, whom a seat is kept for, in it. Raises the refusal `TABLE_CLOSED`."""
    if guest.player in table.players and table.state is not TableState.CLOSED:
        return table
    require_open(table)
    return _placed(table, guest, table.reserved.index(guest.player))


def leave(table: Table, player: str) -> Table:
    """Return `table` without `player`: closed if that was the last one, or if it is a rematch.

    Raises the refusals `TABLE_CLOSED` and `NOT_YOURS`.
    """
    require_guest(table, player)
    require_open(table)
    if table.rematch_of:
        return closed(table, CloseReason.DECLINED)
    left = _company(table, tuple(None if each and each.player == player else each for each in table.guests))
    if not left.players:
        return closed(left, CloseReason.EMPTY)
    return replace(left, host=left.players[0] if player == table.host else table.host)


def kick(table: Table, player: str, *, by: str) -> Table:
    """Return `table` without `player`, whom the host sends away for good.

    Raises the refusals `NOT_HOST`, `TABLE_CLOSED`, and `GUEST_NOT_FOUND` for one who does not sit there or is the host.
    """
    require_host(table, by)
    require_open(table)
    if player == by or all(guest.player != player for guest in table.seated):
        text = f"no other guest {player!r} sits at the table"
        raise Refusal(Kind.NOT_FOUND, "GUEST_NOT_FOUND", text, metadata={"playerId": player})
    left = _company(table, tuple(None if each and each.player == player else each for each in table.guests))
    return replace(left, barred=(*table.barred, player))


def set_readiness(table: Table, player: str, readiness: Readiness) -> Table:
    """Return `table` with `player` as ready as `readiness` says. Raises the refusals `NOT_YOURS` and `TABLE_CLOSED`."""
    require_guest(table, player)
    require_open(table)
    guests = tuple(
        replace(each, readiness=readiness) if each and each.player == player else each for each in table.guests
    )
    return table if guests == table.guests else ready_to_go(replace(table, guests=guests))


def start(table: Table, *, by: str) -> Table:
    """Return `table`, starting. Raises the refusals `NOT_HOST`, `TABLE_CLOSED` and `TABLE_NOT_READY`."""
    require_host(table, by)
    require_open(table)
    free = table.guests.count(None)
    if free or table.unready:
        text = f"{free} seats are free" if free else f"not ready: {', '.join(table.unready)}"
        metadata: dict[str, str | int] = {"tableId": table.id, "freeSeats": free, "notReady": ",".join(table.unready)}
        raise Refusal(Kind.FORBIDDEN_NOW, "TABLE_NOT_READY", text, metadata=metadata)
    return replace(table, state=TableState.STARTING)


def closed(table: Table, reason: CloseReason) -> Table:
    """Return `table`, closed for `reason`."""
    return replace(table, state=TableState.CLOSED, close_reason=reason)


def require_open(table: Table) -> None:
    """Raise the refusal `TABLE_CLOSED` unless guests may still come and go."""
    if table.state is not TableState.OPEN:
        reason = table.close_reason.value if table.close_reason else ""
        text = f"the table was closed: {reason}" if reason else "the match of the table has begun"
        metadata = {"tableId": table.id, "state": table.state.value, "closeReason": reason}
        raise Refusal(Kind.FORBIDDEN_NOW, "TABLE_CLOSED", text, metadata=metadata)


def require_unbarred(table: Table, player: str) -> None:
    """Raise the refusal `TABLE_BARRED` if the host has sent `player` away."""
    if player in table.barred:
        text = "the host has sent the player away from this table"
        raise Refusal(Kind.NOT_ALLOWED, "TABLE_BARRED", text, metadata={"tableId": table.id})


def require_guest(table: Table, player: str) -> None:
    """Raise the refusal `NOT_YOURS` unless `player` sits at the table."""
    if player not in table.players:
        text = "the caller does not sit at the table"
        raise Refusal(Kind.NOT_ALLOWED, "NOT_YOURS", text, metadata={"tableId": table.id})


def require_host(table: Table, player: str) -> None:
    """Raise the refusal `NOT_HOST` unless `player` is the table's host, `NOT_YOURS` for one who does not sit there."""
    require_guest(table, player)
    if player != table.host:
        text = f"{table.host} is the host" if table.host else "a rematch has no host"
        raise Refusal(Kind.NOT_ALLOWED, "NOT_HOST", text, metadata={"tableId": table.id, "hostId": table.host})


def remembering(table: Table, requests: tuple[Request, ...]) -> Table:
    """Return `table`, which remembers that `requests` have changed it."""
    return replace(table, requests=(*table.requests, *requests)[-REMEMBERED_REQUESTS:])


def _placed(table: Table, guest: Guest, seat: int) -> Table:
    before = _company(table, table.guests)
    return ready_to_go(replace(before, guests=(*before.guests[:seat], guest, *before.guests[seat + 1 :])))


def _company(table: Table, guests: Collection[Guest | None]) -> Table:
    """Return `table` with other guests, to whom those who were ready for the former ones are not ready any more."""
    return replace(table, guests=tuple(each and _lapsed(each) for each in guests))


def _lapsed(guest: Guest) -> Guest:
    return replace(guest, readiness=Readiness.NOT_READY) if guest.readiness is Readiness.READY else guest
