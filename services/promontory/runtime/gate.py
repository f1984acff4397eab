"""What stands in front of calls: who makes them, and how many, how long and how large they may be."""

from __future__ import annotations

import asyncio
import math
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, contextmanager
from typing import Any

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import DecodeError, Message
from google.protobuf.message_factory import GetMessageClass
from google.rpc.status_pb2 import Status

from promontory.runtime import clock
from promontory.runtime.allowance import Allowance, calls, commands
from promontory.runtime.errors import Kind, Refusal, no_message, status
from promontory.runtime.identity import Bearer, Verifier, caller, serve_as
from promontory.runtime.limits import Limit, Limits, limit_reached
from promontory.runtime.open_streams import OpenStreams
from promontory.runtime.players import Players

STREAMS_RETRY_SECONDS = 1
ENTRY_BYTES = 32
"""What an entry of metadata counts beside its key and value, as HTTP/2 counts it."""
COMMANDING_FIELD = "request_id"
"""The field that every request has that changes something for a player."""
TURNS = 4
"""How many of a player's unary calls one process works on at a time."""

Metadata = Collection[tuple[str, str | bytes]]


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
    """What stands in front of every method of a server: who bears a token that the verifier takes, and the limits."""

    def __init__(self, verifier: Verifier, limits: Limits, players: Players) -> None:
        self._verifier, self._limits, self._players = verifier, limits, players
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

    async def admit(self, raw: bytes, metadata: Metadata, method: Method) -> Message:
        """Return the request of a call whose token verifies, and make its bearer the caller; or raise `Refusal`."""
        await self.identify(metadata)
        self.check_size(raw)
        self.spend(commands=method.commands)
        return method.read(raw)

    async def identify(self, metadata: Metadata) -> Bearer:
        """Make the bearer of a call's token the caller, and return them; or raise `Refusal`."""
        bearer = self._verifier.read(_token(metadata))
        serve_as(await self._players.identify(bearer))
        size, most = _metadata_bytes(metadata), self._limits.metadata_bytes
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


def _metadata_bytes(metadata: Metadata) -> int:
    return sum(len(key) + len(value) + ENTRY_BYTES for key, value in metadata)


def _token(metadata: Metadata) -> str:
    for key, value in metadata:
        if key == "authorization" and isinstance(value, str) and value.startswith("Bearer "):
            return value.removeprefix("Bearer ")
    text = "the call carries no token; send `authorization: Bearer <token>`"
    raise Refusal(Kind.UNAUTHENTICATED, "TOKEN_INVALID", text, metadata={"cause": "missing"})
