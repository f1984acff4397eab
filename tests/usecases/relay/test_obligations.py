"""Obligations and the tasks that meet them."""

from __future__ import annotations

import pytest

from promontory.eventlog.obligations import archive_name, bot_turn_name, list_name, tally_name
from promontory.eventlog.port import Claimed
from promontory.relay.domain import Ages, ArchiveDue, BotTurn, ListDue, TallyDue, kind_of, parse, task_of
from promontory.runtime.broker import LIST_MATCH

MATCH = "tc-0a7-abcdefghijklmnopqrstuvwxyz"
BOT = f"bot|{MATCH}|1|12"


def test_a_bot_s_turn_is_read_from_its_name() -> None:
    """[architecture 2] `bot|<match>|<seat>|<since>`; the game follows from the match's id."""
    assert bot_turn_name(MATCH, 1, 12) == BOT
    assert parse(BOT) == BotTurn("transcontinental", MATCH, 1, 12)


def test_a_tally_is_read_from_its_name() -> None:
    """`tally|<match>`."""
    assert tally_name(MATCH) == f"tally|{MATCH}"
    assert parse(f"tally|{MATCH}") == TallyDue(MATCH)


def test_an_archiving_is_read_from_its_name() -> None:
    """`archive|<match>|<ms>`; the time of the match's end says how long it has been waiting."""
    assert archive_name(MATCH, 1_790_000_000_123) == f"archive|{MATCH}|1790000000123"
    assert parse(archive_name(MATCH, 1_790_000_000_123)) == ArchiveDue(MATCH, 1_790_000_000_123)


def test_an_archiving_s_task_says_which_attempt_it_is() -> None:
    """The worker puts it off the longer, the more there were."""
    task = task_of(ArchiveDue(MATCH, 7), Claimed(f"archive|{MATCH}|7", 3, exhausted=False))
    assert (task.queue, task.arguments) == ("archive", (MATCH, 7, 3))


def test_a_closed_match_to_be_listed_is_read_from_its_name() -> None:
    """`list|<match>`; a task of its own, in the queue of what is done at the end of a match."""
    assert parse(list_name(MATCH)) == ListDue(MATCH)
    task = task_of(ListDue(MATCH), Claimed(list_name(MATCH), 1, exhausted=False))
    assert (kind_of(ListDue(MATCH)), task.name, task.queue, task.arguments) == ("list", LIST_MATCH, "tallies", (MATCH,))


@pytest.mark.parametrize(
    "name", ["", "bot", "bot|x", "bot|zz-0a7-a|0|1", f"bot|{MATCH}|x|1", f"bot|{MATCH}|0|-1", f"turn|{MATCH}|0|1"]
)
def test_another_name_is_unknown(name: str) -> None:
    """A newer service may leave obligations that this relay does not know."""
    assert parse(name) is None


def test_a_bot_s_task_names_game_match_seat_and_turn() -> None:
    """The worker needs nothing else, and nothing hidden goes through the broker."""
    task = task_of(BotTurn("transcontinental", MATCH, 1, 12), Claimed(BOT, 1, exhausted=False))
    assert (task.queue, task.arguments) == ("bots", ("transcontinental", MATCH, 1, 12))


def test_each_attempt_is_a_message_of_its_own() -> None:
    """A broker that knows the first attempt must still take the second."""
    tasks = [task_of(TallyDue(MATCH), Claimed(f"tally|{MATCH}", attempt, exhausted=False)) for attempt in (1, 2)]
    assert [task.queue for task in tasks] == ["tallies", "tallies"]
    assert tasks[0].task_id != tasks[1].task_id


def test_an_obligation_that_comes_again_has_been_outstanding_since_its_first_lease() -> None:
    """The third attempt comes after two leases."""
    ages = Ages(lease_seconds=10)
    ages.handed_out(Claimed(BOT, 3, exhausted=False), now=100.0)
    assert ages.oldest_seconds(now=104.0) == pytest.approx(24.0)


def test_an_obligation_handed_out_once_is_not_old() -> None:
    """Somebody is at it."""
    ages = Ages(lease_seconds=10)
    ages.handed_out(Claimed(BOT, 1, exhausted=False), now=100.0)
    assert ages.oldest_seconds(now=109.0) == 0.0


def test_an_obligation_that_comes_no_more_is_forgotten() -> None:
    """It was met."""
    ages = Ages(lease_seconds=10)
    ages.handed_out(Claimed(BOT, 2, exhausted=False), now=100.0)
    assert ages.oldest_seconds(now=116.0) == 0.0
