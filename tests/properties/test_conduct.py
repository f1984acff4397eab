"""Matches in which everybody does something at random: whatever they do, clocks, obligations and folds are right."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from promontory.eventlog.audit_file import audit_lines
from promontory.rules.audit import audit, shipped_rulesets
from promontory.runtime import clock
from tests.support.conduct import Time
from tests.support.unruly import Told, Unruly, digest

ROOT = Path(__file__).parents[2]
GAMES = ["transcontinental", "pacific", "railroad_dice_2"]
REFOLD = "import sys; from tests.support.unruly import refolded; print(*refolded(sys.stdin.buffer.read()))"


async def played(game: str, seed: int, monkeypatch: pytest.MonkeyPatch, *, acts: int = 300) -> Unruly:
    """Return a match in which so many things were done or tried, and which then came to its end."""
    time = Time()
    monkeypatch.setattr(clock, "now_ms", time)
    unruly = Unruly(game, seed, time)
    await unruly.play(acts)
    await unruly.end()
    return unruly


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("game", GAMES)
async def test_nothing_that_anybody_does_brings_a_match_out_of_order(
    game: str, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[event_log 2.9] [event_log 2.10] [event_log R15] After every commit, and in its file at the end.

    A clock runs for whom the match waits, and no time is given twice for a turn; what is owed follows from the match as
    it is; whoever stays can resign, and time can run out; another process folds the same; the audit finds nothing.
    """
    unruly = await played(game, seed, monkeypatch)
    assert unruly.faults == []
    raw = b"".join(audit_lines(unruly.match.match_id, await unruly.log.read(unruly.match.match_id)))
    assert audit(raw, shipped_rulesets(), secrecy=False).cause is None


async def test_every_version_is_the_same_in_every_process(monkeypatch: pytest.MonkeyPatch) -> None:
    """[event_log O4] [event_log R3] With another PYTHONHASHSEED: offers, departures, clocks and all."""
    matches = [await played(game, 100 + seed, monkeypatch) for game in GAMES for seed in range(3)]
    told = [
        Told(unruly.bench.ruleset.game.name, unruly.match.match_id, [*await unruly.log.read(unruly.match.match_id)])
        for unruly in matches
    ]
    assert refolded_elsewhere(told) == [digest(step.match) for unruly in matches for step in unruly.steps]


def refolded_elsewhere(told: list[Told]) -> list[str]:
    """Return the digest of every version of the matches in `told`, as a fresh process folds them."""
    child = subprocess.run(
        [sys.executable, "-c", REFOLD],
        input=msgspec.msgpack.encode(told),
        check=True,
        capture_output=True,
        cwd=ROOT,
        env={"PYTHONHASHSEED": "7", "PYTHONPATH": str(ROOT / "services")},
    )
    return child.stdout.decode().split()
