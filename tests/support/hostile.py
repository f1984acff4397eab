"""A client that sends what no honest one would, and looks closely at what comes back."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from importlib import import_module
from types import ModuleType
from typing import Any

import grpc
import msgspec
from google.protobuf.descriptor import EnumDescriptor, MethodDescriptor
from google.protobuf.message_factory import GetMessageClass
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from promontory.api.admin.v1 import admin_service_pb2
from promontory.api.lobby.v1 import lobby_service_pb2
from promontory.api.match.v1 import errors_pb2, match_pb2
from promontory.api.matchmaking.v1 import matchmaking_service_pb2
from promontory.api.players.v1 import players_service_pb2
from promontory.api.replica.v1 import replica_service_pb2
from promontory.api.scoring.v1 import scoring_service_pb2
from promontory.codec.registry import codec
from promontory.games.registry import GAMES
from promontory.local.platform import Platform
from promontory.runtime.identity import ADMIN_AUDIENCE, ADMIN_SCOPES, PLAYER_SCOPES, SERVICE_SCOPES, load_key
from tests.support.serving import Metadata

REPLICA, SERVED_BESIDE = "replica", "scoring"
"""The service that every process serves beside its own ones, and beside which it is attacked."""
GAME_NAMES = tuple(entry.name for entry in GAMES)
MODULES: Mapping[str, ModuleType] = {
    **{name: codec(name).messages for name in GAME_NAMES},
    "matchmaking": matchmaking_service_pb2,
    "lobby": lobby_service_pb2,
    "players": players_service_pb2,
    "scoring": scoring_service_pb2,
    "admin": admin_service_pb2,
    REPLICA: replica_service_pb2,
}
METHODS: Mapping[str, MethodDescriptor] = {
    f"{endpoint}.{method.name}": method
    for endpoint, module in MODULES.items()
    for service in module.DESCRIPTOR.services_by_name.values()
    for method in service.methods
}
"""All methods of the platform: `scoring.GetRating` and so on."""


def _reasons(enum: EnumDescriptor, prefix: str) -> set[str]:
    return {value.name.removeprefix(prefix) for value in enum.values}


def _refusals(game: str) -> set[str]:
    errors = import_module(f"promontory.api.{game}.v1.errors_pb2")
    return _reasons(errors.RefusalReason.DESCRIPTOR, "REFUSAL_REASON_")


LISTED = _reasons(errors_pb2.ErrorReason.DESCRIPTOR, "ERROR_REASON_").union(*map(_refusals, GAME_NAMES))
MOST_TRAILER_BYTES = 8 * 1024
PLAIN: Any = (None, None)
REFLECTION = "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"


class Failure(msgspec.Struct, frozen=True):
    """How a call failed: the code, the reason of its one `ErrorInfo`, and that one's metadata."""

    code: str
    reason: str
    metadata: dict[str, str]


class Attacker:
    """Calls any method of a running platform with any bytes under any identity."""

    def __init__(self, platform: Platform, channels: Mapping[str, grpc.aio.Channel]) -> None:
        self.channels = channels
        self.player_key = load_key(platform.keys.player_key_file)
        self.service_key = load_key(platform.keys.service_key_file)

    def player(self, name: str) -> Metadata:
        """Return the identity of a player who may do all that players may."""
        return bearer(self.player_key.mint(name, PLAYER_SCOPES, life=timedelta(minutes=5)))

    def admin(self, name: str = "eve") -> Metadata:
        """Return the identity of an admin, which is of use for the admin service alone."""
        life = timedelta(minutes=5)
        return bearer(self.player_key.mint(name, ADMIN_SCOPES, life=life, audience=ADMIN_AUDIENCE))

    def ada(self, method: str) -> Metadata:
        """Return the identity of ada, who is an admin where `method` takes no others."""
        return self.admin("ada") if method.startswith("admin.") else self.player("ada")

    def stranger(self, method: str = "") -> Metadata:
        """Return the identity of a player that nobody has seen before, or an admin where `method` takes no others."""
        name = f"stranger-{uuid.uuid4().hex}"
        return self.admin(name) if method.startswith("admin.") else self.player(name)

    def service(self, scopes: frozenset[str] = SERVICE_SCOPES) -> Metadata:
        """Return the identity of a service that may do all that services may, or has `scopes`."""
        return bearer(self.service_key.mint("service:test", scopes, life=timedelta(minutes=5)))

    async def send(self, method: str, request: bytes, who: Metadata) -> bytes:
        """Return the response to `request`, or a stream's first."""
        descriptor, channel = METHODS[method], self.channels[method.partition(".")[0]]
        path = f"/{descriptor.containing_service.full_name}/{descriptor.name}"
        if not descriptor.server_streaming:
            return bytes(await channel.unary_unary(path, *PLAIN)(request, metadata=who, timeout=20))
        stream = channel.unary_stream(path, *PLAIN)(request, metadata=who, timeout=20)
        responses = aiter(stream)
        first = await anext(responses)
        if descriptor.client_streaming:  # that is what is said to everybody; the answer is the second
            first = await anext(responses)
        stream.cancel()
        return bytes(first)

    async def call(self, method: str, who: Metadata, **fields: Any) -> Any:
        """Return the message that answers a request with `fields`."""
        request = GetMessageClass(METHODS[method].input_type)(**fields)
        answer = GetMessageClass(METHODS[method].output_type)
        return answer.FromString(await self.send(method, request.SerializeToString(), who))

    async def attempt(self, method: str, request: bytes, who: Metadata) -> bytes | Failure:
        """Return the response to `request`, or how it was refused; it must be either."""
        try:
            return await self.send(method, request, who)
        except grpc.aio.AioRpcError as error:
            return _checked(error)

    async def refused(self, method: str, who: Metadata, **fields: Any) -> Failure:
        """Return how a call fails that must fail."""
        request = GetMessageClass(METHODS[method].input_type)(**fields)
        return await failure(self.send(method, request.SerializeToString(), who))

    async def new_match(self, request_id: str, *players: str, game: str = "transcontinental") -> str:
        """Create a match of `players` and return its id; the same for the same `request_id`."""
        setup = match_pb2.MatchSetup(seats=[match_pb2.SeatSetup(player_id=player) for player in players])
        made = await self.call(f"{game}.CreateMatch", self.service(), request_id=request_id, setup=setup)
        match_id: str = made.match.match_id
        return match_id


@asynccontextmanager
async def attacking(platform: Platform) -> AsyncIterator[Attacker]:
    """Give a client of all services of `platform`."""
    channels = {name: grpc.aio.insecure_channel(target) for name, target in platform.endpoints.items()}
    yield Attacker(platform, {**channels, REPLICA: channels[SERVED_BESIDE]})
    for channel in channels.values():
        await channel.close(None)


async def failure(call: Any) -> Failure:
    """Return how `call` fails; raise `AssertionError` if it does not, or not as every failure must [style 7]."""
    try:
        await call
    except grpc.aio.AioRpcError as error:
        return _checked(error)
    raise AssertionError("the call was answered")


def _checked(error: grpc.aio.AioRpcError) -> Failure:
    status: Any = rpc_status.from_call(error)  # type: ignore[arg-type]
    assert status is not None, f"no details: {error.code()} {error.details()}"
    details = [detail for detail in status.details if detail.Is(error_details_pb2.ErrorInfo.DESCRIPTOR)]
    assert len(details) == 1, f"{len(details)} ErrorInfos"
    info = error_details_pb2.ErrorInfo.FromString(details[0].value)
    assert (info.domain, info.reason in LISTED) == ("promontory.api", True), info
    assert error.code() not in (grpc.StatusCode.INTERNAL, grpc.StatusCode.UNKNOWN), error.details()
    trailers: Any = error.trailing_metadata() or ()
    size = sum(len(key) + len(value) + 32 for key, value in trailers)
    assert size + 3 * len((error.details() or "").encode()) < MOST_TRAILER_BYTES
    return Failure(error.code().name, info.reason, dict(info.metadata))


def bearer(token: str) -> Metadata:
    """Return the metadata that carries `token`."""
    return (("authorization", f"Bearer {token}"),)
