"""The whole platform, up once for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from promontory.local.platform import Platform
from tests.support.pools import POOLS_FILE


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Every process, with the pools of `pools.toml`."""
    settings = {"PROMONTORY_POOLS_FILE": str(POOLS_FILE), "PROMONTORY_DRAIN_SECONDS": "5"}
    with Platform(tmp_path_factory.mktemp("platform"), settings=settings) as running:
        yield running
