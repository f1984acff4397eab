"""A rules service that stops and starts again, and the clients of its players, who stay."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from promontory import AsyncClient
from promontory.client.seats import Seat
from promontory.eventlog.memory import MemoryEventLog
from promontory.rules.domain import SeatSetup, Setup
from tests.client.hall import client_of, create, replica, running
from tests.support.serving import Keys

SeatsOf = Callable[[str], Sequence[Seat]]
"""Returns the players' seats in a match."""


class Installation:
    """A rules service of a game, always on the same log and at the same address, and the `players` of its matches."""

    def __init__(self, keys: Keys, game: str, players: Sequence[str]) -> None:
        self.keys, self.address, self.log = keys, "127.0.0.1:0", MemoryEventLog()
        self._game, self._players = game, players

    @asynccontextmanager
    async def serving(self, *data: bytes) -> AsyncIterator[None]:
        """Serve with the rules versions that are known now, and the operator's files `data`."""
        service = replica(self.keys, self.log, game=self._game, data=data)
        async with running(service, self.keys, listen=self.address) as self.address:
            yield

    async def create(self) -> str:
        """Return the id of a new match of the players."""
        setup = Setup(tuple(map(SeatSetup, self._players)))
        return await create(self.address, self.keys, setup, game=self._game)

    @asynccontextmanager
    async def seated(self) -> AsyncIterator[SeatsOf]:
        """Give what returns the seats of a match; their clients outlive the service."""
        async with AsyncExitStack() as stack:
            clients: list[AsyncClient] = []

            def of(match_id: str) -> Sequence[Seat]:
                for player in self._players[len(clients) :]:
                    clients.append(client_of(self.address, self.keys, player))
                    stack.push_async_callback(clients[-1].close)
                return [client.seat(self._game, match_id, seat) for seat, client in enumerate(clients)]

            yield of
