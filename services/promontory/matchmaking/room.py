"""How much a player may have open at a time."""

from __future__ import annotations

from promontory.matchmaking.ports import Lists
from promontory.runtime.limits import Limit, limit_reached

RETRY_SECONDS = 5


class Room:
    """A player may have `most_tickets` that are not over, and seek no further match with `most_matches` open."""

    def __init__(self, lists: Lists, *, most_tickets: int, most_matches: int) -> None:
        self._lists, self.most_tickets, self._most_matches = lists, most_tickets, most_matches

    async def require(self, player: str) -> None:
        """Raise the refusal `LIMIT_REACHED` unless the player may seek another match."""
        self.require_few(await self._lists.count_open(player))

    def require_few(self, open_matches: int) -> None:
        """Raise the refusal `LIMIT_REACHED` unless one with so many open matches may seek another one."""
        if open_matches >= self._most_matches:
            text = f"the player has {self._most_matches} open matches, the most allowed; bring one to its end"
            raise limit_reached(Limit.MATCHES, self._most_matches, text, retry_seconds=RETRY_SECONDS)
