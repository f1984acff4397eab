"""Where the broker is."""

from __future__ import annotations

import pytest

from promontory.runtime.broker import broker_url, celery_settings
from promontory.runtime.settings import SettingsError


@pytest.mark.parametrize(
    ("redis_url", "expected"),
    [
        ("redis://127.0.0.1:6379/0", "redis://127.0.0.1:6379/1"),
        ("redis://127.0.0.1:6379", "redis://127.0.0.1:6379/1"),
        ("rediss://user:secret@example.org:6380/0", "rediss://user:secret@example.org:6380/1"),
        ("unix:///tmp/p/valkey.sock", "redis+socket:///tmp/p/valkey.sock?virtual_host=1"),
        ("unix:///tmp/p/valkey.sock?db=0", "redis+socket:///tmp/p/valkey.sock?virtual_host=1"),
        ("sentinel://a:26379,b/main", "sentinel://a:26379,b/main?db=1"),
        ("sentinels://a/main?db=0&ssl_ca_certs=/ca.crt", "sentinels://a/main?db=1&ssl_ca_certs=%2Fca.crt"),
    ],
)
def test_by_default_it_is_database_1_of_the_event_log_s_server(redis_url: str, expected: str) -> None:
    """One server is enough for one machine."""
    assert broker_url("", redis_url) == expected


@pytest.mark.parametrize(
    ("configured", "expected"),
    [
        ("redis://broker:6379/0", "redis://broker:6379/0"),
        ("sentinel://a:26379,b:26379/main?db=2", "sentinel://a:26379,b:26379/main?db=2"),
        ("unix:///tmp/broker.sock?db=3", "redis+socket:///tmp/broker.sock?virtual_host=3"),
        ("unix:///tmp/broker.sock", "redis+socket:///tmp/broker.sock?virtual_host=0"),
    ],
)
def test_a_broker_of_its_own_is_taken_as_it_is_named(configured: str, expected: str) -> None:
    """[event_log 2.9] Broker on its own server; a socket is written as Celery wants it."""
    assert broker_url(configured, "redis://127.0.0.1:6379/0") == expected


@pytest.mark.parametrize(
    ("configured", "redis_url"), [("", "cluster://a:6379"), ("cluster://a:6379", "redis://b:6379")]
)
def test_a_cluster_is_no_broker(configured: str, redis_url: str) -> None:
    """[event_log P7] The transport cannot do it; a server of its own must be named."""
    with pytest.raises(SettingsError, match="PROMONTORY_BROKER_URL"):
        broker_url(configured, redis_url)


def test_sentinels_are_named_to_celery_one_by_one() -> None:
    """It takes the primary's name, and who to be for the Sentinels, as options beside the URL."""
    url = "sentinel://ada:p%40ss@a:26379,[::1]:26380/main?db=1&sentinel_password=other"
    found = celery_settings(url)
    assert found["broker_url"] == "sentinel://ada:p%40ss@a:26379/1;sentinel://ada:p%40ss@[::1]:26380/1"
    options = found["broker_transport_options"]
    assert options["master_name"] == "main"
    assert options["sentinel_kwargs"] == {"socket_timeout": 1, "socket_connect_timeout": 1, "password": "other"}
    assert "broker_use_ssl" not in found


def test_sentinels_over_tls_have_their_certificates_verified() -> None:
    """The servers' too; without a file of one's own the system's certificates hold."""
    found = celery_settings("sentinels://a/main?ssl_ca_certs=/ca.crt")
    assert found["broker_use_ssl"] == {"ssl_cert_reqs": "required", "ssl_ca_certs": "/ca.crt"}
    assert (
        found["broker_transport_options"]["sentinel_kwargs"].items() >= {"ssl": True, "ssl_ca_certs": "/ca.crt"}.items()
    )
