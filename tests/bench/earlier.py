"""Figures beside earlier ones of the same: what `bench-plots` draws as before and after.

Earlier figures are those of the other checkout that a piece measured in turns (`make bench ARGS="--against CHECKOUT"`),
or, for pieces that cannot do that, those of an earlier file of `make bench`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from tests.bench.reporting import BenchFailed

Pieces = Mapping[str, Any]

MEASURING = {"bench", "clients", "client"}
"""Processes that only measure."""
IN_TURNS = "against"
"""What a piece calls the other checkout."""


class Value(msgspec.Struct, frozen=True):
    """One figure: a cost, of which less is better, or a rate; compared with that of its name, or of `instead`."""

    amount: float
    unit: str
    is_cost: bool = True
    instead: str = ""


class Compared(msgspec.Struct, frozen=True):
    """A figure before and now; `ratio` is how many times as good it is now."""

    name: str
    unit: str
    before: float
    now: float
    ratio: float


def pieces_of(file: Path) -> Pieces:
    """Return the figures in a file of `make bench`. Raises `BenchFailed` if it is none."""
    try:
        found: Pieces = json.loads(file.read_bytes())["pieces"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchFailed(f"{file} holds no figures, run `make bench` first: {error}") from error
    return found


def compared(now: Pieces, before: Pieces) -> list[Compared]:
    """Return what is in both; pieces whose figures had another form before are left out."""
    earlier = values({**before, **in_turns(now)})
    found = []
    for name, value in values(now).items():
        if other := earlier.get(name) or earlier.get(value.instead):
            ratio = other.amount / value.amount if value.is_cost else value.amount / other.amount
            found.append(Compared(name, value.unit, other.amount, value.amount, round(ratio, 3)))
    return found


def in_turns(pieces: Pieces) -> Pieces:
    """Return what pieces measured of another checkout in turns, as that checkout's own figures."""
    found: dict[str, Any] = {}
    if commands := pieces.get("commands"):
        theirs = [each for each in commands["figures"] if each["variant"]["system"] == IN_TURNS]
        renamed = [{**each, "variant": {**each["variant"], "system": "promontory"}} for each in theirs]
        found["commands"] = {**commands, "figures": renamed}
    if (rules := pieces.get("rules")) and rules[IN_TURNS]:
        found["rules"] = {"figures": rules[IN_TURNS]}
    return {name: each for name, each in found.items() if each["figures"]}


def values(pieces: Pieces) -> dict[str, Value]:
    """Return the figures that are compared, by what they are of."""
    found: dict[str, Value] = {}
    for piece, read in READERS.items():
        with suppress(KeyError):
            found.update(read(pieces[piece]))
    return found


def _commands(found: Any) -> Iterator[tuple[str, Value]]:
    for each in found["figures"]:
        variant = each["variant"]
        usual = variant["fsync"] == "everysec" and variant["matches"] == found["ratios_at_matches"]
        if usual and variant["system"] == "promontory":
            name = f"command, {variant['kind']}"
            yield name, Value(each["cpu_us_per_move"], "CPU µs", instead="command, unary")


def _rules(found: Any) -> Iterator[tuple[str, Value]]:
    fewest = {each["game"]: each for each in reversed(found["figures"])}
    for game, each in reversed(fewest.items()):
        rate = each["decisions_per_second"]
        yield f"decision, {game.replace('_', ' ')}", Value(rate, "per CPU s", is_cost=False)


def _log(found: Any) -> Iterator[tuple[str, Value]]:
    for each in found["appends"]:
        if each["variant"].startswith("promontory"):
            cost = each["client_cpu_us"] + each["server_cpu_us"]
            yield f"append, {each['variant'].split()[-1]}, {each['at_once']} at once", Value(cost, "CPU µs")
    yield "cold opening, the slowest", Value(max(each["cpu_ms"] for each in found["openings"]), "CPU ms")
    yield "log's memory for an event", Value(found["memory"]["bytes_per_event"], "bytes")


def _watch(found: Any) -> Iterator[tuple[str, Value]]:
    for each in found["one_match"]["crowds"]:
        yield f"commit to {each['watchers']:,} watchers", Value(each["cpu_ms_per_commit"], "CPU ms")
    yield "memory of a watcher", Value(found["many_matches"]["kib_per_watcher"], "KiB")


def _matchmaking(found: Any) -> Iterator[tuple[str, Value]]:
    yield "ticket, flat out", Value(_of_all(found["flat_out"]["cpu_ms_per_ticket"]), "CPU ms")
    largest = max(found["pairing"], key=lambda each: each["tickets"])
    yield f"pairing in a pool of {largest['tickets']:,}", Value(largest["pair_us"], "CPU µs a ticket")


def _bots(found: Any) -> Iterator[tuple[str, Value]]:
    turns = found["turns"]
    yield "bot turn", Value(_of_all(turns[-1]["cpu_ms_per_turn"]), "CPU ms")
    yield "commit to the bot's commit, one match", Value(turns[0]["latency"]["p50_ms"], "ms, p50")
    yield "tally", Value(_of_all(found["tallies"]["cpu_ms_per_tally"]), "CPU ms")


def _of_all(costs: Mapping[str, float]) -> float:
    return sum(cost for process, cost in costs.items() if process not in MEASURING)


READERS: Mapping[str, Callable[[Any], Iterator[tuple[str, Value]]]] = {
    "commands": _commands,
    "rules": _rules,
    "log": _log,
    "watch": _watch,
    "matchmaking": _matchmaking,
    "bots": _bots,
}
"""What is compared of each piece."""
