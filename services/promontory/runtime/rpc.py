"""Serving calls: a servicer's methods, each wrapped once for identity, limits, errors, metrics and its log line."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    aclosing,
    asynccontextmanager,
    contextmanager,
)
from typing import Any

import grpc
import structlog
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc.status_pb2 import Status
from grpc_status import rpc_status

from promontory.runtime import clock, metrics, tracing
from promontory.runtime.allowance import Allowance, calls, commands
from promontory.runtime.errors import LIMIT_NAME, Kind, Refusal, as_refusal, status
from promontory.runtime.identity import Bearer, Verifier, caller, serve_as
from promontory.runtime.limits import Limit, Limits, limit_reached
from promontory.runtime.open_streams import OpenStreams
from promontory.runtime.players import Players
from promontory.runtime.stalls import Reader

log = structlog.get_logger()

Context = grpc.aio.ServicerContext[Any, Any]
_OTHER = "other"
STREAMS_RETRY_SECONDS = 1
ENTRY_BYTES = 32
"""What an entry of metadata counts beside its key and value, as HTTP/2 counts it."""
COMMANDING_FIELD = "request_id"
"""The field that every request has that changes something for a player."""
TURNS = 4
"""How many of a player's unary calls one process works on at a time."""
ALARMING = (
    *("ARCHIVE_MISSING", "ARCHIVE_UNAVAILABLE", "CLOCK_SKEWED", "EVENT_LOG_UNAVAILABLE", "INTERNAL", "LOG_CORRUPT"),
    *("TOKEN_INVALID", "TOKEN_REVOKED"),
)
"""The reasons that operators are told of at the first time."""
LOGGED = ("cause",)
"""What of a refusal's metadata stands in the log line."""
_LEVELS = {Kind.FAULT: "error", Kind.UNAVAILABLE: "warning"}


class _Line:
    """A player's unary calls: those under way, and those that wait for their turn."""

    def __init__(self) -> None:
        self.length = 0
        self.turns = asyncio.Semaphore(TURNS)


class Method:
    """What a gate wants to know of a method: how its requests are read, and whether they command something."""

    def __init__(self, method: MethodDescriptor) -> None:
        self._parse: Callable[[bytes], Message] = GetMessageClass(method.input_type).FromString
        self.commands = COMMANDING_FIELD in method.input_type.fields_by_name

    def read(self, raw: bytes) -> Message:
        """Return the request in `raw`; raise `BAD_REQUEST` if there is none."""
        try:
            return self._parse(raw)
        except DecodeError as error:
            raise no_message() from error


class Gate:
    """What stands in front of every method of a server: the verifier of tokens, who bears them, and the limits."""

    def __init__(self, verifier: Verifier, limits: Limits, players: Players) -> None:
        self.verifier, self._limits, self._players = verifier, limits, players
        self._open = OpenStreams()
        players.on_refused = self._open.end
        self.stall_seconds = limits.stall_seconds
        self._calls = Allowance(calls(limits.calls_per_second))
        self._commands = Allowance(commands(limits.commands_per_second))
        self._streams = Counter[str]()
        self._lines: dict[str, _Line] = {}

    @property
    def open_streams(self) -> int:
        """How many streams are open, whoever's."""
        return self._streams.total()

    async def admit(self, raw: bytes, context: Context, method: Method) -> Message:
        """Return the request of a call whose token verifies, and make its bearer the caller; or raise `Refusal`."""
        await self.identify(context)
        self.check_size(raw)
        self.spend(commands=method.commands)
        return method.read(raw)

    async def identify(self, context: Context) -> Bearer:
        """Make the bearer of a call's token the caller, and return them; or raise `Refusal`."""
        bearer = self.verifier.read(_bearer(context))
        serve_as(await self._players.identify(bearer))
        size, most = _metadata_bytes(context), self._limits.metadata_bytes
        if size > most:
            text = f"the metadata has {size} bytes, {ENTRY_BYTES} for each entry counted; at most {most} are taken"
            raise limit_reached(Limit.METADATA_BYTES, most, text)
        return bearer

    def check_size(self, raw: bytes) -> None:
        """Raise `LIMIT_REACHED` if a request is too long."""
        most = self._limits.request_bytes
        if len(raw) > most:
            text = f"the request has {len(raw)} bytes; at most {most} are taken"
            raise limit_reached(Limit.REQUEST_BYTES, most, text)

    def spend(self, *, commands: bool) -> None:
        """Count a call of the present caller's, and whether it `commands`; raise `LIMIT_REACHED` at too many."""
        who = caller()
        self._calls.spend(who)
        if commands:
            self._commands.spend(who)

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Run the body when the present caller has fewer than `TURNS` calls under way; the others wait in line.

        So a player who asks for much at once waits for it alone. Services have any number.
        """
        who = caller()
        if who.service:
            yield
            return
        line = self._lines.setdefault(who.subject, _Line())
        line.length += 1
        try:
            async with line.turns:
                yield
        finally:
            line.length -= 1
            if not line.length:
                del self._lines[who.subject]

    @contextmanager
    def streaming(self) -> Iterator[None]:
        """Count a stream of the present caller's while the body runs; raise `LIMIT_REACHED` if that is one too many.

        Services may have any number. Raises `TOKEN_REVOKED` or `PLAYER_SUSPENDED` when that comes meanwhile.
        """
        who, most = caller(), self._limits.streams_per_player
        if not who.service and self._streams[who.subject] >= most:
            text = f"the player has {most} open streams here, the most allowed; close some"
            raise limit_reached(Limit.STREAMS, most, text, retry_seconds=STREAMS_RETRY_SECONDS)
        self._streams[who.subject] += 1
        try:
            with self._open.until_refused(who.account):
                yield
        finally:
            self._streams[who.subject] -= 1
            if not self._streams[who.subject]:
                del self._streams[who.subject]


class Requests:
    """The requests that come over one stream, each of them as good as a call. Iterating yields them.

    That raises `Refusal`, which is to end the stream, where a request is too long or none at all. The token of who
    sends them is good until `ends`, in seconds since the epoch.
    """

    def __init__(
        self,
        raws: AsyncIterator[bytes],
        gate: Gate,
        method: Method,
        count_refusal: Callable[[Exception], Refusal],
        *,
        ends: float = math.inf,
    ) -> None:
        self._raws, self._gate, self._method, self._count_refusal = raws, gate, method, count_refusal
        self._ends = ends

    @property
    def good_seconds(self) -> float:
        """For how long requests are accepted still: as long as the token is."""
        return self._ends - clock.now().timestamp()

    async def __aiter__(self) -> AsyncIterator[Any]:
        async for raw in self._raws:
            self._gate.check_size(raw)
            yield self._method.read(raw)

    def spend(self, *, commands: bool) -> None:
        """Count a request as a call; see `Gate.spend`."""
        self._gate.spend(commands=commands)

    def streaming(self) -> AbstractContextManager[None]:
        """Count what a request opens as a stream; see `Gate.streaming`."""
        return self._gate.streaming()

    def turn(self) -> AbstractAsyncContextManager[None]:
        """Run what a request asks for as one of the caller's calls; see `Gate.turn`."""
        return self._gate.turn()

    def refuse(self, error: Exception) -> Status:
        """Return what a request is answered that is refused by `error`; the stream goes on."""
        return status(self._count_refusal(error))


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
        return grpc.stream_stream_rpc_method_handler(call.stream, response_serializer=_serialize)
    if method.server_streaming:
        return grpc.unary_stream_rpc_method_handler(call.stream, response_serializer=_serialize)
    return grpc.unary_unary_rpc_method_handler(call.unary, response_serializer=_serialize)


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


def _serialize(message: Message) -> bytes:
    return message.SerializeToString()


class _Call:
    """One method with everything around it."""

    def __init__(self, method: MethodDescriptor, serve: Callable[..., Any], gate: Gate) -> None:
        self._serve, self._gate, self._method = serve, gate, Method(method)
        self._names = {"service": method.containing_service.name, "method": method.name}
        self._seconds = metrics.RPC_SECONDS.labels(**self._names)

    async def unary(self, raw: bytes, context: Context) -> Message | None:
        started = clock.monotonic()
        try:
            request = await self._gate.admit(raw, context, self._method)
            async with self._gate.turn():
                response: Awaitable[Message] = self._serve(request, context)
                message = await response
        except asyncio.CancelledError:
            self._done("CANCELLED", started)
            raise
        except Exception as error:  # noqa: BLE001 - the edge: every error becomes a status
            await self._fail(error, started, context)
            return None
        self._done("OK", started)
        return message

    async def stream(self, incoming: bytes | AsyncIterator[bytes], context: Context) -> AsyncIterator[Message]:
        started = clock.monotonic()
        reader = Reader(self._gate.stall_seconds, lambda error: self._fail(error, started, context))
        try:
            request = await self._opened(incoming, context)
            with self._gate.streaming():
                async with aclosing(self._serve(request, context)) as responses:
                    async for message in responses:
                        with reader.taking():
                            yield message
        except (asyncio.CancelledError, GeneratorExit):
            if not reader.is_cut:
                self._done("CANCELLED", started)
            raise
        except Exception as error:  # noqa: BLE001 - the edge: every error becomes a status
            await reader.fail(error)
        else:
            self._done("OK", started)

    async def _opened(self, incoming: bytes | AsyncIterator[bytes], context: Context) -> Message | Requests:
        if isinstance(incoming, bytes):
            return await self._gate.admit(incoming, context, self._method)
        bearer = await self._gate.identify(context)
        self._gate.spend(commands=False)
        return Requests(incoming, self._gate, self._method, self._count_refusal, ends=bearer.ends)

    def _done(self, code: str, started: float, **keys: object) -> None:
        duration = clock.monotonic() - started
        self._seconds.observe(duration)
        metrics.RPCS.labels(**self._names, code=code).inc()
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


def no_message() -> Refusal:
    """Return the refusal of bytes that are no request."""
    return Refusal(Kind.MALFORMED, "BAD_REQUEST", "the request is not a message of this method")


def method_unknown() -> Refusal:
    """Return the refusal of a call that nothing here answers."""
    return Refusal(Kind.NO_SUCH_METHOD, "METHOD_UNKNOWN", "the server has no such method")


async def abort(context: Context, refusal: Refusal) -> None:
    """End a call with `refusal` as its status."""
    await context.abort_with_status(rpc_status.to_status(status(refusal)))  # type: ignore[attr-defined]


def _metadata_bytes(context: Context) -> int:
    return sum(len(key) + len(value) + ENTRY_BYTES for key, value in context.invocation_metadata() or ())


def _bearer(context: Context) -> str:
    for key, value in context.invocation_metadata() or ():
        if key == "authorization" and isinstance(value, str) and value.startswith("Bearer "):
            return value.removeprefix("Bearer ")
    text = "the call carries no token; send `authorization: Bearer <token>`"
    raise Refusal(Kind.UNAUTHENTICATED, "TOKEN_INVALID", text, metadata={"cause": "missing"})
