"""The demonstration on a server of one's own takes an empty database and leaves it empty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from promontory.local.redis_spare import DatabaseInUse, spare_database
from promontory.runtime.embedded import EmbeddedServer


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    """The address of a database that nobody has used."""
    with EmbeddedServer(tmp_path / "server") as server:
        yield f"{server.url}?db=3"


def test_an_empty_database_is_taken_and_left_empty(url: str) -> None:
    """Whatever was written meanwhile is gone."""
    client = Redis.from_url(url)
    with spare_database(url):
        client.set("a", "1")
    assert client.dbsize() == 0


def test_a_database_in_use_is_refused_and_untouched(url: str) -> None:
    """Somebody's data is neither mixed with nor deleted."""
    client = Redis.from_url(url)
    client.set("theirs", "1")
    with pytest.raises(DatabaseInUse, match="not empty"), spare_database(url):
        pass
    assert client.keys() == [b"theirs"]


def test_two_demonstrations_do_not_share_a_database(url: str) -> None:
    """The second one is refused while the first one runs."""
    with spare_database(url), pytest.raises(DatabaseInUse), spare_database(url):
        pass
