"""Where the commands find the platform and the player's token; and what a new bot's file is."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

import promontory
from promontory import EndpointError
from promontory.client.access import Access, TokenFile
from promontory.client.bot_command import new
from promontory.client.bot_file import BotError, load_bot
from tests.client.conftest import World


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A directory as `promontory up` leaves it, of a platform at which nothing answers."""
    (tmp_path / "endpoints.json").write_text('{"matchmaking": "127.0.0.1:1"}')
    (tmp_path / "token").write_text("first\n")
    return tmp_path


def test_a_token_that_is_renewed_takes_effect(home: Path) -> None:
    token = TokenFile(home / "token")
    before = token()
    (home / "token").write_text("second\n")
    assert (before, token()) == ("first", "second")


def test_a_token_is_kept_while_its_file_is_being_renewed(home: Path) -> None:
    """Gone, or empty, for a moment."""
    token = TokenFile(home / "token")
    (home / "token").write_text("")
    empty = token()
    (home / "token").unlink()
    assert (empty, token()) == ("first", "first")


@pytest.mark.parametrize("content", [None, "", " \n"])
def test_without_a_token_there_is_no_client(home: Path, content: str | None) -> None:
    (home / "token").unlink()
    [(home / "token").write_text(text) for text in (content,) if text is not None]
    with pytest.raises(EndpointError, match=r"found no token in .*token: name a file .* --token-file"):
        Access(home).client()


async def test_a_running_client_takes_the_renewed_token(home: Path, world: World) -> None:
    """Its first one is refused, the next call has the good one."""
    async with Access(home, world.address).client() as client:
        with pytest.raises(promontory.Unauthenticated):
            await client.pools()
        (home / "token").write_text(world.token("ada"))
        assert await client.pools()


@pytest.mark.parametrize("content", ["", "{", "[]", '{"matchmaking": 1}'])
def test_addresses_that_cannot_be_read_are_named(home: Path, content: str) -> None:
    (home / "endpoints.json").write_text(content)
    with pytest.raises(EndpointError, match=r"endpoints\.json does not list the services' addresses"):
        Access(home).client()


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize(
    ("endpoints", "line"),
    [
        ("", "nothing answers at 127.0.0.1:1 (is `promontory up` running?); trying for 30 s"),
        ("127.0.0.1:1", "nothing answers at 127.0.0.1:1; trying for 30 s"),
    ],
)
async def test_who_waits_for_the_platform_is_told(home: Path, endpoints: str, line: str) -> None:
    """`promontory up` is no advice for a platform elsewhere."""

    def tell(said: str) -> None:
        raise ToldError(said)

    async with Access(home, endpoints, tell=tell).client() as client:
        with pytest.raises(ToldError) as caught:
            await client.pools()
    assert str(caught.value) == line


class ToldError(Exception):
    pass


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Outages are told at the first failure."""
    monkeypatch.setattr("promontory.client.outages.TELL_SECONDS", 0.0)


async def test_nobody_need_listen(home: Path, world: World) -> None:
    access = msgspec.structs.replace(Access(home, world.address), tell=None)
    (home / "token").write_text(world.token("ada"))
    async with access.client() as client:
        assert await client.pools()


def test_a_new_bot_can_be_loaded(tmp_path: Path) -> None:
    new(tmp_path / "my_bot.py")
    load_bot(tmp_path / "my_bot.py").close()


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("there.py", "there.py is there already; take another name"),
        ("folder.py", "folder.py is there already; take another name"),
        ("missing/bot.py", "there is no folder .*missing; make it first"),
        ("my_bot", "a bot is a Python file: call it .*/my_bot.py"),
        ("my_bot.txt", "a bot is a Python file: call it .*/my_bot.txt.py"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_in_a_sentence(tmp_path: Path, name: str, problem: str) -> None:
    (tmp_path / "there.py").write_text("mine")
    (tmp_path / "folder.py").mkdir()
    with pytest.raises(BotError, match=problem):
        new(tmp_path / name)
    assert (tmp_path / "there.py").read_text() == "mine"
