"""Running a bot of one's own: good ones play, bad ones learn where they are wrong."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

import promontory
from promontory import AsyncClient
from promontory.client.bot import BotPlan, run_bot
from promontory.client.bot_events import (
    BotEvent,
    BotResult,
    CommandRefused,
    MatchesLeftOpen,
    MatchLeft,
    MatchPlayed,
    MatchStarted,
    QueueEntered,
    RatingSpan,
)
from promontory.client.bot_file import BotError, load_bot
from promontory.client.errors import FailedPrecondition
from promontory.client.matches import Update
from promontory.client.seats import Seat
from promontory.codec.outcomes import CloseReason
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
    assert await_result.matches[0].reason is CloseReason.RESIGNED
    return str(caught.value)


async def test_two_bots_play_each_other(hall: Hall, good: Path) -> None:
    (ada, events), (bob, _) = await asyncio.gather(run(hall, "ada", good), run(hall, "bob", good))
    (played,) = ada.matches
    assert (ada.won + bob.won, ada.drawn) == (1, 0)
    assert played.opponents == ("bob",)
    assert (played.refused, played.reason) == (0, CloseReason.PLAYED_OUT)
    assert played.commands > 20
    assert events == [QueueEntered(POOL, 20), MatchStarted(played.match_id, played.seat, ("bob",)), played]


SLOW = """
import asyncio
from good import choose as greedy

async def choose(view, rng):
    await asyncio.sleep(0.02)
    return greedy(view, rng)
"""


async def test_matches_are_played_several_at_a_time(hall: Hall, good: Path, tmp_path: Path) -> None:
    """A slow bot waits for its next match, and is in it, before the first one is over."""
    slow, plan = write(tmp_path / "slow.py", SLOW), BotPlan(POOL, matches=3, concurrent=2, seed=1)
    (ada, events), _ = await asyncio.gather(run(hall, "ada", slow, plan), run(hall, "bob", good, plan))
    assert len({match.match_id for match in ada.matches}) == 3
    before = kinds(events)[: kinds(events).index(MatchPlayed)]
    assert (before.count(QueueEntered), before.count(MatchStarted)) == (2, 2)


def kinds(events: list[BotEvent]) -> list[type]:
    return [type(event) for event in events]


async def test_a_rated_run_tells_what_became_of_the_rating(hall: Hall, good: Path) -> None:
    """It waits until scoring has counted its matches."""
    plan = BotPlan(POOL, matches=2, seed=1)
    (ada, _), _ = await asyncio.gather(run(hall, "ada", good, plan), run(hall, "bob", good, plan))
    assert ada.rating == RatingSpan(1501, 1503, uncounted=0)


async def test_matches_that_scoring_does_not_count_in_time_are_told(
    hall: Hall, good: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("promontory.client.bot.RATING_SECONDS", 0.05)
    hall.scorer.counting = False
    (ada, _), _ = await asyncio.gather(run(hall, "ada", good), run(hall, "bob", good))
    assert ada.rating == RatingSpan(1500, 1500, uncounted=1)


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
    assert match.reason is CloseReason.PLAYED_OUT
    assert match.refused == len(refusals) == result.refused > 0
    assert refusals[0].reason in {"NOT_A_MELD", "DIFFICULTY_IN_MELD", "RESTRICTED_CARD"}
    assert sum(match.reasons.values()) == match.refused
    assert refusals[0].command.startswith("PlayMeld(seat=")
    assert refusals[0].phase == "work"
    assert refusals[0].instead.startswith(("EndWork(seat=", "PlayMeld(seat="))
    assert str(refusals[0]).count(refusals[0].reason) == 1
    assert not result.never_played


async def test_a_command_in_place_of_a_refused_one_may_come_too_late(
    hall: Hall, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[clocks.md] Time may run out between the two; the run goes on."""
    file, submit, refused, late = write(tmp_path / "cheating.py", CHEATING), Seat.submit, set[int](), list[int]()

    async def slow(seat: Seat, commands: Any, **options: Any) -> Update:
        try:
            update = await submit(seat, commands, **options)
        except FailedPrecondition:
            refused.add(seat.seat)
            raise
        if seat.seat in refused and not late:
            late.append(update.version)
            raise FailedPrecondition("time ran out", reason="TIME_UP")
        return update

    monkeypatch.setattr(Seat, "submit", slow)
    (result, _), _ = await asyncio.gather(run(hall, "ada", file), run(hall, "bob", good))
    assert (result.matches[0].reason, len(late)) == (CloseReason.PLAYED_OUT, 1)


async def test_an_exception_names_the_line_of_the_bot(hall: Hall, good: Path, tmp_path: Path) -> None:
    file = write(
        tmp_path / "failing.py", "def choose(view, rng):\n    return best(view)\n\ndef best(view):\n    1 / 0\n"
    )
    assert await failure(hall, file, good) == f"{file}, line 5, in best: ZeroDivisionError: division by zero"


@pytest.mark.parametrize(
    ("returned", "problem"),
    [
        ("None", "None is no command of transcontinental"),
        ("'draw'", "'draw' is no command of transcontinental"),
        ("[]", "[] is no command of transcontinental"),
        ("Resign", "<class 'promontory.games.transcontinental.commands.Resign'> is no command of transcontinental"),
        ("Resign(1 - view.seat)", "Resign(seat={other}) is of seat {other}; this is seat {seat}"),
    ],
)
async def test_what_is_no_command_is_named_and_one_that_is(
    hall: Hall, good: Path, tmp_path: Path, returned: str, problem: str
) -> None:
    """The example is one that would have been accepted."""
    text = "from promontory.games.transcontinental.commands import Resign\ndef choose(view, rng):\n    return "
    file = write(tmp_path / "wrong.py", text + returned)
    found, _, example = (await failure(hall, file, good)).partition("; return for example DrawCard(seat=")
    seat = int(example[0])
    assert found == f"{file}: choose: {problem.format(seat=seat, other=1 - seat)}"
    assert example.startswith(f"{seat}, source=Source.D")
    assert example.endswith(") of promontory.games.transcontinental.commands")


EXIT = "it called sys.exit(), which ends no match; return a command, for example Resign(view.seat)"


@pytest.mark.parametrize(
    ("choose", "problem"),
    [
        ("def choose(view, rng):\n    sys.exit(3)", EXIT),
        ("async def choose(view, rng):\n    sys.exit(3)", EXIT),
        ("def choose(view, rng):\n    raise StopIteration", "StopIteration"),
        ("def choose(view, rng):\n    raise KeyboardInterrupt", "KeyboardInterrupt"),
        ("def choose(view, rng):\n    raise asyncio.CancelledError", "asyncio.exceptions.CancelledError"),
    ],
)
async def test_nothing_that_a_bot_raises_ends_the_process(
    hall: Hall, good: Path, tmp_path: Path, choose: str, problem: str
) -> None:
    file = write(tmp_path / "ending.py", f"import asyncio, sys\n{choose}\n")
    assert await failure(hall, file, good) == f"{file}, line 3, in choose: {problem}"


async def test_a_relative_path_loses_no_line(
    hall: Hall, good: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is named as it was given."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "failing.py", "def choose(view, rng):\n    1 / 0\n")
    text = await failure(hall, Path("failing.py"), good)
    assert text == "failing.py, line 2, in choose: ZeroDivisionError: division by zero"


async def test_a_failing_bot_tells_that_it_resigned(hall: Hall, good: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "failing.py", "def choose(view, rng):\n    1 / 0\n")
    events: list[BotEvent] = []
    other = asyncio.create_task(run(hall, "bob", good))
    with pytest.raises(BotError):
        await run_bot(hall.client("ada"), file, BotPlan(POOL), on_event=events.append)
    (result, _) = await other
    left = events[-1]
    assert left == MatchLeft(result.matches[0].match_id, resigned=True)
    assert str(left).startswith(f"{result.matches[0].match_id}: resigned")


async def test_a_platform_that_fails_leaves_the_match_open(hall: Hall, good: Path, tmp_path: Path) -> None:
    """Another run can go on with it, and is told so."""
    file = write(tmp_path / "cut.py", CUT)
    events: list[BotEvent] = []
    waiting = hall.client("bob")
    ticket = await waiting.enter(POOL)  # who enters first begins, and this bot never comes to an end with its turn
    client = hall.client("ada")
    running = asyncio.create_task(run_bot(client, file, BotPlan(POOL), on_event=events.append))
    await eventually(lambda: _count(MatchStarted, events, 1))
    await client.close()
    with pytest.raises(promontory.ClientClosed):
        await running
    seated = await ticket.seat()
    assert str(events[-1]) == f"{seated.match_id}: still open; `promontory bot run --resume` goes on with it"
    assert not (await seated.look()).match.is_over
    await waiting.close()


CUT = """
import asyncio

async def choose(view, rng):
    await asyncio.Event().wait()
"""


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
    assert result.matches[0].reason is CloseReason.RESIGNED


async def test_a_ticket_that_an_earlier_run_left_is_taken_up(hall: Hall, good: Path) -> None:
    await hall.client("ada").enter(POOL)
    (ada, _), _ = await asyncio.gather(run(hall, "ada", good), run(hall, "bob", good))
    assert len(ada.matches) == 1
    assert len(hall.queue.tickets) == 2


async def test_matches_that_an_earlier_run_left_open_are_played_first(hall: Hall, good: Path) -> None:
    async with hall.client("ada") as ada, hall.client("bob") as bob:
        left, _ = await asyncio.gather(ada.play(POOL), bob.play(POOL))
    plan = BotPlan(POOL, matches=2, resume=True)
    (result, events), _ = await asyncio.gather(run(hall, "ada", good, plan), run(hall, "bob", good, plan))
    assert events[0] == MatchesLeftOpen(POOL, found=1, taken=1)
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
        ("\ndef choose(view, rng):\nreturn 1", ", line 3: IndentationError: expected an indented block after function"),
        ("import sys\nsys.exit()", ", line 2, in <module>: it called sys.exit()"),
        ("raise ValueError('one\\ntwo')", ", line 1, in <module>: ValueError: one"),
        ("eval('1 +')", ", line 1, in <module>: SyntaxError: invalid syntax"),
        ("import no_such_module", ", line 1, in <module>: ModuleNotFoundError: No module named 'no_such_module'"),
        ("\nint('x')", ", line 2, in <module>: ValueError: invalid literal for int() with base 10: 'x'"),
    ],
)
def test_a_file_that_cannot_be_loaded_says_why(tmp_path: Path, text: str, problem: str) -> None:
    file = write(tmp_path / "bot.py", text)
    with pytest.raises(BotError) as caught:
        load_bot(file)
    assert str(caught.value).startswith(f"{file}{problem}")


def test_a_fault_in_what_the_bot_imports_names_that_file(tmp_path: Path) -> None:
    other = write(tmp_path / "brain_of_the_test.py", "\ndef think(:\n")
    with pytest.raises(BotError) as caught:
        load_bot(write(tmp_path / "bot.py", "import brain_of_the_test"))
    assert str(caught.value) == f"{other}, line 2: SyntaxError: invalid syntax"


def test_a_relative_path_loses_no_line_of_a_syntax_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "bot.py", "\n\ndef choose(view, rng)\n")
    with pytest.raises(BotError) as caught:
        load_bot(Path("../") / tmp_path.name / "bot.py")
    assert str(caught.value) == f"../{tmp_path.name}/bot.py, line 3: SyntaxError: expected ':'"


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(BotError, match=r"there is no file .*missing.py"):
        load_bot(tmp_path / "missing.py")


def test_a_file_that_is_no_python_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BotError, match="no Python file"):
        load_bot(write(tmp_path / "bot.txt", GOOD))
