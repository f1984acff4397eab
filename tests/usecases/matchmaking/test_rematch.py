"""Playing a match again."""

from __future__ import annotations

from collections.abc import Awaitable

import pytest
from msgspec.structs import replace

from promontory.codec.terms import Terms
from promontory.matchmaking.listing import Ended
from promontory.matchmaking.seating import TableLimits
from promontory.matchmaking.table import CloseReason, TableState
from promontory.runtime.errors import Refusal
from tests.support.halls import ANN, BOB, CEM, DEE, Hall
from tests.support.matchmaking import POOL, listed

MATCH = "tc-000-1"
TERMS = Terms(stand_in_policy="greedy", spectator_delay=3)


@pytest.fixture
def hall() -> Hall:
    found = Hall()
    found.rules.put(listed(1, ended_ms=9), terms=TERMS)
    return found


async def reason_of(awaitable: Awaitable[object]) -> str:
    with pytest.raises(Refusal) as caught:
        await awaitable
    return caught.value.reason


async def test_a_rematch_starts_when_all_have_asked_with_the_seats_moved_on(hall: Hall) -> None:
    """[RequestRematch] Who sat in seat 1 gets seat 0."""
    asked = await hall.rematches.request(ANN, MATCH, b"ann's", request_id="a")
    assert (asked.state, asked.players, asked.asked) == (TableState.OPEN, ("ann",), ("bob",))
    started = await hall.rematches.request(BOB, MATCH, b"bob's", request_id="b")
    [proposal] = hall.rules.matches.values()
    assert started.made is not None
    assert [(each.entrant.player, each.entrant.entropy) for each in proposal.places] == [
        ("bob", b"bob's"),
        ("ann", b"ann's"),
    ]
    assert (proposal.pool, proposal.rated, proposal.draw_start, proposal.terms) == (POOL, True, False, TERMS)
    assert proposal.variant == "standard"


async def test_three_players_move_on_by_one_and_house_bots_agree_at_once(hall: Hall) -> None:
    ended = Ended("resigned", 5, (1, 2, 3), (3, 2, 1))
    hall.rules.put(listed(2, "ann", "bot", "cem", game="pacific", policies=("", "greedy", ""), ended=ended))
    await hall.rematches.request(CEM, "tc-000-2", b"", request_id="c")
    started = await hall.rematches.request(ANN, "tc-000-2", b"", request_id="a")
    [proposal] = hall.rules.matches.values()
    assert started.made is not None
    assert [(each.entrant.player, each.entrant.policy) for each in proposal.places] == [
        ("bot", "greedy"),
        ("cem", ""),
        ("ann", ""),
    ]


async def test_whoever_is_asked_finds_the_rematch(hall: Hall) -> None:
    asked = await hall.rematches.request(ANN, MATCH, b"", request_id="a")
    assert [table.id for table in await hall.lobby.tables(BOB)] == [asked.id]
    assert await hall.lobby.find(BOB, asked.id) == asked
    assert await reason_of(hall.lobby.find(CEM, asked.id)) == "NOT_YOURS"
    assert asked.rematch_of == MATCH


async def test_asking_again_changes_nothing(hall: Hall) -> None:
    first = await hall.rematches.request(ANN, MATCH, b"", request_id="a")
    assert await hall.rematches.request(ANN, MATCH, b"", request_id="a") == first
    assert await hall.rematches.request(ANN, MATCH, b"", request_id="b") == first
    await hall.rematches.request(BOB, MATCH, b"", request_id="b")
    assert (await hall.rematches.request(ANN, MATCH, b"", request_id="c")).made is not None
    assert len(hall.rules.matches) == 1


async def test_a_rematch_against_a_house_bot_starts_at_once(hall: Hall) -> None:
    hall.rules.put(listed(2, "ann", "bot", policies=("", "greedy"), ended_ms=9))
    assert (await hall.rematches.request(ANN, "tc-000-2", b"", request_id="a")).made is not None


async def test_a_declined_rematch_is_over_for_all(hall: Hall) -> None:
    await hall.rematches.request(ANN, MATCH, b"", request_id="a")
    declined = await hall.rematches.decline(BOB, MATCH, request_id="no")
    assert declined.close_reason is CloseReason.DECLINED
    assert await hall.rematches.decline(BOB, MATCH, request_id="no") == declined
    assert await reason_of(hall.rematches.request(BOB, MATCH, b"", request_id="b")) == "TABLE_CLOSED"
    assert await reason_of(hall.rematches.request(ANN, MATCH, b"", request_id="c")) == "TABLE_CLOSED"


async def test_whoever_asked_takes_it_back_by_leaving(hall: Hall) -> None:
    asked = await hall.rematches.request(ANN, MATCH, b"", request_id="a")
    left = await hall.lobby.leave(ANN, asked.id, request_id="out")
    assert left.close_reason is CloseReason.DECLINED


async def test_a_rematch_has_no_host(hall: Hall) -> None:
    asked = await hall.rematches.request(ANN, MATCH, b"", request_id="a")
    assert await reason_of(hall.lobby.close(ANN, asked.id, request_id="c")) == "NOT_HOST"
    assert await reason_of(hall.lobby.start(ANN, asked.id, request_id="s")) == "NOT_HOST"


async def test_a_rematch_that_nobody_agrees_to_expires() -> None:
    hall = Hall(TableLimits(rematch_seconds=0))
    hall.rules.put(listed(1, ended_ms=9))
    asked = await hall.rematches.request(ANN, MATCH, b"", request_id="a")
    assert (await hall.lobby.find(BOB, asked.id)).close_reason is CloseReason.EXPIRED


async def test_what_is_no_rematch_is_refused(hall: Hall) -> None:
    hall.rules.put(listed(2))
    hall.rules.put(listed(4, ended_ms=9), is_fork=True)
    wanted = ("tc-000-2", "tc-000-3", "tc-000-4", "x")
    asking = {match: hall.rematches.request(ANN, match, b"", request_id="a") for match in wanted}
    asking["other's"] = hall.rematches.request(DEE, MATCH, b"", request_id="d")
    asking["bot's"] = hall.rematches.request(replace(DEE, subject="bot"), MATCH, b"", request_id="d")
    reasons = {name: await reason_of(each) for name, each in asking.items()}
    assert reasons == {
        "tc-000-2": "MATCH_OPEN",
        "tc-000-3": "MATCH_NOT_FOUND",
        "tc-000-4": "MATCH_NOT_FOUND",
        "x": "BAD_REQUEST",
        "other's": "NOT_YOURS",
        "bot's": "NOT_YOURS",
    }


async def test_what_cannot_be_declined_is_refused(hall: Hall) -> None:
    assert await reason_of(hall.rematches.decline(BOB, MATCH, request_id="no")) == "TABLE_NOT_FOUND"
    await hall.rematches.request(ANN, MATCH, b"", request_id="a")
    assert await reason_of(hall.rematches.decline(DEE, MATCH, request_id="no")) == "NOT_YOURS"
    await hall.rematches.request(BOB, MATCH, b"", request_id="b")
    assert await reason_of(hall.rematches.decline(BOB, MATCH, request_id="no")) == "TABLE_CLOSED"


async def test_a_rematch_can_be_played_again(hall: Hall) -> None:
    await hall.rematches.request(ANN, MATCH, b"", request_id="a")
    first = await hall.rematches.request(BOB, MATCH, b"", request_id="b")
    assert first.made is not None
    hall.rules.put(listed(2, "bob", "ann", ended_ms=9, match_id=first.made.match_id))
    await hall.rematches.request(ANN, first.made.match_id, b"", request_id="a2")
    second = await hall.rematches.request(BOB, first.made.match_id, b"", request_id="b2")
    assert second.made is not None
    assert second.players == ("ann", "bob")
