"""The client for asyncio: connect, queue, play, watch."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from types import TracebackType
from typing import Self

from promontory.api.lobby.v1 import lobby_service_pb2
from promontory.api.matchmaking.v1 import matchmaking_service_pb2
from promontory.client import forks
from promontory.client.connection import Connection, Remote, Token
from promontory.client.errors import NotFound, PromontoryError
from promontory.client.forks import Fork, Policies
from promontory.client.lists import MatchEntry, MatchLists
from promontory.client.matches import Commit, MatchState, Update
from promontory.client.outages import OnOutage
from promontory.client.players import Forgetting, Players
from promontory.client.ratings import LeaderboardEntry, Rating, Ratings, RatingStep
from promontory.client.recordings import read
from promontory.client.replays import Replay
from promontory.client.retrying import Timing
from promontory.client.seats import GameRemote, Seat, Spectator, new_request_id
from promontory.client.tables import USUAL, Lobby, Table, TableOptions, readiness_number
from promontory.client.tickets import CANCEL_SECONDS, MATCHMAKING, Pool, Ticket, pool_of
from promontory.games import registry

ENTROPY_BYTES = 32
RETRY_SECONDS = 30.0


class AsyncClient:
    """A player's connection to Promontory.

    async with promontory.AsyncClient("play.example.org:443", token=token) as client:
        seated = await client.play("transcontinental.ranked")
        update = await seated.play(choose)
        print(update.match.outcome)

    Calls that fail because a server cannot be reached, or that came faster than it allows, are repeated, under the same
    request id, for at most `retry_seconds`; streams are taken up again where they broke. Everything else is raised as a
    `PromontoryError`.
    Belongs to the event loop it is first used in.
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
        """Connect nothing yet.

        `endpoints` is `"host:port"` for everything, or `"matchmaking=host:port,scoring=host:port,..."`, or a mapping of
        the services' names to addresses; an address `https://host:port` is called over TLS. `token` is the player's
        token, or a function that returns it whenever a call is made. `on_outage` is told when an address has not
        answered for a second, and when it does again. Raises `EndpointError`.
        """
        self._connection = Connection(
            endpoints,
            token=token,
            retry_seconds=retry_seconds,
            timing=Timing() if timing is None else timing,
            on_outage=on_outage,
        )
        self._prepared: dict[str, Pool] = {}
        self._matchmaking = Remote(self._connection, MATCHMAKING)
        self._ratings = Ratings(self._connection)
        self._players = Players(self._connection)
        self._lobby = Lobby(self._connection)
        self._lists = MatchLists(self._connection)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def over_one_stream(self) -> Self:
        """Have the seats and matches that are asked for from now on played over one stream for each game; return self.

        What comes of `updates` and `submit` is the same, and costs the servers a fraction: the more matches at a time,
        the better it pays. Where a server does not know such streams, calls are made after all.
        """
        if self._connection.lines is None:
            self._connection.lines = {}
        return self

    async def close(self) -> None:
        """Close the connections. What is under way ends with `ClientClosed`. Closing again changes nothing."""
        await self._connection.close()

    @property
    def player(self) -> str:
        """Whom the token speaks for: the player id, unless the platform gives players ids of their own (`player_id`).

        Raises `ValueError` if the token does not say.
        """
        return _subject(self._connection.token())

    async def pools(self) -> list[Pool]:
        """Return the pools one can play in."""
        answer = await self._matchmaking.call("ListPools", matchmaking_service_pb2.ListPoolsRequest())
        return [pool_of(pool) for pool in answer.pools]

    async def prepare(self, pool: str) -> Pool:
        """Return the pool called `pool`, once the service of its game has answered; asked once, then remembered.

        `play` does so before it enters, so that no match is made that the client could not play.

        Raises:
            NotFound: there is no such pool.
            EndpointError: there is no endpoint for the pool's game.
            Unimplemented: the endpoint of the pool's game leads to something else.
        """
        if pool not in self._prepared:
            pools = {each.pool: each for each in await self.pools()}
            if pool not in pools:
                text = f"there is no pool {pool!r}; there are: {', '.join(pools)}"
                raise NotFound(text, reason="POOL_NOT_FOUND", metadata={"pool": pool})
            await GameRemote(self._connection, registry.entry(pools[pool].game)).reach()
            self._prepared[pool] = pools[pool]
        return self._prepared[pool]

    async def enter(
        self, pool: str, *, request_id: str | None = None, entropy: bytes | None = None, house_bot: str = ""
    ) -> Ticket:
        """Enter the queue of `pool` and return the ticket.

        `entropy`, 0 to 32 bytes, is the player's share in the match's randomness; by default it is drawn at random, or
        empty if you name the intent with a `request_id` of your own, so that repeating it is the same request.
        `house_bot` is for services only: the bot of the pool that enters instead of the caller.

        Raises:
            AlreadyExists: the player waits in the pool already; `client.ticket(error.metadata["ticketId"])` is where.
            ResourceExhausted: the player has too many open tickets.
            NotFound: there is no such pool.
        """
        request = matchmaking_service_pb2.CreateTicketRequest(
            request_id=request_id or new_request_id(),
            pool=pool,
            client_entropy=b"" if house_bot else _entropy(entropy, request_id),
            house_bot=house_bot,
        )
        answer = await self._matchmaking.call("CreateTicket", request)
        return self.ticket(answer.ticket.ticket_id)

    async def play(self, pool: str, *, request_id: str | None = None, entropy: bytes | None = None) -> Seat:
        """Enter the queue of `pool`, wait for the match, and return the seat in it.

        A ticket that the platform has lost, as a failover may do, is taken once more. Raises what `prepare` and `enter`
        do, and `TicketCancelled`. If the wait itself is cancelled, so is the ticket.
        """
        await self.prepare(pool)
        try:
            return await self._enter_and_wait(pool, request_id, entropy)
        except NotFound as error:
            if error.reason != "TICKET_NOT_FOUND":
                raise
        return await self._enter_and_wait(pool, request_id, entropy)

    async def _enter_and_wait(self, pool: str, request_id: str | None, entropy: bytes | None) -> Seat:
        entering = asyncio.create_task(self.enter(pool, request_id=request_id, entropy=entropy))
        try:
            ticket = await asyncio.shield(entering)
        except asyncio.CancelledError:
            with suppress(PromontoryError, TimeoutError):
                async with asyncio.timeout(CANCEL_SECONDS):
                    await (await entering).cancel()
            raise
        return await ticket.seat_or_leave()

    def ticket(self, ticket_id: str) -> Ticket:
        """Return the player's ticket with this id."""
        return Ticket(self._connection, ticket_id)

    def seat(self, game: str, match_id: str, seat: int) -> Seat:
        """Return the player's seat, from 0, in a match. Raises `UnknownGameError` if there is no such game."""
        return Seat(GameRemote(self._connection, registry.entry(game)), match_id, seat)

    def spectate(self, game: str, match_id: str) -> Spectator:
        """Return a match as a spectator sees it. Raises `UnknownGameError` if there is no such game."""
        return Spectator(GameRemote(self._connection, registry.entry(game)), match_id)

    def watch(self, match_id: str, *, seat: int | None = None, after: int | None = None) -> AsyncGenerator[Update]:
        """Yield a match of any game as it is now, then after every commit, as `seat` or a spectator may see it.

        With `after` it yields what follows that version. See `Spectator.updates`.
        """
        return self._watched(registry.entry_of_match(match_id).name, match_id, seat).updates(after)

    def match_events(self, game: str, match_id: str, *, seat: int | None = None) -> AsyncGenerator[Commit]:
        """Yield the commits of a match so far, as `seat` or a spectator may see them; in full once it is over."""
        return self._watched(game, match_id, seat).events()

    async def replay(self, match_id: str) -> Replay:
        """Return a finished match of any game with all its versions, fetched once, as every seat saw them and in full.

        Raises `FailedPrecondition` while the match is open, `NotFound` if there is none.
        """
        watched = self.spectate(registry.entry_of_match(match_id).name, match_id)
        return Replay(read(await watched.export()), await watched.rules())

    async def fork(self, match_id: str, version: int, *, seats: Policies = (), request_id: str | None = None) -> Fork:
        """Begin a match of one's own where a finished one stood at `version`, and return it with the own seats in it.

        `seats` names a house bot's policy for each seat that a bot is to play, and None for the others, which are the
        player's; all of them by default. The fork counts for nothing: it has no pool, no rating and no clock.

        Raises:
            FailedPrecondition: the match is open (`MATCH_OPEN`), or its game is over at that version (`MATCH_OVER`).
            InvalidArgument: the match has no such version, or not so many seats, or there is no such policy.
            NotFound: there is no such match.
        """
        game = GameRemote(self._connection, registry.entry_of_match(match_id))
        return await forks.fork(game, match_id, version, seats=seats, request_id=request_id or new_request_id())

    async def export_match(self, game: str, match_id: str) -> bytes:
        """Return the audit file of a match. Raises `FailedPrecondition` while the match is open."""
        return await self.spectate(game, match_id).export()

    async def rating(self, pool: str, player: str | None = None) -> Rating:
        """Return the rating of `player`, or one's own, in `pool`; that of a new player if there is none yet."""
        return await self._ratings.rating(pool, player or "")

    def rating_history(self, pool: str, player: str | None = None) -> AsyncGenerator[RatingStep]:
        """Yield the changes of the rating of `player`, or one's own, in `pool`, the newest first."""
        return self._ratings.history(pool, player or "")

    async def player_id(self, subject: str = "") -> str:
        """Return the id under which others see the player; for services that of any token's `subject`."""
        return await self._players.player_id(subject)

    async def export_player(self, player: str | None = None) -> bytes:
        """Return all that the platform holds about oneself as a JSON document; for services about any `player`."""
        return await self._players.export(player or "")

    async def forget_player(self, player: str) -> Forgetting:
        """Have oneself, whose player id is `player`, forgotten; for services any player. It cannot be undone.

        The player's tokens are of no use any more a few seconds later: calls raise `Unauthenticated`.
        """
        return await self._players.forget(player)

    def leaderboard(self, pool: str) -> AsyncGenerator[LeaderboardEntry]:
        """Yield the players of `pool` by assured points, the best first."""
        return self._ratings.leaderboard(pool)

    async def create_table(
        self,
        game: str,
        options: TableOptions = USUAL,
        *,
        request_id: str | None = None,
        entropy: bytes | None = None,
    ) -> Table:
        """Open a private table and take seat 0; others join with its `invite_code`. For `entropy` see `enter`.

        Raises `InvalidArgument` for options that cannot be, `ResourceExhausted` at too many open tables.
        """
        request = options.request(game, request_id or new_request_id(), _entropy(entropy, request_id))
        return await self._lobby.call("CreateTable", request)

    async def join_table(
        self, invite_code: str, *, ready: bool = True, request_id: str | None = None, entropy: bytes | None = None
    ) -> Table:
        """Take the free seat with the lowest number; whoever is `ready` is so whoever comes or goes.

        Joining again changes nothing. Raises `NotFound` on a wrong invite code, `FailedPrecondition` when the table is
        full, has started or was closed, `PermissionDenied` when the host has sent the player away.
        """
        request = lobby_service_pb2.JoinTableRequest(
            invite_code=invite_code,
            client_entropy=_entropy(entropy, request_id),
            request_id=request_id or new_request_id(),
            readiness=readiness_number(ready=ready),
        )
        return await self._lobby.call("JoinTable", request)

    async def table(self, table_id: str) -> Table:
        """Return a table the player sits at, or a rematch the player is asked to."""
        return await self._lobby.call("GetTable", lobby_service_pb2.GetTableRequest(table_id=table_id))

    async def tables(self) -> list[Table]:
        """Return the open tables the player sits at and the rematches the player is asked to, the newest first."""
        return await self._lobby.tables()

    async def rematch(self, match_id: str, *, request_id: str | None = None, entropy: bytes | None = None) -> Table:
        """Ask to play a closed match again, or agree to it, and return the rematch's table.

        It starts when all players have asked, with the seats moved on by one. Raises `FailedPrecondition` while the
        match is open and when the rematch was declined or has expired.
        """
        request = lobby_service_pb2.RequestRematchRequest(
            request_id=request_id or new_request_id(), match_id=match_id, client_entropy=_entropy(entropy, request_id)
        )
        return await self._lobby.call("RequestRematch", request)

    async def decline_rematch(self, match_id: str, *, request_id: str | None = None) -> Table:
        """Decline the rematch of a match. Raises `NotFound` when nobody has asked for one."""
        request = lobby_service_pb2.DeclineRematchRequest(request_id=request_id or new_request_id(), match_id=match_id)
        return await self._lobby.call("DeclineRematch", request)

    def matches(self, *, state: MatchState | None = None, game: str = "", pool: str = "") -> AsyncGenerator[MatchEntry]:
        """Yield the player's matches, the newest first: all, or those of a state, a game or a pool."""
        return self._lists.mine(state=state, game=game, pool=pool)

    def live_matches(self, game: str = "", *, pool: str = "") -> AsyncGenerator[MatchEntry]:
        """Yield the open matches of a game, or of a pool, the newest first; private ones only if the player's own."""
        return self._lists.live(game, pool=pool)

    def player_matches(self, player: str, *, game: str = "", pool: str = "") -> AsyncGenerator[MatchEntry]:
        """Yield the closed matches of a player, the last to end first; private ones only if the caller's own too."""
        return self._lists.finished(player, game=game, pool=pool)

    def _watched(self, game: str, match_id: str, seat: int | None) -> Spectator:
        return self.spectate(game, match_id) if seat is None else self.seat(game, match_id, seat)


def _entropy(given: bytes | None, request_id: str | None) -> bytes:
    if given is not None:
        return given
    return b"" if request_id else secrets.token_bytes(ENTROPY_BYTES)


def _subject(token: str) -> str:
    """Return the `sub` that a JSON Web Token claims; whether it verifies is the server's business."""
    try:
        payload = token.split(".")[1]
        claims = json.loads(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return str(claims["sub"])
    except (IndexError, KeyError, TypeError, ValueError) as error:
        raise ValueError("the token does not say which player it is for; name the player") from error
