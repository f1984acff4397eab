"""The lobby's lists of matches: one's own, those that are being played, and what a player has played."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from datetime import datetime
from typing import Any

import msgspec

from promontory.api.lobby.v1 import lobby_service_pb2 as pb
from promontory.api.match.v1 import match_pb2
from promontory.client.connection import Connection, Remote
from promontory.client.errors import understanding
from promontory.client.matches import MATCH_STATES, MatchOutcome, MatchState, Placement, known, outcome_of
from promontory.client.tables import LOBBY
from promontory.codec.times import time_of

PAGE_SIZE = 100


class MatchEntry(msgspec.Struct, frozen=True):
    """One match in a list; `pool` is empty for a private match.

    `seat` is that of the player whose list it is, None in a list of live matches. `outcome` and `close_time` (UTC) are
    None while the match is open. Spectators of an open match are `spectator_delay` commits behind.
    """

    match_id: str
    game: str
    pool: str
    rated: bool
    seat: int | None
    players: tuple[str, ...]
    state: MatchState
    create_time: datetime
    outcome: MatchOutcome | None
    close_time: datetime | None
    spectator_delay: int

    @property
    def placement(self) -> Placement | None:
        """How the player whose list it is came off, None while that is open or where there is no result."""
        found = self.outcome.placements if self.outcome else ()
        return next((each for each in found if each.seat == self.seat), None)


class MatchLists:
    """The lobby's lists."""

    def __init__(self, connection: Connection) -> None:
        self._remote = Remote(connection, LOBBY)

    def mine(self, *, state: MatchState | None, game: str, pool: str) -> AsyncGenerator[MatchEntry]:
        """Yield the player's own matches, the newest first."""
        number = match_pb2.MatchState.Value(f"MATCH_STATE_{state.name if state else 'UNSPECIFIED'}")
        return self._entries("ListMatches", pb.ListMatchesRequest(state=number, game=game, pool=pool))

    def live(self, game: str, *, pool: str) -> AsyncGenerator[MatchEntry]:
        """Yield the open matches of a game or a pool, the newest first."""
        return self._entries("ListLiveMatches", pb.ListLiveMatchesRequest(game=game, pool=pool))

    def finished(self, player: str, *, game: str, pool: str) -> AsyncGenerator[MatchEntry]:
        """Yield a player's closed matches, the last to end first."""
        return self._entries("ListPlayerMatches", pb.ListPlayerMatchesRequest(player_id=player, game=game, pool=pool))

    async def _entries(self, method: str, request: Any) -> AsyncGenerator[MatchEntry]:
        request.page_size = PAGE_SIZE
        async for page in self._remote.pages(method, request):
            for entry in page.matches:
                yield _entry_of(entry)


def _entry_of(message: Any) -> MatchEntry:
    with understanding():
        return MatchEntry(
            match_id=message.match_id,
            game=message.game,
            pool=message.pool,
            rated=message.rated,
            seat=message.seat if message.HasField("seat") else None,
            players=tuple(message.player_ids),
            state=known(MATCH_STATES, message.state, "state"),
            create_time=time_of(message.create_time),
            outcome=outcome_of(message.outcome) if message.HasField("outcome") else None,
            close_time=time_of(message.close_time) if message.HasField("close_time") else None,
            spectator_delay=message.spectator_delay,
        )
