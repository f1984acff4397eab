"""The life of a gRPC service process: start, announce, serve, drain on SIGTERM, stop."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import msgspec
import structlog
import uvloop
from google.protobuf.descriptor import ServiceDescriptor
from grpc_health.v1 import _async as aio_health
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import _async as aio_reflection
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from promontory.runtime import metrics
from promontory.runtime.foreign import ForeignServices
from promontory.runtime.identity import Verifier
from promontory.runtime.rpc import Gate, UnknownMethods, handlers
from promontory.runtime.settings import ProcessSettings, ServerSettings

log = structlog.get_logger()

WATCHDOG_SECONDS = 5
CANCEL_AGAIN_SECONDS = 0.1
MAX_STREAMS_PER_CONNECTION = 1000
"""How many calls a connection may have under way; a client's further ones wait in the client."""
Hook = Callable[[], Awaitable[None]]


class Ready(msgspec.Struct, frozen=True):
    """What a process writes to its ready file once it serves: its real addresses, and its process id."""

    metrics: str
    pid: int
    grpc: str = ""


@dataclass(frozen=True, kw_only=True)
class Service:
    """What a process serves: the servicer of each gRPC service, what runs beside them, and what ends them.

    `drain` ends the open streams; `close` gives back connections after the last call; `beside` runs until cancelled.
    """

    servicers: Sequence[tuple[ServiceDescriptor, object]]
    beside: Sequence[Coroutine[Any, Any, None]] = ()
    drain: Sequence[Hook] = field(default_factory=tuple)
    close: Sequence[Hook] = field(default_factory=tuple)


def run(main: Coroutine[Any, Any, None]) -> None:
    """Run `main` to its end on uvloop."""
    uvloop.run(main)


async def serve(service: Service, settings: ServerSettings) -> None:
    """Serve `service` until SIGTERM or SIGINT, then drain and stop."""
    server = grpc.aio.server(options=_options(settings))
    verifier = Verifier(settings.player_keys_file, settings.service_keys_file)
    gate = Gate(
        verifier,
        max_request_bytes=settings.max_request_bytes,
        max_streams_per_player=settings.max_streams_per_player,
    )
    health_servicer = aio_health.HealthServicer()
    names = [descriptor.full_name for descriptor, _ in service.servicers]
    server.add_generic_rpc_handlers([handlers(descriptor, each, gate) for descriptor, each in service.servicers])
    foreign = ForeignServices(server)
    health_pb2_grpc.add_HealthServicer_to_server(health_servicer, foreign)
    if settings.reflection:
        shown = [*names, health.SERVICE_NAME, reflection.SERVICE_NAME]
        reflection_pb2_grpc.add_ServerReflectionServicer_to_server(aio_reflection.ReflectionServicer(shown), foreign)
    server.add_generic_rpc_handlers([UnknownMethods()])
    host = settings.listen.rpartition(":")[0]
    port = _bind(server, settings.listen)
    await server.start()
    tasks = [asyncio.create_task(_never_silent(coroutine)) for coroutine in service.beside]
    for name in ["", *names]:
        await health_servicer.set(name, health_pb2.HealthCheckResponse.SERVING)
    announce(settings, grpc_address=f"{host}:{port}")
    await stop_signal()
    log.info("server_draining")
    with _Watchdog(settings.drain_seconds + WATCHDOG_SECONDS):
        await health_servicer.enter_graceful_shutdown()
        await _each(service.drain)
        await server.stop(settings.drain_seconds)
        await cancel(tasks)
        await _each(service.close)
    log.info("server_stopped")


class CannotListen(Exception):
    """The address is taken, or not this machine's."""


def _bind(server: grpc.aio.Server, address: str) -> int:
    try:
        return server.add_insecure_port(address)
    except RuntimeError as error:
        raise CannotListen(
            f"cannot listen on {address}: stop what does, or choose another address "
            "(PROMONTORY_LISTEN; `promontory up --any-ports`)"
        ) from error


def announce(settings: ProcessSettings, *, grpc_address: str = "") -> Ready:
    """Serve the metrics, and tell the world in log and ready file where this process is reached."""
    ready = Ready(metrics=metrics.serve(settings.metrics_listen), pid=os.getpid(), grpc=grpc_address)
    if settings.ready_file is not None:
        _write_whole(settings.ready_file, msgspec.json.encode(ready))
    log.info("process_ready", grpc=ready.grpc, metrics=ready.metrics)
    return ready


async def stop_signal() -> None:
    """Wait for SIGTERM or SIGINT."""
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()


def _options(settings: ServerSettings) -> list[tuple[str, int]]:
    return [
        ("grpc.max_receive_message_length", 16 * settings.max_request_bytes),
        ("grpc.max_concurrent_streams", MAX_STREAMS_PER_CONNECTION),
        ("grpc.max_connection_age_ms", int(settings.max_connection_age_seconds * 1000)),
        ("grpc.max_connection_age_grace_ms", int(settings.max_connection_age_seconds * 1000)),
        ("grpc.keepalive_time_ms", 30_000),
        ("grpc.keepalive_timeout_ms", 10_000),
        ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
        ("grpc.so_reuseport", 0),
    ]


async def _never_silent(coroutine: Coroutine[Any, Any, None]) -> None:
    """Run `coroutine`; if it fails, end the process, because a service without its background work is a lie."""
    try:
        await coroutine
    except Exception:
        log.exception("background_failed")
        os.kill(os.getpid(), signal.SIGTERM)
        raise


async def _each(hooks: Sequence[Hook]) -> None:
    for hook in hooks:
        await hook()


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
