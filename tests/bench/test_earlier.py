"""Before and after, on round numbers."""

from __future__ import annotations

from typing import Any

from tests.bench.earlier import Compared, compared


def command(system: str, kind: str, cost: float) -> dict[str, Any]:
    """Return what `bench-commands` found of one way to play."""
    return {
        "variant": {"system": system, "kind": kind, "fsync": "everysec", "matches": 20},
        "cpu_us_per_move": cost,
    }


def commands(*figures: dict[str, Any]) -> dict[str, Any]:
    """Return the figures of `bench-commands` as a piece of the suite."""
    return {"commands": {"ratios_at_matches": 20, "figures": figures}}


OURS = command("promontory", "unary", 1000.0)
BEFORE = Compared("command, unary", "CPU µs", before=3000.0, now=1000.0, ratio=3.0)


def test_another_checkout_measured_in_turns_is_what_was_before() -> None:
    """A third of the cost is three times as good."""
    assert compared(commands(OURS, command("against", "unary", 3000.0)), {}) == [BEFORE]


def test_figures_of_an_earlier_file_are_what_was_before() -> None:
    """The file holds them as its own."""
    assert compared(commands(OURS), commands(command("promontory", "unary", 3000.0))) == [BEFORE]


def test_what_was_measured_in_turns_counts_more_than_an_earlier_file() -> None:
    """One run is better to compare in than two."""
    earlier = commands(command("promontory", "unary", 9000.0))
    assert compared(commands(OURS, command("against", "unary", 3000.0)), earlier) == [BEFORE]


def test_streams_are_compared_with_calls_where_there_were_no_streams() -> None:
    """Whoever plays over a stream now gave calls before."""
    now = commands(OURS, command("promontory", "stream", 500.0), command("against", "unary", 3000.0))
    assert compared(now, {}) == [BEFORE, Compared("command, stream", "CPU µs", before=3000.0, now=500.0, ratio=6.0)]


def test_of_a_rate_more_is_better() -> None:
    """A game's rate is that with the fewest seats."""
    figures = [{"game": "pacific", "seats": seats, "decisions_per_second": 600.0 / seats} for seats in (2, 3)]
    before = [{**each, "decisions_per_second": 100.0} for each in figures]
    now = {"rules": {"figures": figures, "against": before}}
    assert compared(now, {}) == [Compared("decision, pacific", "per CPU s", before=100.0, now=300.0, ratio=3.0)]


def test_an_earlier_file_of_another_form_is_no_hindrance() -> None:
    """Pieces have other names in figures of other versions."""
    assert compared(commands(OURS), {"commands": {"figures": []}, "watch": {}}) == []
