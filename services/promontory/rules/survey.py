"""Which rules versions and data open matches are pinned to, and whether they can be served."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence

import msgspec
import structlog

from promontory.codec.port import Undecodable
from promontory.eventlog.port import EventLog, EventLogUnavailable, Opening
from promontory.rules import records
from promontory.rules.ruleset import Ruleset
from promontory.runtime import metrics
from promontory.runtime.errors import Refusal

log = structlog.get_logger()

Progress = Callable[[int], object]
"""Is told how many open matches have been found so far."""


class Pinned(msgspec.Struct, frozen=True):
    """Open matches that are pinned to the same rules and data.

    `data_hash` is the SHA-256 of the data file in hex; `served` tells whether both are there; `example` is the id of
    one of the matches.
    """

    game: str
    rules_version: str
    data_hash: str
    matches: int
    served: bool
    example: str


async def open_matches(event_log: EventLog, ruleset: Ruleset, *, progress: Progress | None = None) -> Sequence[Pinned]:
    """Return what the open matches of a game are pinned to, sorted by rules version and data.

    Reads the first event of each, in pages; see `EventLog.openings`. Raises `EventLogUnavailable`.
    """
    counts, examples, found = dict[tuple[str, bytes], int](), dict[tuple[str, bytes], str](), 0
    async for page in _pages(event_log, ruleset):
        for pinned, match_id in page:
            counts[pinned] = counts.get(pinned, 0) + 1
            examples.setdefault(pinned, match_id)
        found += len(page)
        if progress is not None:
            progress(found)
    return [
        Pinned(
            game=ruleset.game.name,
            rules_version=version,
            data_hash=data_hash.hex(),
            matches=counts[version, data_hash],
            served=_is_served(ruleset, version, data_hash),
            example=examples[version, data_hash],
        )
        for version, data_hash in sorted(counts)
    ]


async def _pages(event_log: EventLog, ruleset: Ruleset) -> AsyncIterator[list[tuple[tuple[str, bytes], str]]]:
    async for page in event_log.openings(ruleset.code):
        yield [(pinned, opening.stream) for opening in page if (pinned := _pinned(opening)) is not None]


def _pinned(opening: Opening) -> tuple[str, bytes] | None:
    """Return what a match is pinned to, or None if the stream does not begin as a match does."""
    try:
        created = records.restore_created(opening.first)
    except Undecodable:
        return None
    return created.rules_version, created.data_hash


def _is_served(ruleset: Ruleset, rules_version: str, data_hash: bytes) -> bool:
    try:
        ruleset.pinned(rules_version, data_hash)
    except Refusal:
        return False
    return True


class Survey:
    """Counts a game's open matches now and then, for the metrics, and warns of those that cannot be served."""

    def __init__(self, event_log: EventLog, ruleset: Ruleset, *, every_seconds: float) -> None:
        self._log, self._ruleset, self._every_seconds = event_log, ruleset, every_seconds
        self._told = frozenset[tuple[str, str, str]]()

    async def run(self) -> None:
        """Count until cancelled, the first time at once."""
        while True:
            try:
                self._tell(await open_matches(self._log, self._ruleset))
            except EventLogUnavailable as error:
                log.warning("survey_failed", game=self._ruleset.game.name, error=str(error))
            await asyncio.sleep(self._every_seconds)

    def _tell(self, found: Sequence[Pinned]) -> None:
        counts = {(each.game, each.rules_version, each.data_hash[:12]): each.matches for each in found}
        for labels in self._told | counts.keys():
            metrics.OPEN_MATCHES.labels(*labels).set(counts.get(labels, 0))
        self._told = frozenset(counts)
        unserved = sum(each.matches for each in found if not each.served)
        metrics.UNSERVED_MATCHES.labels(game=self._ruleset.game.name).set(unserved)
        for each in found:
            if not each.served:
                log.warning("matches_unserved", **msgspec.structs.asdict(each))
