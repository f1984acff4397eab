"""The time of the tests of rules."""

from __future__ import annotations

import pytest

from promontory.runtime import clock
from tests.support.conduct import Time


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    """The clock of the test, which stands still unless the test lets time pass."""
    standing = Time()
    monkeypatch.setattr(clock, "now_ms", standing)
    return standing
