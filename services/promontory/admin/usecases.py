"""Doing what admins want done: recorded before, done once, and recorded after."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence

import structlog

from promontory.admin.domain import Why, chosen, drained_before, target_of
from promontory.admin.draining import Draining
from promontory.admin.obligations import Obligations
from promontory.admin.ports import Players, Rules
from promontory.admin.record import Record
from promontory.api.admin.v1 import acts_pb2 as pb
from promontory.codec.times import timestamp
from promontory.runtime import clock
from promontory.runtime.errors import Kind, Refusal, malformed
from promontory.runtime.forms import LOGGED_MATCH_ID, OBLIGATION, PLAYER_ID, REPLICA_ID, REQUEST_ID, Form
from promontory.runtime.identity import Caller, Scope
from promontory.runtime.pages import page_size, page_start, page_token

log = structlog.get_logger()

Deed = Callable[[pb.Act, bool], Awaitable[str | None]]
"""Does what an act says; told whether it is done for the first time, as far as anybody knows. Returns a remark."""

MAX_REASON_CHARACTERS = 500
MAX_NOTE_CHARACTERS = 300
DEFAULT_PAGE, MAX_PAGE = 100, 500
NEVER_SEEN = "nothing is known of this player: is the id right?"
NOT_SUSPENDED = "the player was not suspended: is the id right?"
_TARGETS: Mapping[str, tuple[str, Form]] = {
    "match_cancellation": ("match_id", LOGGED_MATCH_ID),
    "player_suspension": ("player_id", PLAYER_ID),
    "player_restoration": ("player_id", PLAYER_ID),
    "obligation_release": ("name", OBLIGATION),
    "obligation_drop": ("name", OBLIGATION),
    "replica_drain": ("replica_id", REPLICA_ID),
}
"""By the kind of a deed, the field that names what it is done to, and how that must look."""
_KINDS = {kind.value.name: kind for kind in Kind}
_FINAL = {Kind.MALFORMED, Kind.NOT_FOUND, Kind.FORBIDDEN_NOW, Kind.EXISTS}
"""What no repetition changes. After any other failure nobody knows what was done, until it is repeated."""


def require_admin(caller: Caller) -> None:
    """Raise the refusal `SCOPE_MISSING` unless `caller` is an admin; services are none, so that acts have a doer."""
    if caller.service:
        text = "services are no admins"
        raise Refusal(Kind.NOT_ALLOWED, "SCOPE_MISSING", text, metadata={"scope": Scope.ADMIN})
    caller.require(Scope.ADMIN)


class Acts:
    """The use cases that change something, and the list of what was changed."""

    def __init__(
        self, record: Record, *, rules: Rules, players: Players, obligations: Obligations, draining: Draining
    ) -> None:
        self._record, self._rules, self._players = record, rules, players
        self._obligations, self._draining = obligations, draining
        self._deeds: dict[str, Deed] = {
            "match_cancellation": self._cancel,
            "player_suspension": self._suspend,
            "player_restoration": self._restore,
            "obligation_release": self._release,
            "obligation_drop": self._drop,
            "replica_drain": self._drain,
        }

    async def do(self, caller: Caller, deed: pb.Deed, why: Why) -> pb.Act:
        """Do `deed`, once for each request id of an admin, and return what is recorded of it.

        Raises what refuses it, also when it is repeated, and `PEER_UNAVAILABLE` or `EventLogUnavailable` if nobody
        knows what came of it: the act stays begun until it is repeated.
        """
        require_admin(caller)
        _check(deed, why)
        act, is_first = await self._record.begin(
            pb.ActBegun(
                admin_id=caller.subject,
                deed=deed,
                reason=why.reason,
                request_id=why.request_id,
                begin_time=timestamp(clock.now_ms()),
            )
        )
        if act.state == pb.ACT_STATE_DONE:
            return act
        if act.state == pb.ACT_STATE_REFUSED:
            raise Refusal(_KINDS.get(act.refusal_code, Kind.FORBIDDEN_NOW), act.refusal, act.refusal_message)
        return await self._done(act, is_first)

    async def _done(self, act: pb.Act, is_first: bool) -> pb.Act:
        kind = str(act.deed.WhichOneof("kind"))
        try:
            remark = await self._deeds[kind](act, is_first)
        except Refusal as refusal:
            log.warning("act_refused", act=act.number, kind=kind, reason=refusal.reason)
            if refusal.kind in _FINAL:
                await self._end(act, pb.ACT_STATE_REFUSED, refusal)
            raise
        log.info("act_done", act=act.number, kind=kind, admin=act.admin_id, target=target_of(act.deed))
        return await self._end(act, pb.ACT_STATE_DONE, remark=remark or "")

    async def _end(
        self, act: pb.Act, state: pb.ActState.ValueType, refusal: Refusal | None = None, *, remark: str = ""
    ) -> pb.Act:
        ended = pb.ActEnded(number=act.number, state=state, remark=remark, end_time=timestamp(clock.now_ms()))
        if refusal is not None:
            ended.refusal_code, ended.refusal = refusal.kind.value.name, refusal.reason
            ended.refusal_message = refusal.message
        return await self._record.end(ended)

    async def _cancel(self, act: pb.Act, _: bool) -> None:
        deed = act.deed.match_cancellation
        await self._rules.cancel(deed.match_id, deed.note, request_id=f"act-{act.number}")

    async def _suspend(self, act: pb.Act, _: bool) -> str:
        deed = act.deed.player_suspension
        return "" if await self._players.suspend(deed.player_id, deed.until_time.ToMilliseconds()) else NEVER_SEEN

    async def _restore(self, act: pb.Act, is_first: bool) -> str:
        was_out = await self._players.restore(act.deed.player_restoration.player_id)
        return "" if was_out or not is_first else NOT_SUSPENDED

    async def _release(self, act: pb.Act, is_first: bool) -> None:
        await self._obligations.release(act.deed.obligation_release.name, again=not is_first)

    async def _drop(self, act: pb.Act, is_first: bool) -> None:
        await self._obligations.drop(act.deed.obligation_drop.name, again=not is_first)

    async def _drain(self, act: pb.Act, is_first: bool) -> None:
        deed = act.deed.replica_drain
        leaving = drained_before(act.number, (await self._record.acts()).values())
        await self._draining.drain(deed.replica_id, force=deed.force, again=not is_first, leaving=leaving)

    async def listed(
        self, caller: Caller, *, admin_id: str, target: str, size: int, token: str
    ) -> tuple[Sequence[pb.Act], str]:
        """Return a page of acts, the newest first, and the token of the next."""
        require_admin(caller)
        size, listing = page_size(size, usual=DEFAULT_PAGE, most=MAX_PAGE), f"acts {admin_id} {target}"
        acts = chosen((await self._record.acts()).values(), admin_id=admin_id, target=target)
        (before,) = page_start(listing, token) if token else (1 << 62,)
        older = [act for act in reversed(acts) if act.number < before]
        page = older[:size]
        return page, page_token(listing, page[-1].number) if len(older) > size else ""


def _check(deed: pb.Deed, why: Why) -> None:
    """Raise the refusal `BAD_REQUEST` of what nobody needs to record."""
    REQUEST_ID.checked(why.request_id, "request_id")
    if not why.reason.strip() or len(why.reason) > MAX_REASON_CHARACTERS:
        raise malformed("reason", f"must be 1 to {MAX_REASON_CHARACTERS} characters: it is recorded")
    field, form = _TARGETS[str(deed.WhichOneof("kind"))]
    form.checked(target_of(deed), field)
    if len(deed.match_cancellation.note) > MAX_NOTE_CHARACTERS:
        raise malformed("note", f"must have at most {MAX_NOTE_CHARACTERS} characters")
