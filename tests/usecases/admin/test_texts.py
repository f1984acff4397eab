"""What `promontory admin` prints: nothing that is old as if it were now, and what is due before what is not."""

from __future__ import annotations

from datetime import timedelta

import pytest

from promontory.api.match.v1 import match_pb2
from promontory.cli import parser
from promontory.client.admin import Inspection, Obligation
from promontory.client.matches import match_of
from promontory.local.admin_text import inspection_text, wanted_obligations
from promontory.runtime import clock

NOW = clock.now()


def owed(kind: str, seconds: float) -> Obligation:
    """Return an obligation that is due in so many seconds."""
    due = NOW + timedelta(seconds=seconds)
    return Obligation(f"{kind}|tc-000-a", kind, "tc-000-a", due_time=due, attempts=0, parked=False)


OWED = (owed("archive", 3000), owed("bot", -60), owed("clock", 2000), owed("tally", -90))


@pytest.mark.parametrize(
    ("kind", "due", "kinds"),
    [
        (None, False, ["tally", "bot", "clock", "archive"]),
        (None, True, ["tally", "bot"]),
        ("clock", False, ["clock"]),
        ("clock", True, []),
    ],
)
def test_what_is_owed_is_listed_by_when_it_is_due(kind: str | None, due: bool, kinds: list[str]) -> None:
    """[docs/admin.md] Else what is due drowns in what is owed an hour hence."""
    assert [each.kind for each in wanted_obligations(OWED, kind=kind, due=due)] == kinds


def inspected(*, seen: int, version: int) -> str:
    """Return the text of a match that waits for seat 1 at version `seen`, and is at `version` by now."""
    match = match_of(
        match_pb2.Match(match_id="tc-000-a", state=match_pb2.MATCH_STATE_OPEN, version=seen, seats_to_act=[1])
    )
    found = Inspection("open", version, "00", match, problem="", obligations=(), commits=())
    return inspection_text("tc-000-a", found)


def test_whose_turn_it_was_is_not_told_as_if_it_were_now() -> None:
    """[spectator_delay] Admins see a match as spectators do; at which version, stands beside it."""
    assert "at version 34, as spectators see it, 10 commits behind: waiting for seat 1" in inspected(
        seen=34, version=44
    )
    assert "\nwaiting for seat 1" in inspected(seen=44, version=44)


@pytest.mark.parametrize("act", ["release x", "drop x", "cancel x", "suspend x --for 1d", "restore x", "drain x"])
def test_every_act_takes_yes(act: str) -> None:
    """[docs/admin.md] So that scripts need not know which acts ask."""
    assert parser().parse_args(["admin", *act.split(), "--reason", "why", "--yes"]).yes
