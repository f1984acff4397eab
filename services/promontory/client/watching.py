"""Watching one match over as many streams as it takes."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from datetime import datetime
from typing import TYPE_CHECKING, Any, TypeAlias

import msgspec
from google.protobuf.message import Message
from msgspec.structs import replace

from promontory.api.match.v1 import stream_pb2
from promontory.client.clocks import SeatClock, clock_of
from promontory.client.errors import Internal, InvalidArgument
from promontory.client.matches import Update
from promontory.client.retrying import Patience
from promontory.codec.times import time_of

if TYPE_CHECKING:
    from promontory.client.seats import GameRemote


class Absence(msgspec.Struct, frozen=True):
    """A player who is to act and gone, and from when on an opponent can claim the match (UTC)."""

    seat: int
    claimable_time: datetime


class Heartbeat(msgspec.Struct, frozen=True):
    """What a stream tells while nothing happens: the match is at `version`, by the server's clock it is `server_time`.

    `clocks` show what is left at that time, in the order of seats; there are none without a time control. `absences`
    are told where players who are gone can be claimed.
    """

    version: int
    server_time: datetime
    clocks: tuple[SeatClock, ...] = ()
    absences: tuple[Absence, ...] = ()


OnHeartbeat: TypeAlias = Callable[[Heartbeat], object]


class Watch:
    """The updates of one match, each once and in order, whatever happens to streams in between."""

    def __init__(self, game: GameRemote, match_id: str, seat: int | None, *, on_heartbeat: OnHeartbeat | None) -> None:
        self._game = game
        self._match_id, self._seat = match_id, seat
        self._on_heartbeat = on_heartbeat
        self._last: int | None = None
        self._token = b""

    async def updates(self, after: int | None, token: bytes) -> AsyncGenerator[Update]:
        """Yield an update for each version, until the match is over.

        Begin after the version `after`, or after what the resume `token` stands for, or with the match of now.
        """
        self._last, self._token = after, token
        patience = self._game.remote.patience()
        is_over = False
        while not is_over:
            try:
                async with aclosing(self._resumed(patience)) as updates:
                    async for update in updates:
                        yield update
                is_over = True
            except InvalidArgument as error:
                if not self._token or error.metadata.get("field") != "resume_token":
                    raise
                self._token = b""

    async def _resumed(self, patience: Patience) -> AsyncGenerator[Update]:
        async with aclosing(self._game.remote.resuming("WatchMatch", self._request, patience)) as messages:
            async for message in messages:
                kind = message.WhichOneof("kind")
                if kind == "end" and not message.end.resumable:
                    return
                if kind != "end":
                    patience.renew()
                update = self._update(kind, message)
                if update is None:
                    continue
                self._last, self._token = update.version, update.resume_token
                yield update
                if update.match.is_over:
                    return
                patience.renew()

    def _request(self) -> Message:
        return self._game.request(
            "WatchMatch",
            match_id=self._match_id,
            seat=self._seat,
            after_version=self._last,
            resume_token=self._token or None,
        )

    def _update(self, kind: str | None, message: Any) -> Update | None:
        """Return what is new in `message`, if anything is."""
        if kind == "snapshot":
            update = self._snapshot(message.snapshot)
        elif kind == "commit":
            update = self._commit(message.commit)
        else:
            if kind == "heartbeat" and self._on_heartbeat is not None:
                self._on_heartbeat(_heartbeat_of(message.heartbeat))
            return None
        return None if update is None else replace(update, resume_token=message.resume_token)

    def _snapshot(self, snapshot: Any) -> Update | None:
        if snapshot.match.version <= (self._last or 0) and not snapshot.rewound:
            return None
        update = self._game.update(snapshot, self._seat)
        return replace(update, skipped=snapshot.skipped_commits, rewound=snapshot.rewound)

    def _commit(self, commit: Any) -> Update | None:
        last = self._last or 0
        if commit.version <= last:
            return None
        if self._last is not None and commit.version > last + 1:
            raise Internal(f"version {commit.version} came after {last}", reason="STREAM_GAP")
        return self._game.update(commit, self._seat, events=commit.events, match_events=commit.match_events)


def _heartbeat_of(message: stream_pb2.Heartbeat) -> Heartbeat:
    return Heartbeat(
        version=message.version,
        server_time=time_of(message.server_time),
        clocks=tuple(clock_of(clock) for clock in message.clocks),
        absences=tuple(Absence(each.seat, time_of(each.claimable_time)) for each in message.absences),
    )
