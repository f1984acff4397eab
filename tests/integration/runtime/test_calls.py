"""What stands around every method: identity, limits, errors, one log line and metrics; over a real channel."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from promontory.api.transcontinental.v1 import transcontinental_service_pb2 as pb
from promontory.eventlog.port import EventLogUnavailable
from promontory.games.kernel import Rejected
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import caller
from tests.integration.runtime.conftest import Scripted
from tests.support.observing import counted, details_of
from tests.support.rules_servers import SERVICE, Client
from tests.support.serving import Keys
from tests.support.waiting import eventually

Code = grpc.StatusCode
LABELS = {"service": "TranscontinentalService", "method": "GetMatch"}
CALLS, SECONDS = "promontory_rpcs_total", "promontory_rpc_duration_seconds_count"
DURATION = "duration_seconds"


async def answer(request: Any, context: Any) -> Any:
    return pb.GetMatchResponse()


async def failed(call: Any) -> grpc.aio.AioRpcError:
    """Return the error with which `call` ends."""
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await call
    return raised.value


async def collected(stream: Any) -> list[int]:
    """Return the versions that `stream` sends before its end."""
    return [message.commit.version async for message in stream]


def raising(error: BaseException) -> Any:
    async def serve(request: Any, context: Any) -> Any:
        raise error

    return serve


async def test_a_call_is_served_as_its_bearer(ada: Client, scripted: Scripted) -> None:
    """Two at once do not take one another's identity."""
    seen = list[str]()

    async def serve(request: Any, context: Any) -> Any:
        await asyncio.sleep(0)
        seen.append(f"{request.match_id} by {caller().subject}")
        return pb.GetMatchResponse()

    scripted.unary = serve
    await asyncio.gather(*(ada.call("GetMatch", match_id=f"{n}") for n in range(3)))
    assert sorted(seen) == ["0 by ada", "1 by ada", "2 by ada"]


async def test_a_served_call_leaves_one_line_and_its_figures(ada: Client, scripted: Scripted, lines: list[Any]) -> None:
    """[style 8] One canonical line per RPC."""
    before = counted(CALLS, **LABELS, code="OK"), counted(SECONDS, **LABELS)
    scripted.unary = answer
    await ada.call("GetMatch", match_id="tc-1")
    (line,) = lines
    assert line.pop("duration_seconds") >= 0
    assert line == {"event": "rpc_served", "log_level": "info", "code": "OK", **LABELS}
    assert (counted(CALLS, **LABELS, code="OK"), counted(SECONDS, **LABELS)) == (before[0] + 1, before[1] + 1)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Refusal(Kind.NOT_FOUND, "MATCH_NOT_FOUND", "no"), ("NOT_FOUND", "MATCH_NOT_FOUND", "info")),
        (Rejected("NOT_A_MELD", rule="T 4.1"), ("FAILED_PRECONDITION", "NOT_A_MELD", "info")),
        (EventLogUnavailable("lost"), ("UNAVAILABLE", "EVENT_LOG_UNAVAILABLE", "warning")),
        (ZeroDivisionError("secret"), ("INTERNAL", "INTERNAL", "error")),
    ],
)
async def test_a_failed_call_leaves_one_line_and_its_figure(
    ada: Client, scripted: Scripted, lines: list[Any], error: Exception, expected: tuple[str, str, str]
) -> None:
    """[style 8] Rejections are info, retries warnings, bugs errors."""
    before = counted(CALLS, **LABELS, code=expected[0])
    scripted.unary = raising(error)
    refused = await failed(ada.call("GetMatch", match_id="tc-1"))
    (line,) = lines
    assert (refused.code().name, details_of(refused)["ErrorInfo"].reason) == expected[:2]
    assert (line["event"], line["code"], line["reason"], line["log_level"]) == ("rpc_refused", *expected)
    assert counted(CALLS, **LABELS, code=expected[0]) == before + 1


async def test_the_details_of_a_bug_go_to_the_log_only(ada: Client, scripted: Scripted, lines: list[Any]) -> None:
    """[style 7] INTERNAL."""
    bug = ZeroDivisionError("secret")
    scripted.unary = raising(bug)
    refused = await failed(ada.call("GetMatch", match_id="tc-1"))
    assert "secret" not in repr(refused)
    assert [line["exc_info"] for line in lines] == [bug]


@pytest.mark.parametrize("garbage", [b"\xff", b"\x0a\xff", b"\x0a\x02\xff\xfe", b"\x0a\x05ab", b"{}"])
@pytest.mark.parametrize("method", ["GetMatch", "SubmitCommand", "WatchMatch"])
async def test_bytes_that_are_no_request_are_refused(ada: Client, method: str, garbage: bytes) -> None:
    """[errors BAD_REQUEST] Not as a fault of the server."""
    refused = await failed(ada.raw(method, garbage))
    assert (refused.code(), details_of(refused)["ErrorInfo"].reason) == (Code.INVALID_ARGUMENT, "BAD_REQUEST")


@pytest.mark.parametrize("method", ["GetMatch", "WatchMatch"])
async def test_a_request_that_is_too_large_is_refused_with_the_limit(ada: Client, method: str) -> None:
    """[errors LIMIT_REACHED] Before it is read."""
    refused = await failed(ada.raw(method, b"\x0a\xff\xff\x03" + b"x" * 65_535))
    details = details_of(refused)["ErrorInfo"]
    assert (refused.code(), details.reason) == (Code.RESOURCE_EXHAUSTED, "LIMIT_REACHED")
    assert dict(details.metadata) == {"limitName": "max_request_bytes", "limit": "65536"}


async def test_a_request_of_just_the_limit_is_taken(ada: Client, scripted: Scripted) -> None:
    scripted.unary = answer
    assert await ada.raw("GetMatch", b"\x0a\xfc\xff\x03" + b"x" * 65_532) == b""


@pytest.mark.parametrize(
    ("metadata", "cause"),
    [
        ((), "missing"),
        ((("authorization", ""),), "missing"),
        ((("authorization", "Bearer"),), "missing"),
        ((("authorization", "Basic YWRhOmFkYQ=="),), "missing"),
        ((("token", "x"),), "missing"),
        ((("authorization-bin", b"Bearer x"),), "missing"),
        ((("authorization", "Bearer "),), "does not verify"),
        ((("authorization", "Bearer x"),), "does not verify"),
        ((("authorization", "Bearer ~~~"),), "does not verify"),
    ],
)
@pytest.mark.parametrize("method", ["GetMatch", "WatchMatch"])
async def test_without_a_token_nothing_is_served(
    channel: grpc.aio.Channel, lines: list[Any], method: str, metadata: Any, cause: str
) -> None:
    """[errors TOKEN_INVALID] Not even the request is looked at."""
    refused = await failed(Client(channel, metadata).raw(method, b"\xff"))
    assert (refused.code(), dict(details_of(refused)["ErrorInfo"].metadata)) == (Code.UNAUTHENTICATED, {"cause": cause})
    assert [(line["reason"], line["cause"]) for line in lines] == [("TOKEN_INVALID", cause)]


async def test_no_token_is_in_a_log_line(channel: grpc.aio.Channel, keys: Keys, scripted: Scripted, lines: Any) -> None:
    """[style 8] Never hands, decks or tokens; whether the call succeeds, is refused, or shows a bug."""
    tokens = [keys.as_player("ada"), keys.as_service("match:create"), (("authorization", "Bearer made.up.token"),)]
    scripted.unary = raising(ZeroDivisionError())
    [await failed(Client(channel, metadata).raw("GetMatch", b"")) for metadata in tokens]
    scripted.unary = answer
    await Client(channel, tokens[0]).raw("GetMatch", b"")
    secrets = [metadata[0][1].removeprefix("Bearer ") for metadata in tokens]
    assert len(lines) == 4
    assert [secret for secret in secrets if any(part in str(lines) for part in secret.split("."))] == []


async def test_an_unknown_method_is_refused_counted_and_told(
    ada: Client, channel: grpc.aio.Channel, lines: list[Any]
) -> None:
    """[errors METHOD_UNKNOWN] Under one label: callers choose the names, and labels come from closed sets."""
    labels = {"service": "other", "method": "other", "code": "UNIMPLEMENTED"}
    before = counted(CALLS, **labels)
    refused = await failed(channel.unary_unary(f"/{SERVICE}/Cheat", *(None, None))(b""))
    assert (refused.code(), details_of(refused)["ErrorInfo"].reason) == (Code.UNIMPLEMENTED, "METHOD_UNKNOWN")
    assert [(line["event"], line["path"]) for line in lines] == [("rpc_refused", f"/{SERVICE}/Cheat")]
    assert counted(CALLS, **labels) == before + 1


async def test_a_stream_leaves_one_line_at_its_end(ada: Client, scripted: Scripted, lines: list[Any]) -> None:
    async def serve(request: Any, context: Any) -> AsyncIterator[Any]:
        yield pb.WatchMatchResponse(commit={"version": 1})
        yield pb.WatchMatchResponse(commit={"version": 2})

    scripted.stream = serve
    assert await collected(ada.stream("WatchMatch", match_id="tc-1")) == [1, 2]
    assert [(line["event"], line["method"], line["code"]) for line in lines] == [("rpc_served", "WatchMatch", "OK")]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (Refusal(Kind.UNAVAILABLE, "SERVER_DRAINING", "stopping"), (Code.UNAVAILABLE, "SERVER_DRAINING")),
        (KeyError("secret"), (Code.INTERNAL, "INTERNAL")),
    ],
)
async def test_a_stream_that_fails_ends_with_its_error_after_what_it_sent(
    ada: Client, scripted: Scripted, lines: list[Any], error: Exception, expected: tuple[Code, str]
) -> None:
    """What came before the error is not lost."""

    async def serve(request: Any, context: Any) -> AsyncIterator[Any]:
        yield pb.WatchMatchResponse(commit={"version": 1})
        raise error

    scripted.stream = serve
    stream = aiter(ada.stream("WatchMatch", match_id="tc-1"))
    assert (await anext(stream)).commit.version == 1
    refused = await failed(anext(stream))
    assert (refused.code(), details_of(refused)["ErrorInfo"].reason) == expected
    assert [(line["event"], line["reason"]) for line in lines] == [("rpc_refused", expected[1])]


class Held:
    """Methods that wait until their caller gives up, and tell that they began and that they cleaned up."""

    def __init__(self) -> None:
        self.began, self.ended = asyncio.Event(), asyncio.Event()

    async def unary(self, request: Any, context: Any) -> Any:
        self.began.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.ended.set()

    async def waiting(self, request: Any, context: Any) -> AsyncIterator[Any]:
        yield pb.WatchMatchResponse(commit={"version": 1})
        await self.unary(request, context)

    async def flooding(self, request: Any, context: Any) -> AsyncIterator[Any]:
        self.began.set()
        try:
            while True:
                yield pb.WatchMatchResponse(snapshot={"match": {"match_id": "x" * 60_000}})
        finally:
            self.ended.set()


async def _cancelled(lines: list[Any]) -> bool:
    return [line["code"] for line in lines] == ["CANCELLED"]


async def test_a_cancelled_call_ends_its_work_and_is_told(ada: Client, scripted: Scripted, lines: list[Any]) -> None:
    """Its caller is gone: nobody would hear of it otherwise."""
    before, held = counted(CALLS, **LABELS, code="CANCELLED"), Held()
    scripted.unary = held.unary
    call = asyncio.create_task(ada.call("GetMatch", match_id="tc-1"))
    await held.began.wait()
    call.cancel()
    await held.ended.wait()
    await eventually(lambda: _cancelled(lines))
    assert counted(CALLS, **LABELS, code="CANCELLED") == before + 1


@pytest.mark.parametrize("way", ["waiting", "flooding"])
async def test_a_cancelled_stream_ends_its_work_and_is_told(
    ada: Client, scripted: Scripted, lines: list[Any], way: str
) -> None:
    """Whether it waits for news, or for a client that does not read."""
    held = Held()
    scripted.stream = getattr(held, way)
    stream = ada.stream("WatchMatch", match_id="tc-1")
    await stream.read()
    await held.began.wait()
    stream.cancel()
    await held.ended.wait()
    await eventually(lambda: _cancelled(lines))


async def test_a_refusal_with_endless_details_still_arrives(ada: Client, scripted: Scripted) -> None:
    """A status travels in a few kilobytes of metadata: what is beyond is left out, the reason never."""
    fields = {f"setup.seats[{n}].player_id": "must be 1 to 64 of a-z" * 5 for n in range(5000)}
    scripted.unary = raising(
        Refusal(Kind.MALFORMED, "BAD_REQUEST", "x" * 50_000, fields=fields, metadata={"field": "y" * 50_000})
    )
    refused = await failed(ada.call("GetMatch", match_id="tc-1"))
    details = details_of(refused)
    assert (refused.code(), details["ErrorInfo"].reason) == (Code.INVALID_ARGUMENT, "BAD_REQUEST")
    assert details["BadRequest"].field_violations[0].field == "setup.seats[0].player_id"
