"""The streams that are open, which end when their callers' tokens are revoked."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Any

from promontory.runtime.players import token_revoked


class OpenStreams:
    """The tasks that serve streams, by the account of their callers."""

    def __init__(self) -> None:
        self._tasks: dict[str, set[asyncio.Task[Any]]] = {}
        self._ended = set[asyncio.Task[Any]]()

    def end(self, accounts: Collection[str]) -> None:
        """End the streams of `accounts`."""
        for account in accounts:
            for task in self._tasks.get(account, ()):
                self._ended.add(task)
                task.cancel()

    @contextmanager
    def until_revoked(self, account: str) -> Iterator[None]:
        """Let `end` stop the body, which the present task runs; raise the refusal `TOKEN_REVOKED` where it does."""
        task = asyncio.current_task()
        assert task is not None, "calls are served in tasks"  # noqa: S101 - for the checker
        tasks = self._tasks.setdefault(account, set())
        tasks.add(task)
        try:
            yield
        except asyncio.CancelledError:
            if task not in self._ended:
                raise
            raise token_revoked() from None
        finally:
            self._ended.discard(task)
            tasks.discard(task)
            if not tasks:
                self._tasks.pop(account, None)
