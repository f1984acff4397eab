"""Serving what comes with gRPC itself, health and reflection, so that no call of it ends in an error of Python's."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import grpc
import structlog
from google.protobuf.message import DecodeError
from grpc_health.v1 import _async as aio_health
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import _async as aio_reflection
from grpc_reflection.v1alpha import reflection, reflection_pb2_grpc

from promontory.runtime.errors import Kind, Refusal, as_refusal, method_unknown, no_message
from promontory.runtime.rpc import Context, abort

log = structlog.get_logger()

TELL_SECONDS = 0.25
"""How long health's watchers have to take the news that the server stops; one that reads nothing blocks it."""

Handler = Any
Parse = Callable[[bytes], Any]


class ForeignServices:
    """Health and, if `reflect` says so, reflection of the services `names` of `server`.

    They are reached without a token. What they refuse themselves, by a status, stays as it is.
    """

    def __init__(self, server: grpc.aio.Server, names: Sequence[str], *, reflect: bool) -> None:
        self._server, self._names = server, names
        self._calls = _Calls()
        self._health = aio_health.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self)
        if reflect:
            servicer = aio_reflection.ReflectionServicer([*names, health.SERVICE_NAME, reflection.SERVICE_NAME])
            reflection_pb2_grpc.add_ServerReflectionServicer_to_server(servicer, self)

    def add_generic_rpc_handlers(self, handlers: Iterable[Any]) -> None:
        """Serve `handlers`, which generated code gives to what it takes for a server."""
        self._server.add_generic_rpc_handlers([_Guarded(handler, self._calls) for handler in handlers])

    def add_registered_method_handlers(self, service: str, handlers: object) -> None:
        """Do nothing: what the same code added as generic handlers is all there is to serve."""

    async def tell_serving(self) -> None:
        """Tell whoever asks that all services serve."""
        for name in ["", *self._names]:
            await self._health.set(name, health_pb2.HealthCheckResponse.SERVING)

    async def drain(self) -> None:
        """Tell that no service serves any more, give watchers a moment to read it, and end all calls."""
        with suppress(TimeoutError):
            async with asyncio.timeout(TELL_SECONDS):
                await self._health.enter_graceful_shutdown()
        if self._calls.any:
            await asyncio.sleep(TELL_SECONDS)
        self._calls.end()


class _Calls:
    """The calls under way, which end when they are told to."""

    def __init__(self) -> None:
        self._tasks = set[asyncio.Task[Any]]()
        self._ended = False

    @property
    def any(self) -> bool:
        """Whether there are any."""
        return bool(self._tasks)

    def end(self) -> None:
        """End all calls with the status that the server stops."""
        self._ended = True
        for task in self._tasks:
            task.cancel()

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Count the present task's call while the body runs; raise `SERVER_DRAINING` where `end` cuts it off."""
        task = asyncio.current_task()
        assert task is not None, "calls are served in tasks"  # noqa: S101 - for the checker
        self._tasks.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if not self._ended:
                raise
            raise Refusal(Kind.UNAVAILABLE, "SERVER_DRAINING", "the server is stopping") from None
        finally:
            self._tasks.discard(task)


class _Guarded(grpc.GenericRpcHandler):  # type: ignore[type-arg]
    """The methods of `inner`, whose requests come as bytes and whose errors become a status here."""

    def __init__(self, inner: Any, calls: _Calls) -> None:
        self._inner, self._calls = inner, calls

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Handler | None:
        """Return the handler of a call, or None if it is for another service."""
        found: Handler | None = self._inner.service(handler_call_details)
        return None if found is None else self._guarded(found)

    def _guarded(self, handler: Handler) -> Handler:
        parse, serialize = handler.request_deserializer, handler.response_serializer
        if handler.request_streaming:
            dialogue = self._dialogue(handler.stream_stream, parse)
            return grpc.stream_stream_rpc_method_handler(dialogue, response_serializer=serialize)
        if handler.response_streaming:
            call = self._call(handler.unary_stream, parse)
            return grpc.unary_stream_rpc_method_handler(call, response_serializer=serialize)
        return grpc.unary_unary_rpc_method_handler(
            self._call(handler.unary_unary, parse), response_serializer=serialize
        )

    def _call(self, serve: Callable[[Any, Context], Awaitable[Any]], parse: Parse) -> Any:
        async def call(raw: bytes, context: Context) -> Any:
            try:
                with self._calls.counted(), _own_errors():
                    return await serve(_parsed(raw, parse), context)
            except Refusal as refusal:
                await abort(context, refusal)

        return call

    def _dialogue(self, serve: Callable[[AsyncIterator[Any], Context], AsyncIterator[Any]], parse: Parse) -> Any:
        async def requests(raws: AsyncIterator[bytes]) -> AsyncIterator[Any]:
            async for raw in raws:
                yield _parsed(raw, parse)

        async def dialogue(raws: AsyncIterator[bytes], context: Context) -> AsyncIterator[Any]:
            try:
                with self._calls.counted(), _own_errors():
                    async for response in serve(requests(raws), context):
                        yield response
            except Refusal as refusal:
                await abort(context, refusal)

        return dialogue


def _parsed(raw: bytes, parse: Parse) -> Any:
    try:
        return parse(raw)
    except DecodeError as error:
        raise no_message() from error


@contextmanager
def _own_errors() -> Iterator[None]:
    try:
        yield
    except (grpc.aio.AbortError, Refusal):
        raise
    except NotImplementedError as error:
        raise method_unknown() from error
    except Exception as error:
        log.exception("foreign_call_failed")
        raise as_refusal(error) from error
