"""Serving what comes with gRPC itself, health and reflection, so that no call of it ends in an error of Python's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import structlog
from google.protobuf.message import DecodeError

from promontory.runtime.errors import Refusal, as_refusal
from promontory.runtime.rpc import Context, abort, method_unknown, no_message

log = structlog.get_logger()

Handler = Any
Parse = Callable[[bytes], Any]


class ForeignServices:
    """Takes handlers as a server does, and gives them to `server` with their errors made the platform's own.

    They are reached without a token. What they refuse themselves, by a status, stays as it is.
    """

    def __init__(self, server: grpc.aio.Server) -> None:
        self._server = server

    def add_generic_rpc_handlers(self, handlers: Iterable[Any]) -> None:
        """Serve `handlers`."""
        self._server.add_generic_rpc_handlers([_Guarded(handler) for handler in handlers])

    def add_registered_method_handlers(self, service: str, handlers: object) -> None:
        """Do nothing: what the same code added as generic handlers is all there is to serve."""


class _Guarded(grpc.GenericRpcHandler):  # type: ignore[type-arg]
    """The methods of `inner`, whose requests come as bytes and whose errors become a status here."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> Handler | None:
        """Return the handler of a call, or None if it is for another service."""
        found: Handler | None = self._inner.service(handler_call_details)
        return None if found is None else _guarded(found)


def _guarded(handler: Handler) -> Handler:
    parse, serialize = handler.request_deserializer, handler.response_serializer
    if handler.request_streaming:
        dialogue = _dialogue(handler.stream_stream, parse)
        return grpc.stream_stream_rpc_method_handler(dialogue, response_serializer=serialize)
    if handler.response_streaming:
        return grpc.unary_stream_rpc_method_handler(_call(handler.unary_stream, parse), response_serializer=serialize)
    return grpc.unary_unary_rpc_method_handler(_call(handler.unary_unary, parse), response_serializer=serialize)


def _call(serve: Callable[[Any, Context], Awaitable[Any]], parse: Parse) -> Any:
    async def call(raw: bytes, context: Context) -> Any:
        try:
            with _own_errors():
                return await serve(_parsed(raw, parse), context)
        except Refusal as refusal:
            await abort(context, refusal)

    return call


def _dialogue(serve: Callable[[AsyncIterator[Any], Context], AsyncIterator[Any]], parse: Parse) -> Any:
    async def requests(raws: AsyncIterator[bytes]) -> AsyncIterator[Any]:
        async for raw in raws:
            yield _parsed(raw, parse)

    async def dialogue(raws: AsyncIterator[bytes], context: Context) -> AsyncIterator[Any]:
        try:
            with _own_errors():
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
