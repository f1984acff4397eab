"""The rules process itself: how it starts, refuses to start, drains, and dies."""

from __future__ import annotations

import asyncio
import urllib.request
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import grpc
import pytest

from promontory.api.match.v1 import stream_pb2
from promontory.eventlog.functions import LibraryMissing
from promontory.eventlog.redis_server import Connections
from promontory.games.registry import UnknownGameError
from promontory.games.transcontinental.commands import DrawCard, EndWork
from promontory.games.transcontinental.vocabulary import Source
from promontory.local.processes import ChildProcess
from promontory.rules.main import main
from promontory.rules.seal import SealKeyError, create_seal_key
from promontory.runtime.embedded import EmbeddedServer
from promontory.runtime.settings import RulesSettings
from tests.support.rules_servers import Client, as_platform, as_player
from tests.support.serving import Keys

ClientOf = Callable[..., Client]
DRAW = DrawCard(0, Source.DECK)


@pytest.fixture
def process(redis_connections: Connections, valkey_url: str, keys: Keys, tmp_path: Path) -> Iterator[ChildProcess]:
    """A rules process that is not yet ready, with a seal key of its own."""
    create_seal_key(tmp_path / "seal.key")
    environ = {
        "PROMONTORY_REDIS_URL": valkey_url,
        "PROMONTORY_PLAYER_KEYS_FILE": str(keys.directory / "players.jwks.json"),
        "PROMONTORY_SERVICE_KEYS_FILE": str(keys.directory / "services.jwks.json"),
        "PROMONTORY_SEAL_KEY_FILE": str(tmp_path / "seal.key"),
        "PROMONTORY_BUCKETS": "4",
    }
    child = ChildProcess("rules", ["serve", "rules", "--game", "transcontinental"], directory=tmp_path, environ=environ)
    yield child
    child.kill()


async def test_a_process_serves_drains_and_ends_in_peace(process: ChildProcess, keys: Keys) -> None:
    """[event_log 2.14] On SIGTERM every stream gets its end, and says that it can be resumed."""
    ready = await asyncio.to_thread(process.ready)
    async with grpc.aio.insecure_channel(ready.grpc) as channel:
        match_id = await Client(channel, as_platform(keys)).create(uuid.uuid4().hex)
        stream = aiter(Client(channel, as_player(keys, "ada")).stream("WatchMatch", match_id=match_id, seat=0))
        assert (await anext(stream)).snapshot.match.version == 1
        process.terminate()
        end = (await anext(stream)).end
        assert (end.reason, end.resumable) == (stream_pb2.STREAM_END_REASON_SERVER_DRAINING, True)
        assert await asyncio.to_thread(process.wait) == 0


async def test_a_match_survives_the_death_of_its_process(
    process: ChildProcess, keys: Keys, client_of: ClientOf
) -> None:
    """[architecture 2] Any process may die at any moment: what was acknowledged is there, on any replica."""
    ready = await asyncio.to_thread(process.ready)
    async with grpc.aio.insecure_channel(ready.grpc) as channel:
        match_id = await Client(channel, as_platform(keys)).create(uuid.uuid4().hex)
        drawn = await Client(channel, as_player(keys, "ada")).submit(match_id, DRAW, request_id="1")
        process.kill()
    again = await client_of("ada").submit(match_id, DRAW, request_id="1")
    ended = await client_of("ada").submit(match_id, EndWork(0), request_id="2", expected=drawn.version)
    assert (again, ended.version) == (drawn, 3)


async def test_a_process_counts_what_it_does(process: ChildProcess, keys: Keys) -> None:
    """[style 8] Metrics with the platform's prefix and labels out of closed sets."""
    ready = await asyncio.to_thread(process.ready)
    async with grpc.aio.insecure_channel(ready.grpc) as channel:
        match_id = await Client(channel, as_platform(keys)).create(uuid.uuid4().hex)
        ada = Client(channel, as_player(keys, "ada"))
        await ada.submit(match_id, DRAW, request_id="1")
        await ada.submit(match_id, DRAW, request_id="1")
        with pytest.raises(grpc.aio.AioRpcError):
            await ada.submit(match_id, DRAW, request_id="2")
        await ada.call("Resign", match_id=match_id, seat=0, request_id="3")
    response = await asyncio.to_thread(urllib.request.urlopen, f"http://{ready.metrics}/metrics")
    lines = response.read().decode().splitlines()
    game = 'game="transcontinental"'
    assert {
        f'promontory_commands_total{{command="DrawCard",{game},outcome="accepted"}} 1.0',
        f'promontory_commands_total{{command="DrawCard",{game},outcome="duplicate"}} 1.0',
        f'promontory_commands_total{{command="DrawCard",{game},outcome="refused"}} 1.0',
        f'promontory_commands_total{{command="Resign",{game},outcome="accepted"}} 1.0',
        f"promontory_command_duration_seconds_count{{{game}}} 4.0",
        f"promontory_matches_created_total{{{game}}} 1.0",
        f'promontory_matches_closed_total{{{game},reason="resigned"}} 1.0',
        'promontory_appends_total{outcome="appended"} 3.0',
        "promontory_append_duration_seconds_count 3.0",
        f"promontory_watchers{{{game}}} 0.0",
    } <= set(lines)


def settings_for(url: str, keys: Keys, directory: Path) -> RulesSettings:
    return RulesSettings(
        redis_url=url,
        player_keys_file=keys.directory / "players.jwks.json",
        service_keys_file=keys.directory / "services.jwks.json",
        seal_key_file=directory / "seal.key",
    )


async def test_on_a_server_without_its_functions_it_does_not_start(keys: Keys, tmp_path: Path) -> None:
    """The error says which command loads them."""
    create_seal_key(tmp_path / "seal.key")
    with EmbeddedServer(tmp_path) as server, pytest.raises(LibraryMissing, match="load-functions"):
        await main("transcontinental", settings_for(server.url, keys, tmp_path))


async def test_without_a_seal_key_it_does_not_start(
    redis_connections: Connections, valkey_url: str, keys: Keys, tmp_path: Path
) -> None:
    """The error names the file that is missing."""
    with pytest.raises(SealKeyError, match=r"seal\.key"):
        await main("transcontinental", settings_for(valkey_url, keys, tmp_path))


async def test_for_a_game_that_there_is_not_it_does_not_start(valkey_url: str, keys: Keys, tmp_path: Path) -> None:
    """The error lists the games there are."""
    with pytest.raises(UnknownGameError, match="transcontinental"):
        await main("chess", settings_for(valkey_url, keys, tmp_path))


async def test_with_a_data_file_that_is_malformed_it_does_not_start(
    valkey_url: str, keys: Keys, tmp_path: Path
) -> None:
    """An operator's card file is checked before anything is served."""
    (tmp_path / "cards.json").write_text("{}")
    settings = RulesSettings(redis_url=valkey_url, data_files=f"transcontinental={tmp_path / 'cards.json'}")
    with pytest.raises(ValueError, match="card file"):
        await main("transcontinental", settings)
