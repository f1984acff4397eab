"""Commands against a platform that is up: a first bot plays, and its ratings follow from the logs."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from promontory.codec.outcomes import CloseReason
from promontory.local.platform import Platform
from promontory.local.up import write_connection
from promontory.rules.audit import audit, shipped_rulesets
from promontory.runtime.settings import inherited
from tests.support.players import GAME, client_of
from tests.support.waiting import eventually

POOL = "transcontinental.ranked"
BROKEN = """
def choose(view, rng):
    raise RuntimeError("no idea")
"""
STUBBORN = """
from promontory.games.transcontinental.commands import PlayMeld

def choose(view, rng):
    return PlayMeld(view.seat, view.hand_card_ids[:1])
"""


async def promontory(*arguments: str, **settings: str) -> tuple[int, str, str]:
    """Run a command to its end, and return its exit code and what it wrote to standard output and error."""
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-m", "promontory", *arguments)
    process = await asyncio.create_subprocess_exec(*command, stdout=pipe, stderr=pipe, env={**inherited(), **settings})
    out, err = await process.communicate()
    assert process.returncode is not None
    return process.returncode, out.decode(), err.decode()


async def run_bot(platform: Platform, file: Path, *options: str) -> tuple[int, str, str]:
    """Let the bot in `file` play in the pool, as the player that `promontory up` makes a token for."""
    write_connection(platform)
    return await promontory("bot", "run", str(file), "--pool", POOL, "--data-dir", str(platform.directory), *options)


async def test_a_new_bot_plays_rated_matches_that_anybody_can_check(platform: Platform, tmp_path: Path) -> None:
    """[README] `bot new`, `bot run`, `audit`, `export`, `admin rebuild ratings`: the first minutes of an author."""
    bot = tmp_path / "my_bot.py"
    assert (await promontory("bot", "new", str(bot)))[0] == 0
    code, out, err = await run_bot(platform, bot, "--matches", "2", "--concurrent", "2", "--seed", "1", "--json")
    assert code == 0, err
    played: dict[str, Any] = json.loads(out)
    assert [(match["refused"], match["reason"]) for match in played["matches"]] == [(0, "played_out")] * 2
    assert all(match["match_id"] in err for match in played["matches"])
    assert (f"waiting in {POOL}; a house bot comes after" in err, played["rating"]["uncounted"]) == (True, 0)

    async with client_of(platform, "you") as client:
        await eventually(lambda: _has_matches(client, 2), seconds=30)
        exports = [await client.export_match(GAME, match["match_id"]) for match in played["matches"]]
    assert [audit(raw, shipped_rulesets()).ok for raw in exports] == [True, True]

    audited = [match["match_id"] for match in played["matches"]]
    await check(platform, *audited)
    exported = ("export", audited[0], "--output", str(tmp_path / "match.jsonl"), "--data-dir", str(platform.directory))
    assert (await promontory(*exported))[0] == 0
    await check(platform, str(tmp_path / "match.jsonl"))

    redis = {"PROMONTORY_REDIS_URL": platform.redis_url}
    code, out, err = await promontory("admin", "rebuild", "ratings", "--pool", POOL, "--json", **redis)
    rebuilt = json.loads(out)
    assert (code, rebuilt["equal"], rebuilt["matches"] >= 2) == (0, True, True), err
    code, out, _ = await promontory("admin", "rebuild", "ratings", "--pool", POOL, **redis)
    assert (code, "to the byte" in out) == (0, True)


async def check(platform: Platform, *matches: str) -> None:
    """Audit rated matches, which are files or still with the platform."""
    code, out, err = await promontory("audit", *matches, "--data-dir", str(platform.directory))
    assert (code, out.count("and so are its ratings")) == (0, len(matches)), err


async def _has_matches(client: Any, matches: int) -> bool:
    return (await client.rating(POOL)).matches >= matches


async def test_a_run_whose_every_command_was_refused_ends_with_1(platform: Platform, tmp_path: Path) -> None:
    """Somebody else played its match; the first refusals are told, the others counted."""
    bot = tmp_path / "stubborn.py"
    bot.write_text(STUBBORN)
    code, out, err = await run_bot(platform, bot, "--json")
    (match,) = json.loads(out)["matches"]
    assert (code, match["refused"]) == (1, match["commands"])
    assert err.count("was refused: ") == sum(min(count, 3) for count in match["reasons"].values())


async def test_a_bot_that_fails_is_told_where_and_leaves_no_opponent_waiting(
    platform: Platform, tmp_path: Path
) -> None:
    """Exit code 1, the file and the line; its match is resigned."""
    bot = tmp_path / "broken.py"
    bot.write_text(BROKEN)
    code, _, err = await run_bot(platform, bot)
    assert code == 1
    assert f"{bot}" in err
    assert "no idea" in err
    assert "Traceback" not in err
    async with client_of(platform, "you") as client:
        newest = await anext(client.matches())
        match = (await client.spectate(GAME, newest.match_id).look()).match
    assert match.outcome is not None
    assert (match.outcome.reason, match.outcome.winners) == (CloseReason.RESIGNED, (1 - newest.seat,))


async def test_a_pool_that_there_is_not_is_refused_in_a_sentence(platform: Platform, tmp_path: Path) -> None:
    await promontory("bot", "new", str(tmp_path / "bot.py"))
    write_connection(platform)
    command = ("bot", "run", str(tmp_path / "bot.py"), "--pool", "chess.ranked", "--data-dir", str(platform.directory))
    code, out, err = await promontory(*command)
    assert (code, out) == (1, "")
    assert "chess.ranked" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("token", ["", "not a token"])
async def test_a_token_that_is_none_is_refused_in_a_sentence(platform: Platform, tmp_path: Path, token: str) -> None:
    await promontory("bot", "new", str(tmp_path / "bot.py"))
    (tmp_path / "token").write_text(token)
    code, _, err = await run_bot(platform, tmp_path / "bot.py", "--token-file", str(tmp_path / "token"))
    assert code == 1
    assert "token" in err
    assert "Traceback" not in err
