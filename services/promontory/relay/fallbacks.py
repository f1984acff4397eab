"""Playing for house bots that no worker played for."""

from __future__ import annotations

import structlog

from promontory.eventlog.port import EventLog, EventLogUnavailable, bucket_of
from promontory.relay.chores import Chores
from promontory.relay.domain import BotTurn
from promontory.relay.ports import AutomaticPlay, GameUnavailable
from promontory.runtime import metrics

log = structlog.get_logger()


class Fallbacks:
    """Plays the rules' automatic command for obligations that are exhausted, and settles them.

    One that fails stays, and comes again when its lease ends.
    """

    def __init__(self, event_log: EventLog, automatic: AutomaticPlay) -> None:
        self._log, self._automatic = event_log, automatic
        self._chores = Chores()

    async def start(self, name: str, turn: BotTurn) -> None:
        """Start playing `turn`, the obligation `name`, unless that is under way; wait while many others are."""
        await self._chores.start(name, lambda: self._play(name, turn))

    async def finish(self) -> None:
        """Wait until all that was started is done."""
        await self._chores.finish()

    async def _play(self, name: str, turn: BotTurn) -> None:
        outcome = "fallback_failed"
        try:
            played = await self._automatic.play(turn, request_id=f"auto:{name}")
            await self._log.settle(bucket_of(turn.match_id), name)
            outcome = "fallback_played" if played else "fallback_needless"
            log.warning(outcome, obligation=name, game=turn.game, match_id=turn.match_id, seat=turn.seat)
        except (GameUnavailable, EventLogUnavailable) as error:
            log.warning(outcome, obligation=name, game=turn.game, match_id=turn.match_id, cause=str(error))
        metrics.OBLIGATIONS.labels(kind="bot", outcome=outcome).inc()
