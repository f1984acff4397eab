"""What stays hidden: in everything that anybody is told of a whole match, and in all that processes leave behind."""

from __future__ import annotations

import asyncio
import base64
import json
import urllib.request
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
import pytest
from redis import Redis

from promontory.games.transcontinental.state import State
from promontory.local.platform import Platform
from tests.support.eavesdropping import Match, leaks, overhear, play_the_house
from tests.support.hostile import attacking
from tests.support.transcontinental import DECK

DATABASES = (0, 1)
HOLDS_THE_GAME = (b":log", b":snap")


class Evening(msgspec.Struct):
    """A match that was overheard to its end, what it was in truth, and its seed."""

    match: Match
    truth: Sequence[State]
    seed: bytes


@pytest.fixture(scope="module")
def evening(platform: Platform) -> Evening:
    """A whole match of two players, and one against the house."""

    async def play() -> Evening:
        async with attacking(platform) as attacker:
            match, truth, seed = await overhear(attacker, uuid.uuid4().hex)
            await play_the_house(attacker, uuid.uuid4().hex)
        return Evening(match, truth, seed)

    return asyncio.run(play())


def test_nobody_is_told_of_a_card_that_is_hidden_from_them(evening: Evening) -> None:
    """[Transcontinental 11.3] Every byte of every answer, stream and refusal, proven by the finished log."""
    assert {heard.audience for heard in evening.match.heard} == {0, 1, None}
    assert len(evening.match.heard) > 10 * len(evening.truth)
    assert leaks(evening.match, evening.truth) == []


def test_the_seed_is_in_nothing_that_is_told_of_an_open_match(evening: Evening) -> None:
    """[fairness 2.6] It is published by the closing commit."""
    last = len(evening.truth)
    assert len(evening.seed) == 32
    assert [heard for heard in evening.match.heard if evening.seed in heard.told and heard.version < last] == []


def secrets_of(platform: Platform, evening: Evening) -> dict[str, bytes]:
    """Return what nothing that a process leaves behind may hold, by what it is."""
    keys = [platform.keys.player_key_file, platform.keys.service_key_file]
    signing = {file.name: json.loads(file.read_text())["d"].encode() for file in keys}
    seal = {"seal key": platform.keys.seal_key_file.read_bytes().strip()}
    seeds = {"seed": evening.seed, "seed hex": evening.seed.hex().encode(), "seed 64": base64.b64encode(evening.seed)}
    cards = {card_id: card_id.encode() for card_id in DECK.ids if len(card_id) > 4}
    return {**signing, **seal, **seeds, **cards, "token": b"eyJ", "bearer": b"Bearer "}


def found(text: bytes, secrets: dict[str, bytes]) -> list[str]:
    return [name for name, secret in secrets.items() if secret in text]


def test_no_process_writes_a_secret_into_its_log(platform: Platform, evening: Evening) -> None:
    """[event_log 5.3] Side doors: keys, tokens, seeds, hands and decks, which all were in use while they wrote."""
    secrets = secrets_of(platform, evening)
    logs = {file.name: file.read_bytes() for file in (platform.directory / "logs").glob("*.log")}
    assert all(b"rpc_served" in logs[f"{name}.log"] for name in ("transcontinental", "scoring"))
    assert {name: found(text, secrets) for name, text in logs.items() if found(text, secrets)} == {}


def test_no_metric_names_a_secret_a_match_or_a_player(platform: Platform, evening: Evening) -> None:
    """[style 8] Label values come from closed sets."""
    secrets = {**secrets_of(platform, evening), "match": evening.match.match_id.encode(), "player": b'"ada"'}
    pages = [urllib.request.urlopen(f"http://{ready.metrics}/metrics").read() for ready in platform.ready.values()]
    assert [found(page, secrets) for page in pages if found(page, secrets)] == []


READ: dict[bytes, Any] = {
    b"string": lambda redis, key: [redis.get(key)],
    b"hash": lambda redis, key: [each for pair in redis.hgetall(key).items() for each in pair],
    b"list": lambda redis, key: redis.lrange(key, 0, -1),
    b"set": lambda redis, key: redis.smembers(key),
    b"zset": lambda redis, key: redis.zrange(key, 0, -1),
    b"stream": lambda redis, key: [each for _, fields in redis.xrange(key) for pair in fields.items() for each in pair],
}


def contents(platform: Platform) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys of the server with their contents, but for the matches' own logs."""
    for database in DATABASES:
        with Redis.from_url(platform.redis_url, db=database) as redis:
            for key in redis.scan_iter():
                if not key.endswith(HOLDS_THE_GAME):
                    yield key, b"\0".join([key, *READ[redis.type(key)](redis, key)])


def test_nothing_beside_a_matchs_own_log_holds_a_secret(platform: Platform, evening: Evening) -> None:
    """[event_log 5.3] Feed, obligations, queues, tasks and tickets carry no hidden state."""
    secrets = secrets_of(platform, evening)
    assert {key: found(text, secrets) for key, text in contents(platform) if found(text, secrets)} == {}
