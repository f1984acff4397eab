"""The publisher of a relay that traces."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from promontory.relay.domain import Task, kind_of, parse
from promontory.relay.ports import Publisher
from promontory.runtime import tracing
from promontory.runtime.tracing import Cause, Kind, Trails


class TracedPublisher:
    """A `Publisher` whose tasks carry the trace in which their match was last changed."""

    def __init__(self, publisher: Publisher, trails: Trails) -> None:
        self._publisher, self._trails = publisher, trails

    async def publish(self, tasks: Sequence[Task]) -> None:
        """Publish `tasks` in order, each in a span of its own; see `Publisher.publish`."""
        causes = await self._trails.found([task.match_id for task in tasks])
        for task, cause in zip(tasks, causes, strict=True):
            await self._publish(task, cause)

    async def queued(self) -> Mapping[str, int]:
        """Return how many tasks wait in each queue; see `Publisher.queued`."""
        return await self._publisher.queued()

    async def _publish(self, task: Task, cause: Cause) -> None:
        attributes = {
            **tracing.about(task.match_id),
            "messaging.destination.name": task.queue,
            "promontory.obligation": kind_of(parse(task.obligation)),
            "promontory.attempt": task.attempt,
        }
        with tracing.span(f"publish {task.name}", Kind.PRODUCER, cause=cause, attributes=attributes):
            await self._publisher.publish([replace(task, trace=tracing.current())])
