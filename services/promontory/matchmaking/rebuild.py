"""Making the lists of matches anew from the matches' logs, while everything runs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from promontory.eventlog.port import Commit, EventLog, LogCorrupt
from promontory.games.text import counted
from promontory.matchmaking.listing import Listed
from promontory.matchmaking.logged import match_in
from promontory.matchmaking.ports import Lists

SHOWN = 20
"""How many matches a finding names of each kind."""

Logs = AsyncIterator[tuple[str, Sequence[Commit] | None]]
"""Streams with their commits: of closed ones all, of open ones at least the first; None where they do not verify.

Open ones come before closed ones.
"""

Progress = Callable[[int], object]
"""Is told how many matches are done."""


class Rebuilt(msgspec.Struct, frozen=True):
    """What a rebuild found: how many matches there are, how many of them are open, and what was not as the logs say.

    `mended` were not listed, or not as they are; `removed` were listed though there is no log of them; `unreadable`
    have a log that does not verify, and stay as they are.
    """

    matches: int
    open: int
    mended: tuple[str, ...]
    removed: tuple[str, ...]
    unreadable: tuple[str, ...]

    def sentence(self) -> str:
        """Return the finding in one sentence, with the first matches of each kind."""
        total = f"{counted(self.matches, 'match', 'matches')}, {self.open} of them open"
        kinds = {"mended": self.mended, "removed": self.removed, "not to be read": self.unreadable}
        parts = [f"{len(found)} {kind}: {', '.join(found[:SHOWN])}" for kind, found in kinds.items() if found]
        return "; ".join([total, *parts]) if parts else f"{total}; every list is as the logs say"


async def rebuild_lists(lists: Lists, logs: Logs, event_log: EventLog, *, progress: Progress) -> Rebuilt:
    """List every match of `logs` as it is there, and take from the lists what has no log; return what that changed.

    Whatever is played and listed meanwhile stays so: a match that is open when it is read and closed after that is read
    again among the closed ones, and one that is not in `logs` is looked for in `event_log` before it is removed.
    """
    rebuild = _Rebuild(lists)
    async for match_id, commits in logs:
        await rebuild.restore(match_id, commits)
        progress(len(rebuild.known))
    removed = await rebuild.remove_unknown(event_log)
    return Rebuilt(
        matches=len(rebuild.known),
        open=len(rebuild.open),
        mended=tuple(rebuild.mended),
        removed=removed,
        unreadable=tuple(rebuild.unreadable),
    )


class _Rebuild:
    def __init__(self, lists: Lists) -> None:
        self._lists = lists
        self.known: set[str] = set()
        self.open: set[str] = set()
        self.mended: dict[str, None] = {}
        self.unreadable: dict[str, None] = {}

    async def restore(self, match_id: str, commits: Sequence[Commit] | None) -> None:
        try:
            match = None if commits is None else match_in(match_id, commits)
        except LogCorrupt:
            commits = match = None
        if match is not None:
            await self._list(match)
        elif commits is None:
            self.unreadable[match_id] = None

    async def _list(self, match: Listed) -> None:
        self.known.add(match.match_id)
        (self.open.discard if match.ended else self.open.add)(match.match_id)
        if await self._lists.restore(match):
            self.mended[match.match_id] = None

    async def remove_unknown(self, event_log: EventLog) -> tuple[str, ...]:
        removed: dict[str, None] = {}
        async for name, match_id in self._lists.members():
            if match_id in self.known or match_id in self.unreadable:
                continue
            if match_id in removed or await event_log.head(match_id) is None:
                await self._lists.strike(name, match_id)
                removed[match_id] = None
        return tuple(removed)
