"""All that is held about a player, as one document."""

from __future__ import annotations

import json
from typing import Any

import pytest

from promontory.matchmaking.exporting import ExportPlayer, RatingRecord, Sources, StepRecord
from promontory.matchmaking.forgetting import Forgetting
from promontory.matchmaking.memory import MemoryTickets
from promontory.matchmaking.memory_forgettings import MemoryForgettings
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import Caller
from promontory.runtime.memory_players import MemoryDirectory
from promontory.runtime.players import Suspension, account_of
from tests.support.halls import ANN, BOB, TRIO, Hall
from tests.support.matchmaking import NOW_MS, POOL, SERVICE, listed, ticket

OPERATOR = Caller("service:operator", frozenset({"player:export"}), service=True)
STEP = StepRecord("tc-000-1", "2023-11-14T22:13:20.000+00:00", 1, 90, 25.0, 8.3, 27.6, 8.1)


class Scores:
    """Scoring, in which everybody has won one match in the ranked pool."""

    async def record(self, pool: str, player: str) -> RatingRecord:
        if pool != POOL:
            return RatingRecord(pool, 25.0, 8.3, 1500.0, 0, ())
        return RatingRecord(pool, 27.6, 8.1, 1604.0, 1, (STEP,))


class World:
    """A hall, and what exports its players."""

    def __init__(self, *, opaque: bool = False) -> None:
        self.hall, self.directory, self.forgettings = Hall(), MemoryDirectory(), MemoryForgettings()
        self.tickets = MemoryTickets(self.hall.memory)
        stores = self.directory, self.tickets, self.hall.tables, self.hall.store, self.forgettings
        self.cases = ExportPlayer(Sources(*stores, ratings=Scores()), opaque=opaque, pools=[POOL, "other.ranked"])

    async def export(self, player: str = "", *, by: Caller = ANN) -> dict[str, Any]:
        """Return the document."""
        found: dict[str, Any] = json.loads(await self.cases(by, player))
        return found


async def test_a_player_of_whom_nothing_is_held_gets_an_empty_document() -> None:
    document = await World().export()
    assert (document["format"], document["player_id"]) == ("promontory.player/1", "ann")
    assert document["identity"] == {"subject": "ann", "first_seen": ""}
    assert [document[key] for key in ("tickets", "tables", "matches", "forgetting")] == [[], [], [], None]


async def test_the_document_holds_tickets_and_tables() -> None:
    world = World()
    await world.tickets.create(ticket("ann"), most_open=5)
    table = await world.hall.lobby.create(ANN, TRIO)
    document = await world.export()
    assert document["tickets"] == [
        {
            "ticket_id": "tk-ann",
            "pool": POOL,
            "state": "waiting",
            "created": "2027-01-15T08:00:00.000+00:00",
            "rating": 1500.0,
            "entropy": b"ann".hex(),
        }
    ]
    assert [(each["table_id"], each["players"]) for each in document["tables"]] == [(table.id, ["ann"])]


async def test_the_document_holds_matches_with_what_came_of_them_for_the_player() -> None:
    world = World()
    await world.hall.store.record(listed(1, ended_ms=9000))
    await world.hall.store.record(listed(2))
    open_match, closed = (await world.export("bob", by=BOB))["matches"]
    assert (open_match["match_id"], open_match["result"]) == ("tc-000-2", None)
    assert (closed["service"], closed["seat"], closed["players"]) == (SERVICE, 1, ["ann", "bob"])
    ended = listed(1, ended_ms=9000).ended
    assert ended is not None
    assert closed["result"] == {
        "reason": ended.reason,
        "closed": "2027-01-15T08:00:09.000+00:00",
        "place": ended.places[1] if ended.places else None,
        "score": ended.scores[1] if ended.scores else None,
    }


async def test_the_document_holds_ratings_with_their_history() -> None:
    (rating,) = (await World().export())["ratings"]
    assert (rating["pool"], rating["matches"]) == (POOL, 1)
    assert rating["history"][0]["mu_after"] == 27.6


async def test_with_opaque_ids_the_document_tells_whom_the_id_stands_for() -> None:
    world = World(opaque=True)
    player = await world.directory.player_of("ann@example.org")
    assert (await world.export(player, by=OPERATOR))["identity"]["subject"] == "ann@example.org"
    await world.directory.remove(player)
    await world.forgettings.save(Forgetting(player=player, account="a1", requested_ms=NOW_MS), due_ms=0)
    document = await world.export(player, by=OPERATOR)
    assert (document["identity"], document["forgetting"]["account"]) == (None, "a1")


@pytest.mark.parametrize("opaque", [False, True], ids=["subject", "opaque"])
async def test_the_document_tells_of_a_suspension_while_it_lasts(*, opaque: bool) -> None:
    """[docs/privacy] Until when, and not why: that is the admin's record."""
    world = World(opaque=opaque)
    player = await world.directory.player_of("ann@example.org") if opaque else "ann"
    account = account_of("ann@example.org" if opaque else "ann")
    assert (await world.export(player, by=OPERATOR))["suspended_until"] == ""
    await world.directory.suspend(Suspension(account, 4_102_444_800_000))
    assert (await world.export(player, by=OPERATOR))["suspended_until"] == "2100-01-01T00:00:00.000+00:00"
    await world.directory.suspend(Suspension(account, 1))
    assert (await world.export(player, by=OPERATOR))["suspended_until"] == ""


async def test_nobody_exports_another_player_without_the_scope() -> None:
    with pytest.raises(Refusal) as refused:
        await World().export("ann", by=BOB)
    assert refused.value.reason == "SCOPE_MISSING"


async def test_a_player_is_found_by_the_subject_of_their_tokens() -> None:
    """[players GetPlayer] For whoever answers a person's letter."""
    world = World(opaque=True)
    player = await world.directory.player_of("ann@example.org")
    assert await world.cases.find(OPERATOR, "ann@example.org") == player
    assert await World().cases.find(OPERATOR, "ann") == await world.cases.find(ANN, "") == "ann"


@pytest.mark.parametrize(("by", "reason"), [(ANN, "SCOPE_MISSING"), (OPERATOR, "PLAYER_NOT_FOUND")])
async def test_a_subject_is_told_to_nobody_else_and_only_if_there_is_a_player(by: Caller, reason: str) -> None:
    with pytest.raises(Refusal) as refused:
        await World(opaque=True).cases.find(by, "nobody@example.org")
    assert refused.value.reason == reason
