"""Serving calls: a servicer's methods, each wrapped once for identity, limits, errors, metrics and its log line."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import Any

import grpc
import structlog
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import Message
from grpc_status import rpc_status

from promontory.runtime import clock, metrics, tracing
from promontory.runtime.errors import LIMIT_NAME, Kind, Refusal, as_refusal, method_unknown, status
from promontory.runtime.gate import Gate, Metadata, Method, Requests
from promontory.runtime.identity import caller
from promontory.runtime.stalls import Reader

log = structlog.get_logger()

Context = grpc.aio.ServicerContext[Any, Any]
_OTHER = "other"
ALARMING = (
    *("ARCHIVE_MISSING", "ARCHIVE_UNAVAILABLE", "CLOCK_SKEWED", "EVENT_LOG_UNAVAILABLE", "INTERNAL", "LOG_CORRUPT"),
    *("TOKEN_INVALID", "TOKEN_REVOKED"),
)
"""The reasons that operators are told of at the first time."""
LOGGED = ("cause",)
"""What of a refusal's metadata stands in the log line."""
_LEVELS = {Kind.FAULT: "error", Kind.UNAVAILABLE: "warning"}


def handlers(service: ServiceDescriptor, servicer: object, gate: Gate) -> grpc.GenericRpcHandler[Any, Any]:
    """Return the handlers of all of `service`'s methods, which `servicer` must have under their names."""
    metrics.begin(metrics.REFUSALS, service=[service.name], reason=ALARMING)
    table = {method.name: _handler(method, getattr(servicer, method.name), gate) for method in service.methods}
    return grpc.method_handlers_generic_handler(service.full_name, table)


class UnknownMethods(grpc.GenericRpcHandler):  # type: ignore[type-arg]
    """Answers calls of methods that no service has; add it last."""

    def service(self, handler_call_details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler[Any, Any]:
        """Return the handler that refuses with `METHOD_UNKNOWN`."""

        async def refuse(_request: bytes, context: Context) -> None:
            refusal = method_unknown()
            code = refusal.kind.value.name
            metrics.RPCS.labels(service=_OTHER, method=_OTHER, code=code).inc()
            log.info("rpc_refused", path=handler_call_details.method, code=code, reason=refusal.reason)
            await abort(context, refusal)

        return grpc.unary_unary_rpc_method_handler(refuse)


def _handler(method: MethodDescriptor, serve: Callable[..., Any], gate: Gate) -> grpc.RpcMethodHandler[Any, Any]:
    if tracing.is_on() and not method.server_streaming:
        serve = _traced(method, serve)
    call = _Call(method, serve, gate)
    if method.client_streaming:
        return grpc.stream_stream_rpc_method_handler(call.stream, response_serializer=encoded)
    if method.server_streaming:
        return grpc.unary_stream_rpc_method_handler(call.stream, response_serializer=encoded)
    return grpc.unary_unary_rpc_method_handler(call.unary, response_serializer=encoded)


def _traced(method: MethodDescriptor, serve: Callable[..., Any]) -> Callable[..., Any]:
    """Return `serve` in a span: part of the trace of a service that calls, while players' traces are only referred to.

    Else whoever calls could say what is sampled.
    """
    name = f"{method.containing_service.name}/{method.name}"

    async def traced(request: Any, context: Context) -> Any:
        told = tracing.told(context.invocation_metadata())
        cause = tracing.Cause(parent=told) if caller().service else tracing.Cause(link=told)
        attributes = {"rpc.system": "grpc", **tracing.about(getattr(request, "match_id", ""))}
        with tracing.span(name, tracing.Kind.SERVER, cause=cause, attributes=attributes) as span:
            try:
                return await serve(request, context)
            except Exception as error:
                refusal = as_refusal(error)
                span.tell({"rpc.grpc.status_code": refusal.kind.value.value[0], "promontory.reason": refusal.reason})
                if refusal.kind in _LEVELS:
                    span.fail(refusal.reason)
                raise

    return traced


def encoded(message: Message | bytes) -> bytes:
    """Return the bytes of a response, which may be encoded already."""
    return message if isinstance(message, bytes) else message.SerializeToString()


class _Call:
    """One method with everything around it."""

    def __init__(self, method: MethodDescriptor, serve: Callable[..., Any], gate: Gate) -> None:
        self._serve, self._gate, self._method = serve, gate, Method(method)
        self._names = {"service": method.containing_service.name, "method": method.name}
        self._seconds = metrics.RPC_SECONDS.labels(**self._names)

    async def unary(self, raw: bytes, context: Context) -> Message | bytes | None:
        started = clock.monotonic()
        try:
            request = await self._gate.admit(raw, _metadata(context), self._method)
            async with self._gate.turn():
                response: Awaitable[Message | bytes] = self._serve(request, context)
                message = await response
        except asyncio.CancelledError:
            self._done("CANCELLED", started)
            raise
        except Exception as error:  # noqa: BLE001 - the edge: every error becomes a status
            await self._fail(error, started, context)
            return None
        self._done("OK", started)
        return message

    async def stream(self, incoming: bytes | AsyncIterator[bytes], context: Context) -> AsyncIterator[Message | bytes]:
        started = clock.monotonic()
        reader = Reader(self._gate.stall_seconds, lambda error: self._fail(error, started, context))
        try:
            request = await self._opened(incoming, context)
            with self._gate.streaming():
                async with aclosing(self._serve(request, context)) as responses:
                    async for message in responses:
                        with reader:
                            yield message
        except (asyncio.CancelledError, GeneratorExit):
            if not reader.is_cut:
                self._done("CANCELLED", started)
            raise
        except Exception as error:  # noqa: BLE001 - the edge: every error becomes a status
            await reader.fail(error)
        else:
            self._done("OK", started)
        finally:
            reader.leave()

    async def _opened(self, incoming: bytes | AsyncIterator[bytes], context: Context) -> Message | Requests:
        if isinstance(incoming, bytes):
            return await self._gate.admit(incoming, _metadata(context), self._method)
        bearer = await self._gate.identify(_metadata(context))
        self._gate.spend(commands=False)
        return Requests(incoming, self._gate, self._method, self._count_refusal, ends=bearer.ends)

    def _done(self, code: str, started: float, **keys: object) -> None:
        duration = clock.monotonic() - started
        self._seconds.observe(duration)
        metrics.labelled(metrics.RPCS, **self._names, code=code).inc()
        log.info("rpc_served", **self._names, code=code, duration_seconds=round(duration, 6), **keys)

    async def _fail(self, error: Exception, started: float, context: Context) -> None:
        refusal = self._count_refusal(error, duration_seconds=round(clock.monotonic() - started, 6))
        metrics.RPCS.labels(**self._names, code=refusal.kind.value.name).inc()
        await abort(context, refusal)

    def _count_refusal(self, error: Exception, **keys: object) -> Refusal:
        """Return `error` as callers see it, counted and logged."""
        refusal = as_refusal(error)
        metrics.REFUSALS.labels(service=self._names["service"], reason=refusal.reason).inc()
        if limit := refusal.metadata.get(LIMIT_NAME):
            metrics.LIMITS_REACHED.labels(limit=limit).inc()
        write = getattr(log, _LEVELS.get(refusal.kind, "info"))
        trace = error if refusal.kind is Kind.FAULT else None
        code = refusal.kind.value.name
        told = {name: refusal.metadata[name] for name in LOGGED if name in refusal.metadata} | refusal.logged | keys
        write("rpc_refused", **self._names, code=code, reason=refusal.reason, **told, exc_info=trace)
        return refusal


async def abort(context: Context, refusal: Refusal) -> None:
    """End a call with `refusal` as its status."""
    await context.abort_with_status(rpc_status.to_status(status(refusal)))  # type: ignore[attr-defined]


def _metadata(context: Context) -> Metadata:
    return context.invocation_metadata() or ()
