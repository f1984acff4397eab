"""The archive and its index in memory: the reference for what every adapter does."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

from promontory.archive.port import Entry, Listed, name_of


class MemoryArchive:
    """An `Archive` that lives and dies with its process."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}

    async def put(self, match_id: str, content: bytes) -> bool:
        """Keep the file of `match_id`; see `Archive.put`."""
        name_of(match_id)
        if match_id in self.files:
            return False
        self.files[match_id] = content
        return True

    async def get(self, match_id: str) -> bytes | None:
        """Return the file of `match_id`, or None."""
        return self.files.get(match_id)

    async def scan(self, *, after: str = "") -> AsyncIterator[str]:
        """Yield the ids of all matches after `after`; see `Archive.scan`."""
        for match_id in sorted(self.files):
            if match_id > after:
                yield match_id

    def location(self, match_id: str) -> str:
        """Return a name for the file of `match_id`."""
        return f"memory:{name_of(match_id)}"


class MemoryArchiveIndex:
    """An `ArchiveIndex` that lives and dies with its process."""

    def __init__(self) -> None:
        self._entries: dict[str, Entry] = {}

    async def add(self, entry: Entry) -> None:
        """Note a match."""
        self._entries[entry.match_id] = entry

    async def holds(self, match_id: str) -> bool:
        """Tell whether `match_id` was noted."""
        return match_id in self._entries

    async def is_empty(self) -> bool:
        """Tell whether no match was noted."""
        return not self._entries

    async def of_game(self, code: str, *, limit: int) -> Sequence[Listed]:
        """Return the latest matches of a game; see `ArchiveIndex.of_game`."""
        return self._latest([entry for entry in self._entries.values() if entry.game == code], limit)

    async def of_player(self, player_id: str, *, limit: int) -> Sequence[Listed]:
        """Return the latest matches of a player; see `ArchiveIndex.of_player`."""
        return self._latest([entry for entry in self._entries.values() if player_id in entry.players], limit)

    def _latest(self, entries: Sequence[Entry], limit: int) -> Sequence[Listed]:
        ordered = sorted(entries, key=lambda entry: (entry.ended_at_ms, entry.match_id), reverse=True)
        return [Listed(entry.match_id, entry.ended_at_ms) for entry in ordered[:limit]]

    async def clear(self) -> None:
        """Forget everything."""
        self._entries.clear()
