"""Looking after an archive: its list, its files, its index, and matches that are still to come to it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from itertools import islice

import msgspec

from promontory.archive.entries import entry_of
from promontory.archive.opening import open_archive
from promontory.archive.port import Archive, Listed
from promontory.archive.redis_index import RedisArchiveIndex
from promontory.archive.segment import Segment, unpack
from promontory.archive.walking import walk
from promontory.eventlog.notes import recorded_at_ms
from promontory.eventlog.obligations import archive_name
from promontory.eventlog.port import LogCorrupt, bucket_of
from promontory.games.registry import GAMES, entry
from promontory.games.text import counted
from promontory.local.log import closed_logs, operators_log
from promontory.rules.audit import audit
from promontory.rules.ruleset import Ruleset

Progress = Callable[[int], None]
"""Is told how many matches are done."""


class Damaged(msgspec.Struct, frozen=True):
    """A file that is not in order."""

    match_id: str
    location: str
    cause: str


class Checked(msgspec.Struct, frozen=True):
    """What looking at every file of an archive found; `undecided` lack the rules or the data to be judged by."""

    matches: int
    bytes: int
    damaged: tuple[Damaged, ...]
    undecided: tuple[Damaged, ...] = ()

    def sentence(self) -> str:
        """Return the finding in one sentence, and one more for each file that is not in order."""
        total = f"{counted(self.matches, 'match', 'matches')}, {self.bytes / 1_000_000:.1f} MB"
        wrong = f"{len(self.damaged)} not in order" if self.damaged else "all in order"
        unknown = f", {len(self.undecided)} not judged" if self.undecided else ""
        lines = [f"{each.location}: {each.cause}" for each in (*self.damaged, *self.undecided)]
        return "\n".join([f"{total}, {wrong}{unknown}", *lines])


class Line(msgspec.Struct, frozen=True):
    """An archived match in a list."""

    match_id: str
    game: str
    ended_at: str
    location: str


async def verify(url: str, rulesets: Sequence[Ruleset], *, progress: Progress) -> Checked:
    """Read every file of the archive at `url` and replay its match by `rulesets`."""
    archive, sizes = open_archive(url, is_new=False), list[int]()
    damaged, undecided = list[Damaged](), list[Damaged]()
    async for match_id, raw in walk(archive):
        sizes.append(len(raw))
        where = archive.location(match_id)
        try:
            report = audit(unpack(match_id, raw).audit_file, rulesets, secrecy=False)
        except LogCorrupt as error:
            damaged.append(Damaged(match_id, where, str(error)))
        else:
            if not report.ok:
                kind = undecided if report.undecided else damaged
                kind.append(Damaged(match_id, where, report.sentence()))
        progress(len(sizes))
    return Checked(len(sizes), sum(sizes), tuple(damaged), tuple(undecided))


async def rebuild(url: str, redis_url: str, *, progress: Progress) -> Checked:
    """Make the index anew from the files of the archive at `url`; files that are not in order are left out."""
    archive, sizes, damaged = open_archive(url, is_new=False), list[int](), list[Damaged]()
    async with operators_log(redis_url) as log:
        index = RedisArchiveIndex(log.caller)
        await anext(aiter(archive.scan()), None)  # what does not answer must not cost the index
        await index.clear()
        async for match_id, raw in walk(archive):
            sizes.append(len(raw))
            try:
                await index.add(entry_of(unpack(match_id, raw)))
            except LogCorrupt as error:
                damaged.append(Damaged(match_id, archive.location(match_id), str(error)))
            progress(len(sizes))
    return Checked(len(sizes), sum(sizes), tuple(damaged))


async def backfill(redis_url: str, *, progress: Progress) -> int:
    """Have every closed match archived that is still in the log, and return how many there are.

    Matches that ended before there was an archive are owed to none. The relay hands them out at once. Raises
    `LogCorrupt` at the end for the first that cannot be read, and is left as it is.
    """
    found, unreadable = 0, ""
    async with operators_log(redis_url) as log:
        async for match_id, commits in closed_logs(log):
            if commits is None:
                unreadable = unreadable or match_id
                continue
            name = archive_name(match_id, recorded_at_ms(match_id, commits[-1]))
            await log.owe(bucket_of(match_id), name, delay_ms=0)
            found += 1
            progress(found)
    if unreadable:
        raise LogCorrupt(unreadable, 0, f"it stays in the log, unlike {counted(found, 'other', 'others')}")
    return found


async def latest(url: str, redis_url: str, *, game: str = "", player: str = "", limit: int) -> list[Line]:
    """Return the matches that ended last, at most `limit`, of a game or a player or of all; as the index has them."""
    archive = open_archive(url, is_new=False)
    async with operators_log(redis_url) as log:
        index = RedisArchiveIndex(log.caller)
        if player:
            found = await index.of_player(player, limit=limit)
        else:
            codes = [entry(game).code] if game else [each.code for each in GAMES]
            found = _merged([await index.of_game(code, limit=limit) for code in codes])
    return [_line(archive, each) for each in islice(found, limit)]


def _merged(pages: Iterable[Sequence[Listed]]) -> Sequence[Listed]:
    every = [each for page in pages for each in page]
    return sorted(every, key=lambda each: (each.ended_at_ms, each.match_id), reverse=True)


def _line(archive: Archive, listed: Listed) -> Line:
    code, ended_at = listed.match_id.partition("-")[0], datetime.fromtimestamp(listed.ended_at_ms / 1000, UTC)
    game = next((each.name for each in GAMES if each.code == code), code)
    return Line(listed.match_id, game, ended_at.isoformat(timespec="seconds"), archive.location(listed.match_id))


async def segment(url: str, match_id: str) -> Segment:
    """Return an archived match. Raises `LookupError` if there is none of this id, `LogCorrupt` if it is damaged."""
    archive = open_archive(url, is_new=False)
    raw = await archive.get(match_id)
    if raw is None:
        raise LookupError(f"{match_id} is not in the archive: {archive.location(match_id)} is not there")
    return unpack(match_id, raw)
