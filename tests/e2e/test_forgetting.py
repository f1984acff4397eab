"""A player plays, takes all that is held about them along, and is forgotten; what others played stays right."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from redis.asyncio import Redis

from promontory import AsyncClient, Unauthenticated
from promontory.cli import main
from promontory.client.tables import TableOptions
from promontory.local.platform import Platform
from promontory.local.ratings import rebuild
from promontory.runtime.identity import PLAYER_SCOPES, load_key
from tests.support.commands import exit_code
from tests.support.players import Journal, play_match
from tests.support.waiting import eventually

SUBJECT = "Ada.Lovelace@example.org"
GAME, POOL = "transcontinental", "transcontinental.ranked"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Every process, with opaque player ids."""
    with Platform(tmp_path_factory.mktemp("platform"), settings={"PROMONTORY_PLAYER_IDS": "opaque"}) as running:
        yield running


class Person(msgspec.Struct, frozen=True):
    """Somebody whom the identity provider calls `subject`, with a token in a file."""

    platform: Platform
    subject: str
    token_file: Path

    def sign_in(self) -> AsyncClient:
        """Return a client with a new token, which goes into the file too."""
        key = load_key(self.platform.keys.player_key_file)
        token = key.mint(self.subject, PLAYER_SCOPES, life=timedelta(hours=1))
        self.token_file.write_text(token)
        return AsyncClient(self.platform.endpoints, token=token)

    async def run(self, *words: object) -> int:
        """Run a command of `promontory` as this person, and return its exit code."""
        endpoints = ",".join(f"{name}={address}" for name, address in self.platform.endpoints.items())
        access = ("--endpoints", endpoints, "--token-file", self.token_file)
        return await asyncio.to_thread(exit_code, "player", *words, *access)


@pytest.mark.timeout(120)
async def test_a_player_is_forgotten_and_logs_and_ratings_stay_right(
    platform: Platform, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """[event_log 5.5] The id in the logs stands for nobody, and the chain is intact."""
    ada = Person(platform, SUBJECT, tmp_path / "ada.token")
    async with ada.sign_in() as client, Person(platform, "ben", tmp_path / "ben.token").sign_in() as ben:
        player, match_id = await client.player_id(), await _played(client, ben)
        before = await ben.export_match(GAME, match_id)
        table = await client.create_table(GAME, TableOptions())

        assert await ada.run("export", "--output", tmp_path / "ada.json") == 0
        document = json.loads((tmp_path / "ada.json").read_text())
        assert (document["player_id"], document["identity"]["subject"]) == (player, SUBJECT)
        assert [each["match_id"] for each in document["matches"]] == [match_id]
        assert [len(each["history"]) for each in document["ratings"]] == [1]
        assert [each["table_id"] for each in document["tables"]] == [table.table_id]

        assert await _tells_of_ada(platform)
        capfd.readouterr()
        assert await ada.run("forget", "--yes", "--json") == 0
        forgetting = json.loads(capfd.readouterr().out)
        assert (forgetting["player_id"], forgetting["tables_left"], forgetting["pools"]) == (player, 1, [POOL])

        assert [entry.rating.player_id async for entry in ben.leaderboard(POOL)] == [await ben.player_id()]
        rebuilt = await rebuild(platform.redis_url, POOL)
        assert (rebuilt.equal, rebuilt.players) == (True, 1)
        assert await ben.export_match(GAME, match_id) == before
        assert [entry.match_id async for entry in ben.matches()] == [match_id]
        await eventually(lambda: _is_refused(client.pools()))
        await eventually(lambda: _is_refused(client.rating(POOL)))
        await eventually(lambda: _is_refused(client.spectate(GAME, match_id).look()))
    assert not await _tells_of_ada(platform)
    (tmp_path / "match.jsonl").write_bytes(before)
    with pytest.raises(SystemExit) as audited:
        main(["audit", str(tmp_path / "match.jsonl")])
    assert audited.value.code == 0

    async with ada.sign_in() as client:
        again = await client.player_id()
        assert again != player
        assert [entry async for entry in client.matches()] == []
    capfd.readouterr()
    assert await ada.run("id", "--subject", SUBJECT, "--data-dir", platform.directory) == 0
    assert capfd.readouterr().out == f"{again}\n"
    assert await ada.run("export", player, "--data-dir", platform.directory) == 0
    document = json.loads(capfd.readouterr().out)
    assert [document[key] for key in ("identity", "tables", "matches", "ratings")] == [None, [], [], []]
    assert document["forgetting"]["resigned"] == []


async def _played(first: AsyncClient, second: AsyncClient) -> str:
    """Return a rated match of two, played and tallied."""
    journal = Journal()
    match, _ = await asyncio.gather(play_match(first, POOL, journal), play_match(second, POOL, journal))
    await eventually(lambda: _is_counted(second), seconds=20)
    await eventually(lambda: _is_listed(second), seconds=20)
    return match.match_id


async def _is_counted(client: AsyncClient) -> bool:
    return (await client.rating(POOL)).matches == 1


async def _is_listed(client: AsyncClient) -> bool:
    return [entry.state async for entry in client.matches()] != ["open"]


async def _is_refused(call: Any) -> bool:
    try:
        await call
    except Unauthenticated as error:
        return error.reason == "TOKEN_REVOKED"
    return False


async def _tells_of_ada(platform: Platform) -> bool:
    return SUBJECT.encode() in b"".join([row async for row in _everything(platform.redis_url)])


async def _everything(url: str) -> AsyncIterator[bytes]:
    """Yield every key and every value in all databases of the server."""
    databases = await Redis.from_url(url).config_get("databases")
    for number in range(int(databases["databases"])):
        async with Redis.from_url(url, db=number) as client:
            async for key in client.scan_iter():
                yield key
                yield repr(await _value(client, key)).encode()


async def _value(client: Redis, key: bytes) -> Any:
    match (await client.type(key)).decode():
        case "string":
            return await client.get(key)
        case "hash":
            return await client.hgetall(key)
        case "zset":
            return await client.zrange(key, 0, -1)
        case "set":
            return await client.smembers(key)
        case "list":
            return await client.lrange(key, 0, -1)
    return await client.xrange(key)
