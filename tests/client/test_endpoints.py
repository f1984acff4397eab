"""Where the services are."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from promontory import AsyncClient, Client, EndpointError
from promontory.client.endpoints import Endpoints
from tests.client.conftest import World

MATCHMAKING = "promontory.api.matchmaking.v1.MatchmakingService"
LOBBY = "promontory.api.lobby.v1.LobbyService"
PACIFIC = "promontory.api.pacific.v1.PacificService"


@pytest.mark.parametrize(
    ("endpoints", "service", "address"),
    [
        ("edge:443", PACIFIC, "edge:443"),
        ("https://edge:443", MATCHMAKING, "https://edge:443"),
        ("matchmaking=a:1, pacific=b:2", PACIFIC, "b:2"),
        ("matchmaking=a:1,pacific=b:2", LOBBY, "a:1"),
        ("matchmaking=a:1,lobby=c:3", LOBBY, "c:3"),
        ({"lobby": "c:3"}, MATCHMAKING, "c:3"),
        ({"pacific": "ipv4:10.0.0.1:5,10.0.0.2:5"}, PACIFIC, "ipv4:10.0.0.1:5,10.0.0.2:5"),
    ],
)
def test_a_service_is_found_by_its_package(endpoints: str | Mapping[str, str], service: str, address: str) -> None:
    assert Endpoints(endpoints).address(service) == address


@pytest.mark.parametrize("endpoints", ["", "  ", "=", "pacific=", {}, "ftp://edge:1", "https://edge/path"])
def test_what_is_no_address_is_refused_at_once(endpoints: str | Mapping[str, str]) -> None:
    with pytest.raises(EndpointError):
        AsyncClient(endpoints)
    with pytest.raises(EndpointError):
        Client(endpoints)


def test_a_service_without_an_address_is_named() -> None:
    with pytest.raises(EndpointError, match="no endpoint for 'pacific'; there are: matchmaking"):
        Endpoints("matchmaking=a:1").address(PACIFIC)


async def test_each_service_is_called_at_its_own_address(world: World) -> None:
    endpoints = f"matchmaking={world.address},scoring=127.0.0.1:1"
    async with AsyncClient(endpoints, token=world.token("ada"), retry_seconds=0) as client:
        assert await client.pools()
        with pytest.raises(EndpointError, match="transcontinental"):
            await client.spectate("transcontinental", "tc-000-test").look()
