"""Playing over one stream: each request is as good as the call it stands for, and answered in order, match by match."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Callable
from datetime import timedelta
from random import Random
from typing import Any

import grpc
import pytest
from google.rpc import error_details_pb2, status_pb2

from promontory.api.match.v1 import match_pb2, stream_pb2
from promontory.api.transcontinental.v1 import transcontinental_service_pb2 as pb
from promontory.codec.transcontinental import CODEC
from promontory.eventlog.redis_server import Connections
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.runtime import clock, metrics
from promontory.runtime.identity import LEEWAY_SECONDS, PLAYER_SCOPES
from tests.support.random_play import racer
from tests.support.refereeing import Bench
from tests.support.rules_servers import Client, RulesServer, as_player, rules_server
from tests.support.serving import Keys, reason_of
from tests.support.waiting import eventually

ClientOf = Callable[..., Client]
PATIENCE_SECONDS = 20


class Line:
    """One stream, and all that came over it but that nothing happened."""

    def __init__(self, client: Client) -> None:
        self.heard: list[Any] = []
        self._call = client.open("Play")
        self._listening = asyncio.create_task(self._listen())
        self._read = 0
        self._writing = asyncio.Lock()

    async def _listen(self) -> None:
        async for response in self._call:
            self.heard += response.news

    async def send(self, **kind: Any) -> None:
        async with self._writing:
            await self._call.write(pb.PlayRequest(actions=[pb.PlayAction(**kind)]))

    async def follow(self, match_id: str, seat: int | None = None, **since: Any) -> None:
        await self.send(follow=pb.WatchMatchRequest(match_id=match_id, seat=seat, **since))

    async def unfollow(self, match_id: str, seat: int | None = None) -> None:
        await self.send(unfollow=stream_pb2.Unfollow(match_id=match_id, seat=seat))

    async def submit(self, match_id: str, seat: int, *commands: Any, request_id: str, **fields: Any) -> None:
        encoded = [CODEC.encode_command(command) for command in commands]
        request = pb.SubmitCommandRequest(
            match_id=match_id, seat=seat, commands=encoded, request_id=request_id, **fields
        )  # fmt: skip
        await self.send(submit=request)

    async def next(self) -> Any:
        """Return the next message that tells anything."""

        async def more() -> bool:
            if self._listening.done():
                self._listening.result()
            return len(self.heard) > self._read

        while True:
            await eventually(more, seconds=PATIENCE_SECONDS)
            message = self.heard[self._read]
            self._read += 1
            if message.WhichOneof("kind") != "keep_alive" and message.update.WhichOneof("kind") != "heartbeat":
                return message

    async def begin(self, match_id: str, seat: int) -> None:
        """Follow a match, and return once it is told how it stands: what is done from now on comes as commits."""
        await self.follow(match_id, seat)
        assert (await self.next()).update.WhichOneof("kind") == "snapshot"

    async def finish(self) -> None:
        """Send no more."""
        await self._call.done_writing()

    async def end(self) -> list[Any]:
        """Return all that came, once the stream has ended; raise what it failed with."""
        await asyncio.wait_for(asyncio.shield(self._listening), PATIENCE_SECONDS)
        return self.heard

    async def __aenter__(self) -> Line:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.cut()

    async def cut(self) -> None:
        self._call.cancel()
        await asyncio.wait([self._listening])


@pytest.fixture
async def line_of(client_of: ClientOf) -> AsyncIterator[Callable[..., Line]]:
    """Open streams, by player's name and replica."""
    lines: list[Line] = []

    def line(name: str, **where: Any) -> Line:
        lines.append(Line(client_of(name, **where)))
        return lines[-1]

    yield line
    for each in lines:
        await each.cut()


@pytest.fixture
def bench(redis_connections: Connections) -> Bench:
    """A referee that reads the same log."""
    log = RedisEventLog(redis_connections.commands, blocking=redis_connections.blocking, clock=clock.now_ms)
    return Bench(log)


def refusal(message: Any) -> tuple[str, str]:
    """Return the code and the reason of what was refused."""
    status = status_pb2.Status.FromString(message.refused.SerializeToString())
    detail = error_details_pb2.ErrorInfo()
    assert status.details[0].Unpack(detail)
    return grpc_code(status.code), detail.reason


def grpc_code(number: int) -> str:
    return next(code.name for code in grpc.StatusCode if code.value[0] == number)


async def command_of(client: Client, match_id: str, seat: int, bench: Bench) -> Any:
    """Return something that the seat may do."""
    legal = await client.call("ListLegalCommands", match_id=match_id, seat=seat)
    match = await bench.matches.fresh(match_id)
    return racer(match.state, seat, CODEC.decode_legal(legal.legal), Random(match.version))


async def seat_to_act(client: Client, match_id: str) -> tuple[int, int]:
    """Return which seat is to act, and the version."""
    match = (await client.call("GetMatch", match_id=match_id)).match
    return match.seats_to_act[0], match.version


NAMES = ("ada", "ben")


async def test_what_is_followed_comes_as_by_a_call(
    line_of: Callable[..., Line], client_of: ClientOf, match_id: str
) -> None:
    """[Play] The same messages as of `WatchMatch`, with the match and the seat they are about."""
    line = line_of("ada")
    await line.follow(match_id, 0)
    told = await line.next()
    call = client_of("ada").stream("WatchMatch", match_id=match_id, seat=0)
    assert told.update == await call.read()
    assert (told.match_id, told.seat, told.request_id) == (match_id, 0, "")
    assert line.heard[0].keep_alive.heartbeat_interval == told.update.heartbeat_interval
    call.cancel()


async def test_a_whole_match_is_played_over_one_stream(
    line_of: Callable[..., Line], client_of: ClientOf, match_id: str, bench: Bench
) -> None:
    """[Play] Both seats' views and the acceptances come over it, each commit before its acceptance."""
    lines = [line_of(name, replica=seat) for seat, name in enumerate(NAMES)]
    for seat, line in enumerate(lines):
        await line.begin(match_id, seat)
    match = await bench.matches.fresh(match_id)
    while match.to_act:
        seat = match.to_act[0]
        legal = bench.ledger.game_of(match).legal(match.state, seat)
        command = racer(match.state, seat, legal, Random(match.version))
        await lines[seat].submit(match_id, seat, command, request_id=f"at {match.version}")
        told = [await lines[seat].next()]
        while told[-1].WhichOneof("kind") == "update":
            told.append(await lines[seat].next())
        assert told[-1].accepted.version == match.version + 1
        assert told[-1].request_id == f"at {match.version}"
        match = await bench.matches.fresh(match_id)
    for line in lines:
        await line.finish()
        heard = await line.end()
        commits = [each.update.commit.version for each in heard if each.update.WhichOneof("kind") == "commit"]
        assert commits == list(range(2, match.version + 1))
        ends = [each.update.end.reason for each in heard if each.update.WhichOneof("kind") == "end"]
        assert ends == [stream_pb2.STREAM_END_REASON_MATCH_CLOSED]
        told_at = {each.update.commit.version: place for place, each in enumerate(heard)}
        assert all(
            told_at[each.accepted.version] < place
            for place, each in enumerate(heard)
            if each.WhichOneof("kind") == "accepted"
        )


async def test_a_submission_is_answered_as_by_a_call_where_the_match_is_not_followed(
    line_of: Callable[..., Line], client_of: ClientOf, match_id: str, bench: Bench
) -> None:
    seat, _ = await seat_to_act(client_of("ada"), match_id)
    client, line = client_of(NAMES[seat]), line_of(NAMES[seat])
    command = await command_of(client, match_id, seat, bench)
    await line.submit(match_id, seat, command, request_id="once")
    told = await line.next()
    assert told.accepted == await client.submit(match_id, command, request_id="once")
    assert told.accepted.view.ByteSize()
    assert (told.match_id, told.seat, told.request_id) == (match_id, seat, "once")


async def test_what_was_sent_twice_is_done_once(
    line_of: Callable[..., Line], client_of: ClientOf, match_id: str, bench: Bench
) -> None:
    """[SubmitCommand] By its request id, over whatever stream it comes again."""
    seat, version = await seat_to_act(client_of("ada"), match_id)
    command = await command_of(client_of(NAMES[seat]), match_id, seat, bench)
    lines = [line_of(NAMES[seat], replica=replica) for replica in (0, 0, 1)]
    for line in lines:
        await line.follow(match_id, seat)
        await line.submit(match_id, seat, command, request_id="once")
        await line.submit(match_id, seat, command, request_id="once")
    for line in lines:
        answers = [message async for message in answers_of(line, 2)]
        assert [each.accepted.version for each in answers] == [version + 1] * 2


async def answers_of(line: Line, count: int) -> AsyncIterator[Any]:
    """Yield the next `count` messages that are no updates."""
    while count:
        message = await line.next()
        if message.WhichOneof("kind") != "update":
            count -= 1
            yield message


async def test_submissions_of_one_match_are_taken_in_the_order_they_were_sent(
    line_of: Callable[..., Line], client_of: ClientOf, match_id: str, bench: Bench
) -> None:
    """[Play] Though they are under way together: the answers come in that order too."""
    seat, version = await seat_to_act(client_of("ada"), match_id)
    command = await command_of(client_of(NAMES[seat]), match_id, seat, bench)
    line = line_of(NAMES[seat])
    await line.submit(match_id, seat, command, request_id="first", expected_version=version)
    for number in range(40):
        await line.submit(match_id, seat, command, request_id=f"late {number}", expected_version=version)
    answers = [await line.next() for _ in range(41)]
    assert [each.request_id for each in answers] == ["first", *(f"late {number}" for number in range(40))]
    assert answers[0].accepted.version == version + 1
    assert {refusal(each) for each in answers[1:]} == {("ABORTED", "VERSION_CONFLICT")}


# Refusals

WRONG: dict[str, tuple[dict[str, Any], tuple[str, str]]] = {
    "no match": ({"match_id": "tc-000-aaaaaaaaaaaaaaaaaaaaaaaaaa"}, ("NOT_FOUND", "MATCH_NOT_FOUND")),
    "another's seat": ({"seat": 1}, ("PERMISSION_DENIED", "SEAT_NOT_YOURS")),
    "no seat": ({"seat": 7}, ("INVALID_ARGUMENT", "SEAT_OUT_OF_RANGE")),
}


@pytest.mark.parametrize(("wrong", "expected"), WRONG.values(), ids=WRONG)
async def test_whatever_is_refused_is_refused_by_itself(
    line_of: Callable[..., Line], match_id: str, wrong: dict[str, Any], expected: tuple[str, str]
) -> None:
    """[style 7] With the status that the call would have; the stream goes on."""
    line, fields = line_of("ada"), {"match_id": match_id, "seat": 0, **wrong}
    await line.send(follow=pb.WatchMatchRequest(**fields))
    followed = await line.next()
    await line.send(submit=pb.SubmitCommandRequest(**fields, request_id="r", commands=[{"resign": {}}]))
    submitted = await line.next()
    assert refusal(followed) == refusal(submitted) == expected
    assert (followed.request_id, submitted.request_id) == ("", "r")
    assert (submitted.match_id, submitted.seat) == (fields["match_id"], fields["seat"])
    await line.follow(match_id, 0)
    assert (await line.next()).update.snapshot.match.match_id == match_id


async def test_a_match_is_followed_from_a_seat_once(line_of: Callable[..., Line], match_id: str) -> None:
    """[ALREADY_FOLLOWED] Beside it as a spectator, and again once it is followed no longer."""
    line = line_of("ada")
    await line.follow(match_id, 0)
    await line.follow(match_id, 0)
    told = [await line.next(), await line.next()]
    assert ("ALREADY_EXISTS", "ALREADY_FOLLOWED") in [refusal(each) for each in told if each.HasField("refused")]
    await line.follow(match_id)
    assert (await line.next()).update.HasField("snapshot")
    await line.unfollow(match_id, 0)
    await line.unfollow(match_id, 0)
    await line.follow(match_id, 0)
    assert (await line.next()).seat == 0


@pytest.mark.parametrize(
    "raw", [b"\xff" * 50, b"", b"\x0a\x7f", b"\x0a\x00"], ids=["garbage", "nothing", "truncated", "no kind"]
)
async def test_a_request_that_is_none_ends_the_stream(client_of: ClientOf, raw: bytes) -> None:
    client = client_of("ada")
    path = f"/{CODEC.service.full_name}/Play"
    call = client.channel.stream_stream(path)(iter_of(raw), metadata=client.metadata)
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        async for _ in call:
            pass
    assert (failed.value.code().name, reason_of(failed.value)) == ("INVALID_ARGUMENT", "BAD_REQUEST")


async def iter_of(raw: bytes) -> AsyncIterator[bytes]:
    yield raw


async def test_a_stream_needs_a_token(client_of: ClientOf) -> None:
    client = client_of("ada")
    client.metadata = ()
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await Line(client).end()
    assert reason_of(failed.value) == "TOKEN_INVALID"


async def test_every_match_that_is_followed_counts_as_a_stream(
    valkey_url: str, keys: Keys, client_of: ClientOf, match_id: str
) -> None:
    """[LIMIT_REACHED] Of the player; the stream itself is one."""
    async with (
        rules_server(valkey_url, keys, buckets=4, max_streams_per_player=2) as server,
        grpc.aio.insecure_channel(server.address) as channel,
        Line(Client(channel, as_player(keys, "ada"))) as line,
    ):
        await line.follow(match_id, 0)
        assert (await line.next()).HasField("update")
        await line.follow(match_id)
        assert refusal(await line.next()) == ("RESOURCE_EXHAUSTED", "LIMIT_REACHED")
        await line.unfollow(match_id, 0)
        await line.follow(match_id)
        assert (await line.next()).HasField("update")


async def test_commands_over_a_stream_are_counted_like_calls(
    valkey_url: str, keys: Keys, client_of: ClientOf, match_id: str
) -> None:
    """[LIMIT_REACHED] What comes too fast is refused, and says when to try again."""
    async with (
        rules_server(valkey_url, keys, buckets=4, max_commands_per_second=1) as server,
        grpc.aio.insecure_channel(server.address) as channel,
        Line(Client(channel, as_player(keys, "eve"))) as line,
    ):
        for number in range(10):
            await line.send(
                submit=pb.SubmitCommandRequest(match_id=match_id, request_id=str(number), commands=[{"resign": {}}])
            )
        reasons = [refusal(await line.next())[1] for _ in range(10)]
        assert set(reasons[:3]) == {"SEAT_NOT_YOURS"}
        assert reasons[-1] == "LIMIT_REACHED"


async def test_opening_a_stream_counts_as_a_call(valkey_url: str, keys: Keys) -> None:
    async with (
        rules_server(valkey_url, keys, buckets=4, max_calls_per_second=1) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        lines = [Line(Client(channel, as_player(keys, "eve"))) for _ in range(9)]
        with pytest.raises(grpc.aio.AioRpcError, match="calls a second"):
            await asyncio.gather(*(line.end() for line in lines))
        await asyncio.gather(*(line.cut() for line in lines))


# Ends


async def test_a_stream_ends_when_nothing_more_is_sent_and_all_that_is_followed_is_over(
    line_of: Callable[..., Line], client_of: ClientOf, match_id: str
) -> None:
    line = line_of("ada")
    await line.follow(match_id, 0)
    await line.finish()
    assert (await line.next()).update.HasField("snapshot")
    await client_of("ben").call("Resign", match_id=match_id, seat=1, request_id="r")
    heard = await line.end()
    assert heard[-1].update.HasField("end")


async def test_a_replica_that_stops_ends_its_streams_with_a_place_to_go_on(
    line_of: Callable[..., Line], servers: list[RulesServer], client_of: ClientOf, match_id: str, bench: Bench
) -> None:
    """[Play] What was under way is answered; what is followed goes on at another replica, without a gap."""
    seat, version = await seat_to_act(client_of("ada"), match_id)
    command = await command_of(client_of(NAMES[seat]), match_id, seat, bench)
    line = line_of(NAMES[seat])
    await line.follow(match_id, seat)
    token = (await line.next()).update.resume_token
    await servers[0].drain()
    heard = await line.end()
    assert heard[-2].update.end.resumable
    assert heard[-1].end.reason == stream_pb2.STREAM_END_REASON_SERVER_DRAINING
    other = line_of(NAMES[seat], replica=1)
    await other.follow(match_id, seat, resume_token=token)
    await other.submit(match_id, seat, command, request_id="r")
    told = await other.next()
    assert told.update.commit.version == version + 1


async def test_a_stream_ends_at_its_greatest_age(valkey_url: str, keys: Keys, client_of: ClientOf) -> None:
    async with (
        rules_server(valkey_url, keys, buckets=4, max_stream_seconds=0.2) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        heard = await Line(Client(channel, as_player(keys, "ada"))).end()
    assert heard[-1].end.reason == stream_pb2.STREAM_END_REASON_MAX_AGE
    assert heard[-1].end.resumable


async def test_a_stream_ends_with_the_token_that_opened_it(client_of: ClientOf, keys: Keys) -> None:
    """[TOKEN_INVALID] Its requests are as good as calls, which are refused from then on."""
    client = client_of("ada")
    token = keys.players.mint("ada", PLAYER_SCOPES, life=timedelta(seconds=2 - LEEWAY_SECONDS))
    client.metadata = (("authorization", f"Bearer {token}"),)
    heard = await Line(client).end()
    assert heard[-1].end.reason == stream_pb2.STREAM_END_REASON_MAX_AGE


async def test_a_stream_that_is_cut_leaves_nothing_behind(
    line_of: Callable[..., Line], client_of: ClientOf, match_id: str
) -> None:
    line = line_of("ada")
    open_watchers = metrics.WATCHERS.labels(game="transcontinental")
    before = open_watchers._value.get()
    await line.follow(match_id, 0)
    await line.follow(match_id)
    assert {(await line.next()).HasField("update") for _ in range(2)} == {True}
    await line.cut()

    async def is_left() -> bool:
        return bool(open_watchers._value.get() == before)

    await eventually(is_left)


async def test_a_reader_who_takes_nothing_holds_up_nobody_but_himself(
    line_of: Callable[..., Line], client_of: ClientOf, bench: Bench
) -> None:
    """[Play] Matches of many commits, which a stream that is not read piles up to a bound only."""
    platform = client_of("platform")
    matches = [await platform.create(uuid.uuid4().hex) for _ in range(3)]
    ada = client_of("ada")
    call = ada.open("Play")
    for each in matches:
        follow = pb.PlayAction(follow=pb.WatchMatchRequest(match_id=each, seat=0))
        await call.write(pb.PlayRequest(actions=[follow]))
    for each in matches:
        await client_of("ben").call("Resign", match_id=each, seat=1, request_id="r")
    states = [(await ada.call("GetMatch", match_id=each)).match.state for each in matches]
    assert set(states) == {match_pb2.MATCH_STATE_CLOSED}
    call.cancel()


async def test_streams_of_many_matches_keep_each_in_order(
    client_of: ClientOf, line_of: Callable[..., Line], bench: Bench
) -> None:
    """[Play] Several matches at once over one stream of each player."""
    matches = [await client_of("platform").create(uuid.uuid4().hex) for _ in range(4)]
    lines = [line_of(name) for name in NAMES]
    for each in matches:
        for seat, line in enumerate(lines):
            await line.begin(each, seat)
    async with asyncio.TaskGroup() as group:
        for each in matches:
            group.create_task(play_some(lines, each, bench))
    for line in lines:
        for each in matches:
            versions = [
                message.update.commit.version
                for message in line.heard
                if message.match_id == each and message.update.WhichOneof("kind") == "commit"
            ]
            assert versions == list(range(2, 2 + len(versions)))


async def play_some(lines: list[Line], match_id: str, bench: Bench) -> None:
    """Play twenty commands of a match and wait for each to be recorded."""
    for _ in range(20):
        match = await bench.matches.fresh(match_id)
        seat = match.to_act[0]
        legal = bench.ledger.game_of(match).legal(match.state, seat)
        command = racer(match.state, seat, legal, Random(match.version))
        await lines[seat].submit(match_id, seat, command, request_id=uuid.uuid4().hex)
        version = match.version

        async def recorded(version: int = version) -> bool:
            return (await bench.matches.fresh(match_id)).version > version

        await eventually(recorded, seconds=PATIENCE_SECONDS)
