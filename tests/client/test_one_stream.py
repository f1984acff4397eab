"""Over one stream a client follows and submits as by calls, whatever happens to the stream meanwhile."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from random import Random
from typing import Any

import msgspec
import pytest

import promontory
from promontory import AsyncClient, Client, Update, game
from promontory.bots.registry import policy
from promontory.client.connection import carrying
from promontory.client.outages import Outage, Recovery
from promontory.client.seats import Seat
from promontory.eventlog.memory import MemoryEventLog
from promontory.games.transcontinental.commands import DrawCard
from promontory.games.transcontinental.vocabulary import Source
from promontory.rules.domain import SeatSetup, Setup
from promontory.runtime import metrics
from promontory.runtime.errors import Kind, Refusal, malformed
from tests.client.conftest import HASTY, Connect, World
from tests.client.hall import Hall, create, open_hall, play, replica, running
from tests.client.referee import HANG, UNAVAILABLE, Referee
from tests.client.services import POOL
from tests.client.test_watching import assert_whole
from tests.client.wire import Wire
from tests.support.serving import Keys
from tests.support.waiting import eventually

GREEDY = policy(game("transcontinental"), "greedy")
MATCH = Referee.match_id
DRAW = DrawCard(0, Source.DECK)
AT_ONCE = Refusal(Kind.UNAVAILABLE, "SERVER_DRAINING", "stopping", metadata={"retrySeconds": 0})
UNKNOWN = Refusal(Kind.NO_SUCH_METHOD, "METHOD_UNKNOWN", "the server has no such method")
TOO_MANY = {"limitName": "max_streams_per_player", "limit": 1, "retrySeconds": 0.001}
TOO_FAST = {"limitName": "max_commands_per_second", "limit": 1, "retrySeconds": 0.001}
NAMES = ("ada", "bob")
PAIR = Setup((SeatSetup("ada"), SeatSetup("bob")))


@pytest.fixture
async def hall(keys: Keys) -> AsyncIterator[Hall]:
    async with open_hall(keys) as hall:
        yield hall


@pytest.fixture
def seated(connect: Connect) -> Seat:
    """Seat 0 of the referee's match, over one stream."""
    return connect().over_one_stream().seat("transcontinental", MATCH, 0)


def streamed(hall: Hall, player: str, stack: AsyncExitStack) -> AsyncClient:
    client = hall.client(player).over_one_stream()
    stack.push_async_callback(client.close)
    return client


def served_calls(method: str) -> float:
    """Return how many calls of a method have ended well in this process."""
    labels = {"service": "TranscontinentalService", "method": method, "code": "OK"}
    return float(metrics.RPCS.labels(**labels)._value.get())


async def _true(value: object) -> object:
    return value


async def _collect(seated: Any, seen: list[Update]) -> None:
    async for update in seated:
        seen.append(update)


def untold(update: Update) -> Update:
    """Return an update without its token, which is another for each stream."""
    return msgspec.structs.replace(update, resume_token=b"")


# As by calls


async def test_a_whole_match_is_told_as_by_calls(hall: Hall) -> None:
    """[Play] The same updates, in the same order; what is submitted needs no call."""
    calls = served_calls("SubmitCommand"), served_calls("WatchMatch")
    seen: tuple[list[Update], list[Update]] = ([], [])
    async with AsyncExitStack() as stack, hall.client("ada") as by_calls:
        ada, bob = streamed(hall, "ada", stack), streamed(hall, "bob", stack)
        pair = await asyncio.gather(ada.play(POOL), bob.play(POOL))
        assert sum(await asyncio.gather(*(play(*each) for each in zip(pair, seen, strict=True)))) == 0
        assert (served_calls("SubmitCommand"), served_calls("WatchMatch")) == calls
        own = by_calls.seat("transcontinental", pair[0].match_id, pair[0].seat)
        told = [untold(update) async for update in own.updates(seen[0][0].version)]
    assert [untold(update) for update in seen[0][1:]] == told
    assert told[-1].match.is_over


@pytest.mark.parametrize("watches", [True, False], ids=["followed", "not followed"])
async def test_an_answer_is_that_of_a_call(hall: Hall, watches: bool) -> None:
    """[SubmitCommandResponse] Also where the stream tells the version only, because the match is followed."""
    match_id = await create(hall.address, hall.keys, PAIR, game="transcontinental")
    async with AsyncExitStack() as stack, hall.client("ada") as by_calls:
        seated = streamed(hall, "ada", stack).seat("transcontinental", match_id, 0)
        other = by_calls.seat("transcontinental", match_id, 0)
        update = await anext(await stack.enter_async_context(aclosing(seated.updates()))) if watches else None
        update = update or await other.look()
        command = policy(await other.rules(), "random")(update.view, Random(1))
        answers = [await each.submit(command, request_id="one") for each in (seated, seated, other)]
    assert answers[0] == answers[1] == answers[2]
    assert answers[0].events


async def test_an_answer_is_of_the_history_that_counts(keys: Keys) -> None:
    """[event_log 2.8] Also where a commit of the same version was told that the log has lost since."""
    log, seen = MemoryEventLog(), list[Update]()
    async with open_hall(keys, log=log) as hall, AsyncExitStack() as stack:
        match_id = await create(hall.address, keys, PAIR, game="transcontinental")
        seated = streamed(hall, "ada", stack).seat("transcontinental", match_id, 0)
        following = asyncio.create_task(_collect(seated, seen))
        await eventually(lambda: _reached(seen, 1))
        lost = await seated.submit(DRAW, request_id="lost")
        await eventually(lambda: _reached(seen, lost.version))
        record = log._streams[match_id]
        del record.commits[1:], record.made_by["0:lost"]
        answers = [await seated.submit(DRAW, request_id="one") for _ in range(2)]
        now = await hall.client("ada").seat("transcontinental", match_id, 0).look()
        following.cancel()
    assert [answer.match for answer in answers] == [now.match] * 2
    assert now.match.update_time > lost.match.update_time


REFUSALS = {
    "a rule": Refusal(Kind.FORBIDDEN_NOW, "NOT_A_MELD", "no", metadata={"rule": "Transcontinental 4.1", "size": "4"}),
    "a conflict": Refusal(Kind.CONFLICT, "VERSION_CONFLICT", "the match has moved", metadata={"currentVersion": 7}),
    "a malformed field": malformed("commands[0]", "is none"),
    "another's seat": Refusal(Kind.NOT_ALLOWED, "SEAT_NOT_YOURS", "no", metadata={"seat": 0}),
    "no match": Refusal(Kind.NOT_FOUND, "MATCH_NOT_FOUND", "no", metadata={"matchId": "?"}),
    "a fault": Refusal(Kind.FAULT, "LOG_CORRUPT", "oh"),
    "too many": Refusal(Kind.TOO_MANY, "LIMIT_REACHED", "no", metadata={"limitName": "max_sand", "retrySeconds": 7}),
}


@pytest.mark.parametrize("refusal", REFUSALS.values(), ids=REFUSALS)
@pytest.mark.parametrize("method", ["SubmitCommand", "WatchMatch"])
async def test_a_refusal_raises_what_a_call_raises(
    world: World, client: AsyncClient, seated: Seat, method: str, refusal: Refusal
) -> None:
    """[style 7] The same class, with reason, metadata, fields and time to wait; and it is not repeated."""
    world.faults.refuse(method, refusal, refusal)
    errors = [await failure_of(each, method) for each in (seated, client.seat("transcontinental", MATCH, 0))]
    assert type(errors[0]) is type(errors[1])
    assert vars(errors[0]) == vars(errors[1])
    assert len(world.faults.requests(method)) == 2


async def failure_of(seated: Seat, method: str) -> promontory.PromontoryError:
    with pytest.raises(promontory.PromontoryError) as caught:
        await (seated.submit(DRAW) if method == "SubmitCommand" else anext(seated.updates()))
    return caught.value


async def test_what_came_too_fast_is_repeated(world: World, seated: Seat) -> None:
    """[LIMIT_REACHED] As by calls."""
    world.faults.refuse("SubmitCommand", Refusal(Kind.TOO_MANY, "LIMIT_REACHED", "slower", metadata=TOO_FAST))
    assert (await seated.submit(DRAW)).version == 2


async def test_a_submission_whose_answer_was_lost_takes_effect_once(world: World, seated: Seat) -> None:
    world.faults.lose_answer("SubmitCommand", AT_ONCE, AT_ONCE)
    assert (await seated.submit(DRAW, expected_version=1)).version == world.referee.version == 2


async def test_a_submission_without_an_answer_in_time_is_repeated(world: World, connect: Connect) -> None:
    world.faults.refuse("SubmitCommand", HANG)
    client = connect(timing=msgspec.structs.replace(HASTY, call_seconds=0.05)).over_one_stream()
    assert (await client.seat("transcontinental", MATCH, 0).submit(DRAW)).version == 2


async def test_a_submission_gives_up_when_nothing_answers_for_too_long(world: World, connect: Connect) -> None:
    world.faults.refuse("SubmitCommand", *[UNAVAILABLE] * 3)
    with pytest.raises(promontory.Unavailable, match="EVENT_LOG_UNAVAILABLE"):
        await connect(retry_seconds=0.2).over_one_stream().seat("transcontinental", MATCH, 0).submit(DRAW)


async def test_the_client_without_asyncio_plays_over_one_stream_too(world_apart: World) -> None:
    with Client(world_apart.address, token=world_apart.token("ada"), timing=HASTY).over_one_stream() as client:
        assert client.seat("transcontinental", MATCH, 0).submit(DRAW).version == 2
    assert len(world_apart.faults.requests("Play")) == 1


# When the stream breaks or ends


async def test_players_play_on_when_their_streams_are_cut(keys: Keys, hall: Hall) -> None:
    """[Play] What was unanswered is sent again; nothing is lost, and nothing is done twice."""
    match_id = await create(hall.address, keys, PAIR, game="transcontinental")
    seen: tuple[list[Update], list[Update]] = ([], [])
    async with Wire(hall.address) as wire, AsyncExitStack() as stack:
        clients = [streamed(Hall(wire.address, keys, hall.queue, scorer=hall.scorer), each, stack) for each in NAMES]
        pair = [client.seat("transcontinental", match_id, seat) for seat, client in enumerate(clients)]
        playing = asyncio.gather(*(play(*each) for each in zip(pair, seen, strict=True)))
        for version in (5, 12, 25):
            await eventually(lambda version=version: _reached(seen[0], version))
            wire.cut()
        await playing
    assert_without_gaps(*seen)
    assert wire.connections > len(NAMES)


def assert_without_gaps(*seen: list[Update]) -> None:
    """Assert that each player has seen every version once, from the first one that was told to the end."""
    for updates in seen:
        assert [each.version for each in updates] == list(range(updates[0].version, seen[0][-1].version + 1))
        assert updates[-1].match.is_over


async def _reached(updates: list[Update], version: int) -> bool:
    return bool(updates) and updates[-1].version >= version


async def test_players_play_on_at_another_replica_when_one_is_drained(keys: Keys) -> None:
    """[STREAM_END_REASON_SERVER_DRAINING] At once, and without an outage."""
    log, told = MemoryEventLog(), list[Outage | Recovery]()
    seen: tuple[list[Update], list[Update]] = ([], [])
    first, second = replica(keys, log), replica(keys, log)
    async with running(first, keys) as one, running(second, keys) as two, AsyncExitStack() as stack:
        match_id = await create(one, keys, PAIR, game="transcontinental")
        pair = []
        for seat, name in enumerate(NAMES):
            client = AsyncClient(
                {"transcontinental": f"ipv4:{one},{two}"},
                token=keys.as_player(name)[0][1].removeprefix("Bearer "),
                timing=HASTY,
                retry_seconds=10,
                on_outage=told.append,
            )
            await stack.enter_async_context(client.over_one_stream())
            pair.append(client.seat("transcontinental", match_id, seat))
        playing = asyncio.gather(*(play(*each) for each in zip(pair, seen, strict=True)))
        await eventually(lambda: _reached(seen[0], 10))
        await first.drain[0]()
        await playing
    assert_without_gaps(*seen)
    assert told == []


@pytest.fixture
async def wired(world: World) -> AsyncIterator[tuple[Wire, Seat]]:
    """A seat at the end of a wire, whose stream is dead after a tenth of a second."""
    timing = msgspec.structs.replace(HASTY, heartbeat_seconds=0.1 / 3, call_seconds=0.2)
    world.referee.told_heartbeat_seconds = 0.1 / 3
    world.referee.heartbeat_seconds = 0.02
    async with (
        Wire(world.address) as wire,
        AsyncClient(wire.address, token=world.token("ada"), timing=timing, retry_seconds=20) as client,
    ):
        yield wire, client.over_one_stream().seat("transcontinental", MATCH, 0)


async def test_what_is_followed_outlives_a_stream_that_went_dead(world: World, wired: tuple[Wire, Seat]) -> None:
    """[KeepAlive.heartbeat_interval] After 2.5 of them."""
    wire, seated = wired
    updates: list[Update] = []
    watching = asyncio.create_task(_collect(seated, updates))
    await eventually(lambda: _true(updates))
    wire.deaden()
    await world.referee.play(GREEDY, Random(1), until=10_000)
    await watching
    assert_whole(updates, world.referee)


async def test_a_submission_outlives_a_stream_that_went_dead(world: World, wired: tuple[Wire, Seat]) -> None:
    wire, seated = wired
    await seated.look()
    wire.deaden()
    assert (await seated.submit(DRAW)).version == world.referee.version == 2
    assert wire.connections >= 2


async def test_a_loop_that_is_held_up_takes_no_stream_for_dead(world: World, wired: tuple[Wire, Seat]) -> None:
    """Whoever blocks the loop finds all that came meanwhile."""
    _, seated = wired
    async with aclosing(seated.updates()) as updates:
        await anext(updates)
        hold_up_the_loop(seconds=0.3)
        await world.referee.play(GREEDY, Random(1), until=3)
        assert [(await anext(updates)).version for _ in range(2)] == [2, 3]
    assert len(world.faults.requests("Play")) == 1


def hold_up_the_loop(*, seconds: float) -> None:
    """Let nothing else run for so long."""
    end = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < end:
        pass


async def test_closing_the_client_ends_all_that_is_under_way(world: World, connect: Connect) -> None:
    world.faults.refuse("SubmitCommand", HANG)
    client = connect().over_one_stream()
    seated = client.seat("transcontinental", MATCH, 0)
    waiting = [asyncio.create_task(seated.submit(DRAW)), asyncio.create_task(_collect(seated, []))]
    await eventually(lambda: _true(world.faults.hanging and world.referee.open_streams))
    await client.close()
    outcomes = await asyncio.gather(*waiting, return_exceptions=True)
    assert [type(each) for each in outcomes] == [promontory.ClientClosed] * 2


# What goes by calls


async def test_a_server_that_knows_no_such_stream_is_called(world: World, seated: Seat) -> None:
    """[METHOD_UNKNOWN] It is asked once."""
    world.faults.refuse("Play", UNKNOWN)
    updates: list[Update] = []
    watching = asyncio.create_task(_collect(seated, updates))
    await eventually(lambda: _true(updates))
    await seated.submit(DRAW)
    await world.referee.play(GREEDY, Random(1), until=10_000)
    await watching
    assert_whole(updates, world.referee)
    assert len(world.faults.requests("Play")) == 1


async def test_a_stream_that_is_one_too_many_is_done_without(world: World, seated: Seat) -> None:
    """[LIMIT_REACHED] Calls are no streams."""
    world.faults.refuse("Play", Refusal(Kind.TOO_MANY, "LIMIT_REACHED", "too many", metadata=TOO_MANY))
    assert (await seated.submit(DRAW)).version == 2


async def test_what_is_traced_goes_by_a_call(world: World, seated: Seat) -> None:
    """Metadata is each call's own."""
    with carrying(("traceparent", "00-0-0-01")):
        await seated.submit(DRAW)
    assert world.faults.requests("Play") == []


async def test_a_seat_is_followed_by_several_at_once(world: World, seated: Seat) -> None:
    """[ALREADY_FOLLOWED] The second one by a call."""
    seen: tuple[list[Update], list[Update]] = ([], [])
    watching = asyncio.gather(*(_collect(seated, updates) for updates in seen))
    await eventually(lambda: _true(all(seen)))
    await world.referee.play(GREEDY, Random(1), until=10_000)
    await watching
    assert_whole(seen[0], world.referee)
    assert seen[1] == seen[0]


async def test_a_slow_follower_misses_nothing_and_goes_on_by_a_call(
    world: World, seated: Seat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else waits for it."""
    monkeypatch.setattr("promontory.client.line.MOST_WAITING", 4)
    async with aclosing(seated.updates()) as updates:
        seen = [await anext(updates)]
        await world.referee.play(GREEDY, Random(1), until=10_000)
        await eventually(lambda: _true(world.referee.open_streams == 0))
        seen += [update async for update in updates]
    assert_whole(seen, world.referee)
    assert len(world.faults.requests("WatchMatch")) == 2


async def test_leaving_what_is_followed_ends_that_at_the_server(world: World, seated: Seat) -> None:
    async with aclosing(seated.updates()) as updates:
        await anext(updates)
    await eventually(lambda: _true(world.referee.open_streams == 0))
    async with aclosing(seated.updates()) as updates:
        assert (await anext(updates)).version == 1
