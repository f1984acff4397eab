"""What admins do, on a log in memory: recorded before it is done, done once, and never lost from the record."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from promontory.admin.domain import STREAM, Why
from promontory.admin.draining import Draining
from promontory.admin.obligations import Obligations
from promontory.admin.record import Record
from promontory.admin.usecases import Acts
from promontory.api.admin.v1 import acts_pb2 as pb
from promontory.codec.times import timestamp
from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import START, CommandIdReused, LogCorrupt
from promontory.runtime.clock import now_ms
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import Caller, Scope
from tests.support.event_logs import proposal
from tests.support.observing import counted
from tests.usecases.admin.hall import Hall

EVE = Caller("eve@example.org", frozenset({Scope.ADMIN}))
MATCH = "tc-000-abc"
WHY = Why("it hangs", "r-1")
CANCEL = pb.Deed(match_cancellation=pb.MatchCancellation(match_id=MATCH, note="sorry"))
SUSPEND = pb.Deed(player_suspension=pb.PlayerSuspension(player_id="ann", until_time=timestamp(2_000_000_000_000)))
RESTORE = pb.Deed(player_restoration=pb.PlayerRestoration(player_id="ann"))


class Peers:
    """The other services; `failing` is what the next calls raise, one each."""

    def __init__(self, record: Callable[[], Any]) -> None:
        self.done: list[tuple[Any, ...]] = []
        self.failing: list[Refusal] = []
        self.recorded: list[int] = []
        self.knows = True
        self._record = record

    async def look(self, match_id: str) -> Any:
        raise NotImplementedError

    async def cancel(self, match_id: str, note: str, *, request_id: str) -> None:
        await self._do("cancel", match_id, note, request_id)

    async def suspend(self, player_id: str, until_ms: int) -> bool:
        await self._do("suspend", player_id, until_ms)
        return self.knows

    async def restore(self, player_id: str) -> bool:
        await self._do("restore", player_id)
        return self.knows

    async def _do(self, *what: Any) -> None:
        self.recorded.append(len(await self._record().acts()))
        if self.failing:
            raise self.failing.pop()
        self.done.append(what)


class Office:
    """An admin service without a server, on what `other` works on if there is another one."""

    def __init__(self, other: Office | None = None) -> None:
        self.log = other.log if other else MemoryEventLog(clock=now_ms)
        self.peers = Peers(lambda: Record(self.log))
        obligations = Obligations(self.log, buckets=2, max_attempts=1)
        self.hall = other.hall if other else Hall()
        self.acts = Acts(
            Record(self.log),
            rules=self.peers,
            players=self.peers,
            obligations=obligations,
            draining=Draining(self.hall),
        )

    async def states(self) -> list[str]:
        """Return what came of the acts, in order."""
        return [pb.ActState.Name(act.state) for act in (await Record(self.log).acts()).values()]


@pytest.fixture
def office() -> Office:
    return Office()


@pytest.mark.parametrize(
    ("deed", "done"),
    [
        (CANCEL, ("cancel", MATCH, "sorry", "act-1")),
        (SUSPEND, ("suspend", "ann", 2_000_000_000_000)),
        (RESTORE, ("restore", "ann")),
    ],
)
async def test_an_act_is_recorded_before_it_is_done_and_after(
    office: Office, deed: pb.Deed, done: tuple[Any, ...]
) -> None:
    """[event_log 5.1] Who, what, why, and what came of it."""
    act = await office.acts.do(EVE, deed, WHY)
    assert (office.peers.done, office.peers.recorded) == ([done], [1])
    assert (act.admin_id, act.deed, act.reason, act.state) == (EVE.subject, deed, WHY.reason, pb.ACT_STATE_DONE)
    assert act.begin_time.ToMilliseconds() <= act.end_time.ToMilliseconds() <= now_ms()
    assert await Record(office.log).acts() == {1: act}


@pytest.mark.parametrize(
    ("deed", "remark"), [(SUSPEND, "nothing is known of this player"), (RESTORE, "the player was not suspended")]
)
async def test_an_act_on_a_player_nobody_knows_says_so(office: Office, deed: pb.Deed, remark: str) -> None:
    """[Act.remark] It may be a slip; and it is on record with the act."""
    assert (await office.acts.do(EVE, deed, WHY)).remark == ""
    office.peers.knows = False
    act = await office.acts.do(EVE, deed, Why(WHY.reason, "r-2"))
    assert (act.state, act.remark.partition(":")[0]) == (pb.ACT_STATE_DONE, remark)
    assert (await Record(office.log).acts())[act.number] == act


async def test_an_act_is_done_once_for_a_request_id(office: Office) -> None:
    """[AdminService] And with another content the id is refused; another admin's is another act."""
    first = await office.acts.do(EVE, CANCEL, WHY)
    assert await office.acts.do(EVE, CANCEL, WHY) == first
    with pytest.raises(CommandIdReused):
        await office.acts.do(EVE, RESTORE, WHY)
    await office.acts.do(Caller("bob", EVE.scopes), CANCEL, WHY)
    assert len(office.peers.done) == 2


async def test_a_refusal_is_recorded_and_given_again(office: Office) -> None:
    office.peers.failing = [Refusal(Kind.FORBIDDEN_NOW, "MATCH_OVER", "it is over")]
    with pytest.raises(Refusal, match="it is over"):
        await office.acts.do(EVE, CANCEL, WHY)
    with pytest.raises(Refusal, match="it is over") as again:
        await office.acts.do(EVE, CANCEL, WHY)
    assert (again.value.reason, again.value.kind) == ("MATCH_OVER", Kind.FORBIDDEN_NOW)
    assert (await office.states(), office.peers.done) == (["ACT_STATE_REFUSED"], [])


async def test_an_act_whose_outcome_is_unknown_stays_begun_until_it_is_repeated(office: Office) -> None:
    """[ACT_STATE_BEGUN] The record never says more than is known."""
    office.peers.failing = [Refusal(Kind.UNAVAILABLE, "PEER_UNAVAILABLE", "down")]
    with pytest.raises(Refusal, match="down"):
        await office.acts.do(EVE, CANCEL, WHY)
    assert await office.states() == ["ACT_STATE_BEGUN"]
    await office.acts.do(EVE, CANCEL, WHY)
    assert await office.states() == ["ACT_STATE_DONE"]


@pytest.mark.parametrize(
    "caller",
    [Caller("ann", frozenset({Scope.PLAY})), Caller("service:relay", frozenset({Scope.ADMIN}), service=True)],
    ids=["player", "service"],
)
async def test_only_people_with_the_scope_are_admins(office: Office, caller: Caller) -> None:
    """[SCOPE_MISSING] A service is nobody who could be asked why."""
    with pytest.raises(Refusal) as refused:
        await office.acts.do(caller, CANCEL, WHY)
    with pytest.raises(Refusal):
        await office.acts.listed(caller, admin_id="", target="", size=0, token="")
    assert (refused.value.reason, await office.states()) == ("SCOPE_MISSING", [])


@pytest.mark.parametrize(
    ("deed", "why"),
    [
        (CANCEL, Why("", "r-1")),
        (CANCEL, Why("  ", "r-1")),
        (CANCEL, Why("x" * 501, "r-1")),
        (CANCEL, Why("x", "")),
        (pb.Deed(match_cancellation=pb.MatchCancellation(match_id="nonsense")), WHY),
        (pb.Deed(match_cancellation=pb.MatchCancellation(match_id=MATCH, note="x" * 301)), WHY),
        (pb.Deed(player_restoration=pb.PlayerRestoration(player_id="")), WHY),
        (pb.Deed(replica_drain=pb.ReplicaDrain(replica_id="10.0.0.1:7401")), WHY),
    ],
)
async def test_nothing_is_recorded_of_what_is_malformed(office: Office, deed: pb.Deed, why: Why) -> None:
    with pytest.raises(Refusal) as refused:
        await office.acts.do(EVE, deed, why)
    assert (refused.value.reason, await office.states()) == ("BAD_REQUEST", [])


async def test_acts_are_listed_the_newest_first_in_pages(office: Office) -> None:
    """[ListActs] By who did it, and by whom or what it was done to."""
    for number, deed in enumerate((CANCEL, SUSPEND, RESTORE)):
        await office.acts.do(EVE, deed, Why("because", f"r-{number}"))
    first, token = await office.acts.listed(EVE, admin_id="", target="", size=2, token="")
    second, last = await office.acts.listed(EVE, admin_id="", target="", size=2, token=token)
    assert ([act.number for act in (*first, *second)], last) == ([5, 3, 1], "")
    of_ann, _ = await office.acts.listed(EVE, admin_id="", target="ann", size=0, token="")
    of_bob, _ = await office.acts.listed(EVE, admin_id="bob", target="", size=0, token="")
    assert ([act.number for act in of_ann], of_bob) == ([5, 3], [])


async def test_a_record_that_holds_anything_else_does_not_pass(office: Office) -> None:
    """[event_log 5.5] Its chain says that nothing was altered, and this that nothing strange was added."""
    await office.log.append(STREAM, proposal(), expected=START)
    with pytest.raises(LogCorrupt, match="no act"):
        await Record(office.log).acts()


async def test_the_record_follows_a_log_that_was_restored_to_another_history(office: Office) -> None:
    """[event_log 2.8] Acts of a history that is gone are told no more, and it is counted that they were lost."""
    rewinds = counted("promontory_log_rewinds_total", kind="acts")
    await office.acts.do(EVE, CANCEL, WHY)
    office.log.__init__(clock=now_ms)  # type: ignore[misc]
    act = await office.acts.do(EVE, RESTORE, WHY)
    acts, _ = await office.acts.listed(EVE, admin_id="", target="", size=0, token="")
    assert (acts, counted("promontory_log_rewinds_total", kind="acts") > rewinds) == ([act], True)
