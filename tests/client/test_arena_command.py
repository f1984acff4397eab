"""Bot files in the arena: measured offline, by the referee's rules, with the SDK alone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from promontory.bots.arena import Plan
from promontory.bots.port import UnknownPolicyError
from promontory.client import arena_command
from promontory.client.bot_command import new
from promontory.client.bot_file import BotError

GAME = "transcontinental"
SDK_ONLY = """
import sys
sys.modules.update(dict.fromkeys(("rich", "redis", "celery", "structlog", "prometheus_client")))
from promontory.cli import main
main(sys.argv[1:])
"""
START = "from promontory.games.transcontinental.commands import *\n"


@pytest.fixture(autouse=True)
def nothing_stays_imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Bot files bring their folders and modules along."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    modules = set(sys.modules)
    yield
    [sys.modules.pop(name) for name in set(sys.modules) - modules if name.startswith("promontory_bot_")]


@pytest.fixture
def starter(tmp_path: Path) -> str:
    """The bot that everybody starts from."""
    new(tmp_path / "my_bot.py")
    return str(tmp_path / "my_bot.py")


def written(tmp_path: Path, text: str) -> str:
    file = tmp_path / "bot.py"
    file.write_text(START + text)
    return str(file)


def failure(*policies: str) -> str:
    with pytest.raises(BotError) as caught:
        arena_command.run(GAME, Plan(policies, games=1))
    return str(caught.value)


def test_a_new_bot_beats_random(starter: str) -> None:
    """[README] Measured in seconds, before it plays a rated match."""
    result = arena_command.run(GAME, Plan((starter, "random"), games=20, seed=1))
    assert result.policies[0].name == starter
    assert result.policies[0].wins >= 18


def test_a_bot_plays_the_same_games_again(starter: str) -> None:
    """All but the time spent is a function of the plan."""
    first, second = (arena_command.run(GAME, Plan((starter, "greedy"), games=6, seed=3)) for _ in range(2))
    assert [each.wins for each in first.policies] == [each.wins for each in second.policies]


ASYNC = """
import promontory
from promontory.bots.registry import policy
greedy = policy(promontory.game("transcontinental"), "greedy")

async def choose(view, rng):
    command = greedy(view, rng)
    if isinstance(command, PlayMeld):
        return PlayMeld(command.seat, list(command.card_ids))
    return DrawCard(command.seat, str(command.source)) if isinstance(command, DrawCard) else command
"""


def test_what_the_platform_takes_the_arena_takes(tmp_path: Path) -> None:
    """An `async` function; lists and words where tuples and enums are meant."""
    result = arena_command.run(GAME, Plan((written(tmp_path, ASYNC), "random"), games=4))
    assert result.policies[0].wins == 4


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ("return 'draw'", "choose: 'draw' is no command of transcontinental; return for example DrawCard(seat=0"),
        ("return PlayMeld(view.seat, (1, 2, 3))", "choose: PlayMeld(seat=0, card_ids=(1, 2, 3)) is no command of"),
        ("1 / 0", "line 3, in choose: ZeroDivisionError: division by zero"),
        ("raise SystemExit", "line 3, in choose: it called sys.exit()"),
    ],
)
@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_bot_that_fails_says_where(tmp_path: Path, kind: str, body: str, problem: str) -> None:
    """The same words as in a match."""
    file = written(tmp_path, f"{kind} choose(view, rng):\n    {body}\n")
    assert failure(file, "greedy").replace(", line", ": line").startswith(f"{file}: {problem}")


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("EndWork(view.seat)", "EndWork(seat=0) was refused: WRONG_PHASE [Transcontinental 3.1] (phase planning)"),
        ("Resign(1 - view.seat)", "Resign(seat=1) was refused: SEAT_NOT_YOURS [one's own seat] (seat 0)"),
    ],
)
def test_a_refused_command_ends_the_run(tmp_path: Path, command: str, why: str) -> None:
    """Nobody plays for a bot that is measured."""
    file = written(tmp_path, f"def choose(view, rng):\n    return {command}\n")
    assert failure(file, "greedy") == f"{file}: game 0, phase planning: {why}"


def test_a_name_that_is_no_policy_may_lack_its_ending() -> None:
    with pytest.raises(UnknownPolicyError, match=r"there are: greedy, random; the name of a bot's file ends in \.py"):
        arena_command.run(GAME, Plan(("my_bot", "greedy"), games=1))


def test_a_file_that_is_not_there_is_named() -> None:
    assert failure("nowhere.py", "greedy") == "there is no file nowhere.py"


def test_a_run_reads_as_a_table(starter: str) -> None:
    """Singular where there is one."""
    result = arena_command.run(GAME, Plan((starter, "greedy"), games=1, seed=1))
    lines = arena_command.report(result).splitlines()
    assert lines[0].startswith("transcontinental/1: 1 game, 0 draws, ")
    assert [line.split()[0] for line in lines[2:] if line] == ["policy", starter, "greedy", "seat", "seat", "seat"]
    assert len({len(line) for line in lines[2:] if line}) == 1


def test_progress_stays_on_one_line() -> None:
    written: list[str] = []
    tell = arena_command.progress_line(written.append)
    [tell(done, 2) for done in (1, 2)]
    assert written == ["\r1 of 2 games", "\r\033[K"]


def test_the_sdk_alone_is_enough(starter: str) -> None:
    """[README] `pip install promontory` without the server's packages; a plain file is printed to without progress."""
    command = (sys.executable, "-c", SDK_ONLY, "arena", "--policies", f"{starter},greedy", "--games", "2")
    plain = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    as_json = subprocess.run((*command, "--json"), capture_output=True, text=True, timeout=60, check=False)
    assert (plain.returncode, plain.stderr) == (0, "")
    assert json.loads(as_json.stdout)["games"] == 2
