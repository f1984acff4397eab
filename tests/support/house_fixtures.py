"""Fixtures of a house, for the conftest of a part that plays in one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from promontory.relay.celery_publisher import CeleryPublisher
from promontory.runtime.embedded import EmbeddedServer
from tests.support.house import House, Place, build, open_house


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A place of the module's own: nobody else's workers and obligations are in it."""
    directory = tmp_path_factory.mktemp("house")
    with EmbeddedServer(directory / "valkey") as server:
        yield build(directory, server)


@pytest.fixture
async def house(place: Place) -> AsyncIterator[House]:
    """The services, on an empty server."""
    async with open_house(place) as house:
        yield house


@pytest.fixture
async def publisher(place: Place) -> AsyncIterator[CeleryPublisher]:
    """The relay's way to the broker."""
    publisher = CeleryPublisher(place.broker)
    yield publisher
    await publisher.aclose()
