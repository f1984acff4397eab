"""Clients that hold on to a process which is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from promontory.local.platform import Platform
from promontory.local.processes import ChildProcess
from tests.support.hostile import PLAIN, REFLECTION

OPENS_NO_WINDOW = [("grpc.http2.lookahead_bytes", 0), ("grpc.http2.bdp_probe", 0)]
NO_ANSWER_SECONDS = 1
LIST_SERVICES = b"\x3a\x00"
ONLY_IF_CALLS_END, AFTER_A_MOMENT = "300", "1"


@contextmanager
def scoring(platform: Platform, directory: Path, *, drain_seconds: str) -> Iterator[ChildProcess]:
    """A scoring process that grants calls under way so many seconds."""
    settings = {"PROMONTORY_REDIS_URL": platform.redis_url, "PROMONTORY_REFLECTION": "true"}
    environ = {**platform.keys.environ(), **settings, "PROMONTORY_DRAIN_SECONDS": drain_seconds}
    child = ChildProcess("scoring", ["serve", "scoring"], directory=directory, environ=environ)
    yield child
    child.kill()


@pytest.mark.parametrize(
    ("options", "drain_seconds"),
    [([], ONLY_IF_CALLS_END), (OPENS_NO_WINDOW, AFTER_A_MOMENT)],
    ids=["who reads", "who reads nothing"],
)
async def test_nobody_who_watches_health_or_reflects_keeps_a_process_from_stopping(
    platform: Platform, tmp_path: Path, options: list[tuple[str, int]], drain_seconds: str
) -> None:
    """[style 8] No token is needed to open such a stream, so it must not hold up an upgrade."""
    with scoring(platform, tmp_path, drain_seconds=drain_seconds) as process:
        ready = await asyncio.to_thread(process.ready)
        async with grpc.aio.insecure_channel(ready.grpc, options=options) as channel:
            watch: Any = channel.unary_stream("/grpc.health.v1.Health/Watch", *PLAIN)
            reflect: Any = channel.stream_stream(REFLECTION, *PLAIN)
            watching, reflecting = [watch(b"") for _ in range(20)], [reflect() for _ in range(20)]
            await asyncio.gather(*(call.write(LIST_SERVICES) for call in reflecting))
            answered = [asyncio.create_task(call.initial_metadata()) for call in watching + reflecting]
            await asyncio.wait(answered, timeout=NO_ANSWER_SECONDS)
            process.terminate()
            assert await asyncio.to_thread(process.wait) == 0
        assert b"server_stopped" in process.log_file.read_bytes()
