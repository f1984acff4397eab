"""`promontory show` against a real rules service of each game."""

from __future__ import annotations

import asyncio
import json
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import grpc
import msgspec
import pytest

from promontory import AsyncClient
from promontory.bots.registry import policy
from promontory.games import registry
from promontory.games.drawing import draw
from promontory.rules.domain import SeatSetup, Setup
from promontory.runtime.identity import PLAYER_SCOPES
from tests.support.commands import exit_code as run
from tests.support.own_decks import TITLE, own_deck
from tests.support.rules_servers import Client, as_platform, rules_server
from tests.support.serving import TOKEN_LIFE, Keys

GAMES = [entry.name for entry in registry.GAMES]
PLAYERS = ("ada", "ben", "eve", "joe", "kim")
Output = pytest.CaptureFixture[str]


class Platform(msgspec.Struct, frozen=True):
    """A rules service of one game with a match on it, and a folder with a player's token."""

    game: str
    address: str
    match_id: str
    keys: Keys
    folder: Path

    def token(self, player: str) -> str:
        """Return a token of `player`."""
        return self.keys.players.mint(player, PLAYER_SCOPES, life=TOKEN_LIFE)

    async def show(self, *options: str, player: str = "ada", command: str = "show") -> int:
        """Run the command as `player`, and return its exit code."""
        return await asyncio.to_thread(run, command, self.match_id, *options, *self.access(player))

    def access(self, player: str) -> tuple[str, ...]:
        """Return the options with which a command finds the service, and comes as `player`."""
        file = self.folder / f"{player}.token"
        file.write_text(self.token(player))
        return ("--endpoints", self.address, "--token-file", str(file))

    async def finish(self) -> None:
        """Have one commit made, by who is to act, and then the match given up."""
        async with AsyncClient(self.address, token=self.token("ada")) as client:
            seated = client.seat(self.game, self.match_id, 0)
            choose = policy(registry.game(self.game), "greedy")
            await seated.submit(choose((await seated.look()).view, Random(1)))
            await seated.resign()


Open = Callable[..., Awaitable[Platform]]


@pytest.fixture
async def opened(redis_connections: object, valkey_url: str, keys: Keys, tmp_path: Path) -> AsyncIterator[Open]:
    """What serves a game, with as few players as it takes and data of one's own, if any."""
    async with AsyncExitStack() as stack:

        async def serve(game: str, *data: bytes) -> Platform:
            server = await stack.enter_async_context(rules_server(valkey_url, keys, game=game, data=data, buckets=4))
            channel = await stack.enter_async_context(grpc.aio.insecure_channel(server.address))
            seats = registry.game(game).seats.start
            setup = Setup(tuple(map(SeatSetup, PLAYERS[:seats])))
            match_id = await Client(channel, as_platform(keys), game=game).create(uuid.uuid4().hex, setup)
            return Platform(game, server.address, match_id, keys, tmp_path)

        yield serve


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("seat", [None, 0])
async def test_a_match_is_shown_as_its_game_draws_it(opened: Open, capsys: Output, game: str, seat: int | None) -> None:
    """[README] The game follows from the match's id; a seat sees its own hand, a spectator nobody's."""
    platform = await opened(game)
    assert await platform.show(*([] if seat is None else ["--seat", str(seat)])) == 0
    title, seats, waiting, empty, *table = capsys.readouterr().out.splitlines()
    async with AsyncClient(platform.address, token=platform.token("ada")) as client:
        watched = client.spectate(game, platform.match_id) if seat is None else client.seat(game, platform.match_id, 0)
        update = await watched.look()
    rules = registry.game(game)
    assert title == f"{platform.match_id}: {rules.rules_version}, private, not rated, version 1"
    assert seats.startswith("seats: 0 ada, 1 ben")
    assert waiting.startswith("waiting for seat")
    assert [empty, *table] == ["", *draw(rules, update.view).splitlines()]


async def test_cards_have_the_names_that_the_match_is_played_with(opened: Open, capsys: Output) -> None:
    """[GetGameData] An operator's own deck is fetched."""
    platform = await opened("pacific", own_deck())
    async with AsyncClient(platform.address, token=platform.token("ada")) as client:
        hand = (await client.seat("pacific", platform.match_id, 0).look()).view.hand_card_ids
    assert await platform.show("--seat", "0") == 0
    shown = " ".join(capsys.readouterr().out.split())
    names = {card["id"]: card["name"] for card in msgspec.json.decode(own_deck())["cards"]}
    assert TITLE in names.values()
    assert [names[card_id] for card_id in hand if names[card_id] not in shown] == []


@pytest.mark.parametrize("game", GAMES)
async def test_a_match_is_shown_as_json(opened: Open, capsys: Output, game: str) -> None:
    """[README] One object: the match, and the view with all that is legal."""
    platform = await opened(game)
    assert await platform.show("--seat", "1", "--json", player="ben") == 0
    shown = json.loads(capsys.readouterr().out)
    assert (shown["version"], shown["match"]["match_id"], shown["match"]["game"]) == (1, platform.match_id, game)
    assert shown["view"]["seat"] == 1
    assert shown["view"]["legal"]["resign"] is True


async def test_a_finished_match_shows_its_outcome_and_an_earlier_version_does_not(opened: Open, capsys: Output) -> None:
    """[GetMatch] Any version can be looked at."""
    platform = await opened("transcontinental")
    async with AsyncClient(platform.address, token=platform.token("ben")) as client:
        await client.seat("transcontinental", platform.match_id, 1).resign()
    assert await platform.show() == 0
    assert "over, resigned: 1. seat 0 with 0, 2. seat 1 with 0" in capsys.readouterr().out.splitlines()
    assert await platform.show("--at", "1") == 0
    assert "waiting for seat 0" in capsys.readouterr().out.splitlines()


async def test_a_match_is_watched_until_it_is_over(opened: Open) -> None:
    """[README] The table as it is, then what each commit did, and the table after it."""
    platform = await opened("transcontinental")
    command = [sys.executable, "-m", "promontory", "watch", platform.match_id, *platform.access("ben")]
    watching = await asyncio.create_subprocess_exec(*command, stdout=asyncio.subprocess.PIPE)
    assert watching.stdout is not None
    first = await asyncio.wait_for(watching.stdout.readuntil(b"\n\n"), 20)
    await platform.finish()
    rest, _ = await asyncio.wait_for(watching.communicate(), 20)
    lines = (first + rest).decode().splitlines()
    assert lines[0] == f"{platform.match_id}: transcontinental/1, private, not rated, version 1"
    happened = [line.partition(":")[0] for line in lines if line.startswith(("version", "  card drawn", "  seat left"))]
    assert happened == ["version 2", "  card drawn", "version 3", "  seat left"]
    assert "over, resigned: 1. seat 1 with 0, 2. seat 0 with 0" in lines
    assert watching.returncode == 0


async def test_a_match_is_watched_as_json_lines(opened: Open, capsys: Output) -> None:
    """[README] One object for each commit, with where to resume."""
    platform = await opened("transcontinental")
    await platform.finish()
    assert await platform.show("--json", command="watch") == 0
    (update,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (update["version"], update["match"]["state"], bool(update["resume_token"])) == (3, "closed", True)


@pytest.mark.parametrize(
    ("options", "player", "problem"),
    [
        (("--seat", "0"), "ben", "SEAT_NOT_YOURS"),
        (("--seat", "7"), "ada", "SEAT_OUT_OF_RANGE"),
        (("--at", "99"), "ada", "VERSION_OUT_OF_RANGE"),
    ],
)
async def test_what_cannot_be_shown_ends_with_1_and_the_reason(
    opened: Open, capsys: Output, options: tuple[str, ...], player: str, problem: str
) -> None:
    """[style 7] Of another player's seat nothing is shown."""
    platform = await opened("transcontinental")
    assert await platform.show(*options, player=player) == 1
    captured = capsys.readouterr()
    assert (captured.out, problem in captured.err) == ("", True)


def test_an_id_of_no_game_is_refused(tmp_path: Path, capsys: Output) -> None:
    """Before anything is reached."""
    assert run("show", "zz-000-abc", "--data-dir", str(tmp_path)) == 1
    assert "no game 'zz'" in capsys.readouterr().err
