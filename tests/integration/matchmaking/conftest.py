"""What the tests of matchmaking's process share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import pytest

from promontory.eventlog.functions import event_log_library, load_library
from promontory.eventlog.redis_server import Connections
from promontory.matchmaking.domain import Pool
from promontory.matchmaking.redis_tickets import matchmaking_library
from promontory.runtime.settings import MatchmakingSettings
from tests.support.matchmaking_processes import Peers, Replica, matchmaking_served, peers_served
from tests.support.serving import Keys, create_keys


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return create_keys(tmp_path_factory.mktemp("keys"))


@pytest.fixture
async def peers(keys: Keys) -> AsyncIterator[Peers]:
    async with peers_served(keys) as served:
        yield served


@pytest.fixture
async def settings(valkey_url: str, redis_connections: Connections) -> MatchmakingSettings:
    """The settings of a replica on an empty server; everything happens soon."""
    await redis_connections.commands.flushdb()
    for library in (event_log_library(), matchmaking_library()):
        await load_library(redis_connections.commands, library)
    return MatchmakingSettings(
        redis_url=valkey_url, matching_interval_seconds=0.05, proposal_lease_seconds=0.2, max_open_tickets=5
    )


@pytest.fixture
def pools(request: pytest.FixtureRequest) -> Sequence[Pool]:
    """The pools of the replicas: the module's `POOLS`."""
    pools: Sequence[Pool] = request.module.POOLS
    return pools


@pytest.fixture
async def replica(
    settings: MatchmakingSettings, pools: Sequence[Pool], peers: Peers, keys: Keys
) -> AsyncIterator[Replica]:
    async with matchmaking_served(settings, pools, peers, keys) as served:
        yield served


@pytest.fixture
async def other_replica(
    settings: MatchmakingSettings, pools: Sequence[Pool], peers: Peers, keys: Keys
) -> AsyncIterator[Replica]:
    async with matchmaking_served(settings, pools, peers, keys) as served:
        yield served
