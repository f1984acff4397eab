"""Friends and a house bot at a private table, through every process, and what the lists tell of it."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from redis.asyncio import Redis

from promontory import AsyncClient, ClockKind, TableOptions, TimeControl
from promontory.client.lists import MatchEntry
from promontory.client.matches import MatchState
from promontory.client.tables import Readiness
from promontory.codec.outcomes import CloseReason
from promontory.local.platform import Platform
from promontory.local.up import write_connection
from tests.e2e.test_bot_command import promontory
from tests.support.players import client_of
from tests.support.waiting import eventually

GAME = "pacific"
DOCS = Path(__file__).parents[2] / "docs" / "lobby.md"
KEYS_DOCS = DOCS.with_name("redis.md")
CLOCK = TimeControl(ClockKind.PER_TURN, timedelta(minutes=5))
OPTIONS = TableOptions(
    seats=3, house_bots={2: "greedy"}, ready=False, time_control=CLOCK, stand_in="greedy", spectator_delay=2
)


async def ids(entries: AsyncGenerator[MatchEntry]) -> list[str]:
    return [entry.match_id async for entry in entries]


async def play_out(ann: AsyncClient, bob: AsyncClient) -> str:
    """Open a table, join, get ready, start, and resign; return the match's id."""
    table = await ann.create_table(GAME, OPTIONS)
    watching = asyncio.create_task(table.seat())
    joined = await bob.join_table(table.invite_code)
    assert [place.readiness for place in joined.last.places] == [
        Readiness.NOT_READY,
        Readiness.ALWAYS_READY,
        Readiness.ALWAYS_READY,
    ]
    started = await table.ready()
    first, second = await watching, await joined.seat()
    match = (await first.look()).match
    assert (first.seat, second.seat, match.match_id) == (0, 1, started.match_id)
    assert match.time_control is not None
    assert (match.time_control.base, match.spectator_delay) == (CLOCK.base, 2)
    assert [entry.match_id async for entry in ann.live_matches(GAME)] == [match.match_id]
    await first.resign()
    await second.resign()
    return match.match_id


async def closed_matches(client: AsyncClient, player: str) -> list[MatchEntry]:
    return [entry async for entry in client.player_matches(player)]


@pytest.mark.timeout(120)
async def test_a_private_table_is_played_listed_and_played_again(platform: Platform) -> None:
    """[CreateTable] [SetReady] [RecordClosedMatch] [RequestRematch] What is listed follows from the logs."""
    async with AsyncExitStack() as stack:
        ann, bob, cem = [
            await stack.enter_async_context(client_of(platform, player)) for player in ("ann", "bob", "cem")
        ]
        match_id = await play_out(ann, bob)

        [closed] = await eventually(lambda: closed_matches(ann, "bob"), seconds=30)
        assert closed.outcome is not None
        assert closed.placement is not None
        assert (closed.match_id, closed.outcome.reason, closed.placement.place) == (match_id, CloseReason.RESIGNED, 2)
        assert await ids(ann.live_matches(GAME)) == await closed_matches(cem, "bob") == []
        assert await ids(bob.matches(state=MatchState.CLOSED, game=GAME)) == [match_id]

        asked = await ann.rematch(match_id)
        [offered] = await bob.tables()
        assert (offered.table_id, offered.last.your_seat, asked.last.your_seat) == (asked.table_id, 0, 2)
        again = await (await bob.rematch(match_id)).seat()
        seats = (await again.look()).match.seats
        assert [seat.player_id for seat in seats] == ["bob", "house-greedy-2", "ann"]
        assert await ids(ann.matches()) == [again.match_id, match_id]

        assert (await rebuilt(platform))["mended"] == []
        await forget_lists(platform)
        assert await ids(ann.matches()) == []
        assert set((await rebuilt(platform))["mended"]) >= {match_id, again.match_id}
        assert await ids(ann.matches()) == [again.match_id, match_id]
        assert await ids(bob.live_matches(GAME)) == [again.match_id]
    assert await undocumented(platform) == []


async def undocumented(platform: Platform) -> list[str]:
    """Return the keys that docs/redis.md does not tell of, or that expire or stay although it says they do not."""
    kinds = documented_keys()
    async with Redis.from_url(platform.redis_url) as redis:
        found = {key.decode(): await redis.ttl(key) for key in [key async for key in redis.scan_iter()]}
    return [key for key, ttl in found.items() if not any(is_as_told(key, ttl, *kind) for kind in kinds)]


def documented_keys() -> list[tuple[str, str]]:
    """Return the patterns of keys in docs/redis.md, and whether they expire."""
    rows = re.findall(
        r"^\| `(.*?)` \|.*\| (always|later|never) \|$", KEYS_DOCS.read_text(encoding="utf-8"), re.MULTILINE
    )
    return [(re.sub("<[a-z]+>", ".+", re.escape(key)), expires) for key, expires in rows]


def is_as_told(key: str, ttl: int, pattern: str, expires: str) -> bool:
    """Tell whether a key is of a kind, and expires in `ttl` seconds, never if that is -1, as the kind does."""
    never = ttl == -1
    return re.fullmatch(pattern, key) is not None and (expires == "later" or never == (expires == "never"))


async def rebuilt(platform: Platform) -> dict[str, Any]:
    """Return what `promontory admin rebuild lists` finds, which runs while all processes do."""
    write_connection(platform)
    code, out, err = await promontory("admin", "rebuild", "lists", "--json", "--data-dir", str(platform.directory))
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


async def forget_lists(platform: Platform) -> None:
    """Delete all lists of matches."""
    async with Redis.from_url(platform.redis_url) as redis:
        keys = [key async for key in redis.scan_iter("{mm}:[lkmfe]:*")]
        await redis.delete(*keys)


async def test_the_example_of_the_docs_runs(platform: Platform) -> None:
    """[docs/lobby.md] As it is pasted."""
    [example] = re.findall(r"```python\n(.*?)```", DOCS.read_text(encoding="utf-8"), re.DOTALL)
    found: dict[str, Any] = {}
    exec(example, found)  # noqa: S102 - our own text
    async with client_of(platform, "dee") as dee, client_of(platform, "eve") as eve:
        assert (await found["evening"](dee, eve)).seat == 0


async def test_the_matches_are_listed_at_the_terminal(platform: Platform) -> None:
    """[README] `promontory table`, `promontory matches`, as the player that `promontory up` makes a token for."""
    write_connection(platform)
    mine = ("--data-dir", str(platform.directory))
    code, out, err = await promontory("table", "create", "--game", GAME, "--bot", "1=greedy", "--clock", "10+5", *mine)
    assert (code, "has begun; you have seat 0" in out) == (0, True), err
    assert "others join with: promontory table join" in err
    code, out, err = await promontory("matches", "--open", "--game", GAME, *mine)
    assert (code, out.count("\n"), "you, house-greedy-1: open" in out) == (0, 1, True), err
    code, out, _ = await promontory("matches", "--player", "you", "--json", *mine)
    assert (code, json.loads(out)) == (0, [])
