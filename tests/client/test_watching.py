"""Every commit comes exactly once and in order, whatever happens to streams, connections and servers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from datetime import UTC, timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec
import pytest

import promontory
from promontory import AsyncClient, Update, game
from promontory.api.match.v1 import stream_pb2
from promontory.bots.registry import policy
from promontory.client.clocks import SeatClock
from promontory.client.seats import Spectator
from promontory.client.watching import Absence, Heartbeat
from promontory.games.transcontinental.commands import DrawCard
from promontory.games.transcontinental.vocabulary import Source
from promontory.runtime.errors import Kind, Refusal
from tests.client.conftest import HASTY, Connect, World
from tests.client.referee import HANG, NOON, SERVICE, UNAVAILABLE, Cut, Faults, Referee
from tests.client.wire import Wire
from tests.support.serving import Keys, served
from tests.support.waiting import eventually

GREEDY = policy(game("transcontinental"), "greedy")
MATCH = Referee.match_id
NOON_UTC = NOON.ToDatetime(UTC)


def ending(reason: stream_pb2.StreamEndReason.ValueType) -> stream_pb2.StreamEnd:
    return stream_pb2.StreamEnd(reason=reason, resumable=True)


DRAINING = ending(stream_pb2.STREAM_END_REASON_SERVER_DRAINING)
OLD = ending(stream_pb2.STREAM_END_REASON_MAX_AGE)
SLOW = ending(stream_pb2.STREAM_END_REASON_SLOW_READER)
CUT_OFF = Refusal(Kind.TOO_MANY, "SLOW_READER", "nothing was taken", metadata={"retrySeconds": "0.001"})
STOPPED = Refusal(Kind.UNAVAILABLE, "SERVER_DRAINING", "stopping", metadata={"retrySeconds": 0})


async def watched(spectator: Spectator) -> list[Update]:
    """Return all updates until the match is over."""
    return [update async for update in spectator]


def assert_whole(updates: list[Update], referee: Referee, *, first: int = 1) -> None:
    """Assert that `updates` are all versions from `first` on, each with what it did."""
    assert [update.version for update in updates] == list(range(first, referee.version + 1))
    assert [len(update.events) for update in updates[1:]] == [len(each.events) for each in referee.commits[first:]]
    assert updates[-1].match.is_over


@pytest.mark.parametrize(
    "cuts",
    [
        pytest.param([(3, DRAINING)], id="the server drains"),
        pytest.param([(5, OLD), (1, OLD), (1, OLD)], id="streams get too old"),
        pytest.param([(4, SLOW)], id="the reader was slow"),
        pytest.param([(4, CUT_OFF)], id="the reader took nothing"),
        pytest.param([(2, STOPPED), (0, STOPPED), (0, STOPPED)], id="the server is unavailable"),
        pytest.param([(2, None), (0, None), (1, None)], id="streams end without a word"),
        pytest.param([(7, DRAINING), (0, DRAINING), (0, STOPPED), (1, None), (1, OLD)], id="all together"),
    ],
)
async def test_a_watch_goes_on_where_it_broke(world: World, client: AsyncClient, cuts: list[Cut]) -> None:
    world.faults.cut(*cuts)
    watching = asyncio.create_task(watched(client.seat("transcontinental", MATCH, 0)))
    await eventually(lambda: _true(world.referee.open_streams))
    await world.referee.play(GREEDY, Random(1), until=10_000)
    assert_whole(await watching, world.referee)
    assert len(world.faults.requests("WatchMatch")) == len(cuts) + 1


async def _true(value: object) -> object:
    return value


async def test_a_watch_resumes_after_the_last_version_it_has(world: World, client: AsyncClient) -> None:
    await world.referee.play(GREEDY, Random(1), until=6)
    world.faults.cut((1, DRAINING), (2, DRAINING))
    watching = asyncio.create_task(watched(client.seat("transcontinental", MATCH, 0)))
    await eventually(lambda: _true(world.faults.requests("WatchMatch")))
    await world.referee.play(GREEDY, Random(1), until=10_000)
    await watching
    first, *others = world.faults.requests("WatchMatch")
    assert not first.HasField("after_version")
    assert first.resume_token == b""
    assert [(request.after_version, request.resume_token) for request in others] == [(6, b"after 6"), (8, b"after 8")]


async def test_a_watch_can_start_after_a_version(world: World, client: AsyncClient) -> None:
    await world.referee.play(GREEDY, Random(1), until=10_000)
    spectator = client.spectate("transcontinental", MATCH)
    updates = [update async for update in spectator.updates(after=3)]
    assert [update.version for update in updates] == list(range(4, world.referee.version + 1))


async def test_a_watch_can_start_after_an_update_of_an_earlier_process(world: World, client: AsyncClient) -> None:
    """[WatchMatchRequest.resume_token] With the token, the server notices if its log lost what was seen."""
    await world.referee.play(GREEDY, Random(1), until=6)
    spectator = client.spectate("transcontinental", MATCH)
    async with aclosing(spectator.updates()) as updates:
        last = await anext(updates)
    await world.referee.play(GREEDY, Random(1), until=10_000)
    following = [update async for update in spectator.updates(last.version, resume_token=last.resume_token)]
    assert [update.version for update in following] == list(range(7, world.referee.version + 1))
    assert world.faults.requests("WatchMatch")[-1].resume_token == last.resume_token == b"after 6"


async def test_a_token_that_is_refused_is_given_up_for_the_version(world: World, client: AsyncClient) -> None:
    """As when all replicas got a new key."""
    world.referee.takes_tokens = False
    world.faults.cut((3, DRAINING))
    watching = asyncio.create_task(watched(client.seat("transcontinental", MATCH, 0)))
    await eventually(lambda: _true(world.referee.open_streams))
    await world.referee.play(GREEDY, Random(1), until=10_000)
    assert_whole(await watching, world.referee)


async def test_commits_that_the_stream_passed_over_are_counted(world: World, client: AsyncClient) -> None:
    """[Snapshot.skipped_commits] Then it goes on without gaps."""
    await world.referee.play(GREEDY, Random(1), until=10_000)
    world.faults.cut((2, world.referee.snapshot(9, skipped_commits=6)))
    updates = [update async for update in client.spectate("transcontinental", MATCH).updates(after=1)]
    last = world.referee.version
    assert [(each.version, each.skipped) for each in updates[:4]] == [(2, 0), (3, 0), (9, 6), (10, 0)]
    assert [update.version for update in updates[3:]] == list(range(10, last + 1))


async def test_a_history_that_was_rewound_is_told(world: World, client: AsyncClient) -> None:
    """[Snapshot.rewound] An update of a version that was there before, and says why."""
    await world.referee.play(GREEDY, Random(1), until=10_000)
    world.faults.cut((5, world.referee.snapshot(3, rewound=True)))
    updates = [update async for update in client.spectate("transcontinental", MATCH).updates(after=1)]
    assert [(each.version, each.rewound) for each in updates[3:7]] == [(5, False), (6, False), (3, True), (4, False)]
    assert [request.after_version for request in world.faults.requests("WatchMatch")] == [1, 3]


async def test_watching_a_finished_match_shows_how_it_ended(world: World, client: AsyncClient) -> None:
    await world.referee.play(GREEDY, Random(1), until=10_000)
    (update,) = await watched(client.spectate("transcontinental", MATCH))
    assert update.match.outcome is not None


async def test_nothing_is_new_after_the_last_version(world: World, client: AsyncClient) -> None:
    await world.referee.play(GREEDY, Random(1), until=10_000)
    spectator = client.spectate("transcontinental", MATCH)
    assert [update async for update in spectator.updates(after=world.referee.version)] == []


async def test_what_comes_twice_is_told_once(world: World, client: AsyncClient) -> None:
    world.referee.repeats = 2
    watching = asyncio.create_task(watched(client.seat("transcontinental", MATCH, 0)))
    await eventually(lambda: _true(world.referee.open_streams))
    await world.referee.play(GREEDY, Random(1), until=10_000)
    assert_whole(await watching, world.referee)


async def test_a_gap_is_an_error_and_never_passed_over(world: World, client: AsyncClient) -> None:
    await world.referee.play(GREEDY, Random(1), until=10_000)
    world.referee.skips = {5}
    spectator = client.spectate("transcontinental", MATCH)
    with pytest.raises(promontory.Internal, match="version 6 came after 4"):
        [update async for update in spectator.updates(after=1)]


async def test_a_silent_stream_is_dead(world: World, connect: Connect) -> None:
    world.faults.cut((1, HANG))
    timing = msgspec.structs.replace(HASTY, heartbeat_seconds=0.03)
    watching = asyncio.create_task(watched(connect(timing=timing).spectate("transcontinental", MATCH)))
    await eventually(lambda: _true(len(world.faults.requests("WatchMatch")) >= 2))
    await world.referee.play(GREEDY, Random(1), until=10_000)
    assert_whole(await watching, world.referee)


async def test_a_stream_says_itself_when_it_is_dead(world: World, connect: Connect) -> None:
    """[WatchMatchResponse.heartbeat_interval] The server's word counts, not what the client takes for usual."""
    world.referee.told_heartbeat_seconds = 0.03
    world.faults.cut((1, HANG), (1, HANG))
    timing = msgspec.structs.replace(HASTY, heartbeat_seconds=600)
    watching = asyncio.create_task(watched(connect(timing=timing).spectate("transcontinental", MATCH)))
    await eventually(lambda: _true(len(world.faults.requests("WatchMatch")) >= 3))
    world.referee.told_heartbeat_seconds = 600
    await world.referee.play(GREEDY, Random(1), until=10_000)
    assert_whole(await watching, world.referee)


async def test_any_match_is_watched_by_its_id(world: World, client: AsyncClient) -> None:
    await world.referee.play(GREEDY, Random(1), until=10_000)
    (update,) = [update async for update in client.watch(MATCH)]
    after = [update.version async for update in client.watch(MATCH, seat=0, after=update.version - 2)]
    assert after == [update.version - 1, update.version]


async def test_the_example_of_the_docs_runs(
    world: World, client: AsyncClient, capsys: pytest.CaptureFixture[str]
) -> None:
    """[docs/watching.md] As it is pasted."""
    page = (Path(__file__).parents[2] / "docs" / "watching.md").read_text(encoding="utf-8")
    example: dict[str, Any] = {}
    exec(page.partition("```python\n")[2].partition("```")[0], example)  # noqa: S102 - our own text
    await world.referee.play(GREEDY, Random(1), until=3)
    watching = asyncio.create_task(example["follow"](client, MATCH))
    await eventually(lambda: _true(world.referee.open_streams))
    await world.referee.play(GREEDY, Random(1), until=10_000)
    await watching
    lines = capsys.readouterr().out.splitlines()
    numbers = [int(line.partition(" ")[0]) for line in lines if " to act: " in line]
    assert numbers == list(range(3, world.referee.version + 1))
    assert any(line.startswith("MatchOutcome(") for line in lines)


@pytest.fixture
async def lively(keys: Keys) -> AsyncIterator[tuple[Referee, AsyncClient]]:
    """A referee whose heart beats fast, and a client that takes half a second of silence for death."""
    referee = Referee(Faults(), heartbeat_seconds=0.005)
    timing = msgspec.structs.replace(HASTY, heartbeat_seconds=0.5 / 3)
    async with (
        served([(SERVICE, referee)], keys) as address,
        AsyncClient(address, token=_token(keys), timing=timing, retry_seconds=0.1) as client,
    ):
        yield referee, client


async def test_heartbeats_tell_whoever_asks(lively: tuple[Referee, AsyncClient]) -> None:
    """[Heartbeat] The server's time and the match's version; clocks and absences where there are some."""
    referee, client = lively
    heard: list[Heartbeat] = []
    updates = client.seat("transcontinental", MATCH, 0).updates(on_heartbeat=heard.append)
    watching = asyncio.create_task(_collect(updates, []))
    await eventually(lambda: _true(heard))
    await referee.play(GREEDY, Random(1), until=10_000)
    await watching
    assert heard[0] == Heartbeat(
        1, NOON_UTC, (SeatClock(0, timedelta(seconds=90), NOON_UTC, 0),), (Absence(0, NOON_UTC),)
    )


async def test_heartbeats_keep_a_quiet_stream_alive(lively: tuple[Referee, AsyncClient]) -> None:
    referee, client = lively
    watching = asyncio.create_task(watched(client.spectate("transcontinental", MATCH)))
    await eventually(lambda: _true(referee.heartbeats > 120))
    await referee.play(GREEDY, Random(1), until=10_000)
    assert_whole(await watching, referee)
    assert len(referee.faults.requests("WatchMatch")) == 1


async def test_thinking_long_is_no_silence(lively: tuple[Referee, AsyncClient]) -> None:
    referee, client = lively
    referee.faults.cut((120, STOPPED))
    async with aclosing(client.seat("transcontinental", MATCH, 0).updates()) as updates:
        await anext(updates)
        await eventually(lambda: _true(referee.open_streams == 0))
        await referee.play(GREEDY, Random(1), until=3)
        assert [(await anext(updates)).version for _ in range(2)] == [2, 3]


async def test_a_watch_gives_up_when_nothing_comes_for_too_long(world: World, connect: Connect) -> None:
    world.faults.cut((1, STOPPED))
    world.faults.refuse("WatchMatch", None, *[UNAVAILABLE] * 3)
    spectator = connect(retry_seconds=0.2).spectate("transcontinental", MATCH)
    seen: list[Update] = []
    with pytest.raises(promontory.Unavailable):
        await _collect(spectator.updates(), seen)
    assert [update.version for update in seen] == [1]


@pytest.mark.parametrize("kind", [Kind.NOT_FOUND, Kind.NOT_ALLOWED, Kind.FAULT])
async def test_a_refused_watch_is_not_repeated(world: World, client: AsyncClient, kind: Kind) -> None:
    world.faults.refuse("WatchMatch", Refusal(kind, "SOME_REASON", "no"))
    with pytest.raises(promontory.PromontoryError, match="SOME_REASON"):
        await watched(client.spectate("transcontinental", MATCH))
    assert len(world.faults.requests("WatchMatch")) == 1


async def test_leaving_a_watch_ends_its_stream(world: World, client: AsyncClient) -> None:
    async for _ in client.spectate("transcontinental", MATCH):
        break
    await eventually(lambda: _true(world.referee.open_streams == 0))


async def test_closing_the_client_ends_a_watch(world: World, client: AsyncClient) -> None:
    async with aclosing(client.spectate("transcontinental", MATCH).updates()) as updates:
        await anext(updates)
        waiting = asyncio.create_task(_next(updates))
        await client.pools()
        await client.close()
        with pytest.raises(promontory.ClientClosed):
            await waiting


@pytest.fixture
async def wired(world: World) -> AsyncIterator[tuple[Wire, AsyncClient]]:
    """A client at the end of a wire; for it a stream is dead after a tenth of a second."""
    timing = msgspec.structs.replace(HASTY, heartbeat_seconds=0.1 / 3, call_seconds=0.2)
    async with (
        Wire(world.address) as wire,
        AsyncClient(wire.address, token=world.token("ada"), timing=timing, retry_seconds=20) as client,
    ):
        yield wire, client


async def test_a_watch_outlives_cut_connections(world: World, wired: tuple[Wire, AsyncClient]) -> None:
    wire, client = wired
    updates: list[Update] = []
    watching = asyncio.create_task(_collect(client.spectate("transcontinental", MATCH).updates(), updates))
    for version in (5, 10, 15, 10_000):
        await eventually(lambda: _true(updates and updates[-1].version == world.referee.version))
        wire.cut()
        await world.referee.play(GREEDY, Random(1), until=version)
    await watching
    assert_whole(updates, world.referee)
    assert wire.connections >= 4


async def test_a_watch_outlives_a_connection_that_went_dead(world: World, wired: tuple[Wire, AsyncClient]) -> None:
    wire, client = wired
    updates: list[Update] = []
    watching = asyncio.create_task(_collect(client.spectate("transcontinental", MATCH).updates(), updates))
    await eventually(lambda: _true(updates))
    wire.deaden()
    await world.referee.play(GREEDY, Random(1), until=10_000)
    await watching
    assert_whole(updates, world.referee)


async def test_a_submission_outlives_a_connection_that_went_dead(world: World, wired: tuple[Wire, AsyncClient]) -> None:
    wire, client = wired
    seated = client.seat("transcontinental", MATCH, 0)
    await seated.look()
    wire.deaden()
    assert (await seated.submit(DrawCard(0, Source.DECK))).version == world.referee.version == 2
    assert wire.connections >= 2


async def test_a_client_plays_on_over_restarts_of_the_server(keys: Keys) -> None:
    referee = Referee()
    async with served([(SERVICE, referee)], keys) as address:
        client = AsyncClient(address, token=_token(keys), timing=HASTY, retry_seconds=20)
        updates: list[Update] = []
        watching = asyncio.create_task(_collect(client.spectate("transcontinental", MATCH).updates(), updates))
        await eventually(lambda: _true(updates))
    await referee.play(GREEDY, Random(1), until=9)
    async with served([(SERVICE, referee)], keys, listen=address):
        await eventually(lambda: _true(len(updates) == 9))
    await referee.play(GREEDY, Random(1), until=10_000)
    async with served([(SERVICE, referee)], keys, listen=address), client:
        await watching
    assert_whole(updates, referee)


async def test_an_export_begins_again_when_it_breaks(world: World, client: AsyncClient) -> None:
    world.faults.cut((2, STOPPED))
    assert await client.export_match("transcontinental", MATCH) == b"one two three"


def _token(keys: Keys) -> str:
    return keys.as_player("ada")[0][1].removeprefix("Bearer ")


async def _collect(updates: AsyncGenerator[Update], seen: list[Update]) -> None:
    async for update in updates:
        seen.append(update)


async def _next(generator: AsyncGenerator[Any]) -> Any:
    return await anext(generator)
