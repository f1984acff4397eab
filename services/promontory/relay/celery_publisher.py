"""The publisher on Celery: sends tasks by name, from a thread, because sending blocks."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from celery import Celery

from promontory.relay.domain import Task
from promontory.relay.ports import BrokerUnavailable
from promontory.runtime.broker import QUEUES, celery_settings
from promontory.runtime.tracing import TRACEPARENT

_ONCE_MORE = {"max_retries": 1, "interval_start": 0, "interval_step": 0, "interval_max": 0}


class CeleryPublisher:
    """A `Publisher` to the broker at `url`. Sends in one thread, a task at a time."""

    def __init__(self, url: str) -> None:
        self._app = Celery("promontory-relay", set_as_current=False)
        self._app.conf.update(celery_settings(url))
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="broker")

    async def publish(self, tasks: Sequence[Task]) -> None:
        """Publish `tasks` in order; see `Publisher.publish`."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._publish, tasks)

    async def queued(self) -> Mapping[str, int]:
        """Return how many tasks wait in each queue; see `Publisher.queued`."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._queued)

    async def aclose(self) -> None:
        """Close the connections once all that is under way is sent."""
        await asyncio.get_running_loop().run_in_executor(self._thread, self._app.close)
        self._thread.shutdown()

    def _publish(self, tasks: Sequence[Task]) -> None:
        for task in tasks:
            try:
                self._send(task)
            except Exception as error:
                # Full, frozen or gone: whatever the transport raises, the task is not handed over.
                raise BrokerUnavailable(f"sending {task.name}: {error!r}") from error

    def _send(self, task: Task) -> None:
        # A connection that died since the last task is only found out by sending; the second try gets a new one.
        self._app.send_task(
            task.name,
            args=task.arguments,
            task_id=task.task_id,
            queue=task.queue,
            ignore_result=True,
            headers={TRACEPARENT: task.trace} if task.trace else None,
            retry=True,
            retry_policy=_ONCE_MORE,
        )

    def _queued(self) -> Mapping[str, int]:
        try:
            with self._app.pool.acquire(block=True) as connection:
                connection.ensure_connection(max_retries=1, interval_start=0, interval_step=0)
                client = connection.default_channel.client
                return {queue: int(client.llen(queue)) for queue in QUEUES}
        except Exception as error:
            raise BrokerUnavailable(f"counting what is queued: {error!r}") from error
