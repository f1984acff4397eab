"""What spectators see of a match while it is open: all of it, or all but its last commits."""

from __future__ import annotations

from collections.abc import Sequence

from promontory.eventlog.port import LogCorrupt, StreamStatus
from promontory.games.kernel import Seat
from promontory.rules.domain import Match, Setup, Step
from promontory.rules.matches import Matches
from promontory.runtime.recent import Recent

CACHED = 1_000
FIRST = 1
"""The version that everybody may see: the match as it was dealt."""


def is_late(setup: Setup, seat: Seat | None) -> bool:
    """Tell whether `seat`, or a spectator (None), sees an open match later than it is played."""
    return seat is None and setup.spectator_delay > 0


def visible_version(setup: Setup, version: int, *, is_closed: bool) -> int:
    """Return the last version that spectators may see of a match that is at `version`."""
    return version if is_closed else max(FIRST, version - setup.spectator_delay)


class Gallery:
    """The matches of one game as spectators see them. Nothing tells them more: no version, no time, no refusal."""

    def __init__(self, matches: Matches) -> None:
        self._matches = matches
        self._folds = Recent[str, Match](CACHED)

    async def seen(self, match_id: str, seat: Seat | None) -> Match:
        """Return the match at the last version that `seat`, or a spectator (None), may see; raise as `fresh` does."""
        return await (self.fresh(match_id) if seat is None else self._matches.fresh(match_id))

    async def fresh(self, match_id: str) -> Match:
        """Return the match at the last version that spectators may see; raise `MATCH_NOT_FOUND` if there is none."""
        match = await self._matches.fresh(match_id)
        version = visible_version(match.setup, match.version, is_closed=match.is_closed)
        return match if version == match.version else await self._earlier(match_id, version)

    async def following(self, match: Match) -> Sequence[Step]:
        """Return the steps after `match` that spectators may see, oldest first."""
        head = await self._matches.log.head(match.match_id)
        if head is None:
            return ()
        is_closed = head.status is StreamStatus.CLOSED
        version = visible_version(match.setup, head.position.version, is_closed=is_closed)
        return await self._matches.following(match, limit=version - match.version) if version > match.version else ()

    async def _earlier(self, match_id: str, version: int) -> Match:
        known = self._folds.get(match_id)
        start = known if known is not None and known.version <= version else None
        try:
            match = await self._matches.at(match_id, version, start=start)
        except LogCorrupt:
            if start is None:
                raise
            match = await self._matches.at(match_id, version)  # the log went back behind the fold
        self._folds.keep(match_id, match)
        return match
