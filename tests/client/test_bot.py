"""Running a bot of one's own: good ones play, bad ones learn where they are wrong."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from random import Random

import pytest

import promontory
from promontory import AsyncClient
from promontory.client.bot import (
    BotEvent,
    BotPlan,
    BotResult,
    CommandRefused,
    MatchPlayed,
    MatchStarted,
    run_bot,
)
from promontory.client.bot_file import BotError, load_bot
from tests.client.hall import Hall, open_hall
from tests.client.services import POOL
from tests.support.serving import Keys
from tests.support.waiting import eventually

GOOD = """
import promontory
from promontory.bots.registry import policy

choose = policy(promontory.game("transcontinental"), "greedy")
"""


@pytest.fixture
async def hall(keys: Keys) -> AsyncIterator[Hall]:
    async with open_hall(keys) as hall:
        yield hall


@pytest.fixture(autouse=True)
def nothing_stays_imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Bot files bring their folders and modules along; the next test must not see them."""
    modules = set(sys.modules)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    [
        sys.modules.pop(name)
        for name in set(sys.modules) - modules
        if name == "good" or name.startswith("promontory_bot_")
    ]


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A bot that plays like the house's greedy one."""
    return write(tmp_path / "good.py", GOOD)


def write(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


def read(file: Path) -> str:
    return file.read_text()


async def run(hall: Hall, player: str, file: Path, plan: BotPlan | None = None) -> tuple[BotResult, list[BotEvent]]:
    """Run the bot in `file` for `player`, and return its result and what it told."""
    events: list[BotEvent] = []
    async with hall.client(player) as client:
        result = await run_bot(client, file, plan or BotPlan(POOL, seed=1), on_event=events.append)
    return result, events


async def failure(hall: Hall, file: Path, opponent: Path) -> str:
    """Return how a run of the bot in `file` fails, which then resigns against the bot of `opponent`."""
    other = asyncio.create_task(run(hall, "bob", opponent))
    with pytest.raises(BotError) as caught:
        await run(hall, "ada", file)
    (await_result, _) = await other
    assert await_result.matches[0].resigned
    return str(caught.value)


async def test_two_bots_play_each_other(hall: Hall, good: Path) -> None:
    (ada, events), (bob, _) = await asyncio.gather(run(hall, "ada", good), run(hall, "bob", good))
    (played,) = ada.matches
    assert (ada.won + bob.won, ada.drawn) == (1, 0)
    assert played.opponents == ("bob",)
    assert (played.refused, played.resigned) == (0, False)
    assert played.commands > 20
    assert events == [MatchStarted(played.match_id, played.seat, ("bob",)), played]


async def test_matches_are_played_several_at_a_time(hall: Hall, good: Path) -> None:
    plan = BotPlan(POOL, matches=3, concurrent=2, seed=1)
    (ada, events), _ = await asyncio.gather(run(hall, "ada", good, plan), run(hall, "bob", good, plan))
    assert len({match.match_id for match in ada.matches}) == 3
    assert [type(event) for event in events[:2]] == [MatchStarted, MatchStarted]


async def test_a_run_without_end_plays_until_it_is_stopped(hall: Hall, good: Path) -> None:
    events: list[BotEvent] = []
    endless = run_bot(hall.client("ada"), good, BotPlan(POOL, matches=None), on_event=events.append)
    running = asyncio.create_task(endless)
    await run(hall, "bob", good, BotPlan(POOL, matches=2))
    await eventually(lambda: _count(MatchPlayed, events, 2))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert hall.queue.waiting() == []


async def _count(kind: type, events: list[BotEvent], least: int) -> bool:
    return sum(isinstance(event, kind) for event in events) >= least


async def test_the_same_seed_gives_the_same_random_numbers(hall: Hall, good: Path, tmp_path: Path) -> None:
    noting = "from good import choose as greedy\n" + (
        "rolls = []\n"
        "def choose(view, rng):\n"
        "    rolls.append(rng.random())\n"
        "    return greedy(view, rng)\n"
        "def on_match_end(match, seat):\n"
        "    open(__file__ + match.match_id, 'w').write(repr(rolls[:1]))\n"
    )
    file = write(tmp_path / "noting.py", noting)
    (result, _), _ = await asyncio.gather(run(hall, "ada", file, BotPlan(POOL, seed=7)), run(hall, "bob", good))
    (match,) = result.matches
    rolled = read(Path(f"{file}{match.match_id}"))
    assert rolled == repr([Random(f"7/{match.match_id}/{match.seat}").random()])


ASYNC = """
from good import choose as greedy
told = []

async def choose(view, rng):
    return greedy(view, rng)

async def on_match_start(match, seat):
    told.append("start")

def on_match_end(match, seat):
    told.append(match.outcome.reason)
    raise ValueError(f"{told}")
"""


async def test_functions_may_be_async_and_are_told_of_start_and_end(hall: Hall, good: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "hooked.py", ASYNC)
    other = asyncio.create_task(run(hall, "bob", good))
    with pytest.raises(BotError) as caught:
        await run(hall, "ada", file)
    await other
    assert "line 13, in on_match_end: ValueError: ['start', <CloseReason.PLAYED_OUT: 'played_out'>]" in str(
        caught.value
    )


CHEATING = """
from good import choose as greedy
from promontory.games.transcontinental.commands import PlayMeld

def choose(view, rng):
    return PlayMeld(view.seat, view.hand_card_ids[:2]) if view.legal.end_work else greedy(view, rng)
"""


async def test_a_refused_command_is_told_and_a_random_one_played(hall: Hall, good: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "cheating.py", CHEATING)
    (result, events), _ = await asyncio.gather(run(hall, "ada", file), run(hall, "bob", good))
    (match,) = result.matches
    refusals = [event for event in events if isinstance(event, CommandRefused)]
    assert not match.resigned
    assert match.refused == len(refusals) == result.refused > 0
    assert refusals[0].reason in {"NOT_A_MELD", "DIFFICULTY_IN_MELD", "RESTRICTED_CARD"}
    assert refusals[0].command.startswith("PlayMeld(seat=")
    assert refusals[0].reason in str(refusals[0])


async def test_an_exception_names_the_line_of_the_bot(hall: Hall, good: Path, tmp_path: Path) -> None:
    file = write(
        tmp_path / "failing.py", "def choose(view, rng):\n    return best(view)\n\ndef best(view):\n    1 / 0\n"
    )
    assert await failure(hall, file, good) == f"{file}, line 5, in best: ZeroDivisionError: division by zero"


async def test_what_is_no_command_is_named(hall: Hall, good: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "empty.py", "def choose(view, rng):\n    pass\n")
    text = await failure(hall, file, good)
    assert text == f"{file}: choose returned what it must not: None is no command of transcontinental"


async def test_a_stopped_run_resigns_its_match(hall: Hall, good: Path, tmp_path: Path) -> None:
    """No opponent waits for a bot that is gone."""
    file = write(
        tmp_path / "thinking.py", "import asyncio\nasync def choose(view, rng):\n    await asyncio.Event().wait()\n"
    )
    events: list[BotEvent] = []
    running = asyncio.create_task(run_bot(hall.client("ada"), file, BotPlan(POOL), on_event=events.append))
    other = asyncio.create_task(run(hall, "bob", good))
    await eventually(lambda: _count(MatchStarted, events, 1))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    result, _ = await other
    assert result.matches[0].resigned


async def test_a_ticket_that_an_earlier_run_left_is_taken_up(hall: Hall, good: Path) -> None:
    await hall.client("ada").enter(POOL)
    (ada, _), _ = await asyncio.gather(run(hall, "ada", good), run(hall, "bob", good))
    assert len(ada.matches) == 1
    assert len(hall.queue.tickets) == 2


async def test_matches_that_an_earlier_run_left_open_are_played_first(hall: Hall, good: Path) -> None:
    async with hall.client("ada") as ada, hall.client("bob") as bob:
        left, _ = await asyncio.gather(ada.play(POOL), bob.play(POOL))
    plan = BotPlan(POOL, matches=2, resume=True)
    (result, _), _ = await asyncio.gather(run(hall, "ada", good, plan), run(hall, "bob", good, plan))
    assert result.matches[0].match_id == left.match_id
    assert len(hall.queue.tickets) == 4


async def test_a_refusal_of_the_platform_ends_the_run(hall: Hall, good: Path) -> None:
    with pytest.raises(promontory.NotFound, match="POOL_NOT_FOUND"):
        await run(hall, "ada", good, BotPlan("no.such.pool"))


@pytest.mark.parametrize("plan", [BotPlan(POOL, matches=0), BotPlan(POOL, concurrent=0)])
async def test_a_plan_for_nothing_is_refused(good: Path, plan: BotPlan) -> None:
    with pytest.raises(ValueError, match="at least one match"):
        await run_bot(AsyncClient("127.0.0.1:1"), good, plan)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("def chose(view, rng): ...", " has no function choose(view, rng)"),
        ("choose = 3", ": choose is no function, but 3"),
        ("\ndef choose(view): ...", ", line 2: choose must take (view, rng)"),
        ("def choose(view, rng): ...\ndef on_match_end(): ...", ", line 2: on_match_end must take (match, seat)"),
        ("\n\ndef choose(view, rng)\n", ", line 3: SyntaxError: expected ':'"),
        ("import no_such_module", ", line 1, in <module>: ModuleNotFoundError: No module named 'no_such_module'"),
        ("\nint('x')", ", line 2, in <module>: ValueError: invalid literal for int() with base 10: 'x'"),
    ],
)
def test_a_file_that_cannot_be_loaded_says_why(tmp_path: Path, text: str, problem: str) -> None:
    file = write(tmp_path / "bot.py", text)
    with pytest.raises(BotError) as caught:
        load_bot(file)
    assert str(caught.value) == f"{file}{problem}"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BotError, match=r"there is no file .*missing.py"):
        load_bot(tmp_path / "missing.py")


def test_a_file_that_is_no_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BotError, match="no Python file"):
        load_bot(write(tmp_path / "bot.txt", GOOD))


def played(*, place: int, shared: bool = False, resigned: bool = False) -> MatchPlayed:
    return MatchPlayed(
        match_id="tc-1",
        seat=0,
        opponents=("bob",),
        place=place,
        shared=shared,
        scores=(98, 101),
        resigned=resigned,
        commands=70,
        refused=1,
    )


@pytest.mark.parametrize(
    ("match", "line"),
    [
        (played(place=1), "tc-1: won in seat 0 against bob, 98:101, 70 commands, 1 refused"),
        (played(place=1, shared=True), "tc-1: drawn in seat 0 against bob, 98:101, 70 commands, 1 refused"),
        (
            played(place=2, resigned=True),
            "tc-1: place 2 by resignation in seat 0 against bob, 98:101, 70 commands, 1 refused",
        ),
    ],
)
def test_a_match_reads_as_a_line(match: MatchPlayed, line: str) -> None:
    assert str(match) == line


def test_a_result_reads_as_a_line() -> None:
    matches = (played(place=1), played(place=2), played(place=2), played(place=1, shared=True))
    assert str(BotResult(POOL, 5, matches)) == (
        "4 matches in transcontinental.ranked: 1 won, 1 drawn, 2 lost; 4 commands refused; seed 5"
    )
