"""Recording an intent once: decide, append, and decide again where another was quicker."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import msgspec
from msgspec.structs import replace

from promontory.eventlog.port import Appended, ClockSkew, CommandIdReused, StreamClosed, VersionConflict
from promontory.games.kernel import Rejected
from promontory.rules.domain import Decision, Match, Moment, Step
from promontory.rules.draws import SealedDraws
from promontory.rules.ledger import Intent, Ledger
from promontory.rules.matches import Matches
from promontory.rules.ports import Seals
from promontory.rules.validation import check_repeated
from promontory.runtime import clock
from promontory.runtime.errors import Refusal

MAX_ATTEMPTS = 8
"""How often an intent is judged anew because others were quicker, before its sender is told so."""

SLOW_SECONDS = 1.0
"""After so long the time of a decision is out of date because the log was slow, not because clocks differ."""

Decide = Callable[[Moment], Decision]
"""Returns what to record; raises what refuses it: `Rejected`, `Refusal`, `VersionConflict`, or `AlreadyActed`."""


class AlreadyActed(Exception):
    """The seat is no longer to act since the version that somebody waited for."""


class Answer(msgspec.Struct, frozen=True):
    """The commit an intent made, now or when it came for the first time."""

    step: Step
    duplicate: bool


class _Stale(Exception):
    """The log has moved on since the fold that was decided on."""


class Recorder:
    """Records what seats want, each intent once however often it comes.

    The log is asked about earlier commits of an intent only where it would be refused; on the way to a commit the
    append itself asks, so that an accepted submission costs one round trip.
    """

    def __init__(self, ledger: Ledger, matches: Matches, seals: Seals) -> None:
        self._ledger, self._matches, self._seals = ledger, matches, seals

    async def record(self, match: Match, intent: Intent, decide: Decide) -> Answer:
        """Append what `decide` makes of `match`, which may be stale, or return what was before.

        Whatever refuses the intent does so at the match's last version.

        Raises:
            Rejected: the rules forbid it.
            Refusal: the seat has changed its mind too often without bringing the game on.
            VersionConflict, AlreadyActed: `decide` raised it, or others were quicker again and again.
            CommandIdReused: the command id came before with other content.
            ClockSkew: the match has a clock, and this process's differs from the log's.
        """
        for _ in range(MAX_ATTEMPTS):
            try:
                return await self._attempt(match, intent, decide)
            except _Stale:
                match = await self._matches.fresh(match.match_id)
            except (Rejected, Refusal, VersionConflict, AlreadyActed):
                earlier, newer = await asyncio.gather(self._earlier(match, intent), self._matches.fresh(match.match_id))
                if earlier is not None:
                    return await self._first_answer(match, earlier)
                if newer.position == match.position:
                    raise
                match = newer
        raise VersionConflict(match.version)

    async def _attempt(self, match: Match, intent: Intent, decide: Decide) -> Answer:
        draws, now_ms = SealedDraws(match, self._seals), max(clock.now_ms(), match.updated_at_ms)
        decision = decide(Moment(self._ledger.game_of(match), match, draws, now_ms))
        intent = replace(intent, act=decision.act, commands=intent.commands or self._ledger.encoded(decision.commands))
        draft = self._ledger.draft(match, decision, intent, reveal=lambda: draws.server_seed, now_ms=now_ms)
        if intent.actor is not None and not draft.step.match.is_closed:
            check_repeated(draft.step.match.repeated[intent.actor])
        began = clock.monotonic()
        try:
            appended = await self._matches.append(match, draft)
        except (VersionConflict, StreamClosed) as stale:
            raise _Stale from stale
        except ClockSkew as skew:
            if clock.monotonic() < began + SLOW_SECONDS:
                raise
            raise _Stale from skew
        if isinstance(appended, Appended):
            return await self._first_answer(match, appended.version)
        return Answer(appended, duplicate=False)

    async def _earlier(self, match: Match, intent: Intent) -> int | None:
        found = await self._matches.log.find(match.match_id, intent.command_id)
        if found is None:
            return None
        fingerprint, version = found
        if fingerprint != intent.fingerprint:
            raise CommandIdReused(version)
        return version

    async def _first_answer(self, match: Match, version: int) -> Answer:
        return Answer(await self._matches.step(match.match_id, version), duplicate=True)
