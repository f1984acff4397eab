"""When the relay looks where for something that is due."""

from __future__ import annotations

import pytest

from promontory.eventlog.port import Backlog, FeedNote
from promontory.relay.agenda import Agenda

NOW = 1_790_000_000_000
BUCKET, OTHER = "tc:000", "tc:001"
MATCH = "tc-000-abcdefghijklmnopqrstuvwxyz"


@pytest.fixture
def agenda() -> Agenda:
    found = Agenda()
    found.learn({BUCKET: Backlog(0, NOW + 500), OTHER: Backlog(0, NOW + 900)})
    return found


def test_what_waits_is_due_at_its_time(agenda: Agenda) -> None:
    """[event_log 2.9] Not before, and no sweep later."""
    assert agenda.due(NOW + 499) == []
    assert agenda.due(NOW + 500) == [BUCKET]
    assert agenda.wait_ms(NOW, longest=10_000) == 500


@pytest.mark.parametrize(("delay", "wait_ms"), [(0, 0), (200, 200), (700, 500), (None, 500)])
def test_a_commit_s_note_tells_when_something_is_due_earlier(agenda: Agenda, delay: int | None, wait_ms: int) -> None:
    """A commit that sets no obligation makes nobody look."""
    agenda.note([FeedNote(MATCH, 3, delay), FeedNote(MATCH, 4, None)], NOW)
    assert agenda.wait_ms(NOW, longest=10_000) == wait_ms


def test_a_bucket_that_was_looked_through_waits_for_its_next_obligation(agenda: Agenda) -> None:
    """Where something should have been due, it is looked at again a little later: the store's clock is behind."""
    agenda.looked(BUCKET, NOW + 400, NOW + 450)
    agenda.looked(OTHER, None, NOW + 450)
    assert (agenda.due(NOW + 10_000), agenda.wait_ms(NOW, longest=10_000)) == ([BUCKET], 450)


def test_nothing_is_waited_for_longer_than_asked(agenda: Agenda) -> None:
    """Nor for less than no time."""
    assert [agenda.wait_ms(NOW + late, longest=250) for late in (0, 5_000)] == [250, 0]
    assert Agenda().wait_ms(NOW, longest=250) == 250
