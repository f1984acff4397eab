"""A player who is forgotten leaves open matches as if by resigning."""

from __future__ import annotations

import pytest

from promontory.codec.outcomes import CloseReason
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import Caller
from tests.support.refereeing import WORKERS, Bench

MATCHMAKING = Caller("service:matchmaking", frozenset({"player:forget"}), service=True)


async def test_a_service_resigns_for_a_player_who_is_forgotten() -> None:
    """[players ForgetPlayer] The log records it like any other end."""
    bench = Bench()
    match = await bench.create()
    answer = await bench.referee.resign(MATCHMAKING, match.match_id, 0, request_id="forget")
    again = await bench.referee.resign(MATCHMAKING, match.match_id, 0, request_id="forget")
    assert (answer.step.match.is_closed, again.step.version) == (True, answer.step.version)
    assert answer.step.match.result is not None
    assert answer.step.match.result.reason is CloseReason.RESIGNED


async def test_no_other_service_resigns_for_a_player() -> None:
    bench = Bench()
    match = await bench.create()
    with pytest.raises(Refusal) as refused:
        await bench.referee.resign(WORKERS, match.match_id, 0, request_id="forget")
    assert refused.value.reason == "SEAT_NOT_YOURS"
