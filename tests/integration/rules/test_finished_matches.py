"""What a real rules service shows of a match that is over: any version from every seat, replays, and forks."""

from __future__ import annotations

import asyncio
import json
import uuid
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack
from pathlib import Path
from random import Random

import grpc
import msgspec
import pytest

from promontory import AsyncClient, Client, Ending, FailedPrecondition, PermissionDenied, Update
from promontory.bots.registry import policy
from promontory.client.match_text import match_text
from promontory.client.seats import Seat
from promontory.games import registry
from promontory.rules.audit import audit, shipped_rulesets
from promontory.rules.domain import SeatSetup, Setup
from promontory.runtime.identity import PLAYER_SCOPES
from tests.support.commands import exit_code
from tests.support.rules_servers import Client as Caller
from tests.support.rules_servers import as_platform, as_player, rules_server
from tests.support.serving import TOKEN_LIFE, Keys

GAMES = [entry.name for entry in registry.GAMES]
PLAYERS = ("ada", "ben", "eve", "joe", "kim")
COMMANDS = 14
Output = pytest.CaptureFixture[str]


class Platform(msgspec.Struct, frozen=True):
    """A rules service of one game, and an open match on it."""

    game: str
    address: str
    channel: grpc.aio.Channel
    keys: Keys
    match_id: str

    def client(self, player: str) -> AsyncClient:
        """Return a client of `player`."""
        return AsyncClient(self.address, token=self.token(player))

    def token(self, player: str) -> str:
        """Return a token of `player`."""
        return self.keys.players.mint(player, PLAYER_SCOPES, life=TOKEN_LIFE)

    def caller(self, player: str) -> Caller:
        """Return what speaks the service's messages as `player`."""
        return Caller(self.channel, as_player(self.keys, player), game=self.game)

    async def played(self) -> list[list[Update]]:
        """Play the match for a while and cancel it; return what each seat was shown live."""
        async with AsyncExitStack() as stack:
            players = PLAYERS[: registry.game(self.game).seats.start]
            clients = [await stack.enter_async_context(self.client(player)) for player in players]
            seats = [client.seat(self.game, self.match_id, seat) for seat, client in enumerate(clients)]
            watching = [asyncio.create_task(shown_to(seat)) for seat in seats]
            await play(seats, COMMANDS)
            for seat in seats:
                await seat.offer(Ending.CANCEL)
            return await asyncio.gather(*watching)


async def shown_to(seat: Seat) -> list[Update]:
    return [update async for update in seat]


async def play(seats: Sequence[Seat], commands: int) -> None:
    """Submit so many commands of the greedy policy, each by the first seat that is to act."""
    choose = policy(await seats[0].rules(), "greedy")
    for number in range(commands):
        acting = (await seats[0].look()).match.seats_to_act[0]
        update = await seats[acting].look()
        await seats[acting].submit(choose(update.view, Random(number)), expected_version=update.version)


@pytest.fixture(params=GAMES)
async def platform(
    request: pytest.FixtureRequest, redis_connections: object, valkey_url: str, keys: Keys
) -> AsyncIterator[Platform]:
    """Each game in turn."""
    game: str = request.param
    async with (
        rules_server(valkey_url, keys, game=game, buckets=4) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        setup = Setup(tuple(map(SeatSetup, PLAYERS[: registry.game(game).seats.start])))
        match_id = await Caller(channel, as_platform(keys), game=game).create(uuid.uuid4().hex, setup)
        yield Platform(game, server.address, channel, keys, match_id)


only_transcontinental = pytest.mark.parametrize("platform", ["transcontinental"], indirect=True)


async def test_everybody_sees_a_finished_match_as_each_seat_saw_it_live(platform: Platform) -> None:
    """[GetMatch, ListMatchEvents, replay] The same by version, in lists, and from the audit file."""
    shown = await platform.played()
    async with platform.client("zoe") as zoe:
        replay = await zoe.replay(platform.match_id)
        for seat, updates in enumerate(shown):
            looked = [await zoe.seat(platform.game, platform.match_id, seat).look(each.version) for each in updates]
            assert [each.view for each in looked] == [each.view for each in updates]
            assert [replay.at(each.version, seat=seat).view for each in updates] == [each.view for each in updates]
            listed = await platform.caller("zoe").call(
                "ListMatchEvents", match_id=platform.match_id, seat=seat, as_seen=True
            )
            decode = platform.caller("zoe").ruleset.codec.decode_event
            seen = {commit.version: tuple(map(decode, commit.events)) for commit in listed.commits}
            told = {update.version: update.events for update in updates if update.version > 1}
            assert {version: seen[version] for version in told} == told
            watched = [update async for update in zoe.watch(platform.match_id, seat=seat, after=1)]
            assert [(each.view, each.events) for each in watched][-3:] == [
                (each.view, each.events) for each in updates
            ][-3:]
            assert {version: replay.at(version, seat=seat).events for version in told} == told


async def test_in_full_a_finished_match_hides_nothing(platform: Platform) -> None:
    """[GetMatch.full] All seats' views at the version, and the piles that nobody sees."""
    shown = await platform.played()
    answer = await platform.caller("zoe").call("GetMatch", match_id=platform.match_id, version=5, full=True)
    async with platform.client("zoe") as zoe:
        full = (await zoe.replay(platform.match_id)).full(5)
    decode = platform.caller("zoe").ruleset.codec.decode_view
    assert tuple(map(decode, answer.seat_views)) == full.views
    assert [(pile.name, tuple(pile.item_ids)) for pile in answer.hidden_piles] == [
        (pile.name, pile.item_ids) for pile in full.hidden
    ]
    assert (len(shown), answer.match.version) == (len(answer.seat_views), 5)


@only_transcontinental
async def test_an_open_match_is_shown_to_nobody_but_its_seats(platform: Platform) -> None:
    """[MATCH_OPEN] Nothing in full, no replay and no fork; and no other's seat, at no version."""
    async with platform.client("ben") as ben:
        for call in (
            ben.replay(platform.match_id),
            ben.fork(platform.match_id, 1),
        ):
            with pytest.raises(FailedPrecondition) as refused:
                await call
            assert refused.value.reason == "MATCH_OPEN"
        with pytest.raises(PermissionDenied):
            await ben.seat("transcontinental", platform.match_id, 0).look(1)
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        await platform.caller("ada").call("GetMatch", match_id=platform.match_id, seat=0, full=True)
    assert failed.value.code() is grpc.StatusCode.FAILED_PRECONDITION
    answer = await platform.caller("ben").call("ListMatchEvents", match_id=platform.match_id, as_seen=True)
    assert list(answer.commits[0].events[2].hands_dealt.cp_card_ids) == []


async def test_a_fork_is_played_on_and_its_file_is_in_order(platform: Platform) -> None:
    """[ForkMatch] By one who did not even play, alone; the original is not touched."""
    await platform.played()
    async with platform.client("zoe") as zoe:
        original = (await zoe.spectate(platform.game, platform.match_id).look()).match
        fork = await zoe.fork(platform.match_id, 7, request_id="mine")
        assert await same(zoe, platform, fork.match_id)
        assert (len(fork.seats), fork.match.pool, fork.match.rated) == (len(original.seats), "", False)
        assert fork.match.forked_from is not None
        assert (fork.match.forked_from.match_id, fork.match.forked_from.version) == (platform.match_id, 7)
        shown = match_text(await fork.seats[0].look(), await fork.seats[0].rules())
        assert f"forked from {platform.match_id} at version 7" in shown.splitlines()
        await play(fork.seats, 5)
        for seat in fork.seats[1:]:
            await seat.resign()
        files = [await zoe.export_match(platform.game, each) for each in (fork.match_id, platform.match_id)]
        assert (await zoe.spectate(platform.game, platform.match_id).look()).match == original
    report = audit(files[0], shipped_rulesets(), originals=files[1:])
    assert (report.cause, report.past_checked, report.commits) == (None, True, 7)


async def same(zoe: AsyncClient, platform: Platform, match_id: str) -> bool:
    """Tell whether asking for the fork again gives it again."""
    return (await zoe.fork(platform.match_id, 7, request_id="mine")).match_id == match_id


@only_transcontinental
async def test_without_asyncio_it_is_the_same(platform: Platform) -> None:
    """[Client.replay, Client.fork] Against a bot of the house, which has the other seat."""
    await platform.played()

    def use() -> tuple[int, list[int], str, int]:
        with Client(platform.address, token=platform.token("zoe")) as client:
            last = client.replay(platform.match_id).last
            fork = client.fork(platform.match_id, 3, seats=["greedy", None])
            closed = fork.seats[0].resign()
            return last, [seat.seat for seat in fork.seats], fork.match.seats[0].bot_policy, closed.version

    assert await asyncio.to_thread(use) == (COMMANDS + 3, [1], "greedy", 2)


@only_transcontinental
async def test_the_command_replays_a_match_of_the_platform(platform: Platform, tmp_path: Path, capsys: Output) -> None:
    """[README] By the match's id, as anybody."""
    await platform.played()
    token = tmp_path / "token"
    token.write_text(platform.token("zoe"))
    where = ("--endpoints", platform.address, "--token-file", str(token))

    assert await asyncio.to_thread(exit_code, "replay", platform.match_id, "--json", "--seat", 1, *where) == 0
    steps = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [step["version"] for step in steps] == list(range(1, COMMANDS + 4))
    assert steps[-1]["outcome"] == {"reason": "cancelled", "placements": []}
