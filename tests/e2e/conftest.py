"""The whole platform, up once for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from promontory.local.demo import DEMO_POOLS
from promontory.local.platform import Platform


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Every process, with pools in which anybody meets anybody at once."""
    settings = {"PROMONTORY_POOLS_FILE": str(DEMO_POOLS), "PROMONTORY_DRAIN_SECONDS": "5"}
    with Platform(tmp_path_factory.mktemp("platform"), settings=settings) as running:
        yield running
