"""Where the broker is."""

from __future__ import annotations

import pytest

from promontory.runtime.broker import broker_url


@pytest.mark.parametrize(
    ("redis_url", "expected"),
    [
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/1"),
        ("redis://127.0.0.1:6379", "redis://127.0.0.1:6379/1"),
        ("rediss://user:secret@example.org:6380/0", "rediss://user:secret@example.org:6380/1"),
        ("unix:///tmp/p/valkey.sock", "redis+socket:///tmp/p/valkey.sock?virtual_host=1"),
        ("unix:///tmp/p/valkey.sock?db=0", "redis+socket:///tmp/p/valkey.sock?virtual_host=1"),
    ],
)
def test_by_default_it_is_database_1_of_the_event_log_s_server(redis_url: str, expected: str) -> None:
    """One server is enough for one machine."""
    assert broker_url("", redis_url) == expected


@pytest.mark.parametrize(
    ("configured", "expected"),
    [
        ("redis://broker:6379/0", "redis://broker:6379/0"),
        ("sentinel://a:26379;sentinel://b:26379", "sentinel://a:26379;sentinel://b:26379"),
        ("unix:///tmp/broker.sock?db=3", "redis+socket:///tmp/broker.sock?virtual_host=3"),
        ("unix:///tmp/broker.sock", "redis+socket:///tmp/broker.sock?virtual_host=0"),
    ],
)
def test_a_broker_of_its_own_is_taken_as_it_is_named(configured: str, expected: str) -> None:
    """[event_log 2.9] Broker on its own server; a socket is written as Celery wants it."""
    assert broker_url(configured, "redis://127.0.0.1:6379/0") == expected
