"""Rules services over real gRPC inside a test, and clients that speak their messages."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import msgspec

from promontory.api.transcontinental.v1 import transcontinental_service_pb2 as pb
from promontory.archive.opening import with_archive
from promontory.client.stubs import Stub
from promontory.eventlog.redis_server import connect
from promontory.eventlog.redis_streams import RedisEventLog, Tuning
from promontory.rules.domain import SeatSetup, Setup
from promontory.rules.main import compose, draw_seed
from promontory.rules.ports import DrawSeed
from promontory.rules.records import setup_message
from promontory.rules.ruleset import Ruleset
from promontory.rules.seal import create_seal_key
from promontory.runtime import clock
from promontory.runtime.identity import SERVICE_SCOPES, Scope
from promontory.runtime.server import Service, cancel
from promontory.runtime.settings import RulesSettings
from tests.support.refereeing import GAME, ruleset
from tests.support.serving import Keys, Metadata, served

SERVICE = "promontory.api.transcontinental.v1.TranscontinentalService"
DESCRIPTOR = pb.DESCRIPTOR.services_by_name["TranscontinentalService"]
METHODS = [method.name for method in DESCRIPTOR.methods if not method.client_streaming]
"""Those that take one request; what `Play` takes is tried in `test_playing_matches`."""
AS_BYTES: Any = (None, None)
STREAMS = {"WatchMatch", "ExportMatch"}
ANY_SKEW_MS = 10**14
TWO_PLAYERS = Setup((SeatSetup("ada"), SeatSetup("ben")))


class RulesServer(msgspec.Struct):
    """A running service."""

    address: str
    service: Service

    async def drain(self) -> None:
        """Do what the process does first when it is told to stop."""
        for hook in self.service.drain:
            await hook()


@asynccontextmanager
async def rules_server(
    url: str, keys: Keys, *, game: str = GAME, data: tuple[bytes, ...] = (), **settings: Any
) -> AsyncIterator[RulesServer]:
    """Run a rules service of one game as its process does, with connections of its own to `url`."""
    async with server_of(ruleset(game, data), url, keys=keys, **settings) as server:
        yield server


@asynccontextmanager
async def server_of(
    rules: Ruleset, url: str, *, keys: Keys, seed: DrawSeed = draw_seed, any_time: bool = False, **settings: Any
) -> AsyncIterator[RulesServer]:
    """Run a rules service of the game in `rules`, as `rules_server` does; the matches get their seeds from `seed`.

    With `any_time` it records the time that a test sets, which is not the log's.
    """
    connections = connect(url)
    tuning = Tuning(max_skew_ms=ANY_SKEW_MS if any_time else Tuning().max_skew_ms)
    log = RedisEventLog(connections.commands, blocking=connections.blocking, clock=clock.now_ms, tuning=tuning)
    await log.start()
    found = RulesSettings(seal_key_file=_seal_key(keys.directory), **settings)
    service = compose(rules, await with_archive(log, found.archive_url), found, seed=seed)
    tasks = [asyncio.create_task(beside) for beside in service.beside]
    async with served(service.servicers, keys, settings=found) as address:
        yield RulesServer(address, service)
    await cancel(tasks)
    await connections.aclose()


def _seal_key(directory: Path) -> Path:
    file = directory / "seal.key"
    if not file.exists():
        create_seal_key(file)
    return file


class Client:
    """Calls a game's rules service by name of method, under one identity."""

    def __init__(self, channel: grpc.aio.Channel, metadata: Metadata, *, game: str = GAME) -> None:
        self.channel, self.metadata, self.ruleset = channel, metadata, ruleset(game)
        self._messages, self._stub = self.ruleset.codec.messages, Stub(channel, self.ruleset.codec.service)

    async def call(self, method: str, **fields: Any) -> Any:
        """Return the response to a request with `fields`; those that are None stay unset."""
        return await getattr(self._stub, method)(self._request(method, fields), metadata=self.metadata)

    def stream(self, method: str, **fields: Any) -> Any:
        """Return the call of a streaming method."""
        return getattr(self._stub, method)(self._request(method, fields), metadata=self.metadata)

    def open(self, method: str) -> Any:
        """Return the call of a method that streams both ways."""
        return getattr(self._stub, method)(metadata=self.metadata)

    def _request(self, method: str, fields: Mapping[str, Any]) -> Any:
        return getattr(self._messages, f"{method}Request")(**fields)

    async def raw(self, method: str, request: bytes) -> bytes:
        """Return the response, or a stream's first, to the bytes `request`."""
        path = f"/{self.ruleset.codec.service.full_name}/{method}"
        if method not in STREAMS:
            response: bytes = await self.channel.unary_unary(path, *AS_BYTES)(request, metadata=self.metadata)
            return response
        call = self.channel.unary_stream(path, *AS_BYTES)(request, metadata=self.metadata)
        async for message in call:
            call.cancel()
            return bytes(message)
        return b""

    async def create(self, request_id: str, setup: Setup = TWO_PLAYERS) -> str:
        """Create a match and return its id."""
        response = await self.call("CreateMatch", request_id=request_id, setup=setup_message(setup))
        match_id: str = response.match.match_id
        return match_id

    async def submit(self, match_id: str, *commands: Any, request_id: str, expected: int | None = None) -> Any:
        """Submit structs of commands, in their seat's name."""
        return await self.call(
            "SubmitCommand",
            match_id=match_id,
            seat=self.ruleset.game.seat_of(commands[0]),
            commands=[self.ruleset.codec.encode_command(command) for command in commands],
            expected_version=expected,
            request_id=request_id,
        )

    async def export(self, match_id: str) -> bytes:
        """Return the audit file of a closed match."""
        return b"".join([message.chunk async for message in self.stream("ExportMatch", match_id=match_id)])


def as_player(keys: Keys, name: str, *scopes: str) -> Metadata:
    """Return the identity of a player who may play and no more, unless `scopes` are given."""
    return keys.as_player(name, *(scopes or ("match:play",)))


def as_platform(keys: Keys) -> Metadata:
    """Return the identity of a service with all scopes but the one to act for players who are forgotten."""
    return keys.as_service(*(SERVICE_SCOPES - {Scope.FORGET_PLAYER}))
