"""When something is due next in each bucket, as far as is known. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from promontory.eventlog.port import Backlog, FeedNote, bucket_of

AGAIN_MS = 50
"""When to look again where nothing was due yet that should have been: the store's clock may be behind this one."""


class Agenda:
    """The earliest time of each bucket at which something may be due there, in ms since the epoch.

    Nothing due is missing from it for longer than until all backlogs are learnt again; what it holds may be gone.
    """

    def __init__(self) -> None:
        self._times: dict[str, int] = {}

    def note(self, notes: Iterable[FeedNote], now_ms: int) -> None:
        """Learn from notes that were read at `now_ms`."""
        for note in notes:
            if note.due_in_ms is not None:
                bucket, due_ms = bucket_of(note.stream), now_ms + note.due_in_ms
                self._times[bucket] = min(due_ms, self._times.get(bucket, due_ms))

    def learn(self, backlogs: Mapping[str, Backlog]) -> None:
        """Learn what waits in some buckets."""
        self._times.update({bucket: backlog.earliest_ms for bucket, backlog in backlogs.items()})

    def looked(self, bucket: str, earliest_ms: int | None, not_before_ms: int) -> None:
        """Learn when the earliest obligation of `bucket` is due, and when to look there again at the earliest."""
        if earliest_ms is None:
            self._times.pop(bucket, None)
        else:
            self._times[bucket] = max(earliest_ms, not_before_ms)

    def due(self, now_ms: int) -> Sequence[str]:
        """Return the buckets with something that may be due at `now_ms`."""
        return [bucket for bucket, due_ms in self._times.items() if due_ms <= now_ms]

    def wait_ms(self, now_ms: int, *, longest: int) -> int:
        """Return how long nothing is due yet, in ms, `longest` at most."""
        return min(longest, max(0, min(self._times.values(), default=now_ms + longest) - now_ms))
