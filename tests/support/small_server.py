"""`python -m tests.support.small_server MODE`: a service process as small as can be, with the life of every other.

Its settings are those of any service. GetMatch answers once the process drains, or at once for the match `now`, and for
the match `fail` lets the work beside fail; WatchMatch sends one commit and ends when the process drains. MODE says what
is out of order:

    well        nothing
    broken      the work beside fails at once
    stubborn    GetMatch never answers
    hanging     the drain never comes to its end
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator
from typing import Any

from promontory.api.transcontinental.v1 import transcontinental_service_pb2 as pb
from promontory.runtime import logs, server
from promontory.runtime.settings import ServerSettings, load
from tests.support.serving import everybody

DESCRIPTOR = pb.DESCRIPTOR.services_by_name["TranscontinentalService"]


class BesideFailed(Exception):
    """What the work beside fails with."""


class Small:
    """The servicer, and what runs beside it."""

    def __init__(self, mode: str) -> None:
        self._mode = mode
        self._failing, self._draining = asyncio.Event(), asyncio.Event()

    def __getattr__(self, name: str) -> Any:
        return self._unknown

    async def _unknown(self, request: Any, context: Any) -> Any:
        raise NotImplementedError

    async def GetMatch(self, request: Any, context: Any) -> Any:  # noqa: N802 - the method's name
        if request.match_id == "fail":
            self._failing.set()
        if request.match_id != "now":
            await (asyncio.Event() if self._mode == "stubborn" else self._draining).wait()
        return pb.GetMatchResponse(match={"match_id": request.match_id})

    async def WatchMatch(self, request: Any, context: Any) -> AsyncIterator[Any]:  # noqa: N802 - the method's name
        yield pb.WatchMatchResponse(commit={"version": 1})
        await self._draining.wait()

    async def beside(self) -> None:
        if self._mode != "broken":
            await self._failing.wait()
        raise BesideFailed("the work beside has failed")

    async def drain(self) -> None:
        self._draining.set()
        if self._mode == "hanging":
            await asyncio.Event().wait()


async def main(mode: str) -> None:
    """Serve as `mode` says."""
    settings = load(ServerSettings)
    logs.configure("small", level=settings.log_level, style=settings.log_format)
    small = Small(mode)
    service = server.Service(
        servicers=[(DESCRIPTOR, small)], beside=[small.beside()], drain=[small.drain], players=everybody()
    )
    await server.serve(service, settings)


if __name__ == "__main__":
    server.WATCHDOG_SECONDS = 0 if sys.argv[1] == "hanging" else 20
    server.run(main(sys.argv[1]))
