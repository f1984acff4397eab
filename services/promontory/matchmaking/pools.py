"""The file that says which pools there are."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from importlib import resources
from pathlib import Path

import msgspec

from promontory.bots.registry import policy_names
from promontory.codec.terms import faults_of
from promontory.games import registry
from promontory.games.registry import UnknownGameError, seat_counts
from promontory.matchmaking.domain import Pool
from promontory.runtime.forms import PLAYER_ID, POOL_ID
from promontory.runtime.settings import SettingsError

_IN_FILE = {
    "time_control.base": "time_control.base_seconds",
    "time_control.increment": "time_control.increment_seconds",
    "time_control.grace": "time_control.grace_seconds",
    "stand_in_policy": "stand_in",
    "abandon_after": "abandon_after_seconds",
}
"""What the fields of terms are called in the file, where that is something else."""

Pools = Mapping[str, Pool]
"""Pools by id, in the order of the configuration."""


class PoolsError(SettingsError):
    """The pools cannot be used; `problems` says which, why, and what would do."""

    def __init__(self, origin: str, problems: tuple[str, ...]) -> None:
        super().__init__(f"{origin}: " + "; ".join(problems))
        self.problems = problems


class _File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    pools: tuple[Pool, ...]


def shipped_pools() -> tuple[Pool, ...]:
    """Return the pools of the file that comes with the package."""
    text = resources.files("promontory.matchmaking").joinpath("pools.toml").read_text(encoding="utf-8")
    return read_pools(text, "the shipped pools.toml")


def load_pools(file: Path | None) -> tuple[Pool, ...]:
    """Return the pools in `file`, or the shipped ones. Raises `PoolsError`."""
    if file is None:
        return shipped_pools()
    try:
        return read_pools(file.read_text(encoding="utf-8"), str(file))
    except OSError as error:
        raise PoolsError(str(file), (f"cannot be read: {error.strerror}",)) from error


def read_pools(text: str, origin: str) -> tuple[Pool, ...]:
    """Return the pools in `text`, which is TOML and comes from `origin`. Raises `PoolsError` with all that is wrong."""
    try:
        pools = msgspec.convert(tomllib.loads(text), _File).pools
    except (tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise PoolsError(origin, (str(error),)) from error
    problems = [f"pool {pool.id!r}: {problem}" for pool in pools for problem in _problems(pool)]
    if len({pool.id for pool in pools}) < len(pools):
        problems.append("two pools have the same id")
    if not pools:
        problems.append("there is no pool")
    if problems:
        raise PoolsError(origin, tuple(problems))
    return pools


def served_pools(file: Path | None, games: frozenset[str]) -> Pools:
    """Return the pools in `file` by id, if the address of each one's rules service is known: `games` has those.

    Without a file they are the shipped pools of `games`, so that a new version's new game stops no installation.
    Raises `PoolsError` otherwise, and if there is none.
    """
    pools = load_pools(file)
    if file is None:
        pools = tuple(pool for pool in pools if pool.game in games) or pools
    if homeless := sorted({pool.game for pool in pools} - games):
        names = ", ".join(homeless)
        raise PoolsError("pools", (f"PROMONTORY_RULES_TARGETS has no address of the rules service of {names}",))
    return {pool.id: pool for pool in pools}


def _problems(pool: Pool) -> Iterator[str]:
    if not POOL_ID.fits(pool.id):
        yield f"its id must be {POOL_ID.words}"
    yield from _problems_of_numbers(pool)
    try:
        game, policies = registry.game(pool.game), policy_names(pool.game)
    except UnknownGameError as error:
        yield str(error)
        return
    if pool.seats not in game.seats:
        yield f"{pool.game} has {seat_counts(game.seats)} seats, not {pool.seats}"
    if pool.variant and pool.variant not in game.variants:
        yield f"its variant is one of {', '.join(game.variants)}, not {pool.variant!r}"
    yield from _problems_of_bots(pool, policies)
    for field, problem in faults_of(pool.terms, policies):
        yield f"its {_IN_FILE.get(field, field)} {problem}"


def _problems_of_numbers(pool: Pool) -> Iterator[str]:
    window = pool.window
    if window.points < 0 or window.points_per_second < 0 or window.most_points < window.points:
        yield "a window begins at 0 points or more, never shrinks, and has most_points at or above points"
    if pool.house_bots_after_seconds is not None and pool.house_bots_after_seconds < 0:
        yield "house_bots_after_seconds is 0 or more"
    if pool.house_bots_after_seconds is not None and len(pool.house_bots) < pool.seats - 1:
        yield f"house_bots must be {pool.seats - 1} at least to fill every free seat"


def _problems_of_bots(pool: Pool, policies: tuple[str, ...]) -> Iterator[str]:
    players = [bot.player for bot in pool.house_bots]
    if len(set(players)) < len(players):
        yield "two house bots have the same player id"
    for bot in pool.house_bots:
        if not PLAYER_ID.fits(bot.player):
            yield f"the house bot's player id {bot.player!r} must be {PLAYER_ID.words}"
        if bot.policy not in policies:
            yield f"there is no policy {bot.policy!r}, only {', '.join(policies)}"
