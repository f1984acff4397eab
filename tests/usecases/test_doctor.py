"""Which deployment the doctor examines: one, never a mixture of two."""

from __future__ import annotations

from pathlib import Path

import pytest

from promontory.local.doctor_commands import StillStarting, deployment_of
from promontory.local.keys import KeyRing

ELSEWHERE = "redis://elsewhere.example:6379/0"
HERE = "unix:///tmp/promontory-x/valkey.sock"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """The directory of a platform of `promontory up`."""
    KeyRing(tmp_path / "keys").create_missing()
    (tmp_path / "archive").mkdir()
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "relay.ready.json").write_text('{"grpc": "", "metrics": "127.0.0.1:9403", "pid": 1}')
    (tmp_path / "redis-url").write_text(HERE)
    (tmp_path / "endpoints.json").write_text('{"matchmaking": "127.0.0.1:7401", "pacific": "127.0.0.1:7412"}')
    return tmp_path


def test_without_settings_it_is_the_platform_of_promontory_up(home: Path) -> None:
    told = deployment_of(home, metrics=(), redis_url=HERE)
    assert (told.rules, told.metrics) == ({"pacific": "127.0.0.1:7412"}, {"relay": "127.0.0.1:9403"})
    assert (len(told.key_files), told.is_embedded, told.archive_url) == (1, True, (home / "archive").as_uri())


def test_nothing_is_taken_from_a_platform_of_another_server(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """[PROMONTORY_REDIS_URL] What settings do not tell is not known, rather than another platform's."""
    monkeypatch.setenv("PROMONTORY_REDIS_URL", ELSEWHERE)
    told = deployment_of(home, metrics=(), redis_url=ELSEWHERE)
    assert (told.rules, told.services, told.metrics, told.key_files) == ({}, {}, {}, [])
    assert (told.service_keys_file, told.player_keys_file, told.player_key_file) == (None, None, None)
    assert (told.archive_url, told.is_embedded) == ("", False)


def test_a_platform_of_promontory_up_on_a_server_of_ones_own_is_itself(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[PROMONTORY_REDIS_URL] `promontory up` takes it too, and notes it."""
    monkeypatch.setenv("PROMONTORY_REDIS_URL", ELSEWHERE)
    (home / "redis-url").write_text(ELSEWHERE)
    told = deployment_of(home, metrics=(), redis_url=ELSEWHERE)
    assert (told.rules, told.is_embedded) == ({"pacific": "127.0.0.1:7412"}, False)


def test_while_it_starts_no_other_server_is_tried(home: Path) -> None:
    """The default of the setting is a port of this machine, where something else may be."""
    (home / "redis-url").unlink()
    with pytest.raises(StillStarting, match="has not come up yet"):
        deployment_of(home, metrics=(), redis_url="redis://127.0.0.1:6379/0")
