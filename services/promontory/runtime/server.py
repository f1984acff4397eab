"""The life of a gRPC service process: start, announce, serve, drain on SIGTERM, stop."""

from __future__ import annotations

import asyncio
import gc
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import msgspec
import structlog
import uvloop
from google.protobuf.descriptor import ServiceDescriptor

from promontory.runtime import metrics
from promontory.runtime.foreign import ForeignServices
from promontory.runtime.forms import PLAYER_ID, SUBJECT
from promontory.runtime.gate import Gate
from promontory.runtime.identity import Accepted, Verifier
from promontory.runtime.limits import Limits
from promontory.runtime.players import Players
from promontory.runtime.redis_players import open_players
from promontory.runtime.replica_servicer import REPLICA, ReplicaServicer
from promontory.runtime.rpc import UnknownMethods, handlers
from promontory.runtime.settings import OPAQUE, ProcessSettings, ServerSettings

log = structlog.get_logger()

WATCHDOG_SECONDS = 5
CANCEL_AGAIN_SECONDS = 0.1
ANSWERED = 16
"""Up to how many times what a request may have it is received at all, so that the refusal says what is allowed."""
METADATA_ANSWERED = 2
"""The same for its metadata, which gRPC receives as a whole."""
KEEPALIVE_PARTS = 3
"""A ping that is not answered for this part of the time between pings means that the client is gone."""
COLLECTED_AFTER = (10_000, 20, 20)
"""The thresholds of garbage collection. By Python's own, 5,000 open streams spend a third of their time on it."""
Hook = Callable[[], Awaitable[None]]


class Ready(msgspec.Struct, frozen=True):
    """What a process writes to its ready file once it serves: its real addresses, and its process id."""

    metrics: str
    pid: int
    grpc: str = ""


@dataclass(frozen=True, kw_only=True)
class Service:
    """What a process serves: the servicer of each gRPC service, what runs beside them, and what ends the open streams.

    `beside` runs until cancelled, which is after the last call; `drain` is called before it. `players` tells who the
    callers are, by default as the directory in the event log's server says; `accepted` which tokens are theirs, by
    default all of players and services. Admins can find and drain a `replica`, named by what it serves, as
    `rules.pacific`.
    """

    servicers: Sequence[tuple[ServiceDescriptor, object]]
    beside: Sequence[Coroutine[Any, Any, None]] = ()
    drain: Sequence[Hook] = ()
    players: Players | None = None
    accepted: Accepted | None = None
    replica: str = ""


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run `main` to its end on uvloop."""
    uvloop.run(main)


async def serve(service: Service, settings: ServerSettings) -> None:
    """Serve `service` until SIGTERM or SIGINT, then drain and stop.

    Raises:
        KeyFileError: a file with public keys cannot be used.
        CannotListen: an address is taken, or not this machine's.
        EventLogUnavailable: the server that keeps the directory of players does not answer.
        Exception: what ended a coroutine that runs beside; the service was drained first.
    """
    stop = stop_event()
    async with AsyncExitStack() as stack:
        try:
            players = service.players
            if players is None:
                players = await stack.enter_async_context(open_players(settings))
            server, foreign, address = _prepare(service, settings, players, stop)
        except Exception:
            for coroutine in service.beside:
                coroutine.close()
            raise
        await server.start()
        tasks = [asyncio.create_task(_never_silent(coroutine)) for coroutine in (*service.beside, players.run())]
        settle()
        await foreign.tell_serving()
        announce(settings, grpc_address=address)
        await stop.wait()
        ended = [task for task in tasks if task.done()]
        log.info("server_draining")
        with _Watchdog(settings.drain_seconds + WATCHDOG_SECONDS):
            await foreign.drain()
            for hook in service.drain:
                await hook()
            await server.stop(settings.drain_seconds)
            await cancel(tasks)
    log.info("server_stopped")
    for task in ended:
        task.result()


def _prepare(
    service: Service, settings: ServerSettings, players: Players, stop: asyncio.Event
) -> tuple[grpc.aio.Server, ForeignServices, str]:
    """Return a server that is bound but not started, what it serves beside `service`, and its address."""
    server = grpc.aio.server(options=options(settings))
    usual = service.accepted or accepted(settings)
    verifier = Verifier(settings.player_keys_file, settings.service_keys_file, usual)
    gate = Gate(verifier, limits_of(settings), players)
    servicers = [*service.servicers]
    if service.replica:
        servicers.append((REPLICA, ReplicaServicer(service.replica, stop, lambda: gate.open_streams)))
    server.add_generic_rpc_handlers([handlers(descriptor, each, gate) for descriptor, each in servicers])
    names = [descriptor.full_name for descriptor, _ in service.servicers]
    foreign = ForeignServices(server, names, reflect=settings.reflection)
    server.add_generic_rpc_handlers([UnknownMethods()])
    host = settings.listen.rpartition(":")[0]
    return server, foreign, f"{host}:{_bind(server, settings.listen)}"


def accepted(settings: ServerSettings) -> Accepted:
    """Return which tokens are taken where players call: theirs, as `settings` say, and services'."""
    return Accepted(
        SUBJECT if settings.player_ids == OPAQUE else PLAYER_ID,
        max_age_seconds=settings.max_token_age_seconds,
        issuer=settings.token_issuer,
        audience=settings.token_audience,
    )


class CannotListen(Exception):
    """The address is taken, or not this machine's."""

    def __init__(self, address: str, setting: str) -> None:
        super().__init__(
            f"cannot listen on {address}: stop what does, or choose another address "
            f"({setting}; `promontory up --any-ports`)"
        )


def _bind(server: grpc.aio.Server, address: str) -> int:
    try:
        return server.add_insecure_port(address)
    except RuntimeError as error:
        raise CannotListen(address, "PROMONTORY_LISTEN") from error


def announce(settings: ProcessSettings, *, grpc_address: str = "") -> Ready:
    """Serve the metrics, and tell the world in log and ready file where this process is reached.

    Raises `CannotListen` if the metrics' address is taken.
    """
    try:
        address = metrics.serve(settings.metrics_listen)
    except OSError as error:
        raise CannotListen(settings.metrics_listen, "PROMONTORY_METRICS_LISTEN") from error
    ready = Ready(metrics=address, pid=os.getpid(), grpc=grpc_address)
    if settings.ready_file is not None:
        _write_whole(settings.ready_file, msgspec.json.encode(ready))
    log.info("process_ready", grpc=ready.grpc, metrics=ready.metrics)
    return ready


def stop_event() -> asyncio.Event:
    """Return what SIGTERM and SIGINT set from now on, instead of ending the process at once."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    return stop


def limits_of(settings: ServerSettings) -> Limits:
    """Return what a server with `settings` takes of one call and of one player."""
    return Limits(
        request_bytes=settings.max_request_bytes,
        metadata_bytes=settings.max_metadata_bytes,
        streams_per_player=settings.max_streams_per_player,
        calls_per_second=settings.max_calls_per_second,
        commands_per_second=settings.max_commands_per_second,
        stall_seconds=settings.max_stall_seconds,
    )


def options(settings: ServerSettings) -> list[tuple[str, int]]:
    """Return the options of gRPC under which a process serves.

    How long a ping may go unanswered is said twice, since releases of gRPC differ in which of the two they heed.
    """
    ping_ms = int(settings.keepalive_seconds * 1000)
    return [
        ("grpc.max_receive_message_length", ANSWERED * settings.max_request_bytes),
        ("grpc.max_metadata_size", METADATA_ANSWERED * settings.max_metadata_bytes),
        ("grpc.absolute_max_metadata_size", METADATA_ANSWERED * settings.max_metadata_bytes),
        ("grpc.max_concurrent_streams", settings.max_calls_per_connection),
        ("grpc.max_connection_age_ms", int(settings.max_connection_age_seconds * 1000)),
        ("grpc.max_connection_age_grace_ms", int(settings.max_connection_age_seconds * 1000)),
        ("grpc.keepalive_time_ms", ping_ms),
        ("grpc.keepalive_timeout_ms", ping_ms // KEEPALIVE_PARTS),
        ("grpc.http2.ping_timeout_ms", ping_ms // KEEPALIVE_PARTS),
        ("grpc.http2.max_pings_without_data", 0),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
        ("grpc.so_reuseport", 0),
    ]


def settle() -> None:
    """Have fewer garbage collections from now on, none of what is there by now: every call waits while one lasts."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED_AFTER)


async def _never_silent(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run `coroutine`; if it fails, end the process, because a service without its background work is a lie."""
    try:
        await coroutine
    except Exception:
        log.exception("background_failed")
        os.kill(os.getpid(), signal.SIGTERM)
        raise


async def cancel(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Cancel `tasks` and wait for their end, telling those again that go on: libraries may lose a cancellation."""
    pending = set(tasks)
    while pending:
        for task in pending:
            task.cancel()
        _, pending = await asyncio.wait(pending, timeout=CANCEL_AGAIN_SECONDS)
    await asyncio.gather(*tasks, return_exceptions=True)


def _write_whole(file: Path, content: bytes) -> None:
    partial = file.with_name(file.name + ".partial")
    partial.write_bytes(content)
    partial.replace(file)


class _Watchdog:
    """Ends the process if the body takes longer than `seconds`: a stop that hangs must not hold up an upgrade."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds

    def __enter__(self) -> None:
        self._timer = asyncio.get_running_loop().call_later(self._seconds, os._exit, 1)

    def __exit__(self, *_: object) -> None:
        self._timer.cancel()
