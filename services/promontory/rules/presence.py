"""Noting that players are there; and a presence in memory: of one process, for tests and short-lived matches."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping

from promontory.games.kernel import Seat
from promontory.rules.domain import Match
from promontory.rules.ports import Presence
from promontory.runtime.identity import Caller


def note(presence: Presence, match: Match, seat: Seat | None, caller: Caller) -> None:
    """Note that the player of `seat`, if `caller` is one, is there: an opponent may want to claim the match."""
    if seat is not None and match.setup.abandon_after_ms and not caller.service and not match.is_closed:
        presence.seen(match.match_id, seat)


class LocalPresence:
    """A `Presence` that forgets with its process; `clock` gives the time in ms since the epoch."""

    def __init__(self, clock: Callable[[], int]) -> None:
        self._clock = clock
        self.since_ms = clock()
        self._seen: dict[str, dict[Seat, int]] = defaultdict(dict)

    def seen(self, match_id: str, seat: Seat) -> None:
        """Note that the player of `seat` is there now."""
        self._seen[match_id][seat] = self._clock()

    async def last_seen(self, match_id: str) -> Mapping[Seat, int]:
        """Return when the players of seats were last there; see `Presence.last_seen`."""
        return dict(self._seen.get(match_id, {}))
