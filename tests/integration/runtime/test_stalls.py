"""Readers that take nothing: their streams are cut, and nothing is kept for them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import grpc
import pytest

from promontory.api.match.v1 import match_pb2
from promontory.api.transcontinental.v1 import transcontinental_service_pb2 as pb
from promontory.runtime import stalls
from promontory.runtime.limits import Limits
from tests.integration.runtime.conftest import Scripted
from tests.support.observing import counted, details_of
from tests.support.rules_servers import DESCRIPTOR, Client, as_player
from tests.support.serving import Keys, served
from tests.support.waiting import eventually

LABELS = {"service": "TranscontinentalService", "method": "WatchMatch"}
CALLS = "promontory_rpcs_total"
PATIENT = 0.2


@pytest.fixture
async def ada(scripted: Scripted, keys: Keys) -> AsyncIterator[Client]:
    """The player ada, at a server that does not wait long for readers."""
    servicers = [(DESCRIPTOR, scripted)]
    async with (
        served(servicers, keys, limits=Limits(stall_seconds=PATIENT, streams_per_player=1)) as address,
        grpc.aio.insecure_channel(address) as channel,
    ):
        yield Client(channel, as_player(keys, "ada"))


class Flood:
    """A method that sends more than a reader takes, and tells that it cleaned up."""

    def __init__(self) -> None:
        self.ended = asyncio.Event()

    async def serve(self, request: Any, context: Any) -> AsyncIterator[Any]:
        """Send 30 MB."""
        try:
            for version in range(1, 501):
                commit = pb.Commit(version=version, match=match_pb2.Match(match_id="x" * 60_000))
                yield pb.WatchMatchResponse(commit=commit)
        finally:
            self.ended.set()


async def test_a_stream_whose_reader_takes_nothing_is_cut(ada: Client, scripted: Scripted, lines: list[Any]) -> None:
    """[R19] It counts as refused, and its place among the player's streams is free again."""
    flood, before = Flood(), counted(CALLS, **LABELS, code="RESOURCE_EXHAUSTED")
    scripted.stream = flood.serve
    stream = aiter(ada.stream("WatchMatch", match_id="tc-1"))
    assert (await anext(stream)).commit.version == 1
    await asyncio.wait_for(flood.ended.wait(), 10)
    assert (await anext(aiter(ada.stream("WatchMatch", match_id="tc-1")))).commit.version == 1
    assert [(line["event"], line.get("reason")) for line in lines] == [("rpc_refused", "SLOW_READER")]
    assert counted(CALLS, **LABELS, code="RESOURCE_EXHAUSTED") == before + 1


async def test_a_reader_that_was_cut_loses_nothing_in_the_middle(ada: Client, scripted: Scripted) -> None:
    """What still comes is without gaps, and then the stream is broken, so that the reader watches again."""
    flood = Flood()
    scripted.stream = flood.serve
    stream, versions = aiter(ada.stream("WatchMatch", match_id="tc-1")), list[int]()
    await anext(stream)
    await asyncio.wait_for(flood.ended.wait(), 10)
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await _note_versions(stream, versions)
    assert error.value.code().name in {"CANCELLED", "RESOURCE_EXHAUSTED"}
    assert versions == list(range(2, len(versions) + 2))


async def test_a_reader_that_wakes_up_in_time_learns_why(
    ada: Client, scripted: Scripted, lines: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """[SLOW_READER] After what was sent, the status."""
    monkeypatch.setattr(stalls, "STATUS_SECONDS", 20)
    scripted.stream = Flood().serve
    stream = aiter(ada.stream("WatchMatch", match_id="tc-1"))
    await anext(stream)
    await eventually(lambda: _true(lines))
    with pytest.raises(grpc.aio.AioRpcError) as error:
        [message async for message in stream]
    assert error.value.code().name == "RESOURCE_EXHAUSTED"
    assert details_of(error.value)["ErrorInfo"].reason == "SLOW_READER"


async def _note_versions(stream: Any, versions: list[int]) -> None:
    async for message in stream:
        versions.append(message.commit.version)


async def _true(value: object) -> object:
    return value
