"""The whole platform, up once for all hostile clients, and what they attack it with."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping

import pytest

from promontory.local.platform import Platform
from tests.support.hostile import GAME_NAMES, Attacker, attacking


@pytest.fixture(scope="session")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Every process, with the shipped pools."""
    limits = {
        "PROMONTORY_MAX_STREAMS_PER_PLAYER": "20",
        "PROMONTORY_MAX_CREATIONS_PER_MINUTE": "40",
        "PROMONTORY_MAX_OPEN_TABLES": "50",
    }
    settings = {"PROMONTORY_DRAIN_SECONDS": "2", **limits}
    with Platform(tmp_path_factory.mktemp("platform"), settings=settings) as running:
        yield running


@pytest.fixture
async def attacker(platform: Platform) -> AsyncIterator[Attacker]:
    """A client of every service that sends what it likes, under any identity."""
    async with attacking(platform) as attacker:
        yield attacker


@pytest.fixture
async def match_id(attacker: Attacker) -> str:
    """A new match of ada (seat 0) and ben."""
    return await attacker.new_match(uuid.uuid4().hex, "ada", "ben")


@pytest.fixture(scope="session")
def matches(platform: Platform) -> Mapping[str, str]:
    """For each game the id of a match of ada (seat 0) and ben, in which nobody acts."""

    async def create() -> Mapping[str, str]:
        async with attacking(platform) as attacker:
            return {game: await attacker.new_match("untouched", "ada", "ben", game=game) for game in GAME_NAMES}

    return asyncio.run(create())
