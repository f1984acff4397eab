"""A house bot plays with the deck that its match is pinned to: rules, relay, broker, a real worker, scoring."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest

from promontory.local.processes import ChildProcess
from promontory.relay.celery_publisher import CeleryPublisher
from promontory.rules.audit import audit, shipped_rulesets
from promontory.runtime.embedded import EmbeddedServer
from tests.support.house import House, Place, build, open_house, running
from tests.support.own_decks import digest, level_deck, own_deck

OWN = own_deck()


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Place]:
    """A place for Pacific."""
    directory = tmp_path_factory.mktemp("pacific-house")
    with EmbeddedServer(directory / "valkey") as server:
        yield build(directory, server, game="pacific")


@pytest.fixture
async def house(place: Place) -> AsyncIterator[House]:
    """The services, which begin new matches with a deck of the operator's own."""
    async with open_house(place, data=[OWN, level_deck()]) as house:
        yield house


@pytest.fixture(scope="module", autouse=True)
def worker(place: Place) -> Iterator[ChildProcess]:
    """A worker that has no file of the operator's."""
    process = place.start("worker", "work")
    process.ready()
    yield process
    process.terminate()
    process.wait()


async def test_house_bots_play_with_the_deck_of_their_match(
    house: House, publisher: CeleryPublisher, worker: ChildProcess
) -> None:
    """[GetGameData] The cards that a greedy bot looks up are not in the shipped deck: nobody has to play for it."""
    async with running(house.dispatcher(publisher)):
        match = await house.is_over(await house.create("greedy", "greedy", "random"))
    asked = {commit.command_id.partition(":")[0] for commit in await house.commits(match.match_id)}
    assert match.data_hash == digest(OWN)
    assert asked == {"create", "0", "1", "2"}
    assert await house.tallied() == {"house.0": 1, "house.1": 1, "house.2": 1}
    assert audit(await house.export(match.match_id), shipped_rulesets({"pacific": [OWN]})).ok
