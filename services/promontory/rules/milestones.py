"""Earlier versions of matches: folds that are kept on the way, so that nobody waits for a match from its beginning."""

from __future__ import annotations

from collections.abc import Sequence

from promontory.eventlog.port import LogCorrupt
from promontory.rules.domain import Match, Step
from promontory.rules.matches import READ_AT_ONCE, Matches
from promontory.runtime.recent import Recent

KEPT = 500


class Milestones:
    """Reads any version of the matches of one game.

    On the way to a version, or when `matches` folds a match from its beginning, it keeps a fold every `READ_AT_ONCE`
    commits, up to `KEPT` of all matches; from there the next reader goes on. They can be deleted at any time.
    """

    def __init__(self, matches: Matches) -> None:
        self._matches = matches
        self._folds = Recent[tuple[str, int], Match](KEPT)
        matches.mark(self._keep)

    async def at(self, match_id: str, version: int) -> Match:
        """Return the match as it was at `version`. Raises `LogCorrupt` if there is no such version."""
        match = self._before(match_id, version)
        try:
            return await self._reached(match_id, match, version)
        except LogCorrupt:
            if match is None:
                raise
            self._forget(match_id)  # the log went back behind the fold: what it says now is what counts
            return await self._reached(match_id, None, version)

    async def steps(self, match_id: str, *, after: int, last: int) -> Sequence[Step]:
        """Return the steps after version `after` up to `last`, at least one, which must exist."""
        if not after:
            return await self._matches.history(match_id, last=last)
        return await self._matches.following(await self.at(match_id, after), limit=last - after)

    async def _reached(self, match_id: str, match: Match | None, version: int) -> Match:
        while match is None or match.version < version:
            known = 0 if match is None else match.version
            target = min(version, known - known % READ_AT_ONCE + READ_AT_ONCE)
            match = await self._matches.at(match_id, target, start=match)
            if target % READ_AT_ONCE == 0:
                self._keep(match)
        return match

    def _keep(self, match: Match) -> None:
        self._folds.keep((match.match_id, match.version), match)

    def _before(self, match_id: str, version: int) -> Match | None:
        for milestone in range(version - version % READ_AT_ONCE, 0, -READ_AT_ONCE):
            if found := self._folds.get((match_id, milestone)):
                return found
        return None

    def _forget(self, match_id: str) -> None:
        for key in [key for key in self._folds.keys if key[0] == match_id]:
            self._folds.drop(key)
