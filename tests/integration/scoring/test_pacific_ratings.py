"""From the table to the ladder: the rules of Pacific close matches for many, and scoring rates them, ties and all."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack

import grpc
import pytest

from promontory import AsyncClient, MatchSummary
from promontory.api.scoring.v1 import scoring_service_pb2 as pb
from promontory.api.scoring.v1.scoring_service_pb2_grpc import ScoringServiceStub
from promontory.client.ratings import SCORING
from promontory.eventlog.obligations import tally_name
from promontory.eventlog.port import bucket_of
from promontory.eventlog.redis_server import Connections
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.local.ratings import rebuild
from promontory.rules.domain import SeatSetup, Setup
from promontory.runtime import clock
from promontory.runtime.identity import PLAYER_SCOPES
from promontory.scoring.domain import NEW_RATING, rate
from promontory.scoring.main import servicer
from tests.support.own_decks import level_deck
from tests.support.players import Journal, play_seat
from tests.support.rules_servers import Client, as_platform, rules_server
from tests.support.serving import TOKEN_LIFE, Keys, create_keys, served

PLAYERS = ("ada", "ben", "cyd", "dot", "eve")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return create_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
def log(redis_connections: Connections) -> RedisEventLog:
    return RedisEventLog(redis_connections.commands, blocking=redis_connections.blocking, clock=clock.now_ms)


@pytest.fixture
def pool() -> str:
    """A pool of its own, as the server outlives the test."""
    return f"pacific.{uuid.uuid4().hex}"


class Club:
    """The services, with a deck by which all who play to the end share the first place, and the players."""

    def __init__(self, keys: Keys, pool: str, endpoints: dict[str, str], stack: AsyncExitStack) -> None:
        self._keys, self._pool, self._endpoints, self._stack = keys, pool, endpoints, stack
        channels = [grpc.aio.insecure_channel(endpoints[name]) for name in ("pacific", "scoring")]
        [stack.push_async_callback(channel.close, None) for channel in channels]
        self._rules, self._scoring = channels[0], ScoringServiceStub(channels[1])
        self.clients = {player: self._client(player) for player in PLAYERS}

    def _client(self, player: str) -> AsyncClient:
        token = self._keys.players.mint(player, PLAYER_SCOPES, life=TOKEN_LIFE)
        client = AsyncClient(self._endpoints, token=token)
        self._stack.push_async_callback(client.close)
        return client

    async def play(self, players: Sequence[str], *, resigning: Sequence[int] = ()) -> MatchSummary:
        """Play a rated match, in which the seats `resigning` resign at once in this order; return how it ended."""
        setup = Setup(tuple(map(SeatSetup, players)), pool=self._pool, rated=True)
        match_id = await Client(self._rules, as_platform(self._keys), game="pacific").create(uuid.uuid4().hex, setup)
        seats = [self.clients[player].seat("pacific", match_id, seat) for seat, player in enumerate(players)]
        for seat in resigning:
            await seats[seat].resign()
        playing = [seated for seated in seats if seated.seat not in resigning]
        ended = await asyncio.gather(*(play_seat(seated, Journal()) for seated in playing))
        return ended[0]

    async def tally(self, match_id: str) -> pb.TallyMatchResponse:
        """Have a match tallied, as a worker does."""
        request, metadata = pb.TallyMatchRequest(match_id=match_id), self._keys.as_service("match:tally")
        response: pb.TallyMatchResponse = await self._scoring.TallyMatch(request, metadata=metadata)
        return response

    async def board(self) -> list[tuple[int, str, int]]:
        """Return ranks, players and their numbers of matches, as any player reads them."""
        entries = [entry async for entry in self.clients["ada"].leaderboard(self._pool)]
        return [(entry.rank, entry.rating.player_id, entry.rating.matches) for entry in entries]


@pytest.fixture
async def club(log: RedisEventLog, keys: Keys, pool: str, valkey_url: str) -> AsyncIterator[Club]:
    async with (
        rules_server(valkey_url, keys, game="pacific", data=(level_deck(),), buckets=4) as rules,
        served([(SCORING, servicer(log))], keys) as scoring,
        AsyncExitStack() as stack,
    ):
        yield Club(keys, pool, {"pacific": rules.address, "scoring": scoring}, stack)


def places_of(match: MatchSummary) -> tuple[int, ...]:
    assert match.outcome is not None
    return tuple(placement.place for placement in match.outcome.placements)


@pytest.mark.parametrize(
    ("seats", "resigning", "places"),
    [
        (3, (), (1, 1, 1)),
        (3, (1,), (1, 3, 1)),
        (4, (3,), (1, 1, 1, 4)),
        (4, (0, 2), (4, 1, 3, 1)),
        (5, (3, 4), (1, 1, 1, 5, 4)),
        (5, (2, 0, 1), (4, 3, 5, 1, 1)),
    ],
)
async def test_a_table_s_shared_places_become_ratings(
    club: Club, log: RedisEventLog, seats: int, resigning: Sequence[int], places: tuple[int, ...]
) -> None:
    """[P-12] [scoring/v1 TallyMatch] Equal money shares a place; who resigned comes last, the first one very last."""
    match = await club.play(PLAYERS[:seats], resigning=resigning)
    due = await log.claim(bucket_of(match.match_id), limit=100, lease_ms=1, max_attempts=1000)
    tallied = await club.tally(match.match_id)
    after = [(change.after.mu, change.after.sigma, change.after.matches) for change in tallied.changes]
    assert places_of(match) == places
    assert tally_name(match.match_id) in {each.name for each in due}
    assert [(change.player_id, change.place) for change in tallied.changes] == list(zip(PLAYERS, places, strict=False))
    assert after == [(one.mu, one.sigma, one.matches) for one in rate([NEW_RATING] * seats, places)]


async def test_those_who_shared_a_place_share_a_rank(club: Club, pool: str) -> None:
    """[scoring/v1 LeaderboardEntry] 1, 1, 1, 4, 5; and the history tells the place and the money."""
    match = await club.play(PLAYERS, resigning=(3, 4))
    await club.tally(match.match_id)
    (step,) = [step async for step in club.clients["dot"].rating_history(pool)]
    assert await club.board() == [(1, "ada", 1), (1, "ben", 1), (1, "cyd", 1), (4, "eve", 1), (5, "dot", 1)]
    assert (step.match_id, step.change.place, step.change.seat) == (match.match_id, 5, 3)
    assert step.change.score == match.outcome.placements[3].score  # type: ignore[union-attr]


async def test_a_pool_of_such_matches_is_rebuilt_to_the_byte(club: Club, pool: str, valkey_url: str) -> None:
    """[architecture 6] `admin rebuild ratings`: tables of three to five, with ties and resignations, tallied twice."""
    tables: list[tuple[tuple[str, ...], tuple[int, ...]]] = [
        (PLAYERS, (3, 4)),
        (("dot", "ada", "eve"), ()),
        (("ben", "dot", "cyd", "ada"), (2, 0)),
    ]
    matches = [await club.play(players, resigning=resigning) for players, resigning in tables]
    tallied = await asyncio.gather(*(club.tally(match.match_id) for match in [*matches, *matches]))
    rebuilt = await rebuild(valkey_url, pool)
    assert sum(response.tallied for response in tallied) == 3
    assert (rebuilt.equal, rebuilt.matches, rebuilt.players) == (True, 3, 5)
    assert sorted((player, matches) for _, player, matches in await club.board()) == [
        ("ada", 3),
        ("ben", 2),
        ("cyd", 2),
        ("dot", 3),
        ("eve", 2),
    ]
