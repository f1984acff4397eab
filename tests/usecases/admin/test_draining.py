"""Draining processes: only those that are found, and never the last of a kind by mistake."""

from __future__ import annotations

import asyncio

import pytest

from promontory.admin.domain import Why
from promontory.admin.draining import Draining
from promontory.api.admin.v1 import acts_pb2 as pb
from promontory.runtime.errors import Refusal
from tests.usecases.admin.hall import FIRST, OTHER, SECOND, Hall
from tests.usecases.admin.test_acts import EVE, WHY, Office

STRANGER = "rules.pacific-0000000f"


def drain(replica: str, *, force: bool = False) -> pb.Deed:
    """Return the deed of draining `replica`."""
    return pb.Deed(replica_drain=pb.ReplicaDrain(replica_id=replica, force=force))


@pytest.fixture
def office() -> Office:
    return Office()


async def test_a_process_is_drained_while_another_serves_the_same(office: Office) -> None:
    """[DrainReplica] On record like every act, and once for a request id."""
    act = await office.acts.do(EVE, drain(FIRST), WHY)
    assert await office.acts.do(EVE, drain(FIRST), WHY) == act
    assert (act.deed, act.state, office.hall.drained) == (drain(FIRST), pb.ACT_STATE_DONE, [FIRST])


@pytest.mark.parametrize("before", [[], [FIRST]], ids=["it is the only one", "the other one is draining"])
async def test_the_last_process_of_a_kind_is_drained_only_by_force(before: list[str]) -> None:
    """[REPLICA_LAST] Scoring is no help to players of Pacific."""
    hall, last = Hall(), SECOND if before else OTHER
    draining = Draining(hall)
    for replica in before:
        await draining.drain(replica, force=False, again=False)
    with pytest.raises(Refusal) as refused:
        await draining.drain(last, force=False, again=False)
    assert (refused.value.reason, hall.drained) == ("REPLICA_LAST", before)
    await draining.drain(last, force=True, again=False)
    await draining.drain(last, force=False, again=False)
    assert hall.drained == [*before, last]


async def test_of_the_last_two_of_a_kind_two_admins_drain_only_one(office: Office) -> None:
    """[REPLICA_LAST] Though each finds the other one serving, and each has an admin service of its own."""
    office.hall.lookers = 2
    deeds = [
        each.acts.do(EVE, drain(replica), Why("new release", f"drain {replica}"))
        for each, replica in ((office, FIRST), (Office(office), SECOND))
    ]
    refused = [each for each in await asyncio.gather(*deeds, return_exceptions=True) if isinstance(each, Refusal)]
    assert [each.reason for each in refused] == ["REPLICA_LAST"]
    assert len(office.hall.drained) == 1


async def test_only_what_is_found_can_be_drained(office: Office) -> None:
    """[REPLICA_UNKNOWN] The refusal says what there is."""
    with pytest.raises(Refusal) as refused:
        await office.acts.do(EVE, drain(STRANGER), WHY)
    assert (refused.value.reason, await office.states()) == ("REPLICA_UNKNOWN", ["ACT_STATE_REFUSED"])
    assert refused.value.metadata["replicas"] == f"{FIRST}, {SECOND}, {OTHER}"


async def test_a_process_that_is_gone_when_a_lost_answer_is_asked_for_again_was_drained(office: Office) -> None:
    """[ACT_STATE_BEGUN] The next process at its address has another name, and is left alone."""
    office.hall.is_deaf = True
    with pytest.raises(Refusal, match="no answer"):
        await office.acts.do(EVE, drain(FIRST), WHY)
    assert await office.states() == ["ACT_STATE_BEGUN"]
    assert (await office.acts.do(EVE, drain(FIRST), WHY)).state == pb.ACT_STATE_DONE
    assert office.hall.drained == [FIRST]
