"""Bots of one's own in a pool of Pacific: all act at once, so a bot's command or its fallback may come too late."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pytest

from promontory.bots.pacific import play_at_random
from promontory.client.bot import BotPlan, run_bot
from promontory.client.bot_events import BotEvent, BotResult, CommandRefused, MatchLeft
from promontory.client.bot_file import BotError
from promontory.codec.outcomes import CloseReason
from promontory.games.kernel import Rejected
from tests.client.hall import Hall, open_hall, play
from tests.client.services import PoolKind
from tests.support.serving import Keys

TWO = PoolKind("pacific.ranked.2", "pacific", 2)
FOUR = PoolKind("pacific.ranked.4", "pacific", 4)
PLAYERS = ("ada", "bob", "cyd", "dot")
GOOD = """
from promontory.bots.pacific import play_at_random as choose
"""
CHEATING = """
from promontory.bots.pacific import play_at_random
from promontory.games.pacific.commands import PutOut

def choose(view, rng):
    return PutOut(view.seat, view.unseen_card_ids[0]) if view.legal.put_out_card_ids else play_at_random(view, rng)
"""
STUBBORN = """
from promontory.games.pacific.commands import PutOut

def choose(view, rng):
    return PutOut(view.seat, view.unseen_card_ids[0])
"""
BROKEN = """
from promontory.bots.pacific import play_at_random

def choose(view, rng):
    return play_at_random(view, rng) if view.turn < 3 else 1 / 0
"""


class Interloper:
    """The rules, with somebody who acts right after the first refusal of a command."""

    def __init__(self, servicer: Any) -> None:
        self._servicer = servicer
        self.refused = 0
        self.act: Callable[[], Awaitable[None]] | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._servicer, name)

    async def SubmitCommand(self, request: Any, context: Any) -> Any:  # noqa: N802 - the method's name
        """Submit; before a refusal is told, let somebody act."""
        try:
            return await self._servicer.SubmitCommand(request, context)
        except Rejected:
            self.refused += 1
            act, self.act = self.act, None
            if act:
                await act()
            raise


@pytest.fixture
async def hall(keys: Keys) -> AsyncIterator[Hall]:
    async with open_hall(keys, kind=FOUR) as hall:
        yield hall


def write(file: Path, text: str) -> Path:
    file.write_text(text)
    return file


@pytest.fixture
def good(tmp_path: Path) -> Path:
    """A bot that plays at random."""
    return write(tmp_path / "good_at_pacific.py", GOOD)


async def run(hall: Hall, player: str, file: Path, *, matches: int = 1) -> tuple[BotResult, list[BotEvent]]:
    """Run the bot in `file` for `player`, and return its result and what it told."""
    events: list[BotEvent] = []
    async with hall.client(player) as client:
        plan = BotPlan(hall.queue.kind.pool, matches=matches, seed=1)
        return await run_bot(client, file, plan, on_event=events.append), events


async def run_all(hall: Hall, files: Sequence[Path], *, matches: int = 1) -> list[tuple[BotResult, list[BotEvent]]]:
    """Run a bot for each player at one table."""
    runs = (run(hall, player, file, matches=matches) for player, file in zip(PLAYERS, files, strict=True))
    return await asyncio.gather(*runs)


def refusals(events: Sequence[BotEvent]) -> list[CommandRefused]:
    return [event for event in events if isinstance(event, CommandRefused)]


async def test_four_bots_play_match_after_match(hall: Hall, good: Path) -> None:
    """Whoever was slower looks again: nothing of that is refused or lost."""
    results = [result for result, _ in await run_all(hall, [good] * 4, matches=2)]
    tables = [{match.match_id: match for match in result.matches} for result in results]
    scores = {match.scores for table in tables for match in table.values()}
    assert [result.refused for result in results] == [0] * 4
    assert [len(table) for table in tables] == [2] * 4
    assert len(scores) == 2
    assert [sorted(table[match_id].seat for table in tables) for match_id in tables[0]] == [[0, 1, 2, 3]] * 2
    assert [min(table[match_id].place for table in tables) for match_id in tables[0]] == [1, 1]


async def test_a_refused_command_is_told_and_a_random_one_played(hall: Hall, good: Path, tmp_path: Path) -> None:
    """[NOT_IN_HAND] Others may act in between, and then the bot is asked again."""
    file = write(tmp_path / "cheating.py", CHEATING)
    (result, events), *others = await run_all(hall, [file, good, good, good])
    (match,) = result.matches
    assert [refusal.reason for refusal in refusals(events)] == ["NOT_IN_HAND"] * 10
    assert (match.refused, match.reasons) == (10, {"NOT_IN_HAND": 10})
    assert refusals(events)[0].phase in {"put_out_first", "put_out_late"}
    assert refusals(events)[0].instead.startswith(f"PutOut(seat={match.seat}, card_id=")
    assert not result.never_played
    assert [other.refused for other, _ in others] == [0] * 3


async def test_four_bots_whose_every_command_is_refused_have_never_played(hall: Hall, tmp_path: Path) -> None:
    """[README] `bot run` ends with 1. Whatever the others do meanwhile: what was not played instead is not counted."""
    file = write(tmp_path / "stubborn.py", STUBBORN)
    for result, events in await run_all(hall, [file] * 4):
        (match,) = result.matches
        assert (match.refused, len(refusals(events))) == (match.commands, match.commands)
        assert result.never_played


async def test_a_fallback_that_comes_too_late_is_neither_told_nor_counted(keys: Keys, tmp_path: Path) -> None:
    """[VERSION_CONFLICT] Another seat acts between the refusal and what is played instead; the bot is asked again."""
    rules: list[Interloper] = []

    def with_interloper(servicer: Any) -> Interloper:
        rules.append(Interloper(servicer))
        return rules[0]

    async with open_hall(keys, kind=TWO, wrap_rules=with_interloper) as hall, hall.client("bob") as bob:
        entering, acted = asyncio.create_task(bob.play(TWO.pool)), asyncio.Event()

        async def act() -> None:
            seated = await entering
            await seated.submit(play_at_random((await seated.look()).view, Random(1)))
            acted.set()

        rules[0].act = act
        running = asyncio.create_task(run(hall, "ada", write(tmp_path / "stubborn.py", STUBBORN)))
        await acted.wait()
        await play(await entering, [])
        result, events = await running
    assert rules[0].refused > result.refused == len(refusals(events))
    assert result.never_played


async def test_the_others_play_on_when_a_bot_fails(hall: Hall, good: Path, tmp_path: Path) -> None:
    """It resigns: nobody waits for it, and the three others finish the match."""
    file, events = write(tmp_path / "broken.py", BROKEN), list[BotEvent]()
    others = [asyncio.create_task(run(hall, player, good)) for player in PLAYERS[1:]]
    async with hall.client("ada") as ada:
        with pytest.raises(BotError, match="ZeroDivisionError"):
            await run_bot(ada, file, BotPlan(FOUR.pool, seed=1), on_event=events.append)
        played = [result.matches[0] for result, _ in await asyncio.gather(*others)]
        match = (await ada.spectate("pacific", played[0].match_id).look()).match
    assert events[-1] == MatchLeft(played[0].match_id, resigned=True)
    assert [each.reason for each in played] == [CloseReason.PLAYED_OUT] * 3
    assert match.outcome is not None
    assert match.outcome.reason is CloseReason.PLAYED_OUT
    assert [place.place for place in match.outcome.placements if match.seats[place.seat].player_id == "ada"] == [4]


async def test_a_run_goes_on_with_a_match_that_was_left_open(hall: Hall, good: Path) -> None:
    """[README] `bot run --resume`, while the others have played on as far as they could."""
    async with hall.client("ada") as ada:
        others = [asyncio.create_task(run(hall, player, good)) for player in PLAYERS[1:]]
        left = await ada.play(FOUR.pool)
        result = await run_bot(ada, good, BotPlan(FOUR.pool, seed=1, resume=True))
        await asyncio.gather(*others)
    assert [match.match_id for match in result.matches] == [left.match_id]
