"""A process's gRPC server inside a test, with keys of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import grpc
import msgspec
from google.protobuf.descriptor import ServiceDescriptor

from promontory.runtime.gate import Gate
from promontory.runtime.identity import (
    PLAYER_SCOPES,
    PLAYERS,
    SERVICE_SCOPES,
    SERVICES,
    ServiceIdentity,
    SigningKey,
    Verifier,
    create_key,
)
from promontory.runtime.limits import Limits
from promontory.runtime.memory_players import MemoryDirectory
from promontory.runtime.players import Players
from promontory.runtime.rpc import UnknownMethods, handlers
from promontory.runtime.server import limits_of, options
from promontory.runtime.settings import ServerSettings

Metadata = tuple[tuple[str, str], ...]
TOKEN_LIFE = timedelta(minutes=5)


class Keys(msgspec.Struct, frozen=True):
    """Keys that players' and services' tokens are signed with, and the files they lie in."""

    directory: Path
    players: SigningKey
    services: SigningKey

    @property
    def service_key_file(self) -> Path:
        """The services' private key."""
        return self.directory / "service.key.json"

    def service(self, name: str, scopes: frozenset[str] = SERVICE_SCOPES) -> ServiceIdentity:
        """Return the identity of the service `name`, with all scopes unless some are given."""
        return ServiceIdentity(self.services, name, scopes)

    def as_service(self, *scopes: str) -> Metadata:
        """Return the metadata of a service's call with `scopes`."""
        return _bearer(self.services.mint("service:test", frozenset(scopes), life=TOKEN_LIFE))

    def as_player(self, player_id: str, *scopes: str) -> Metadata:
        """Return the metadata of a call of a player, who may do what players may unless `scopes` are given."""
        return _bearer(self.players.mint(player_id, frozenset(scopes) or PLAYER_SCOPES, life=TOKEN_LIFE))


def create_keys(directory: Path) -> Keys:
    """Create key pairs in `directory`."""
    players = create_key(PLAYERS, directory / "players.key.json", directory / "players.jwks.json")
    services = create_key(SERVICES, directory / "service.key.json", directory / "services.jwks.json")
    return Keys(directory, players, services)


def everybody() -> Players:
    """Return what takes everybody for whom their token names."""
    return Players(MemoryDirectory(), opaque=False, token_seconds=3600)


@asynccontextmanager
async def served(
    servicers: Sequence[tuple[ServiceDescriptor, object]],
    keys: Keys,
    *,
    listen: str = "127.0.0.1:0",
    limits: Limits | None = None,
    settings: ServerSettings | None = None,
    players: Players | None = None,
) -> AsyncIterator[str]:
    """Serve `servicers` as a process of the platform does, with gRPC's options if there are `settings`.

    The limits are those of `settings` unless others are given.
    """
    server = grpc.aio.server(options=options(settings) if settings else None)
    verifier = Verifier(keys.directory / "players.jwks.json", keys.directory / "services.jwks.json")
    limits = limits or (limits_of(settings) if settings else Limits())
    gate = Gate(verifier, limits, players or everybody())
    server.add_generic_rpc_handlers([handlers(descriptor, each, gate) for descriptor, each in servicers])
    server.add_generic_rpc_handlers([UnknownMethods()])
    port = server.add_insecure_port(listen)
    await server.start()
    try:
        yield f"127.0.0.1:{port}"
    finally:
        await server.stop(None)


def reason_of(error: grpc.aio.AioRpcError) -> str:
    """Return the reason of a failed call's `ErrorInfo`."""
    from google.rpc import error_details_pb2
    from grpc_status import rpc_status

    status: Any = rpc_status.from_call(error)  # type: ignore[arg-type]
    detail = error_details_pb2.ErrorInfo()
    status.details[0].Unpack(detail)
    reason: str = detail.reason
    return reason


def _bearer(token: str) -> Metadata:
    return (("authorization", f"Bearer {token}"),)
