"""The archive's ports: files of matches, each written once, and an index of them that can be made anew."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Sequence
from typing import Protocol

import msgspec

SUFFIX = ".jsonl.zst"
_MATCH_ID = re.compile(r"[a-z0-9]{1,16}-[0-9a-f]{3}-[a-z0-9]{1,64}")


class Archive(Protocol):
    """Keeps one file a match, under a name that follows from the match's id.

    A file is whole as soon as it can be read, and stays as it is: what was archived is never overwritten. All methods
    may raise `ArchiveUnavailable`.
    """

    async def put(self, match_id: str, content: bytes) -> bool:
        """Keep `content` durably as the file of `match_id`; return False, and change nothing, if there is one."""

    async def get(self, match_id: str) -> bytes | None:
        """Return the file of `match_id`, or None if there is none."""

    def scan(self, *, after: str = "") -> AsyncIterator[str]:
        """Yield the ids of all matches in the archive that sort after `after`, in ascending order of their names."""

    def location(self, match_id: str) -> str:
        """Return where the file of `match_id` is, for people: a path or a URL."""


class Entry(msgspec.Struct, frozen=True):
    """What the index knows of a match: its game's code, its players, and when it ended, in ms since the epoch."""

    match_id: str
    game: str
    players: tuple[str, ...]
    ended_at_ms: int


class Listed(msgspec.Struct, frozen=True):
    """A match in a list, and when it ended, in ms since the epoch."""

    match_id: str
    ended_at_ms: int


class ArchiveIndex(Protocol):
    """Finds archived matches by game, by player and by time. Disposable: the files say all that it knows.

    All methods may raise `EventLogUnavailable`.
    """

    async def add(self, entry: Entry) -> None:
        """Note a match; again is no harm."""

    async def holds(self, match_id: str) -> bool:
        """Tell whether `match_id` was noted."""

    async def is_empty(self) -> bool:
        """Tell whether no match was noted."""

    async def of_game(self, code: str, *, limit: int) -> Sequence[Listed]:
        """Return at most `limit` matches of the game with `code`, those that ended last first."""

    async def of_player(self, player_id: str, *, limit: int) -> Sequence[Listed]:
        """Return at most `limit` matches of a player in all games, those that ended last first."""

    async def clear(self) -> None:
        """Forget everything."""


def is_archivable(stream: str) -> bool:
    """Tell whether `stream` has the form of a match's id, so that an archive may hold it."""
    return _MATCH_ID.fullmatch(stream) is not None


def name_of(match_id: str) -> str:
    """Return the name of the file of `match_id`: `tc/0a7/tc-0a7-….jsonl.zst`. Raises `ValueError` for a strange id."""
    if not is_archivable(match_id):
        raise ValueError(f"{match_id!r} is no match's id")
    game, bucket, _ = match_id.split("-", 2)
    return f"{game}/{bucket}/{match_id}{SUFFIX}"


def match_of(name: str) -> str | None:
    """Return the id of the match whose file has `name`, or None if that is no name of a match's file."""
    match_id = name.rpartition("/")[2].removesuffix(SUFFIX)
    return match_id if is_archivable(match_id) and name == name_of(match_id) else None
