"""What each player may do in a minute."""

from __future__ import annotations

import pytest

from promontory.runtime import clock
from promontory.runtime.allowance import BURST_SECONDS, REMEMBERED, Allowance, Rate, calls, commands, creations
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import Caller

ADA, BEN = Caller("ada", frozenset()), Caller("ben", frozenset())
RELAY = Caller("service:relay", frozenset(), service=True)


class Hours:
    """A clock that stands still unless it is moved."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def hours(monkeypatch: pytest.MonkeyPatch) -> Hours:
    """The time, in the test's hands."""
    found = Hours()
    monkeypatch.setattr(clock, "monotonic", found)
    return found


def spend(allowance: Allowance, who: Caller, times: int) -> None:
    for _ in range(times):
        allowance.spend(who)


def test_all_of_it_may_be_spent_at_once_and_no_more(hours: Hours) -> None:
    """[LIMIT_REACHED] The refusal tells the limit, and how long to wait for the next one."""
    allowance = Allowance(creations(30))
    spend(allowance, ADA, 30)
    with pytest.raises(Refusal) as refused:
        allowance.spend(ADA)
    metadata = {"limitName": "max_creations_per_minute", "limit": 30, "retrySeconds": "2"}
    assert (refused.value.reason, refused.value.metadata) == ("LIMIT_REACHED", metadata)


def test_it_comes_back_with_time(hours: Hours) -> None:
    """After as long as the refusal says there is one again, after a minute all."""
    allowance = Allowance(creations(30))
    spend(allowance, ADA, 30)
    hours.seconds += 2
    allowance.spend(ADA)
    hours.seconds += 60
    spend(allowance, ADA, 30)
    with pytest.raises(Refusal):
        allowance.spend(ADA)


def test_a_refused_attempt_costs_nothing(hours: Hours) -> None:
    """Who asks again and again waits no longer for it."""
    allowance = Allowance(creations(1))
    allowance.spend(ADA)
    hours.seconds += 59
    with pytest.raises(Refusal):
        allowance.spend(ADA)
    hours.seconds += 1
    allowance.spend(ADA)


def test_everybody_has_their_own(hours: Hours) -> None:
    """One player's flood takes nothing from another."""
    allowance = Allowance(creations(1))
    allowance.spend(ADA)
    allowance.spend(BEN)


@pytest.mark.parametrize("rate", [calls(4), commands(4)], ids=lambda rate: rate.limit)
def test_what_is_counted_by_the_second_may_be_saved_up_for_three(hours: Hours, rate: Rate) -> None:
    """[event_log 5.2] A token bucket: so many a second, three times as many after a pause."""
    allowance = Allowance(rate)
    spend(allowance, ADA, 4 * BURST_SECONDS)
    with pytest.raises(Refusal) as refused:
        allowance.spend(ADA)
    assert refused.value.metadata == {"limitName": rate.limit.value, "limit": 4, "retrySeconds": "0.25"}
    hours.seconds += 0.25
    allowance.spend(ADA)


def test_services_go_uncounted(hours: Hours) -> None:
    """The platform does not stop itself."""
    spend(Allowance(creations(1)), RELAY, 5)


def test_players_whose_allowance_is_whole_are_forgotten(hours: Hours) -> None:
    """However many players come and go, little is remembered."""
    allowance = Allowance(creations(60))
    spend(allowance, ADA, 60)
    for number in range(REMEMBERED):
        allowance.spend(Caller(f"p{number}", frozenset()))
    hours.seconds += 1.5
    allowance.spend(BEN)
    assert len(allowance._whole_at) == 2
