"""Forgetting players: once asked for it is brought to its end, whatever dies in between."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import Protocol

import msgspec
import structlog
from msgspec.structs import replace

from promontory.eventlog.port import EventLogUnavailable
from promontory.runtime import clock
from promontory.runtime.errors import Kind, Refusal, malformed
from promontory.runtime.forms import PLAYER_ID
from promontory.runtime.identity import SERVICE_PREFIX, Caller, Scope
from promontory.runtime.players import Directory, account_of

log = structlog.get_logger()

SETTLE_MS = 10_000
"""When every process has learned of a revocation for sure, and what old tokens had begun is at its end."""
LEASE_MS = 30_000
"""For so long whoever goes on with a forgetting is left alone with it."""
RETRY_MS = 5_000
POLL_SECONDS = 2.0
AT_ONCE = 10


class Forgetting(msgspec.Struct, frozen=True, kw_only=True):
    """How far the forgetting of a player is; times in ms since the epoch, 0 for what has not come yet.

    `account` stands for the subject of the tokens that are revoked, `resigned` are matches. `pools` are those whose
    leaderboards the player was taken from, `pending` those in which matches of the player may be tallied still.
    `problem` is the reason for which the last attempt failed, `awaited` whether a match was just being created at one.
    """

    player: str
    account: str
    requested_ms: int
    revoked_ms: int = 0
    completed_ms: int = 0
    tickets: int = 0
    tables: int = 0
    resigned: tuple[str, ...] = ()
    pools: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()
    problem: str = ""
    awaited: bool = False

    @property
    def settled_ms(self) -> int:
        """When old tokens are of no use any more; what is begun later is begun by somebody who has come back."""
        return (self.revoked_ms or self.requested_ms) + SETTLE_MS

    @property
    def is_done(self) -> bool:
        """Whether nothing is left to do."""
        return self.completed_ms > 0


class Forgettings(Protocol):
    """The forgettings under way, and those of the last time. Any method may raise `EventLogUnavailable`."""

    async def find(self, player: str) -> Forgetting | None:
        """Return the last forgetting of `player`, or None."""

    async def save(self, forgetting: Forgetting, *, due_ms: int) -> None:
        """Keep a forgetting; unless it is done, it is to be gone on with at `due_ms`."""

    async def due(self, now_ms: int, *, limit: int) -> Sequence[str]:
        """Return up to `limit` players whose forgettings are to be gone on with."""


class Farewell(Protocol):
    """One thing that belongs to forgetting a player."""

    async def __call__(self, forgetting: Forgetting, *, is_last: bool) -> Forgetting:
        """Do it, as far as it is not done, and return the forgetting with what came of it.

        Raises a `Refusal` or `EventLogUnavailable` if it cannot be done now; whatever else can be done, but for a part
        of it, is returned with a `problem`. It is done again when old tokens are of no use any more for sure, with
        `is_last` once all before it are done for good.
        """


class ForgetPlayers:
    """The use cases of forgetting; `house` holds the ids of house bots, which are no players.

    With `opaque` player ids, only those that the directory knows can be forgotten.
    """

    def __init__(
        self,
        directory: Directory,
        forgettings: Forgettings,
        *,
        farewells: Sequence[Farewell],
        opaque: bool,
        house: Collection[str],
    ) -> None:
        self._directory, self._forgettings, self._farewells = directory, forgettings, farewells
        self._opaque, self._house = opaque, house

    async def forget(self, caller: Caller, player: str) -> Forgetting:
        """Forget `player`, or go on with it; return how far it is.

        Raises the refusals `SCOPE_MISSING` and `PLAYER_NOT_FOUND`.
        """
        if PLAYER_ID.checked(player, "player_id") != caller.subject:
            caller.require(Scope.FORGET_PLAYER)
        if player in self._house or player.startswith(SERVICE_PREFIX):
            raise malformed("player_id", "is no player's")
        found = await self._forgettings.find(player)
        if found is None or found.is_done:
            found = await self._begun(player, found)
        return found if found.is_done else await self._go_on(found)

    async def _begun(self, player: str, before: Forgetting | None) -> Forgetting:
        known = await self._directory.registered(player)
        if self._opaque and known is None:
            if before is not None:
                return before
            raise Refusal(Kind.NOT_FOUND, "PLAYER_NOT_FOUND", "no such player", metadata={"playerId": player})
        subject = known.subject if known else player
        return Forgetting(player=player, account=account_of(subject), requested_ms=clock.now_ms())

    async def run(self) -> None:
        """Go on with what is under way until cancelled."""
        while True:
            try:
                for player in await self._forgettings.due(clock.now_ms(), limit=AT_ONCE):
                    found = await self._forgettings.find(player)
                    if found is not None:
                        await self._go_on(found)
            except EventLogUnavailable as error:
                log.warning("forgetting_waits", error=str(error))
            await asyncio.sleep(POLL_SECONDS)

    async def _go_on(self, forgetting: Forgetting) -> Forgetting:
        await self._forgettings.save(forgetting, due_ms=clock.now_ms() + LEASE_MS)
        if not forgetting.revoked_ms:
            revoked = await self._directory.revoke(forgetting.account)
            forgetting = replace(forgetting, revoked_ms=revoked.revoked_ms)
            await self._forgettings.save(forgetting, due_ms=clock.now_ms() + LEASE_MS)
        await self._directory.remove(forgetting.player)
        is_last = clock.now_ms() >= forgetting.settled_ms
        forgetting = await self._parted(forgetting, is_last=is_last)
        if is_last and not forgetting.problem:
            forgetting = replace(forgetting, completed_ms=clock.now_ms())
            log.info("player_forgotten", matches=len(forgetting.resigned), pools=len(forgetting.pools))
        await self._forgettings.save(forgetting, due_ms=max(forgetting.settled_ms, clock.now_ms() + RETRY_MS))
        return forgetting

    async def _parted(self, forgetting: Forgetting, *, is_last: bool) -> Forgetting:
        """Return `forgetting` after all farewells that can be done now, and after the last one if all others were."""
        forgetting = replace(forgetting, problem="")
        *partings, last = self._farewells
        for farewell in partings:
            forgetting = await _taken(farewell, forgetting, is_last=is_last and not forgetting.problem)
        if not forgetting.problem:
            forgetting = await _taken(last, forgetting, is_last=is_last)
        if forgetting.problem:
            log.warning("forgetting_stuck", reason=forgetting.problem)
        return forgetting


async def _taken(farewell: Farewell, forgetting: Forgetting, *, is_last: bool) -> Forgetting:
    """Return `forgetting` after `farewell`, with the first problem that there was."""
    try:
        taken = await farewell(forgetting, is_last=is_last)
    except Refusal as refusal:
        taken = replace(forgetting, problem=refusal.reason)
    except EventLogUnavailable:
        taken = replace(forgetting, problem="EVENT_LOG_UNAVAILABLE")
    return replace(taken, problem=forgetting.problem or taken.problem)
