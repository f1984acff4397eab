"""`promontory bot`: a new bot's file, and a run of one, as people call them."""

from __future__ import annotations

from importlib import resources
from pathlib import Path

from promontory.client.access import Access
from promontory.client.bot import BotPlan, run_bot
from promontory.client.bot_events import BotResult, OnEvent
from promontory.client.bot_file import BotError

STARTER, SEARCHER = "starter_bot.py", "search_bot.py"


def new(file: Path, *, search: bool = False) -> None:
    """Write a first bot, or one that searches ahead, to `file`, which never replaces another.

    Raises `BotError` if that cannot be.
    """
    if file.suffix != ".py":
        raise BotError(f"a bot is a Python file: call it {file.with_name(f'{file.name}.py')}")
    source = resources.files("promontory.client").joinpath(SEARCHER if search else STARTER).read_text(encoding="utf-8")
    try:
        with file.open("x", encoding="utf-8") as target:
            target.write(source)
    except FileExistsError as error:
        raise BotError(f"{file} is there already; take another name, or delete it first") from error
    except FileNotFoundError as error:
        raise BotError(f"there is no folder {file.parent}; make it first") from error


async def run(file: Path, plan: BotPlan, access: Access, *, on_event: OnEvent) -> BotResult:
    """Play as `plan` says with the bot in `file`; see `run_bot`."""
    async with access.client() as client:
        return await run_bot(client, file, plan, on_event=on_event)
