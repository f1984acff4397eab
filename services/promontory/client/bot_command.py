"""`promontory bot`: a new bot's file, and a run of one, as people call them."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from promontory.client.access import Access
from promontory.client.bot import BotPlan, run_bot
from promontory.client.bot_events import BotResult, OnEvent
from promontory.client.bot_file import BotError
from promontory.client.starters import FIRST_GAME
from promontory.games import registry

_STARTERS = resources.files("promontory.client.starters")


def new(file: Path, game: str = FIRST_GAME, *, search: bool = False) -> None:
    """Write a first bot for `game`, or one that searches ahead, to `file`, which never replaces another.

    Raises `BotError` if that cannot be, and `UnknownGameError` if there is no such game.
    """
    if file.suffix != ".py":
        raise BotError(f"a bot is a Python file: call it {file.with_name(f'{file.name}.py')}")
    source = _source(registry.entry(game).name, search=search)
    try:
        with file.open("x", encoding="utf-8") as target:
            target.write(source)
    except FileExistsError as error:
        raise BotError(f"{file} is there already; take another name, or delete it first") from error
    except FileNotFoundError as error:
        raise BotError(f"there is no folder {file.parent}; make it first") from error


def games_with_starter(*, search: bool = False) -> Iterator[str]:
    """Yield the names of the games that a first bot, or one that searches ahead, can be written for."""
    for entry in registry.GAMES:
        if _STARTERS.joinpath(_file_name(entry.name, search=search)).is_file():
            yield entry.name


async def run(file: Path, plan: BotPlan, access: Access, *, on_event: OnEvent) -> BotResult:
    """Play as `plan` says with the bot in `file`; see `run_bot`."""
    async with access.client().over_one_stream() as client:
        return await run_bot(client, file, plan, on_event=on_event)


def _source(game: str, *, search: bool) -> str:
    having = tuple(games_with_starter(search=search))
    if game not in having:
        kind = "bot that searches ahead" if search else "first bot"
        raise BotError(f"there is no {kind} for {game}, only for {', '.join(having)}")
    return _STARTERS.joinpath(_file_name(game, search=search)).read_text(encoding="utf-8")


def _file_name(game: str, *, search: bool) -> str:
    return f"{game}_search.py" if search else f"{game}.py"
