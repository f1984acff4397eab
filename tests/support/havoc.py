"""What befalls processes: they crash, freeze, and are restarted in an orderly way."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Sequence

from promontory.local.platform import SERVER, Platform


async def crash(platform: Platform, *names: str) -> None:
    """Kill processes at once, `server` the embedded one, and start them again."""
    kill(platform, *names)
    for name in sorted(names, key=lambda name: name != SERVER):  # without it, none of the others starts
        await _revive(platform, name)


def kill(platform: Platform, *names: str) -> None:
    """Kill processes at once."""
    for name in names:
        if name == SERVER:
            assert platform.server is not None
            platform.server.kill()
        else:
            platform.processes[name].kill()


async def restart(platform: Platform, name: str) -> None:
    """Have a process drain and stop, as an upgrade does, and start it again."""
    child = platform.processes[name]
    child.terminate()
    await asyncio.to_thread(child.wait)
    await _revive(platform, name)


async def freeze(platform: Platform, *names: str, seconds: float) -> None:
    """Let processes stand still for a while."""
    pids = [_pid(platform, name) for name in names]
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        await asyncio.sleep(seconds)
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


async def add(platform: Platform, *names: str) -> None:
    """Start more processes: `scoring-1` is another `scoring`."""
    for name in names:
        await _revive(platform, name)


def every_process(platform: Platform) -> Sequence[str]:
    """Return the names of all processes, the embedded server last."""
    return (*platform.processes, SERVER)


async def _revive(platform: Platform, name: str) -> None:
    if name == SERVER:
        platform.revive(name)  # in this thread, whose end would be the server's
    else:
        await asyncio.to_thread(platform.revive, name)


def _pid(platform: Platform, name: str) -> int:
    if name == SERVER:
        assert platform.server is not None
        return platform.server.pid
    return platform.processes[name].pid
