"""What stands in front of every call: turns, and streams that have a limit."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from promontory.runtime.errors import Refusal
from promontory.runtime.gate import TURNS, Gate
from promontory.runtime.identity import Caller, serve_as
from promontory.runtime.limits import Limits
from tests.support.serving import everybody

ADA, BEN = Caller("ada", frozenset()), Caller("ben", frozenset())
RELAY = Caller("service:relay", frozenset(), service=True)
UNUSED: Any = None


class Calls:
    """Calls that all stay until they are let go; `under_way` counts those that have their turn."""

    def __init__(self) -> None:
        self.gate = Gate(UNUSED, Limits(streams_per_player=2), everybody())
        self.under_way = {"ada": 0, "ben": 0, "service:relay": 0}
        self.most = dict(self.under_way)
        self.let_go = asyncio.Event()

    async def _call(self, who: Caller) -> None:
        serve_as(who)
        async with self.gate.turn():
            with self._counted(who.subject):
                await self.let_go.wait()

    @contextmanager
    def _counted(self, subject: str) -> Iterator[None]:
        self.under_way[subject] += 1
        self.most[subject] = max(self.most[subject], self.under_way[subject])
        yield
        self.under_way[subject] -= 1

    async def arrive(self, who: Caller, times: int) -> list[asyncio.Task[None]]:
        """Start calls of `who`, and let all of them come as far as they can."""
        tasks = [asyncio.create_task(self._call(who)) for _ in range(times)]
        await asyncio.wait(tasks, timeout=0)
        await asyncio.sleep(0)
        return tasks


async def test_a_players_calls_wait_for_one_another_and_for_nobody_else() -> None:
    """Who asks for much at once waits for it alone."""
    calls = Calls()
    flood = await calls.arrive(ADA, 50)
    honest = await calls.arrive(BEN, 1)
    assert (calls.under_way["ada"], calls.under_way["ben"]) == (TURNS, 1)
    calls.let_go.set()
    await asyncio.gather(*flood, *honest)
    assert (calls.most["ada"], calls.gate._lines) == (TURNS, {})


async def test_services_wait_for_nobody() -> None:
    """The platform's own calls are as many as its work needs."""
    calls = Calls()
    await calls.arrive(RELAY, 50)
    assert calls.under_way["service:relay"] == 50
    calls.let_go.set()


async def test_calls_that_are_cancelled_in_line_leave_it() -> None:
    """A client that gives up takes nobody's turn, and is forgotten."""
    calls = Calls()
    flood = await calls.arrive(ADA, 10)
    for call in flood:
        call.cancel()
    await asyncio.gather(*flood, return_exceptions=True)
    assert calls.gate._lines == {}
    await calls.arrive(ADA, 1)
    calls.let_go.set()


async def test_streams_beyond_the_limit_are_refused_until_one_ends() -> None:
    """[LIMIT_REACHED] It tells the limit."""
    gate = Calls().gate
    serve_as(ADA)
    with ExitStack() as streams:
        streams.enter_context(gate.streaming())
        streams.enter_context(gate.streaming())
        with pytest.raises(Refusal) as refused, gate.streaming():
            pass
        assert (refused.value.reason, refused.value.metadata["limit"]) == ("LIMIT_REACHED", 2)
    with gate.streaming():
        pass
    assert gate._streams == {}
