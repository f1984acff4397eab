"""`promontory arena`: policies and bot files against each other, by the rules alone, as a table for people."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from promontory.bots.arena import ArenaResult, Plan, Progress, Standing, run_arena
from promontory.bots.port import Policy, RefusedPolicyError, UnknownPolicyError
from promontory.client.bot_file import Bot, BotError, load_bot
from promontory.client.starters import FIRST_GAME
from promontory.client.wording import refusal, shown
from promontory.codec import registry as codecs
from promontory.games import registry
from promontory.games.registry import AnyGame
from promontory.games.text import counted

BOT_SUFFIX = ".py"
STRONGEST, WEAKEST = "greedy", "random"
"""The policies that every game has."""


def run(game_name: str, plan: Plan, *, progress: Progress | None = None) -> ArenaResult:
    """Return how the policies of `plan` did, of which those whose names end in `.py` are bot files.

    A bot's `choose` is called as in a match, but in this thread, and the hooks are not called.

    Raises what `run_arena` does, and `BotError` where a bot cannot be loaded, fails, or gives what the rules refuse.
    """
    game = registry.game(game_name)
    with ExitStack() as stack:
        own: dict[str, Policy] = {}
        for name in dict.fromkeys(plan.policies):
            if name.endswith(BOT_SUFFIX):
                bot = load_bot(Path(name))
                stack.callback(bot.close)
                own[name] = _policy(game, bot)
        try:
            return run_arena(game, plan, cpu_clock=time.process_time, progress=progress, own=own)
        except UnknownPolicyError as error:
            raise UnknownPolicyError(f"{error}; the name of a bot's file ends in {BOT_SUFFIX}") from error
        except RefusedPolicyError as error:
            raise BotError(_sentence(plan.policies[error.policy], error)) from error


def usual_policies(game_name: str, *, first: str = STRONGEST, others: str = WEAKEST) -> tuple[str, ...]:
    """Return `first` and as many of `others` as the smallest table of the game has further seats.

    Raises `UnknownGameError` if there is no such game.
    """
    return (first, *[others] * (registry.game(game_name).seats.start - 1))


def command_line(game_name: str, file: str) -> str:
    """Return the command that measures the bot in `file` against the game's best policy."""
    game = "" if game_name == FIRST_GAME else f"--game {game_name} "
    return f"promontory arena {game}--policies {','.join(usual_policies(game_name, first=file, others=STRONGEST))}"


def report(result: ArenaResult) -> str:
    """Return a run's standings by policy and by seat."""
    games, draws = counted(result.games, "game"), counted(result.draws, "draw")
    title = f"{result.rules_version}: {games}, {draws}, {result.mean_turns:.1f} turns a game; seed {result.seed}"
    width = max(len(each.name) for each in (*result.policies, *result.seats))
    return "\n".join(
        [title, "", *_table("policy", result.policies, width=width), "", *_table("seat", result.seats, width=width)]
    )


def _policy(game: AnyGame, bot: Bot) -> Policy:
    """Return the bot as a policy whose commands are read as the platform reads them: through their messages."""
    codec = codecs.codec(game.name)

    def choose(view: Any, rng: Random) -> Any:
        command = bot.choose(view, rng)
        try:
            return codec.decode_command(codec.encode_command(command), command.seat)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise bot.misled(game, view, problem=f"{command!r} is no command of {game.name}") from error

    return choose


def _sentence(name: str, error: RefusedPolicyError) -> str:
    why = error.refusal
    text = refusal(why.reason, str(why), {"rule": why.rule, **why.details})
    phase = getattr(error.view, "phase", "")
    place = f"game {error.number}, phase {phase}" if phase else f"game {error.number}"
    return f"{name}: {place}: {shown(error.command)} was refused: {text}"


def _table(what: str, standings: Sequence[Standing], *, width: int) -> Iterator[str]:
    yield f"{what:<{width}}  {'wins':>6}  {'share':>6}  {'95 % interval':>16}  {'CPU a decision':>14}"
    for each in standings:
        share = each.share
        interval = f"{share.low:.1%} to {share.high:.1%}"
        cost = f"{1e6 * each.cpu_seconds_per_decision:.0f} µs"
        yield f"{each.name:<{width}}  {each.wins:>6}  {share.value:>6.1%}  {interval:>16}  {cost:>14}"


def progress_line(write: Callable[[str], object]) -> Progress:
    """Return what shows by `write`, on one line of a terminal, how many games are done."""

    def tell(done: int, total: int) -> None:
        write("\r\033[K" if done == total else f"\r{done} of {total} games")

    return tell
