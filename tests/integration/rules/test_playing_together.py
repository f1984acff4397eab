"""A stream of `Play` without a wire: what it takes, and what it tells together, while its reader lets it wait."""

from __future__ import annotations

import asyncio
import gc
import uuid
import weakref
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import aclosing, asynccontextmanager
from typing import Any

import pytest

from promontory.api.transcontinental.v1 import transcontinental_service_pb2 as pb
from promontory.rules import playing
from promontory.rules.playing import OUTBOX, UNDER_WAY, PlayStream
from promontory.runtime.errors import as_refusal
from promontory.runtime.gate import Gate, Method, Requests
from promontory.runtime.identity import Caller, Verifier, serve_as
from promontory.runtime.limits import Limits
from tests.support.rules_servers import Client, RulesServer
from tests.support.serving import Keys, everybody
from tests.support.waiting import eventually

PLAY = pb.DESCRIPTOR.services_by_name["TranscontinentalService"].methods_by_name["Play"]
SPECTATED = 4


@pytest.fixture
def collector_off() -> Iterator[None]:
    """Have nothing freed but what nobody holds any more."""
    gc.disable()
    yield
    gc.enable()


def follow(match_id: str) -> pb.PlayAction:
    return pb.PlayAction(follow=pb.WatchMatchRequest(match_id=match_id))


@asynccontextmanager
async def stream(server: RulesServer, keys: Keys, requests: Iterable[pb.PlayRequest]) -> AsyncIterator[Any]:
    """Give the responses to `requests`, encoded, and the stream, once it has told that it lives."""

    async def raws() -> AsyncIterator[bytes]:
        for request in requests:
            yield request.SerializeToString()

    servicer: Any = server.service.servicers[0][1]
    serve_as(Caller("service:test", frozenset(), service=True))
    verifier = Verifier(keys.directory / "players.jwks.json", keys.directory / "services.jwks.json")
    taken = Requests(raws(), Gate(verifier, Limits(), everybody()), Method(PLAY), as_refusal)
    opened = PlayStream(servicer, taken, servicer._hub, pb)
    async with aclosing(opened.responses()) as responses:
        await anext(responses)
        yield responses, opened


async def waiting(opened: PlayStream, number: int) -> None:
    """Return once so much news waits to be read."""

    async def is_there() -> bool:
        return opened._outbox.qsize() >= number

    await eventually(is_there)


async def matches(client_of: Callable[..., Client]) -> list[str]:
    return [await client_of("platform").create(uuid.uuid4().hex) for _ in range(SPECTATED)]


async def test_no_more_is_taken_from_who_reads_nothing(servers: list[RulesServer], keys: Keys) -> None:
    """[Play] What is taken is kept until its answer is read, so it is a few requests, however many come."""
    numbers = iter(range(1000))
    requests = (pb.PlayRequest(actions=[follow(f"no match {number}")]) for number in numbers)
    async with stream(servers[0], keys, requests) as (_, opened):
        await waiting(opened, OUTBOX)
        for _ in range(20 * UNDER_WAY):
            await asyncio.sleep(0)
        assert next(numbers) <= OUTBOX + UNDER_WAY + 1


async def test_no_more_of_one_request_is_taken_than_of_many(servers: list[RulesServer], keys: Keys) -> None:
    """[PlayRequest.actions] However many actions come together."""
    requests = [pb.PlayRequest(actions=[follow("no match")] * 1000)]
    async with stream(servers[0], keys, requests) as (responses, opened):
        await waiting(opened, OUTBOX)
        told = pb.PlayResponse.FromString(await anext(responses))
    assert len(told.news) == OUTBOX


async def test_what_was_asked_together_is_told_together(
    servers: list[RulesServer], keys: Keys, client_of: Callable[..., Client]
) -> None:
    """[PlayResponse.news] All that there is to tell by the time it is read."""
    wanted = await matches(client_of)
    async with stream(servers[0], keys, [pb.PlayRequest(actions=map(follow, wanted))]) as (responses, opened):
        await waiting(opened, SPECTATED)
        told = pb.PlayResponse.FromString(await anext(responses))
    assert sorted(each.match_id for each in told.news) == sorted(wanted)
    assert {each.update.WhichOneof("kind") for each in told.news} == {"snapshot"}


async def test_a_response_does_not_grow_without_bounds(
    servers: list[RulesServer], keys: Keys, client_of: Callable[..., Client], monkeypatch: Any
) -> None:
    """[PlayResponse] What is more comes in the next one."""
    monkeypatch.setattr(playing, "RESPONSE_BYTES", 1)
    wanted = await matches(client_of)
    async with stream(servers[0], keys, [pb.PlayRequest(actions=map(follow, wanted))]) as (responses, opened):
        await waiting(opened, SPECTATED)
        told = [pb.PlayResponse.FromString(await anext(responses)) for _ in wanted]
    assert [len(each.news) for each in told] == [1] * SPECTATED


async def test_what_a_stream_followed_is_freed_as_it_ends(
    servers: list[RulesServer], keys: Keys, client_of: Callable[..., Client], collector_off: None
) -> None:
    """[Play] Matches with all their states do not wait for the next search for garbage."""
    wanted = await matches(client_of)
    async with stream(servers[0], keys, [pb.PlayRequest(actions=map(follow, wanted))]) as (_, opened):
        await waiting(opened, SPECTATED)
        followers = [weakref.ref(each) for each in opened._followers.values()]
        assert len(followers) == SPECTATED
    del opened

    async def are_gone() -> bool:
        return not any(each() for each in followers)

    await eventually(are_gone)
