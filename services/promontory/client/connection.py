"""Calling the services: one token, a channel per address, safe repetition, streams that outlive their calls."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

import grpc
from google.protobuf.descriptor import ServiceDescriptor
from google.protobuf.message import Message

from promontory import __version__
from promontory.client.endpoints import Endpoints, name_of, open_channel
from promontory.client.errors import (
    Cancelled,
    ClientClosed,
    DeadlineExceeded,
    Internal,
    PromontoryError,
    ResourceExhausted,
    Unavailable,
    Unimplemented,
    from_call,
    is_from_transport,
)
from promontory.client.outages import OnOutage, OutageWatch
from promontory.client.retrying import Patience, Timing, told_silence_seconds
from promontory.client.stubs import Stub

Token: TypeAlias = str | Callable[[], str]
"""A token, or what returns a good one whenever a call is made; it must not block."""

TOO_LARGE = "message larger than max"
"""What gRPC says of a request that it does not even receive."""
_EOF: Any = grpc.aio.EOF  # type: ignore[attr-defined]
_USER_AGENT = f"promontory-python/{__version__}"
_carried: ContextVar[tuple[tuple[str, str], ...]] = ContextVar("carried", default=())


class Moved(Unavailable):
    """What a stream was for goes on over another one at once: nothing failed."""


@contextmanager
def carrying(*metadata: tuple[str, str]) -> Iterator[None]:
    """Add `metadata` to the calls that are made in the body, such as W3C's `traceparent`."""
    token = _carried.set(metadata)
    try:
        yield
    finally:
        _carried.reset(token)


def is_carrying() -> bool:
    """Tell whether the calls that are made now carry anything of their own."""
    return bool(_carried.get())


class Connection:
    """The channels to all services; opened as they are needed, in the event loop that is running then."""

    def __init__(
        self,
        endpoints: str | Mapping[str, str],
        *,
        token: Token,
        retry_seconds: float,
        timing: Timing,
        on_outage: OnOutage | None = None,
    ) -> None:
        """Raise `EndpointError` if the endpoints are malformed."""
        self.outages = OutageWatch(on_outage, retry_seconds)
        self.timing = timing
        self.retry_seconds = retry_seconds
        self.closed = False
        self.lines: dict[str, Remote] | None = None
        """Over what games are played, by their services; None while they are played by calls."""
        self._endpoints = Endpoints(endpoints)
        self._token = token
        self._channels: dict[str, grpc.aio.Channel] = {}
        self._stubs: dict[tuple[str, str], Stub] = {}

    def address(self, service: ServiceDescriptor) -> str:
        """Return the address of `service`. Raises `EndpointError` if none is known."""
        return self._endpoints.address(service.full_name)

    def stub(self, service: ServiceDescriptor) -> Stub:
        """Return the stub of `service`. Raises `ClientClosed` once the connection is closed."""
        if self.closed:
            raise ClientClosed("the client is closed", reason="CLIENT_CLOSED")
        key = self.address(service), service.full_name
        if key not in self._stubs:
            self._stubs[key] = Stub(self._channel(key[0]), service)
        return self._stubs[key]

    async def abandon(self, service: ServiceDescriptor, stub: Stub) -> None:
        """Give up the channel of `stub`, over which nothing comes any more: the next call opens another.

        A connection that died without a word looks alive for minutes. What else waits on it fails at once, to be
        repeated.
        """
        address = self.address(service)
        if self._stubs.get((address, service.full_name)) is stub:
            self._stubs = {key: other for key, other in self._stubs.items() if key[0] != address}
            await self._channels.pop(address).close(None)

    def token(self) -> str:
        """Return the token for a call that is made now."""
        token = self._token if isinstance(self._token, str) else self._token()
        return token.strip()

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Return the metadata that every call carries."""
        token = self.token()
        return ((("authorization", f"Bearer {token}"),) if token else ()) + _carried.get()

    async def close(self) -> None:
        """Close all channels; calls and streams under way end with `ClientClosed`."""
        self.closed = True
        channels, self._channels, self._stubs = list(self._channels.values()), {}, {}
        for channel in channels:
            await channel.close(None)

    def _channel(self, address: str) -> grpc.aio.Channel:
        if address not in self._channels:
            self._channels[address] = open_channel(address, _USER_AGENT)
        return self._channels[address]


class Remote:
    """One service, as the client calls it."""

    def __init__(self, connection: Connection, service: ServiceDescriptor) -> None:
        self._connection = connection
        self._service = service
        self._timing = connection.timing

    def patience(self) -> Patience:
        """Return the patience for one call or one watch."""
        return Patience(self._timing, self._connection.retry_seconds)

    async def call(self, method: str, request: Message) -> Any:
        """Return the answer to `request`, or raise a `PromontoryError`.

        What fails because a server is unavailable or was stopped is repeated, what came too fast, and what got no
        answer in time if it carries a request id: always the same request, so it takes effect once.
        """
        patience = self.patience()
        while True:
            try:
                answer = await self._attempt(method, request, patience)
            except PromontoryError as error:
                if not _is_repeatable(error, request):
                    raise
                await self._pause(patience, error)
            else:
                self._connection.outages.answered(self._connection.address(self._service))
                return answer

    async def pages(self, method: str, request: Any) -> AsyncGenerator[Any]:
        """Yield the answers of a listing method, page after page; `request` asks for the first and is changed."""
        while True:
            answer = await self.call(method, request)
            yield answer
            if not answer.next_page_token:
                return
            request.page_token = answer.next_page_token

    async def stream(self, method: str, request: Message) -> AsyncGenerator[Any]:
        """Yield the messages of one streaming call, until it ends; raise `Unavailable` if it falls silent."""
        stub, silence_seconds = self._connection.stub(self._service), self._timing.silence_seconds
        call = getattr(stub, method)(request, metadata=self._connection.metadata())
        try:
            while (message := await self._read(stub, method, call, silence_seconds)) is not _EOF:
                self._connection.outages.answered(self._connection.address(self._service))
                silence_seconds = told_silence_seconds(message) or silence_seconds
                yield message
        finally:
            call.cancel()

    async def whole(self, method: str, request: Message) -> bytes:
        """Return the bytes that one streaming call gives in chunks; a call that breaks is made anew."""
        patience = self.patience()
        while True:
            try:
                return b"".join([piece.chunk async for piece in self.stream(method, request)])
            except (ResourceExhausted, Unavailable) as error:
                await self._pause(patience, error)

    async def resuming(
        self, method: str, next_request: Callable[[], Message], patience: Patience
    ) -> AsyncGenerator[Any]:
        """Yield the messages of a stream that is called again, with `next_request()`, whenever it breaks or ends.

        Endless: the caller leaves when it has the last message, and renews `patience` when it has got anything new.
        """
        while True:
            cut: PromontoryError = Unavailable("the stream ended before its time", reason="STREAM_CUT")
            try:
                async with aclosing(self.stream(method, next_request())) as messages:
                    async for message in messages:
                        yield message
            except PromontoryError as error:
                if not _is_resumable(error):
                    raise
                cut = error
            await self._pause(patience, cut)

    async def _pause(self, patience: Patience, error: PromontoryError) -> None:
        if isinstance(error, Moved) and patience.seconds_left():
            return
        if not isinstance(error, ResourceExhausted):
            self._connection.outages.failed(self._connection.address(self._service), error)
        await patience.pause(error)

    async def _attempt(self, method: str, request: Message, patience: Patience) -> Any:
        stub, seconds = self._connection.stub(self._service), self._attempt_seconds(patience)
        try:
            with self._failures(method):
                return await getattr(stub, method)(request, timeout=seconds, metadata=self._connection.metadata())
        except DeadlineExceeded as error:
            if is_from_transport(error):
                await self._connection.abandon(self._service, stub)
            raise

    def _attempt_seconds(self, patience: Patience) -> float:
        """Return how long one attempt may take."""
        return min(self._timing.call_seconds, patience.seconds_left() or self._timing.call_seconds)

    async def _read(self, stub: Stub, method: str, call: Any, silence_seconds: float) -> Any:
        try:
            with self._failures(method):
                async with asyncio.timeout(silence_seconds):
                    return await call.read()
        except TimeoutError:
            await self._connection.abandon(self._service, stub)
            text = f"the stream was silent for {silence_seconds:g} seconds"
            raise Unavailable(text, reason="STREAM_SILENT") from None

    @contextmanager
    def _failures(self, method: str) -> Iterator[None]:
        """Turn what gRPC raises in the body into what the SDK raises."""
        try:
            yield
        except grpc.aio.AioRpcError as error:
            raise self._placed(from_call(error), method) from None
        except (asyncio.CancelledError, grpc.aio.UsageError):
            task = asyncio.current_task()
            if task is not None and task.cancelling():
                raise
            if self._connection.closed:
                raise ClientClosed("the client was closed", reason="CLIENT_CLOSED") from None
            raise Unavailable("the connection was given up", reason="CONNECTION_ABANDONED") from None

    def _placed(self, error: PromontoryError, method: str) -> PromontoryError:
        """Return `error` with what it takes to see that the endpoint is at fault, where it may be."""
        address, service = self._connection.address(self._service), self._service.full_name
        match error:
            case Unimplemented(reason="METHOD_UNKNOWN" | "UNIMPLEMENTED"):
                name = name_of(service)
                text = f"{address} has no method {service}/{method}; is that where {name} is?"
                text = f"{text} An endpoint for each service: matchmaking=host:port,{name}=host:port"
                metadata = {**error.metadata, "address": address, "method": f"/{service}/{method}"}
                return Unimplemented(text, reason=error.reason, metadata=metadata)
            case ResourceExhausted() if is_from_transport(error) and TOO_LARGE in error.message:
                text = f"the request is larger than {address} takes ({error.message})"
                return ResourceExhausted(text, reason="LIMIT_REACHED", metadata={"limitName": "max_request_bytes"})
            case Unavailable() if is_from_transport(error):
                return Unavailable(f"nothing answers at {address} ({error.message})")
        return error


def _is_repeatable(error: PromontoryError, request: Message) -> bool:
    match error:
        case Unavailable():
            return True
        case ResourceExhausted():
            return error.is_pace
        case Cancelled():  # by a server that was stopped while it served the call
            return is_from_transport(error)
        case DeadlineExceeded():
            return "request_id" in request.DESCRIPTOR.fields_by_name
    return False


def _is_resumable(error: PromontoryError) -> bool:
    """Tell whether a stream may be taken up again after `error`: nothing but reading is repeated."""
    match error:
        case Unavailable() | DeadlineExceeded():
            return True
        case ResourceExhausted():
            return error.retry_after is not None
        case Cancelled() | Internal():
            return is_from_transport(error)
    return False
