"""What `import promontory` gives, and what it leaves alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

import promontory
from promontory.client import errors

LIGHT = """
import sys
import promontory.bots.registry, promontory.games.registry
assert promontory.game("transcontinental").seats == range(2, 3)
print(sorted({"grpc", "google", "asyncio"} & set(sys.modules)))
"""


@pytest.mark.parametrize("name", promontory.__all__)
def test_every_name_is_there(name: str) -> None:
    assert getattr(promontory, name).__name__ == name


def test_every_error_is_at_the_front_door() -> None:
    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    ours = {kind.__name__ for kind in kinds if kind.__module__ == errors.__name__}
    assert ours <= set(promontory.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Cleint'"):
        _ = promontory.Cleint
    assert not hasattr(promontory, "Servant")


def test_the_rules_can_be_used_without_the_network() -> None:
    result = subprocess.run([sys.executable, "-c", LIGHT], capture_output=True, text=True, timeout=20, check=False)
    assert (result.stdout, result.stderr) == ("[]\n", "")
