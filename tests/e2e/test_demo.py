"""The demonstration, as a newcomer runs it."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from promontory.games.registry import GAMES
from tests.support.commands import Mark

MATCHES = len(GAMES)
PATIENCE_SECONDS = 150


def _result(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    output, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert process.returncode == 0, errors.decode()
    result: dict[str, Any] = json.loads(output)
    return result


@pytest.mark.timeout(PATIENCE_SECONDS + 30)
def test_two_demonstrations_side_by_side_finish_and_leave_nothing_running(tmp_path: Path) -> None:
    """Each has its own server and ports; every match of every game finishes, is tallied, exported and audited."""
    exports = [tmp_path / "one", tmp_path / "two"]
    options = ["--matches", str(MATCHES), "--json", "--export-dir"]
    mark = Mark()
    demos = [mark.start("demo", *options, str(directory)) for directory in exports]
    results = [_result(demo) for demo in demos]

    assert [result["finished"] for result in results] == [MATCHES, MATCHES]
    assert [(result["failed"], result["audit_ok"]) for result in results] == [(0, True)] * 2
    assert [Counter(match["game"] for match in result["results"]) for result in results] == [
        {entry.name: 1 for entry in GAMES}
    ] * 2
    for result in results:
        seats = sum(len(match["players"]) for match in result["results"])
        assert sum(line["matches"] for line in result["leaderboard"]) == seats
    assert all(result["events_appended"] > result["commands_accepted"] > 0 for result in results)
    assert all(0 < result["p50_ms"] <= result["p99_ms"] for result in results)
    assert [len(list(directory.iterdir())) for directory in exports] == [MATCHES, MATCHES]
    assert mark.running() == []
