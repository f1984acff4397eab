"""Traces: what a command sets off, from process to process, as spans.

Off by default, and then this costs nothing worth measuring. `spans` turns it on; that module alone knows OpenTelemetry,
which is the extra `tracing`. Spans tell of matches, seats, methods and reasons: never of tokens, players or cards.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

import msgspec

TRACEPARENT = "traceparent"
"""The key under which W3C's trace context goes along, in metadata of calls and headers of tasks."""
LONGEST_ID = 64
"""How much is told of an id that a caller gave."""

Attributes: TypeAlias = Mapping[str, str | int]


class Kind(StrEnum):
    """What a span is of: a call that is served, a task that is sent or done, or a step in between."""

    SERVER = "server"
    PRODUCER = "producer"
    CONSUMER = "consumer"
    STEP = "step"


class Cause(msgspec.Struct, frozen=True):
    """Where a span comes from, as W3C trace contexts: the span it is part of, or one it only refers to."""

    parent: str = ""
    link: str = ""


NO_CAUSE = Cause()


class Span(Protocol):
    """A span that is under way."""

    def tell(self, attributes: Attributes) -> None:
        """Add `attributes`."""

    def fail(self, reason: str) -> None:
        """Mark the span as failed for `reason`, a word of the API or of the metrics."""


class Tracer(Protocol):
    """Makes spans."""

    def span(self, name: str, kind: Kind, *, cause: Cause, attributes: Attributes) -> AbstractContextManager[Span]:
        """Return a span that lasts as long as the body, and is the parent of those that begin in it."""

    def current(self) -> str:
        """Return the trace context of the span that is under way, or nothing if that is not sampled."""


class _Off:
    """No tracing."""

    @contextmanager
    def span(self, name: str, kind: Kind, *, cause: Cause, attributes: Attributes) -> Iterator[Span]:
        yield self

    def current(self) -> str:
        return ""

    def tell(self, attributes: Attributes) -> None:
        """Do nothing."""

    def fail(self, reason: str) -> None:
        """Do nothing."""


class _Present:
    """The process's tracer."""

    tracer: Tracer = _Off()


def use(tracer: Tracer | None) -> None:
    """Trace with `tracer` from now on; None: not at all."""
    _Present.tracer = tracer or _Off()


def is_on() -> bool:
    """Whether this process traces. Asked when objects are built, so that nothing is asked for each call."""
    return not isinstance(_Present.tracer, _Off)


def span(
    name: str, kind: Kind = Kind.STEP, *, cause: Cause = NO_CAUSE, attributes: Attributes | None = None
) -> AbstractContextManager[Span]:
    """Return a span that lasts as long as the body; of the present span, unless `cause` names another."""
    return _Present.tracer.span(name, kind, cause=cause, attributes=attributes or {})


def current() -> str:
    """Return the W3C trace context of the present span, or nothing if there is none or it is not sampled."""
    return _Present.tracer.current()


def headers() -> tuple[tuple[str, str], ...]:
    """Return the metadata that makes the call of another service part of the present span's trace."""
    context = current()
    return ((TRACEPARENT, context),) if context else ()


def told(metadata: Iterable[tuple[str, Any]] | None) -> str:
    """Return the trace context in a call's metadata, or nothing."""
    return next((str(value) for key, value in metadata or () if key == TRACEPARENT), "")


def about(match_id: str) -> dict[str, str | int]:
    """Return the attribute that names a match."""
    return {"promontory.match_id": match_id[:LONGEST_ID]} if match_id else {}


class Trails(Protocol):
    """Remembers for a while which trace a match was last changed in, for whoever meets what it then owes.

    Only a hint, beside the log: what is lost is a connection between spans. Never raises for a store that is away.
    """

    async def leave(self, match_id: str, cause: Cause) -> None:
        """Note `cause` for what the match will owe from now on."""

    async def found(self, match_ids: Sequence[str]) -> Sequence[Cause]:
        """Return the cause last left for each of `match_ids`."""
