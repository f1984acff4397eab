"""What stands behind the names of services."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from promontory.runtime.peers import addresses_of


@pytest.mark.parametrize(
    ("target", "addresses"),
    [
        ("127.0.0.1:7401", ["127.0.0.1:7401"]),
        ("dns:///127.0.0.1:7401", ["127.0.0.1:7401"]),
        ("[::1]:7401", ["[::1]:7401"]),
    ],
)
async def test_a_target_stands_for_all_its_addresses(target: str, addresses: Sequence[str]) -> None:
    assert await addresses_of(target) == addresses


async def test_a_name_stands_for_what_the_resolver_says() -> None:
    assert "127.0.0.1:7401" in await addresses_of("localhost:7401")


@pytest.mark.parametrize("target", ["", "scoring", "nobody.invalid:7401"])
async def test_a_target_that_stands_for_nothing_is_an_error_of_the_system(target: str) -> None:
    """[ListReplicas] Shown as the problem of that service, and no reason to show no others."""
    with pytest.raises(OSError, match=r".+"):
        await addresses_of(target)
