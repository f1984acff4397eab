"""The client without asyncio: the same methods, run by one event loop in a thread of its own."""

from __future__ import annotations

import os
import threading
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar

import msgspec

from promontory.client import seats, tickets
from promontory.client.asynchronous import RETRY_SECONDS, AsyncClient
from promontory.client.connection import Token
from promontory.client.errors import ClientClosed
from promontory.client.forks import Policies
from promontory.client.lists import MatchEntry
from promontory.client.loops import LoopThread
from promontory.client.matches import Commit, LegalAt, MatchState, MatchSummary, Preview, Update
from promontory.client.outages import OnOutage
from promontory.client.players import Forgetting
from promontory.client.ratings import LeaderboardEntry, Rating, RatingStep
from promontory.client.replays import Replay
from promontory.client.retrying import Timing
from promontory.client.tables import USUAL, OnUpdate, TableOptions, TableUpdate
from promontory.client.tables import Table as AsyncTable
from promontory.client.tickets import Assignment, Pool, TicketUpdate
from promontory.client.watching import OnHeartbeat
from promontory.codec.conduct import Ending
from promontory.games.registry import AnyGame

T = TypeVar("T")


class Client:
    """A player's connection to Promontory; see `AsyncClient` for what the methods do and raise.

    with promontory.Client("play.example.org:443", token=token) as client:
        seated = client.play("transcontinental.ranked")
        print(seated.play(choose).match.outcome)

    May be used by several threads. The thread of its own starts with the first call, so a client may be created before
    a fork and used after it. In a process forked from one that has used a client it raises `ForkError`, because gRPC
    may hang there.
    """

    def __init__(
        self,
        endpoints: str | Mapping[str, str],
        *,
        token: Token = "",
        retry_seconds: float = RETRY_SECONDS,
        timing: Timing | None = None,
        on_outage: OnOutage | None = None,
    ) -> None:
        """Connect nothing yet; see `AsyncClient`. `on_outage` is called in another thread. Raises `EndpointError`."""
        self._portal = _Portal(
            lambda: AsyncClient(endpoints, token=token, retry_seconds=retry_seconds, timing=timing, on_outage=on_outage)
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def over_one_stream(self) -> Self:
        """Have matches played over one stream for each game; return self. See `AsyncClient.over_one_stream`."""
        self._portal.client.over_one_stream()
        return self

    def close(self) -> None:
        """Close the connections and end the thread. Closing again changes nothing."""
        self._portal.close()

    @property
    def player(self) -> str:
        """Whom the token speaks for; see `AsyncClient.player`."""
        return self._portal.client.player

    def pools(self) -> list[Pool]:
        """Return the pools one can play in."""
        return self._portal.run(lambda client: client.pools())

    def prepare(self, pool: str) -> Pool:
        """Return the pool called `pool`, once the service of its game has answered; asked once, then remembered."""
        return self._portal.run(lambda client: client.prepare(pool))

    def enter(
        self, pool: str, *, request_id: str | None = None, entropy: bytes | None = None, house_bot: str = ""
    ) -> Ticket:
        """Enter the queue of `pool` and return the ticket."""
        ticket = self._portal.run(
            lambda client: client.enter(pool, request_id=request_id, entropy=entropy, house_bot=house_bot)
        )
        return self.ticket(ticket.ticket_id)

    def play(self, pool: str, *, request_id: str | None = None, entropy: bytes | None = None) -> Seat:
        """Enter the queue of `pool`, wait for the match, and return the seat in it."""
        found = self._portal.run(lambda client: client.play(pool, request_id=request_id, entropy=entropy))
        return self.seat(found.game, found.match_id, found.seat)

    def ticket(self, ticket_id: str) -> Ticket:
        """Return the player's ticket with this id."""
        return Ticket(self._portal, ticket_id)

    def seat(self, game: str, match_id: str, seat: int) -> Seat:
        """Return the player's seat, from 0, in a match."""
        return Seat(self._portal, game, match_id, seat)

    def spectate(self, game: str, match_id: str) -> Spectator:
        """Return a match as a spectator sees it."""
        return Spectator(self._portal, game, match_id)

    def watch(self, match_id: str, *, seat: int | None = None, after: int | None = None) -> Iterator[Update]:
        """Yield a match of any game as it is now, then after every commit, as `seat` or a spectator may see it."""
        return self._portal.iterate(lambda client: client.watch(match_id, seat=seat, after=after))

    def match_events(self, game: str, match_id: str, *, seat: int | None = None) -> Iterator[Commit]:
        """Yield the commits of a match so far, as `seat` or a spectator may see them; in full once it is over."""
        return self._portal.iterate(lambda client: client.match_events(game, match_id, seat=seat))

    def replay(self, match_id: str) -> Replay:
        """Return a finished match with all its versions, fetched once, as every seat saw them and in full."""
        return self._portal.run(lambda client: client.replay(match_id))

    def fork(self, match_id: str, version: int, *, seats: Policies = (), request_id: str | None = None) -> Fork:
        """Begin a match of one's own where a finished one stood at `version`, and return it with the own seats in it.

        `seats` names a house bot's policy for each seat that a bot is to play, and None for the player's own.
        """
        forked = self._portal.run(lambda client: client.fork(match_id, version, seats=seats, request_id=request_id))
        return Fork(forked.match, tuple(self.seat(each.game, each.match_id, each.seat) for each in forked.seats))

    def export_match(self, game: str, match_id: str) -> bytes:
        """Return the audit file of a match."""
        return self._portal.run(lambda client: client.export_match(game, match_id))

    def rating(self, pool: str, player: str | None = None) -> Rating:
        """Return the rating of `player`, or one's own, in `pool`; that of a new player if there is none yet."""
        return self._portal.run(lambda client: client.rating(pool, player))

    def rating_history(self, pool: str, player: str | None = None) -> Iterator[RatingStep]:
        """Yield the changes of the rating of `player`, or one's own, in `pool`, the newest first."""
        return self._portal.iterate(lambda client: client.rating_history(pool, player))

    def player_id(self, subject: str = "") -> str:
        """Return the id under which others see the player; for services that of any token's `subject`."""
        return self._portal.run(lambda client: client.player_id(subject))

    def export_player(self, player: str | None = None) -> bytes:
        """Return all that the platform holds about oneself as a JSON document; for services about any `player`."""
        return self._portal.run(lambda client: client.export_player(player))

    def forget_player(self, player: str) -> Forgetting:
        """Have oneself, whose player id is `player`, forgotten; for services any player. It cannot be undone."""
        return self._portal.run(lambda client: client.forget_player(player))

    def leaderboard(self, pool: str) -> Iterator[LeaderboardEntry]:
        """Yield the players of `pool` by assured points, the best first."""
        return self._portal.iterate(lambda client: client.leaderboard(pool))

    def create_table(
        self,
        game: str,
        options: TableOptions = USUAL,
        *,
        request_id: str | None = None,
        entropy: bytes | None = None,
    ) -> Table:
        """Open a private table and take seat 0; others join with its `invite_code`."""
        return self._table(lambda client: client.create_table(game, options, request_id=request_id, entropy=entropy))

    def join_table(
        self, invite_code: str, *, ready: bool = True, request_id: str | None = None, entropy: bytes | None = None
    ) -> Table:
        """Take the free seat with the lowest number; whoever is `ready` is so whoever comes or goes."""
        return self._table(
            lambda client: client.join_table(invite_code, ready=ready, request_id=request_id, entropy=entropy)
        )

    def table(self, table_id: str) -> Table:
        """Return a table the player sits at, or a rematch the player is asked to."""
        return self._table(lambda client: client.table(table_id))

    def tables(self) -> list[Table]:
        """Return the open tables the player sits at and the rematches the player is asked to, the newest first."""
        return [Table(self._portal, table) for table in self._portal.run(lambda client: client.tables())]

    def rematch(self, match_id: str, *, request_id: str | None = None, entropy: bytes | None = None) -> Table:
        """Ask to play a closed match again, or agree to it, and return the rematch's table."""
        return self._table(lambda client: client.rematch(match_id, request_id=request_id, entropy=entropy))

    def decline_rematch(self, match_id: str, *, request_id: str | None = None) -> Table:
        """Decline the rematch of a match."""
        return self._table(lambda client: client.decline_rematch(match_id, request_id=request_id))

    def matches(self, *, state: MatchState | None = None, game: str = "", pool: str = "") -> Iterator[MatchEntry]:
        """Yield the player's matches, the newest first: all, or those of a state, a game or a pool."""
        return self._portal.iterate(lambda client: client.matches(state=state, game=game, pool=pool))

    def live_matches(self, game: str = "", *, pool: str = "") -> Iterator[MatchEntry]:
        """Yield the open matches of a game, or of a pool, the newest first; private ones only if the player's own."""
        return self._portal.iterate(lambda client: client.live_matches(game, pool=pool))

    def player_matches(self, player: str, *, game: str = "", pool: str = "") -> Iterator[MatchEntry]:
        """Yield the closed matches of a player, the last to end first; private ones only if the caller's own too."""
        return self._portal.iterate(lambda client: client.player_matches(player, game=game, pool=pool))

    def _table(self, call: Callable[[AsyncClient], Coroutine[Any, Any, AsyncTable]]) -> Table:
        return Table(self._portal, self._portal.run(call))


class Table:
    """A table, where the player sits or is asked to; see `promontory.client.tables.Table`."""

    def __init__(self, portal: _Portal, table: AsyncTable) -> None:
        self._portal, self._table = portal, table

    @property
    def last(self) -> TableUpdate:
        """How the table stood when the server last told."""
        return self._table.last

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

    def look(self) -> TableUpdate:
        """Return the table as it is now."""
        return self._portal.run(lambda _: self._table.look())

    def watch(self) -> Iterator[TableUpdate]:
        """Yield the table as it is now, then whenever it changes, until its match begins or it is closed."""
        return self._portal.iterate(lambda _: self._table.watch())

    def __iter__(self) -> Iterator[TableUpdate]:
        return self.watch()

    def ready(self, ready: bool = True, *, request_id: str | None = None) -> TableUpdate:
        """Say whether the player is ready to play with those who sit there now."""
        return self._portal.run(lambda _: self._table.ready(ready, request_id=request_id))

    def start(self, *, request_id: str | None = None) -> TableUpdate:
        """Start the match: for the host only, once all seats are taken and all are ready."""
        return self._portal.run(lambda _: self._table.start(request_id=request_id))

    def leave(self, *, request_id: str | None = None) -> TableUpdate:
        """Give the seat up; leaving a rematch declines it."""
        return self._portal.run(lambda _: self._table.leave(request_id=request_id))

    def kick(self, player: str, *, request_id: str | None = None) -> TableUpdate:
        """Send a guest away for good: for the host only."""
        return self._portal.run(lambda _: self._table.kick(player, request_id=request_id))

    def close(self, *, request_id: str | None = None) -> TableUpdate:
        """Close the table without a match: for the host only."""
        return self._portal.run(lambda _: self._table.close(request_id=request_id))

    def seat(self, *, on_update: OnUpdate | None = None) -> Seat:
        """Wait for the match to begin and return the player's seat in it; `on_update` is called in another thread."""
        found = self._portal.run(lambda _: self._table.seat(on_update=on_update))
        return Seat(self._portal, found.game, found.match_id, found.seat)


class Ticket:
    """A place in a pool's queue; see `promontory.client.tickets.Ticket`."""

    def __init__(self, portal: _Portal, ticket_id: str) -> None:
        self.ticket_id = ticket_id
        self._portal = portal

    def look(self) -> TicketUpdate:
        """Return the ticket as it is now."""
        return self._portal.run(lambda client: self._in(client).look())

    def updates(self) -> Iterator[TicketUpdate]:
        """Yield the ticket as it is now, then whenever it changes, until it has got a match or is cancelled."""
        return self._portal.iterate(lambda client: self._in(client).updates())

    def __iter__(self) -> Iterator[TicketUpdate]:
        return self.updates()

    def assignment(self) -> Assignment:
        """Wait for the match and return which it is."""
        return self._portal.run(lambda client: self._in(client).assignment())

    def seat(self) -> Seat:
        """Wait for the match and return the seat in it."""
        found = self._portal.run(lambda client: self._in(client).seat())
        return Seat(self._portal, found.game, found.match_id, found.seat)

    def cancel(self) -> TicketUpdate:
        """Take the ticket out of the queue."""
        return self._portal.run(lambda client: self._in(client).cancel())

    def _in(self, client: AsyncClient) -> tickets.Ticket:
        return client.ticket(self.ticket_id)


class Spectator:
    """One match, seen by somebody who does not play; see `promontory.client.seats.Spectator`."""

    def __init__(self, portal: _Portal, game: str, match_id: str) -> None:
        self.game = game
        self.match_id = match_id
        self._portal = portal

    def look(self, version: int | None = None) -> Update:
        """Return the match as it is now, or was at `version`."""
        return self._portal.run(lambda client: self._in(client).look(version))

    def rules(self) -> AnyGame:
        """Return the game as the match is played, with the rules and the cards or tiles it is pinned to."""
        return self._portal.run(lambda client: self._in(client).rules())

    def data(self) -> bytes:
        """Return the file with the cards or tiles that the match is played with, as the server has it."""
        return self._portal.run(lambda client: self._in(client).data())

    def updates(
        self, after: int | None = None, *, resume_token: bytes = b"", on_heartbeat: OnHeartbeat | None = None
    ) -> Iterator[Update]:
        """Yield the match as it is now, then after every commit, until it is over; with `after`, what follows it.

        `on_heartbeat` is called in another thread.
        """
        options: Any = {"resume_token": resume_token, "on_heartbeat": on_heartbeat}
        return self._portal.iterate(lambda client: self._in(client).updates(after, **options))

    def __iter__(self) -> Iterator[Update]:
        return self.updates()

    def events(self) -> Iterator[Commit]:
        """Yield all commits so far, from the first."""
        return self._portal.iterate(lambda client: self._in(client).events())

    def export(self) -> bytes:
        """Return the audit file of the match."""
        return self._portal.run(lambda client: self._in(client).export())

    def _in(self, client: AsyncClient) -> seats.Spectator:
        return client.spectate(self.game, self.match_id)


class Seat(Spectator):
    """One seat of a match, played by the client; see `promontory.client.seats.Seat`."""

    def __init__(self, portal: _Portal, game: str, match_id: str, seat: int) -> None:
        super().__init__(portal, game, match_id)
        self.seat = seat

    def legal(self) -> LegalAt:
        """Return everything the rules accept from the seat now."""
        return self._portal.run(lambda client: self._in(client).legal())

    def preview(self, commands: Any) -> Preview:
        """Return what a command, or several in order, would do, as far as the seat can know; changes nothing."""
        return self._portal.run(lambda client: self._in(client).preview(commands))

    def play(self, choose: Callable[[Any], Any]) -> Update:
        """Play to the end with what `choose` makes of each view in which it is the seat's turn; return the last update.

        `choose` runs in the caller's thread, and may use the client.
        """
        for update in self:
            if update.your_turn:
                with seats.overtaken():
                    self.submit(choose(update.view), expected_version=update.version)
        return update

    def submit(self, commands: Any, *, expected_version: int | None = None, request_id: str | None = None) -> Update:
        """Submit a command, or several in order that are accepted together or not at all."""
        return self._portal.run(
            lambda client: self._in(client).submit(commands, expected_version=expected_version, request_id=request_id)
        )

    def resign(self, *, request_id: str | None = None) -> MatchSummary:
        """Give the game up; return the match after it."""
        return self._portal.run(lambda client: self._in(client).resign(request_id=request_id))

    def abort(self, *, request_id: str | None = None) -> MatchSummary:
        """Call the match off; return it closed. Raises `FailedPrecondition` once a player has moved."""
        return self._portal.run(lambda client: self._in(client).abort(request_id=request_id))

    def claim(self, *, request_id: str | None = None) -> MatchSummary:
        """Claim the match from opponents who are to act and gone for its `abandon_after`; return it after that.

        Raises `FailedPrecondition` while nobody is; its metadata may tell `claimableSeconds`.
        """
        return self._portal.run(lambda client: self._in(client).claim(request_id=request_id))

    def offer(self, ending: Ending, *, request_id: str | None = None) -> MatchSummary:
        """Offer to end the match, or agree to what was offered; it is closed once all players who stayed agree."""
        return self._portal.run(lambda client: self._in(client).offer(ending, request_id=request_id))

    def decline(self, *, request_id: str | None = None) -> MatchSummary:
        """Decline the offers of others that stand."""
        return self._portal.run(lambda client: self._in(client).decline(request_id=request_id))

    def _in(self, client: AsyncClient) -> seats.Seat:
        return client.seat(self.game, self.match_id, self.seat)


class Fork(msgspec.Struct, frozen=True):
    """A match that begins where another one stood, and the player's own seats; see `promontory.client.forks.Fork`."""

    match: MatchSummary
    seats: tuple[Seat, ...]

    @property
    def match_id(self) -> str:
        """The fork's own id."""
        return self.match.match_id


class ForkError(RuntimeError):
    """The process was forked after a client had been used in it, which gRPC does not always survive."""


class _Portal:
    """The way from other threads to an `AsyncClient` in its loop."""

    def __init__(self, connect: Callable[[], AsyncClient]) -> None:
        self.client = connect()
        self._connect = connect
        self._loop: LoopThread | None = None
        self._closed = False

    def run(self, call: Callable[[AsyncClient], Coroutine[Any, Any, T]]) -> T:
        """Return what the coroutine that `call` makes returns."""
        loop = self._open()
        return loop.run(call(self.client))

    def iterate(self, call: Callable[[AsyncClient], AsyncGenerator[T]]) -> Iterator[T]:
        """Yield what the generator that `call` makes yields."""
        loop = self._open()
        return loop.iterate(call(self.client))

    def close(self) -> None:
        """Close the client and end its loop."""
        self._closed = True
        loop, self._loop = self._loop, None
        if loop is not None and loop.is_usable:
            loop.stop(self.client.close())

    def _open(self) -> LoopThread:
        if self._closed:
            raise ClientClosed("the client is closed", reason="CLIENT_CLOSED")
        with _forks.lock:
            if _forks.broken:
                raise ForkError("this process was forked from one that had used a client; spawn it instead")
            if self._loop is None:
                self._loop = LoopThread()
                _forks.used = True
            return self._loop


class _Forks:
    """Whether gRPC has run in this process, and whether it was forked from one in which it had."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.used = False
        self.broken = False

    def begin(self) -> None:
        """Notice that the new process begins."""
        self.lock = threading.Lock()
        self.broken = self.used


_forks = _Forks()
os.register_at_fork(after_in_child=_forks.begin)
