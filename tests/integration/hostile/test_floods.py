"""More of everything than anybody needs: the server keeps its answers, its memory and its temper."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from promontory.api.transcontinental.v1 import transcontinental_service_pb2 as pb
from promontory.local.platform import Platform
from tests.support.hostile import GAME_NAMES, PLAIN, REFLECTION, Attacker, failure
from tests.support.serving import reason_of
from tests.support.waiting import eventually

WATCH = "/promontory.api.transcontinental.v1.TranscontinentalService/WatchMatch"
LIMIT, CREATIONS = 20, 40
GET = "/promontory.api.transcontinental.v1.TranscontinentalService/GetMatch"
SERVICES = [*GAME_NAMES, "matchmaking", "scoring"]


class Streams:
    """Many streams of one player, and how those ended that did."""

    def __init__(self, attacker: Attacker, match_id: str, *, player: str, count: int) -> None:
        request = pb.WatchMatchRequest(match_id=match_id).SerializeToString()
        start = attacker.channels["transcontinental"].unary_stream(WATCH, *PLAIN)
        self.calls = [start(request, metadata=attacker.player(player)) for _ in range(count)]
        self.first = [asyncio.create_task(self._first(call)) for call in self.calls]

    async def _first(self, call: grpc.aio.UnaryStreamCall[bytes, bytes]) -> str:
        try:
            await anext(aiter(call))
        except grpc.aio.AioRpcError as error:
            return reason_of(error)
        return "open"

    async def ends(self) -> list[str]:
        """Return for each stream `open`, or why it was refused."""
        return list(await asyncio.gather(*self.first))

    def cut(self) -> None:
        """Cut all of them."""
        for call in self.calls:
            call.cancel()


async def test_a_player_watches_so_many_streams_and_no_more(attacker: Attacker, match_id: str) -> None:
    """[event_log 5.2] The streams of a subject have a limit, and those of others stay as they are."""
    flood = Streams(attacker, match_id, player="eve", count=200)
    ends = await flood.ends()
    assert (ends.count("open"), ends.count("LIMIT_REACHED")) == (LIMIT, 200 - LIMIT)
    honest = Streams(attacker, match_id, player="ada", count=1)
    assert await honest.ends() == ["open"]
    flood.cut()
    honest.cut()


async def all_open(attacker: Attacker, match_id: str) -> bool:
    """Open as many streams as a player may, cut them again, and tell whether all were let in."""
    streams = Streams(attacker, match_id, player="mallory", count=LIMIT)
    ends = await streams.ends()
    streams.cut()
    return set(ends) == {"open"}


async def test_streams_that_were_cut_count_no_longer(attacker: Attacker, match_id: str) -> None:
    """Who has closed some may open others."""
    assert await all_open(attacker, match_id)
    await eventually(lambda: all_open(attacker, match_id))


async def test_a_player_opens_so_many_tables_in_a_minute_and_no_more(attacker: Attacker) -> None:
    """[event_log 5.2] What is left behind has a limit for each player, and others have theirs."""
    table = {"game": "transcontinental", "seats": 2}
    spammer, ends = attacker.player("spammer"), []
    for number in range(CREATIONS):
        ends.append((await attacker.call("lobby.CreateTable", spammer, request_id=f"{number}", **table)).table.table_id)
    refused = await attacker.refused("lobby.CreateTable", spammer, request_id="one more", **table)
    assert (len(set(ends)), refused.code, refused.reason) == (CREATIONS, "RESOURCE_EXHAUSTED", "LIMIT_REACHED")
    await attacker.call("lobby.CreateTable", attacker.player("honest"), request_id="first", **table)


@pytest.mark.parametrize("service", SERVICES)
async def test_metadata_beyond_the_limit_is_refused_whatever_its_size(attacker: Attacker, service: str) -> None:
    """[MAX_METADATA_BYTES] By the platform up to twice the limit, by gRPC above, and never by chance."""
    method = {"scoring": "GetRating", "matchmaking": "ListPools"}.get(service, "GetMatch")
    name = f"{service}.{method}"
    padded = [(*attacker.player("eve"), ("padding", "x" * size)) for size in (8_000, 12_000, 15_000)]
    ends = [await attacker.refused(name, metadata) for metadata in padded]
    assert {(end.reason, end.metadata["limitName"]) for end in ends} == {("LIMIT_REACHED", "max_metadata_bytes")}
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await attacker.send(name, b"", (*attacker.player("eve"), ("padding", "x" * 17_000)))
    assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_calls_that_never_send_a_request_keep_nobody_waiting(attacker: Attacker, match_id: str) -> None:
    """Half-open calls cost the server next to nothing."""
    start: Any = attacker.channels["transcontinental"].stream_unary(GET, *PLAIN)
    calls = [start() for _ in range(300)]
    match = await attacker.call("transcontinental.GetMatch", attacker.player("ada"), match_id=match_id)
    assert match.match.version == 1
    for call in calls:
        call.cancel()


async def test_a_request_that_swells_when_unpacked_is_dropped(
    attacker: Attacker, platform: Platform, match_id: str
) -> None:
    """A hundred megabytes in a hundred kilobytes: refused before they are all there."""
    call = attacker.channels["transcontinental"].unary_unary(GET, *PLAIN)
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await call(bytes(100_000_000), compression=grpc.Compression.Gzip, metadata=attacker.player("eve"))
    assert error.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert platform.processes["transcontinental"].running


@pytest.mark.parametrize("service", SERVICES)
@pytest.mark.parametrize("method", ["Check", "Watch"])
async def test_garbage_sent_to_health_is_refused_like_any_other(attacker: Attacker, service: str, method: str) -> None:
    """[style 7] What comes with gRPC answers with the platform's errors, not with Python's."""
    call = attacker.channels[service].unary_unary(f"/grpc.health.v1.Health/{method}", *PLAIN)
    assert (await failure(call(b"\xff\xff"))).reason == "BAD_REQUEST"


@pytest.mark.parametrize("service", SERVICES)
async def test_what_health_does_not_implement_is_no_method(attacker: Attacker, service: str) -> None:
    """[METHOD_UNKNOWN] The server has no such method."""
    call = attacker.channels[service].unary_unary("/grpc.health.v1.Health/List", *PLAIN)
    assert await failure(call(b"")) == await failure(
        attacker.channels[service].unary_unary("/no.Such/Method", *PLAIN)(b"")
    )


@pytest.mark.parametrize("service", SERVICES)
async def test_garbage_sent_to_reflection_is_refused_like_any_other(attacker: Attacker, service: str) -> None:
    """[style 7] Also in the middle of a dialogue."""

    async def requests() -> AsyncIterator[bytes]:
        yield b"\x3a\x00"
        yield b"\xff\xff"

    dialogue = attacker.channels[service].stream_stream(REFLECTION, *PLAIN)(requests())
    answers = aiter(dialogue)
    assert b"promontory.api" in await anext(answers)
    assert (await failure(anext(answers))).reason == "BAD_REQUEST"
