"""What open matches are pinned to, counted in the server that holds the logs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from promontory.games import registry
from promontory.games.text import counted, table
from promontory.local.log import operators_log
from promontory.rules.main import data_files
from promontory.rules.ruleset import Ruleset, load_ruleset
from promontory.rules.survey import Pinned, Progress, open_matches


def installed(setting: str, data: Mapping[str, Sequence[bytes]]) -> tuple[Ruleset, ...]:
    """Return every game with its rules versions and the files of `data`, or else those that the setting names.

    Raises what `data_files` and `load_ruleset` raise.
    """
    return tuple(
        load_ruleset(game.name, data.get(game.name) or data_files(game.name, setting)) for game in registry.GAMES
    )


async def survey(redis_url: str, rulesets: Sequence[Ruleset], *, progress: Progress) -> list[Pinned]:
    """Return what the open matches at `redis_url` are pinned to, and what of `rulesets` no match is pinned to.

    `progress` is told how many matches have been found. Raises `ServerUnreachable`, `UnsafeServer`.
    """
    found: list[Pinned] = []
    async with operators_log(redis_url) as log:
        for ruleset in rulesets:
            pinned = await open_matches(log, ruleset, progress=_from(sum(each.matches for each in found), progress))
            found += sorted([*pinned, *_idle(ruleset, pinned)], key=lambda each: (each.rules_version, each.data_hash))
    return found


def _from(before: int, progress: Progress) -> Progress:
    return lambda count: progress(before + count)


def _idle(ruleset: Ruleset, pinned: Sequence[Pinned]) -> list[Pinned]:
    """Return the rules and data that are there, and that no match is pinned to."""
    taken = {(each.rules_version, each.data_hash) for each in pinned}
    there = [(game.rules_version, game.data_hash.hex()) for game in ruleset.games]
    return [
        Pinned(ruleset.game.name, version, data_hash, matches=0, served=True, example="")
        for version, data_hash in there
        if (version, data_hash) not in taken
    ]


def text(found: Sequence[Pinned]) -> str:
    """Return the counts as a table, and below it what cannot be served here."""
    rows = [(each.rules_version, each.data_hash[:12], f"{each.matches}", _served(each)) for each in found]
    lines = table("<<><", [("rules", "data", "open", "served here"), *rows])
    return "\n".join([*lines, *(f"\n{_lacking(each)}" for each in found if not each.served)])


def _served(pinned: Pinned) -> str:
    return "yes" if pinned.served else "NO"


def _lacking(pinned: Pinned) -> str:
    return (
        f"{counted(pinned.matches, 'open match', 'open matches')} of {pinned.rules_version} with the data"
        f" {pinned.data_hash} (as {pinned.example}) cannot be served here: they wait until that version, and that"
        " file in PROMONTORY_DATA_FILES, are back"
    )
