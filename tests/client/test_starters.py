"""The files that `promontory bot new` writes: whole bots for each game, which play at every table and mean to win."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from promontory.bots.arena import ArenaResult, Plan
from promontory.client import arena_command, bot_command
from promontory.client.bot_command import games_with_starter, new
from promontory.client.bot_file import BotError, load_bot
from promontory.games import registry
from promontory.games.registry import UnknownGameError

FILES = [(game, search) for search in (False, True) for game in games_with_starter(search=search)]


@pytest.fixture(autouse=True)
def nothing_stays_imported(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Bot files bring their folders and modules along."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    modules = set(sys.modules)
    yield
    [sys.modules.pop(name) for name in set(sys.modules) - modules if name.startswith("promontory_bot_")]


@pytest.fixture
def only_pacific(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A version in which no other game has bots."""
    [(tmp_path / name).touch() for name in ("pacific.py", "pacific_search.py")]
    monkeypatch.setattr(bot_command, "_STARTERS", tmp_path)


def tables(*, search: bool) -> list[tuple[str, int]]:
    """Return each game that has such a bot, with each number of seats it can be played with."""
    return [(name, seats) for name in games_with_starter(search=search) for seats in registry.game(name).seats]


def against_random(folder: Path, game: str, *, seats: int, games: int, search: bool = False) -> ArenaResult:
    """Return how a new bot did at a table of random players; `BotError` if a command of it is refused."""
    file = folder / f"my_{game}_bot.py"
    new(file, game, search=search)
    return arena_command.run(game, Plan((str(file), *["random"] * (seats - 1)), games=games, seed=1))


@pytest.mark.parametrize(("game", "seats"), tables(search=False))
def test_a_first_bot_beats_random_at_every_table(tmp_path: Path, game: str, seats: int) -> None:
    """No command is refused, and it wins more than a share of luck: the whole interval is above it."""
    result = against_random(tmp_path, game, seats=seats, games=20)
    assert result.policies[0].share.low > 1 / seats


@pytest.mark.parametrize(("game", "seats"), tables(search=True))
def test_a_bot_that_searches_beats_random_at_every_table(tmp_path: Path, game: str, seats: int) -> None:
    """No command is refused; it wins nearly always."""
    result = against_random(tmp_path, game, seats=seats, games=2, search=True)
    assert result.policies[0].share.value > 1 / seats


@pytest.mark.parametrize(("game", "seats"), tables(search=False))
def test_a_table_of_first_bots_plays_to_the_end(tmp_path: Path, game: str, seats: int) -> None:
    """Every seat may be held by one and the same file."""
    file = tmp_path / "my_bot.py"
    new(file, game)
    result = arena_command.run(game, Plan((str(file),) * seats, games=2))
    assert sum(each.share.value for each in result.policies) == pytest.approx(1)


@pytest.mark.parametrize(("game", "search"), FILES)
def test_every_file_is_a_bot_that_can_be_loaded(tmp_path: Path, game: str, search: bool) -> None:
    new(tmp_path / "my_bot.py", game, search=search)
    load_bot(tmp_path / "my_bot.py").close()


def test_both_kinds_are_there_for_the_first_games() -> None:
    """Keeps the tests above honest: they take up what they find."""
    assert {(game, search) for game in ("transcontinental", "pacific") for search in (False, True)} <= {*FILES}


def test_without_a_game_it_is_a_bot_for_transcontinental(tmp_path: Path) -> None:
    new(tmp_path / "one.py")
    new(tmp_path / "other.py", "transcontinental")
    assert (tmp_path / "one.py").read_text() == (tmp_path / "other.py").read_text()


@pytest.mark.usefixtures("only_pacific")
@pytest.mark.parametrize(
    ("game", "search", "problem"),
    [
        ("transcontinental", False, "there is no first bot for transcontinental, only for pacific"),
        ("transcontinental", True, "there is no bot that searches ahead for transcontinental, only for pacific"),
    ],
)
def test_a_game_without_such_a_bot_names_those_that_have_one(
    tmp_path: Path, game: str, search: bool, problem: str
) -> None:
    """And nothing is written."""
    with pytest.raises(BotError, match=f"^{problem}$"):
        new(tmp_path / "my_bot.py", game, search=search)
    assert not (tmp_path / "my_bot.py").exists()


def test_a_game_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownGameError, match="no game 'chess'; there are: transcontinental, pacific"):
        new(tmp_path / "my_bot.py", "chess")
