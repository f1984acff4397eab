"""The whole platform, up once for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from promontory.local.platform import Platform


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Every process, with the pools of `pools.toml`."""
    settings = {"PROMONTORY_POOLS_FILE": str(Path(__file__).with_name("pools.toml")), "PROMONTORY_DRAIN_SECONDS": "5"}
    with Platform(tmp_path_factory.mktemp("platform"), settings=settings) as running:
        yield running
