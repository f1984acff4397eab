"""The streams that are open, which end when their callers are not to be served any more."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from promontory.runtime.errors import Refusal


class OpenStreams:
    """The tasks that serve streams, by the account of their callers."""

    def __init__(self) -> None:
        self._tasks: dict[str, set[asyncio.Task[Any]]] = {}
        self._ended: dict[asyncio.Task[Any], Refusal] = {}

    def end(self, accounts: Collection[str], refusal: Refusal) -> None:
        """End the streams of `accounts` by `refusal`."""
        for account in accounts:
            for task in self._tasks.get(account, ()):
                self._ended[task] = refusal
                task.cancel()

    @contextmanager
    def until_refused(self, account: str) -> Iterator[None]:
        """Let `end` stop the body, which the present task runs; raise its refusal where it does."""
        task = asyncio.current_task()
        assert task is not None, "calls are served in tasks"  # noqa: S101 - for the checker
        tasks = self._tasks.setdefault(account, set())
        tasks.add(task)
        try:
            yield
        except (asyncio.CancelledError, GeneratorExit):  # the latter where a message was being sent
            if task not in self._ended:
                raise
            raise self._ended[task] from None
        finally:
            self._ended.pop(task, None)
            tasks.discard(task)
            if not tasks:
                self._tasks.pop(account, None)
