"""Measuring what waits to be archived."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from promontory.eventlog.pruning import PrunableLog
from promontory.games.registry import entry_by_code
from promontory.relay.domain import ArchiveDue, parse
from promontory.runtime import clock, metrics


class Unarchived:
    """Shows how many closed matches are not archived yet, and how long ago the first of them was closed.

    Both stay 0 where matches are not archived, since nobody is obliged to.
    """

    def __init__(self, event_log: PrunableLog, buckets: Sequence[str]) -> None:
        self._log = event_log
        self._buckets: dict[str, list[str]] = {}
        for bucket in buckets:
            self._buckets.setdefault(entry_by_code(bucket.partition(":")[0]).name, []).append(bucket)

    async def measure(self) -> None:
        """Set the gauges of each game."""
        for game, buckets in self._buckets.items():
            names = [name for bucket in buckets for name in await self._log.owed(bucket)]
            closed = [due.closed_at_ms for due in _to_archive(names)]
            oldest_ms = clock.now_ms() - min(closed) if closed else 0
            metrics.MATCHES_TO_ARCHIVE.labels(game=game).set(len(closed))
            metrics.OLDEST_TO_ARCHIVE_SECONDS.labels(game=game).set(max(oldest_ms, 0) / 1000)


def _to_archive(names: Iterable[str]) -> Iterable[ArchiveDue]:
    return (due for name in names if isinstance(due := parse(name), ArchiveDue))
