"""Two replicas of scoring over real gRPC on a real server."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import grpc
import pytest

from promontory.api.scoring.v1 import scoring_service_pb2 as pb
from promontory.api.scoring.v1.scoring_service_pb2_grpc import ScoringServiceStub
from promontory.eventlog.redis_server import Connections, connect
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.runtime import clock
from promontory.runtime.embedded import EmbeddedServer
from promontory.scoring.ladders import Ladders
from promontory.scoring.main import servicer
from promontory.scoring.rebuild import rebuild_pool
from promontory.scoring.records import stream_of
from promontory.scoring.usecases import TallyMatch
from tests.support.closed_matches import Played, write_closed, write_open
from tests.support.faults import FaultProxy
from tests.support.serving import Keys, create_keys, reason_of, served

SERVICE = pb.DESCRIPTOR.services_by_name["ScoringService"]


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return create_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def log(redis_connections: Connections) -> RedisEventLog:
    return RedisEventLog(redis_connections.commands, blocking=redis_connections.blocking, clock=clock.now_ms)


@pytest.fixture
async def replicas(log: RedisEventLog, keys: Keys) -> AsyncIterator[list[ScoringServiceStub]]:
    async with AsyncExitStack() as stack:
        addresses = [await stack.enter_async_context(served([(SERVICE, servicer(log))], keys)) for _ in range(2)]
        channels = [await stack.enter_async_context(grpc.aio.insecure_channel(address)) for address in addresses]
        yield [ScoringServiceStub(channel) for channel in channels]


@pytest.fixture
def pool() -> str:
    """A pool of its own, as the server outlives the test."""
    return f"pool.{uuid.uuid4().hex}"


def played(pool: str, number: int, *, players: tuple[str, str] = ("ada", "ben")) -> Played:
    return Played(f"{pool} {number}", players, (1, 2), pool=pool)


async def test_a_match_tallied_eight_times_at_once_counts_once(
    replicas: list[ScoringServiceStub], log: RedisEventLog, keys: Keys, pool: str
) -> None:
    """[event_log R15] Twice in parallel: effects = 1."""
    request = pb.TallyMatchRequest(match_id=await write_closed(log, played(pool, 1)))
    metadata = keys.as_service("match:tally")
    responses = await asyncio.gather(*(stub.TallyMatch(request, metadata=metadata) for stub in replicas * 4))
    assert sorted(response.tallied for response in responses) == [False] * 7 + [True]
    assert len({response.changes[0].SerializeToString() for response in responses}) == 1
    assert len(await log.read(stream_of(pool))) == 1
    assert await log.oldest_due("tc:0a7") is None


async def test_eight_matches_tallied_at_once_on_two_replicas_all_count_once(
    replicas: list[ScoringServiceStub], log: RedisEventLog, keys: Keys, pool: str
) -> None:
    """[event_log O2] Each tally changes each rating once, and what is recorded can be recomputed."""
    matches = [await write_closed(log, played(pool, number)) for number in range(8)]
    metadata = keys.as_service("match:tally")
    calls = [
        stub.TallyMatch(pb.TallyMatchRequest(match_id=match), metadata=metadata)
        for match in matches
        for stub in replicas
    ]
    responses = await asyncio.gather(*calls)
    assert sum(response.tallied for response in responses) == 8
    rating = pb.GetRatingRequest(pool=pool, player_id="ada")
    ratings = [(await stub.GetRating(rating, metadata=metadata)).rating for stub in replicas]
    assert [rating.matches for rating in ratings] == [8, 8]
    assert ratings[0] == ratings[1]
    assert (await rebuild_pool(log, pool)).equal


async def test_a_replica_sees_at_once_what_the_other_tallied(
    replicas: list[ScoringServiceStub], log: RedisEventLog, keys: Keys, pool: str
) -> None:
    """Every read catches up with the rating log."""
    first, second = replicas
    board = pb.ListLeaderboardRequest(pool=pool)
    assert not (await second.ListLeaderboard(board, metadata=keys.as_player("ada"))).entries
    request = pb.TallyMatchRequest(match_id=await write_closed(log, played(pool, 1)))
    await first.TallyMatch(request, metadata=keys.as_service("match:tally"))
    entries = (await second.ListLeaderboard(board, metadata=keys.as_player("ada"))).entries
    assert [(entry.rank, entry.rating.player_id) for entry in entries] == [(1, "ada"), (2, "ben")]
    assert entries[0].rating.points == pytest.approx(1500 + 40 * 2.635389493140497)
    assert entries[0].assured_points < entries[0].rating.points


async def test_history_tells_what_each_match_changed(
    replicas: list[ScoringServiceStub], log: RedisEventLog, keys: Keys, pool: str
) -> None:
    """[scoring/v1 ListRatingHistory] The newest first, with the time the match was closed."""
    matches = [await write_closed(log, played(pool, number)) for number in range(2)]
    for match in matches:
        await replicas[0].TallyMatch(pb.TallyMatchRequest(match_id=match), metadata=keys.as_service("match:tally"))
    request = pb.ListRatingHistoryRequest(pool=pool, player_id="ben")
    entries = (await replicas[1].ListRatingHistory(request, metadata=keys.as_player("ben"))).entries
    assert [entry.match_id for entry in entries] == matches[::-1]
    assert entries[0].change.before == entries[1].change.after
    assert entries[0].close_time.seconds == 1_700_000_000


async def test_a_tally_whose_answer_is_lost_counts_once(
    valkey: EmbeddedServer, log: RedisEventLog, pool: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """[event_log 2.4] An unknown outcome is resolved by the command id, and the ladder finds its own commit."""
    match_id = await write_closed(log, played(pool, 1))
    async with FaultProxy(valkey.socket_path, tmp_path_factory.mktemp("proxy") / "s") as proxy:
        connections = connect(proxy.url)
        shaky = RedisEventLog(connections.commands, blocking=connections.blocking, clock=clock.now_ms)
        proxy.lose_reply(to=b"append_")
        tallied = await TallyMatch(shaky, Ladders(shaky))(match_id)
        await connections.aclose()
    assert (proxy.lost, len(tallied.changes)) == (1, 2)
    assert len(await log.read(stream_of(pool))) == 1


async def test_a_player_cannot_tally(replicas: list[ScoringServiceStub], keys: Keys, pool: str) -> None:
    """[SCOPE_MISSING]."""
    request = pb.TallyMatchRequest(match_id=played(pool, 1).match_id)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await replicas[0].TallyMatch(request, metadata=keys.as_player("ada"))
    assert reason_of(refused.value) == "SCOPE_MISSING"


async def test_an_open_match_is_refused(
    replicas: list[ScoringServiceStub], log: RedisEventLog, keys: Keys, pool: str
) -> None:
    """[MATCH_OPEN]."""
    await write_open(log, played(pool, 1))
    request = pb.TallyMatchRequest(match_id=played(pool, 1).match_id)
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await replicas[0].TallyMatch(request, metadata=keys.as_service("match:tally"))
    assert reason_of(refused.value) == "MATCH_OPEN"


async def test_a_damaged_rating_log_is_not_served(
    replicas: list[ScoringServiceStub], log: RedisEventLog, redis_connections: Connections, keys: Keys, pool: str
) -> None:
    """[event_log R18] [LOG_CORRUPT] An altered byte is found, by readers and by the rebuild."""
    request = pb.TallyMatchRequest(match_id=await write_closed(log, played(pool, 1)))
    await replicas[0].TallyMatch(request, metadata=keys.as_service("match:tally"))
    await _flip_a_byte(redis_connections, stream_of(pool))
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await replicas[1].GetRating(pb.GetRatingRequest(pool=pool, player_id="ada"), metadata=keys.as_player("ada"))
    assert reason_of(refused.value) == "LOG_CORRUPT"
    assert not (await rebuild_pool(log, pool)).equal


async def _flip_a_byte(connections: Connections, stream: str) -> None:
    key = f"{{rt:000}}:m:{stream}:log"
    (entry,) = await connections.commands.execute_command("XRANGE", key, "-", "+")
    fields = entry[1].items()
    altered = [(name, value[:-1] + bytes([value[-1] ^ 1]) if name == b"d" else value) for name, value in fields]
    await connections.commands.execute_command("DEL", key)
    await connections.commands.execute_command("XADD", key, entry[0], *(part for pair in altered for part in pair))


async def test_a_player_forgotten_by_one_replica_is_gone_from_the_other(
    replicas: list[ScoringServiceStub], log: RedisEventLog, keys: Keys, pool: str
) -> None:
    """[scoring/v1 ForgetPlayer] Needs the scope `player:forget`; `admin rebuild ratings` follows."""
    first, second = replicas
    request = pb.TallyMatchRequest(match_id=await write_closed(log, played(pool, 1)))
    await first.TallyMatch(request, metadata=keys.as_service("match:tally"))
    own = pb.GetRatingRequest(pool=pool)
    assert (await second.GetRating(own, metadata=keys.as_player("ada"))).rating.matches == 1
    forget = pb.ForgetPlayerRequest(player_id="ada", pools=[pool], request_id="once")
    with pytest.raises(grpc.aio.AioRpcError) as refused:
        await first.ForgetPlayer(forget, metadata=keys.as_player("ada"))
    assert reason_of(refused.value) == "SCOPE_MISSING"
    assert (await first.ForgetPlayer(forget, metadata=keys.as_service("player:forget"))).pools == [pool]
    board = await second.ListLeaderboard(pb.ListLeaderboardRequest(pool=pool), metadata=keys.as_player("ben"))
    assert [entry.rating.player_id for entry in board.entries] == ["ben"]
    assert (await second.GetRating(own, metadata=keys.as_player("ada"))).rating.matches == 0
    assert (await rebuild_pool(log, pool)).equal
