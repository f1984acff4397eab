"""The arithmetic of `bench-capacity`, on round numbers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.bench.capacity import TooLittle, reckon
from tests.bench.costs import Assumed, MissingPiece

GAME = {"game": "transcontinental", "seats": 2, "games": 10, "commands": 1000, "games_per_second": 100.0}
MOVE = {
    "variant": {"store": "one server", "processes": 1, "kind": "unary"},
    "moves_per_second": 1000.0,
    "cpu_us_by_process": {"rules-1": 1020.0, "relay": 20.0, "store-1": 100.0},
}


def told(rate: float, cores: float) -> dict[str, Any]:
    """Return what being told takes, `cores` of each process but the store."""
    by_process = {"rules-1": cores, "rules-2": cores, "relay": cores, "store-1": 0.0}
    return {"store": "one server", "commits_per_second": rate, "cores": by_process}


PIECES = {
    "rules": {"figures": [GAME]},
    "scale": {"figures": [MOVE], "told": [told(1000.0, 0.02), told(11_000.0, 0.12)]},
}
SITE = Assumed(games_per_day=864_000, house=0.0, peak=2)


def result(title: str, what: str, *, pieces: Any = None, assumed: Assumed = SITE) -> float:
    """Return the figure `what` of the section whose title holds `title`."""
    found = reckon(pieces or PIECES, assumed)
    section = next(each for each in found.sections if title in each.title)
    return next(line.result for line in section.lines if line.what == what)


def test_what_being_told_takes_is_no_part_of_a_move() -> None:
    """1,020 µs a move at 1,000 moves a second are 20 µs of being told, at 0.02 cores."""
    assert result("one core carries", "rules") == pytest.approx(0.6 * 1e6 / 1000)


def test_a_core_has_time_for_as_many_games_as_their_commands_let_it() -> None:
    """A day of 51,840 busy seconds, 100 commands of 1 ms each."""
    assert result("Games of two a day", "transcontinental") == pytest.approx(518_400)


def test_processes_are_added_for_work_and_for_what_they_are_told() -> None:
    """10 games a second of 0.1 s leave 1 core of work; 1,000 commits a second take 0.02 of the 0.6 cores of each."""
    assert result("cores", "rules of transcontinental, average") == 2


def test_matches_are_spread_over_sites_where_being_told_leaves_too_little() -> None:
    """100,000 commands a second in the busiest hour are 1 core of being told; 0.29 cores are half of the use."""
    busy = Assumed(games_per_day=43_200_000, house=0.0, peak=2)
    assert result("cores", "sites, each with a log of its own", assumed=busy) == 4


def test_too_little_use_is_refused() -> None:
    """Being told takes 0.01 cores, however few commits there are."""
    with pytest.raises(TooLittle):
        reckon(PIECES, Assumed(use=0.01))


@pytest.mark.parametrize("piece", ["rules", "scale"])
def test_a_piece_that_nothing_can_be_reckoned_without_is_named(piece: str) -> None:
    """`make bench` leaves out pieces that fail."""
    with pytest.raises(MissingPiece, match=piece):
        reckon({name: each for name, each in PIECES.items() if name != piece}, SITE)


def test_pieces_that_only_add_figures_are_listed_when_missing() -> None:
    """What they would add is left out."""
    assert reckon(PIECES, SITE).missing == ["bots", "matchmaking", "watch", "footprint"]
