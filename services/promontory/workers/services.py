"""The services that tasks call, under the workers' own identity."""

from __future__ import annotations

from functools import cached_property
from threading import RLock

from promontory.api.lobby.v1 import lobby_service_pb2 as lobby_pb
from promontory.api.scoring.v1 import scoring_service_pb2 as pb
from promontory.client.blocking import Client, Seat
from promontory.client.connection import Connection, Remote
from promontory.client.loops import LoopThread
from promontory.client.ratings import SCORING
from promontory.client.retrying import Timing
from promontory.client.tables import LOBBY
from promontory.runtime.identity import ServiceIdentity
from promontory.runtime.settings import WorkerSettings, targets

RETRY_SECONDS = 6.0
"""How long a task tries to reach a service: less than the lease after which the task is sent again anyway."""

LISTING_RETRY_SECONDS = 1.0
"""The same for the lobby: lists can wait for the task's next attempt, bots' turns behind it in the queue less well."""

TIMING = Timing(longest_pause_seconds=0.5)
"""Short pauses, so that a turn does not wait out its lease because a service was just coming back."""


class Services:
    """Connects when first used, so that each process of a forking pool has connections of its own.

    Its methods may be called by several threads.
    """

    def __init__(self, settings: WorkerSettings, identity: ServiceIdentity) -> None:
        """Raise `SettingsError` if an address is malformed."""
        others = {"scoring": settings.scoring_target, "lobby": settings.matchmaking_target}
        self._endpoints = {**targets(settings.rules_targets), **others}
        self._identity = identity
        self._connecting = RLock()

    def seat(self, game: str, match_id: str, seat: int) -> Seat:
        """Return a house bot's seat, as the SDK plays it."""
        with self._connecting:
            client = self._client
        return client.seat(game, match_id, seat)

    def tally(self, match_id: str) -> pb.TallyMatchResponse:
        """Have scoring tally a match. Raises a `PromontoryError`; `Unavailable` after `RETRY_SECONDS`."""
        with self._connecting:
            loop, scoring = self._loop, self._scoring
        response: pb.TallyMatchResponse = loop.run(scoring.call("TallyMatch", pb.TallyMatchRequest(match_id=match_id)))
        return response

    def list_closed(self, match_id: str) -> lobby_pb.RecordClosedMatchResponse:
        """Have the lobby list a closed match. Raises a `PromontoryError`, `Unavailable` early."""
        with self._connecting:
            loop, lobby = self._loop, self._lobby
        response: lobby_pb.RecordClosedMatchResponse = loop.run(
            lobby.call("RecordClosedMatch", lobby_pb.RecordClosedMatchRequest(match_id=match_id))
        )
        return response

    @cached_property
    def _client(self) -> Client:
        client = Client(self._endpoints, token=self._identity.token, retry_seconds=RETRY_SECONDS, timing=TIMING)
        return client.over_one_stream()

    @cached_property
    def _loop(self) -> LoopThread:
        return LoopThread()

    @cached_property
    def _scoring(self) -> Remote:
        return Remote(self._connection(RETRY_SECONDS), SCORING)

    @cached_property
    def _lobby(self) -> Remote:
        return Remote(self._connection(LISTING_RETRY_SECONDS), LOBBY)

    def _connection(self, retry_seconds: float) -> Connection:
        return Connection(self._endpoints, token=self._identity.token, retry_seconds=retry_seconds, timing=TIMING)
