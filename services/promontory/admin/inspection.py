"""Looking at matches: how one stands and what was last done in it, and which are open."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence

import msgspec
from google.protobuf.message import DecodeError

from promontory.admin.obligations import Obligations
from promontory.admin.ports import Rules
from promontory.api.match.v1 import events_pb2, match_pb2
from promontory.eventlog.owing import Owing
from promontory.eventlog.port import (
    ArchiveMissing,
    Commit,
    EventLog,
    EventLogUnavailable,
    Head,
    LogCorrupt,
    Opening,
)
from promontory.games.registry import GAMES
from promontory.runtime.errors import Refusal, match_not_found
from promontory.runtime.forms import LOGGED_MATCH_ID

MATCH_CREATED = events_pb2.MatchCreated.DESCRIPTOR.full_name


class Note(msgspec.Struct, frozen=True):
    """What of a commit's meta may be shown: when it was recorded, in ms since the epoch, and by which seat."""

    recorded_at_ms: int = 0
    actor: int | None = None


class Inspected(msgspec.Struct, frozen=True):
    """A match as the log and the rules service know it; `problem` is what keeps either from telling."""

    head: Head
    match: match_pb2.Match | None
    problem: str
    owings: Sequence[Owing]
    commits: Sequence[Commit]


class Filter(msgspec.Struct, frozen=True):
    """Which open matches to list; what is empty does not matter."""

    game: str = ""
    rules_version: str = ""
    data_hash: bytes = b""

    def fits(self, created: events_pb2.MatchCreated) -> bool:
        """Tell whether a match that was `created` so is wanted."""
        return self.rules_version in ("", created.rules_version) and self.data_hash in (b"", created.data_hash)


class Inspection:
    """The use cases that only look; nothing that players must not know is shown."""

    def __init__(self, log: EventLog, rules: Rules, obligations: Obligations) -> None:
        self._log, self._rules, self._obligations = log, rules, obligations

    async def match(self, match_id: str, *, commits: int) -> Inspected:
        """Return a match with its last `commits`, or raise the refusal `MATCH_NOT_FOUND`."""
        head = await self._log.head(LOGGED_MATCH_ID.checked(match_id, "match_id"))
        if head is None:
            raise match_not_found(match_id)
        problems, found = list[str](), list[Commit]()
        try:
            found += (await self._log.read(match_id))[-commits:]
        except (LogCorrupt, ArchiveMissing, EventLogUnavailable) as error:
            problems.append(str(error))
        match = await self._look(match_id, problems)
        owings = await self._obligations.of_match(match_id)
        return Inspected(head, match, "; ".join(problems), owings, found)

    async def _look(self, match_id: str, problems: list[str]) -> match_pb2.Match | None:
        try:
            return await self._rules.look(match_id)
        except Refusal as refusal:
            code = refusal.metadata.get("code")
            problems.append(f"{refusal.reason}: {refusal.message}{f' ({code})' if code else ''}")
            return None

    async def open_matches(self, wanted: Filter) -> AsyncIterator[Sequence[tuple[str, events_pb2.MatchCreated]]]:
        """Yield the ids of open matches with how they were created, in pages and no order."""
        for game in GAMES:
            if wanted.game in ("", game.name):
                async for page in self._log.openings(game.code):
                    read = ((opening.stream, _created(opening)) for opening in page)
                    yield [(match_id, created) for match_id, created in read if created and wanted.fits(created)]


def _created(opening: Opening) -> events_pb2.MatchCreated | None:
    if opening.first.type != MATCH_CREATED:
        return None
    try:
        return events_pb2.MatchCreated.FromString(opening.first.payload)
    except DecodeError:
        return None


def note_of(commit: Commit) -> Note:
    """Return what of a commit's meta may be shown."""
    try:
        return msgspec.json.decode(commit.meta, type=Note)
    except msgspec.MsgspecError:
        return Note()
