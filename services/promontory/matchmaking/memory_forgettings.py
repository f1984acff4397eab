"""Forgettings in this process's memory."""

from __future__ import annotations

from collections.abc import Sequence

from promontory.matchmaking.forgetting import Forgetting


class MemoryForgettings:
    """The port `Forgettings` in memory."""

    def __init__(self) -> None:
        self._all: dict[str, Forgetting] = {}
        self._due: dict[str, int] = {}

    async def find(self, player: str) -> Forgetting | None:
        """Return the last forgetting of `player`, or None."""
        return self._all.get(player)

    async def save(self, forgetting: Forgetting, *, due_ms: int) -> None:
        """Keep a forgetting; see `Forgettings.save`."""
        self._all[forgetting.player] = forgetting
        self._due.pop(forgetting.player, None)
        if not forgetting.is_done:
            self._due[forgetting.player] = due_ms

    async def due(self, now_ms: int, *, limit: int) -> Sequence[str]:
        """Return players whose forgettings are to be gone on with."""
        return [player for player, due_ms in self._due.items() if due_ms <= now_ms][:limit]
