"""The package `eventsourcing` on an SQLite file, as what our log is measured beside."""

from __future__ import annotations

import time
from base64 import b64encode
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Literal
from uuid import UUID, uuid4

from promontory.eventlog.port import Commit

Kind = Literal["recorder", "application"]
KINDS: tuple[Kind, ...] = ("recorder", "application")
LOCK_SECONDS = "30"


def has_peer() -> bool:
    """Return whether the package is installed."""
    try:
        import eventsourcing  # noqa: F401
    except ImportError:
        return False
    return True


class Peer:
    """The package's recorder, which writes bytes, or an application with aggregates, on a file of its own."""

    def __init__(self, kind: Kind, directory: Path) -> None:
        from eventsourcing.application import Application
        from eventsourcing.domain import Aggregate, event
        from eventsourcing.persistence import StoredEvent

        class Game(Aggregate):
            """What happened in a match, none of which is kept."""

            @event("Happened")
            def happen(self, kind: str, payload: str) -> None:
                """Take an event."""

        self.variant, self._kind, self._event, self._aggregate = f"eventsourcing {kind}", kind, StoredEvent, Game
        self._application: Any = Application(
            {
                "PERSISTENCE_MODULE": "eventsourcing.sqlite",
                "SQLITE_DBNAME": str(directory / f"{kind}.sqlite"),
                "SQLITE_LOCK_TIMEOUT": LOCK_SECONDS,
                "SQLITE_POOL_TIMEOUT": LOCK_SECONDS,
            }
        )

    def append_for(self, commits: Sequence[Commit], seconds: float, *, threads: int) -> tuple[int, int]:
        """Append aggregates from `threads` at once for so many seconds; return how many commits, and events."""
        until = time.perf_counter() + seconds

        def write(_: int) -> tuple[int, int]:
            done = events = 0
            while time.perf_counter() < until:
                for _name, count in self._append(commits):
                    done, events = done + 1, events + count
                    if time.perf_counter() >= until:
                        break
            return done, events

        with ThreadPoolExecutor(threads) as pool:
            found = list(pool.map(write, range(threads)))
        return sum(done for done, _ in found), sum(events for _, events in found)

    def append_one(self, commits: Sequence[Commit]) -> UUID:
        """Append one aggregate whole, and return its id."""
        return list(self._append(commits))[-1][0]

    def _append(self, commits: Sequence[Commit]) -> Iterator[tuple[UUID, int]]:
        """Append `commits` as a new aggregate; yield its id after each, and how many events the commit has."""
        return (self._record if self._kind == "recorder" else self._save)(commits)

    def _record(self, commits: Sequence[Commit]) -> Iterator[tuple[UUID, int]]:
        name, version = uuid4(), 0
        for commit in commits:
            events = [
                self._event(name, version + number, each.type, each.payload)
                for number, each in enumerate(commit.events, 1)
            ]
            self._application.recorder.insert_events(events)
            version += len(events)
            yield name, len(events)

    def _save(self, commits: Sequence[Commit]) -> Iterator[tuple[UUID, int]]:
        """Their transcoder writes JSON, so that payloads are given in base 64."""
        aggregate: Any = self._aggregate()
        for commit in commits:
            for each in commit.events:
                aggregate.happen(each.type, b64encode(each.payload).decode())
            self._application.save(aggregate)
            yield aggregate.id, len(commit.events)

    def replay(self, name: UUID) -> int:
        """Read an aggregate, and return how many events it has."""
        if self._kind == "recorder":
            return len(self._application.recorder.select_events(name))
        version: int = self._application.repository.get(name).version
        return version

    def close(self) -> None:
        """Close the file."""
        self._application.close()
