"""Watching over real gRPC: a whole random game as each seat sees it, cuts, drains, slow readers."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import AsyncIterator, Callable
from random import Random
from typing import Any

import grpc
import pytest

from promontory import AsyncClient, Update
from promontory.api.match.v1 import stream_pb2
from promontory.codec.transcontinental import CODEC
from promontory.eventlog.redis_server import Connections
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.games.transcontinental.commands import DrawCard
from promontory.games.transcontinental.vocabulary import Phase, Side, Source
from promontory.rules.domain import Setup, Step
from promontory.rules.presenter import Presenter
from promontory.runtime import clock, metrics
from tests.client.wire import Wire
from tests.support.presenting import commit_told
from tests.support.random_play import near_legal, racer
from tests.support.refereeing import Bench
from tests.support.rules_servers import TWO_PLAYERS, Client, RulesServer, as_player, rules_server
from tests.support.serving import Keys, reason_of
from tests.support.transcontinental import seeded
from tests.support.waiting import eventually

ClientOf = Callable[..., Client]
CARD_FIELDS = {"card_id", "card_ids", "cp_card_ids", "up_card_ids", "hand_card_ids"}
OPEN_FIELDS = CARD_FIELDS | {"discard_card_ids", "opponent_known_card_ids"}


class Watcher:
    """Watches a match in a task of its own and keeps every message; `seat` None is a spectator."""

    def __init__(
        self, client: Client, match_id: str, seat: int | None, *, after: int | None = None, token: bytes | None = None
    ) -> None:
        self.told: list[Any] = []
        self._after = after or 0
        by = {"after_version": after} if token is None else {"resume_token": token}
        self._call = client.stream("WatchMatch", match_id=match_id, seat=seat, **by)
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        async for message in self._call:
            self.told.append(message)

    @property
    def version(self) -> int:
        """The last version received, or the one watched after if there was none; raises what cut the stream."""
        if self._task.done() and not self._task.cancelled():
            self._task.result()
        versions = [message.commit.version or message.snapshot.match.version for message in self.told]
        return max([self._after, *versions])

    async def reached(self, version: int, *, unless: asyncio.Task[int] | None = None) -> None:
        """Wait until `version` was received, or the last one there is, once `unless` has ended and tells which."""

        async def has_come() -> bool:
            return self.version >= (min(version, unless.result()) if unless and unless.done() else version)

        await eventually(has_come)

    async def end(self) -> list[Any]:
        """Wait for the end of the stream, and return all messages."""
        await asyncio.wait_for(self._task, 20)
        return self.told

    async def cut(self) -> list[Any]:
        """Cut the stream, and return all messages."""
        self._call.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        return self.told


class Table:
    """Two players who play at random over gRPC, on one replica each, and try forbidden and foreseeing things."""

    def __init__(self, client_of: ClientOf, match_id: str, random: Random) -> None:
        self.match_id, self._random = match_id, random
        self.players = [client_of("ada", replica=0), client_of("ben", replica=1)]
        self.answers: list[tuple[int, int, Any]] = []

    async def play(self, steps: Bench, *, until: int = 10_000) -> int:
        """Play until the match is closed or at version `until`; return the version it is at.

        Answers, previews and legal commands are kept as (seat, version, message).
        """
        match = await steps.matches.fresh(self.match_id)
        while match.to_act and match.version < until:
            seat, player = match.to_act[0], self.players[match.to_act[0]]
            legal = await player.call("ListLegalCommands", match_id=self.match_id, seat=seat)
            choice = racer(match.state, seat, CODEC.decode_legal(legal.legal), self._random)
            command = CODEC.encode_command(choice)
            seen = await player.call("PreviewCommand", match_id=self.match_id, seat=seat, commands=[command])
            self.answers += [(seat, match.version, legal), (seat, match.version, seen)]
            done = await player.submit(self.match_id, choice, request_id=uuid.uuid4().hex, expected=match.version)
            self.answers.append((seat, done.version, done))
            match = await steps.matches.fresh(self.match_id)
        return match.version

    async def refusals(self, steps: Bench, count: int) -> list[tuple[int, set[str]]]:
        """Try `count` things near what is legal without submitting; return seats and the words of the refusals.

        Left out are the cards that the command itself named, and phases, one of which is called like a card.
        """
        match = await steps.matches.fresh(self.match_id)
        texts = []
        for _ in range(count):
            command = near_legal(match.state, self._random)
            call = self.players[command.seat].call(
                "PreviewCommand",
                match_id=self.match_id,
                seat=command.seat,
                commands=[CODEC.encode_command(command)],
            )
            try:
                await call
            except grpc.aio.AioRpcError as error:
                words = set(re.findall(r"[a-z-]+", f"{error.details()}"))
                texts.append((command.seat, words.difference(getattr(command, "card_ids", ()), Phase)))
        return texts


@pytest.fixture
def truth(redis_connections: Connections) -> Bench:
    """A fold of the log itself, which no seat sees."""
    clients = redis_connections
    return Bench(RedisEventLog(clients.commands, blocking=clients.blocking, clock=clock.now_ms))


def named(message: Any, fields: set[str]) -> set[str]:
    """Return the card ids in the fields of `message` called so, at any depth."""
    found: set[str] = set()
    for field, value in message.ListFields():
        if field.name in fields:
            found.update([value] if isinstance(value, str) else value)
        elif field.message_type is not None:
            found.update(*(named(each, fields) for each in (value if field.is_repeated else [value])))
    return found


def hidden(step: Step, seat: int | None) -> set[str]:
    """Return the cards hidden from `seat` after `step`: in the deck or in another hand, and not seen going there."""
    state = step.match.state
    own = None if seat is None else state.side_of(seat)
    hands = [state.of(side) for side in Side if side != own]
    return set(state.deck).union(*(hand.hand - hand.seen for hand in hands))


def leaks(told: list[tuple[int, Any]], steps: list[Step], seat: int | None) -> list[tuple[int, set[str]]]:
    """Return the versions at which a message names what is hidden from `seat` at that version, and the cards."""
    found = [(version, named(message, OPEN_FIELDS) & hidden(steps[version - 1], seat)) for version, message in told]
    return [(version, cards) for version, cards in found if cards]


def commits(told: list[Any]) -> list[Any]:
    return [message.commit for message in told if message.HasField("commit")]


@pytest.fixture
def table(client_of: ClientOf, match_id: str) -> Table:
    return Table(client_of, match_id, seeded(11))


async def test_in_a_whole_random_game_no_seat_is_told_what_is_hidden_from_it(
    client_of: ClientOf, table: Table, truth: Bench
) -> None:
    """[Transcontinental 11.3] Snapshots, commits, answers, legal commands, previews: the test of secrecy."""
    names: list[tuple[str, int | None]] = [("ada", 0), ("ben", 1), ("eve", None)]
    watchers = [Watcher(client_of(name, replica=1), table.match_id, seat) for name, seat in names]
    await asyncio.gather(*(watcher.reached(1) for watcher in watchers))
    last = await table.play(truth)
    told = [await watcher.end() for watcher in watchers]
    steps = list(await truth.matches.history(table.match_id, last=last))
    for (_, seat), messages in zip(names, told, strict=True):
        versions = [(message.commit.version or message.snapshot.match.version, message) for message in messages[:-1]]
        assert [version for version, _ in versions] == list(range(1, last + 1))
        assert leaks(versions, steps, seat) == []
        assert messages[-1].end.reason == stream_pb2.STREAM_END_REASON_MATCH_CLOSED
    for seat in (0, 1):
        answers = [(version, message) for owner, version, message in table.answers if owner == seat]
        assert leaks(answers, steps, seat) == []


async def test_stream_answers_list_and_earlier_versions_agree(client_of: ClientOf, table: Table, truth: Bench) -> None:
    """[architecture 3] What a seat sees is the same code for snapshot, stream, history."""
    ada = client_of("ada", replica=1)
    watcher = Watcher(ada, table.match_id, 0)
    await watcher.reached(1)
    last = await table.play(truth, until=25)
    await watcher.reached(last)
    seen = commits(await watcher.cut())
    listed = await ada.call("ListMatchEvents", match_id=table.match_id, seat=0)
    assert [list(commit.events) for commit in seen] == [list(commit.events) for commit in listed.commits[1:]]
    for commit in seen[::5]:
        shown = await ada.call("GetMatch", match_id=table.match_id, seat=0, version=commit.version)
        assert (shown.view, shown.match) == (commit.view, commit.match)
    own = {answer.version: answer for seat, _, answer in table.answers if seat == 0 and hasattr(answer, "view")}
    assert {version: answer.view for version, answer in own.items()} == {
        commit.version: commit.view for commit in seen if commit.version in own
    }


async def test_refusals_name_no_hidden_card(client_of: ClientOf, table: Table, truth: Bench) -> None:
    """[Transcontinental 9.2] CARD_NOT_IN_HAND tells what the client itself named, and nothing else."""
    await table.play(truth, until=12)
    texts = await table.refusals(truth, 60)
    step = await truth.matches.step(table.match_id, 12)
    assert len(texts) > 20
    assert [words & hidden(step, seat) for seat, words in texts if words & hidden(step, seat)] == []


class Unlucky:
    """Follows a match from version 1 on, over streams that are cut at random and taken up on either replica."""

    def __init__(self, client_of: ClientOf, name: str, seat: int | None, random: Random) -> None:
        self._client_of, self._name, self._seat, self._random = client_of, name, seat, random
        self.received: list[Any] = []
        self.by_token = 0

    async def follow(self, match_id: str, playing: asyncio.Task[int]) -> None:
        """Follow the match that somebody is `playing` to its end, by version or by token as it comes."""
        after, token = 1, None
        while not (playing.done() and after == playing.result()):
            client = self._client_of(self._name, replica=self._random.randrange(2))
            chosen = self._random.choice((token, None))
            self.by_token += chosen is not None
            watcher = Watcher(client, match_id, self._seat, after=after, token=chosen)
            await watcher.reached(after + self._random.randint(1, 12), unless=playing)
            for message in [each for each in await watcher.cut() if each.HasField("commit")]:
                self.received.append(message.commit)
                after, token = message.commit.version, message.resume_token


@pytest.mark.parametrize(("name", "seat"), [("ben", 1), ("eve", None)], ids=["a seat", "a spectator"])
async def test_streams_cut_at_random_through_a_whole_match_tell_what_the_log_tells(
    client_of: ClientOf, truth: Bench, name: str, seat: int | None
) -> None:
    """[WatchMatch] Resumed by version or token on any replica: no gap, and byte by byte the same, early or late."""
    setup = Setup(TWO_PLAYERS.seats, spectator_delay=4)
    match_id = await client_of("platform").create(uuid.uuid4().hex, setup)
    playing = asyncio.create_task(Table(client_of, match_id, seeded(11)).play(truth))
    unlucky = Unlucky(client_of, name, seat, seeded(5))
    await unlucky.follow(match_id, playing)
    present, steps = Presenter(truth.ruleset), await truth.matches.history(match_id, last=await playing)
    told = [commit.SerializeToString(deterministic=True) for commit in unlucky.received]
    assert told == [commit_told(present, step, seat).SerializeToString(deterministic=True) for step in steps[1:]]
    assert steps[-1].match.is_closed
    assert unlucky.by_token > 0


@pytest.fixture
async def wired(redis_connections: Connections, valkey_url: str, keys: Keys) -> AsyncIterator[tuple[RulesServer, Wire]]:
    """A server that is quick to notice that nobody is there any more, and a wire to it."""
    quick: Any = {"heartbeat_seconds": 0.1, "keepalive_seconds": 0.6}
    async with rules_server(valkey_url, keys, buckets=4, **quick) as server, Wire(server.address) as wire:
        yield server, wire


async def test_a_player_whose_connection_went_dead_goes_on_over_another(
    wired: tuple[RulesServer, Wire], client_of: ClientOf, match_id: str, truth: Bench, keys: Keys
) -> None:
    """[WatchMatchResponse.heartbeat_interval] After two and a half heartbeats that did not come, and without a gap."""
    updates = list[Update]()
    async with AsyncClient(wired[1].address, token=token_of(keys, "eve")) as watching:
        following = asyncio.create_task(collect(watching.watch(match_id), updates))
        await eventually(lambda: true(updates))
        wired[1].deaden()
        last = await Table(client_of, match_id, seeded(11)).play(truth, until=10)
        await eventually(lambda: true(updates[-1].version == last))
        following.cancel()
    assert [update.version for update in updates] == list(range(1, last + 1))
    assert wired[1].connections == 2


async def test_watchers_that_vanished_without_a_word_are_given_up(
    wired: tuple[RulesServer, Wire], match_id: str, keys: Keys
) -> None:
    """[event_log P74] A ping that nobody answers ends them; heartbeats alone would go into the void for long."""
    gauge = metrics.WATCHERS.labels(game="transcontinental")
    before = gauge._value.get()
    async with grpc.aio.insecure_channel(wired[1].address) as channel:
        watchers = [Watcher(Client(channel, as_player(keys, "eve")), match_id, None) for _ in range(5)]
        await asyncio.gather(*(watcher.reached(1) for watcher in watchers))
        assert gauge._value.get() == before + 5
        wired[1].deaden()
        await eventually(lambda: true(gauge._value.get() == before))
        await asyncio.gather(*(watcher.cut() for watcher in watchers))


async def collect(updates: AsyncIterator[Update], into: list[Update]) -> None:
    async for update in updates:
        into.append(update)


async def true(value: object) -> object:
    return value


def token_of(keys: Keys, name: str) -> str:
    return as_player(keys, name)[0][1].removeprefix("Bearer ")


async def test_draining_ends_streams_and_the_other_replica_carries_on(
    servers: list[RulesServer], client_of: ClientOf, match_id: str
) -> None:
    """[SERVER_DRAINING] Watch again after the last version received, on any replica."""
    watcher = Watcher(client_of("ada"), match_id, 0)
    await watcher.reached(1)
    await servers[0].drain()
    end = (await watcher.end())[-1].end
    assert (end.reason, end.version, end.resumable) == (stream_pb2.STREAM_END_REASON_SERVER_DRAINING, 1, True)
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await anext(aiter(client_of("ada").stream("WatchMatch", match_id=match_id)))
    assert (error.value.code().name, reason_of(error.value)) == ("UNAVAILABLE", "SERVER_DRAINING")
    resumed = Watcher(client_of("ada", replica=1), match_id, 0, after=end.version)
    await client_of("ada").submit(match_id, DrawCard(0, Source.DECK), request_id="1")
    await resumed.reached(2)
    assert [commit.version for commit in commits(await resumed.cut())] == [2]


async def test_a_stream_of_the_greatest_age_says_where_to_go_on(
    valkey_url: str, client_of: ClientOf, match_id: str, keys: Keys
) -> None:
    """[MAX_AGE] A typed end, and its token is taken by any replica."""
    async with (
        rules_server(valkey_url, keys, buckets=4, max_stream_seconds=0.2) as server,
        grpc.aio.insecure_channel(server.address) as channel,
    ):
        end = (await Watcher(Client(channel, as_player(keys, "ada")), match_id, 0).end())[-1]
    assert (end.end.reason, end.end.version, end.end.resumable) == (stream_pb2.STREAM_END_REASON_MAX_AGE, 1, True)
    resumed = Watcher(client_of("ada", replica=1), match_id, 0, token=end.resume_token)
    await client_of("ada").submit(match_id, DrawCard(0, Source.DECK), request_id="1")
    await resumed.reached(2)
    assert [commit.version for commit in commits(await resumed.cut())] == [2]


async def test_a_token_of_another_seat_is_refused_by_its_field(client_of: ClientOf, match_id: str) -> None:
    """[BAD_REQUEST] Before anything is shown."""
    watcher = Watcher(client_of("ada"), match_id, 0)
    await watcher.reached(1)
    token = (await watcher.cut())[0].resume_token
    with pytest.raises(grpc.aio.AioRpcError) as error:
        await Watcher(client_of("ben"), match_id, 1, token=token).end()
    assert (error.value.code().name, reason_of(error.value)) == ("INVALID_ARGUMENT", "BAD_REQUEST")


async def test_a_commit_on_one_replica_reaches_watchers_on_the_other(client_of: ClientOf, match_id: str) -> None:
    """[architecture 2] There is no affinity between a match and a process."""
    watcher = Watcher(client_of("eve", replica=1), match_id, None)
    await watcher.reached(1)
    await client_of("ada", replica=0).submit(match_id, DrawCard(0, Source.DECK), request_id="1")
    await watcher.reached(2)
    (commit,) = commits(await watcher.cut())
    assert [event.WhichOneof("kind") for event in commit.events] == ["card_drawn"]
    assert commit.events[0].card_drawn.card_id == ""


async def test_streams_that_clients_cut_leave_no_watcher_behind(
    servers: list[RulesServer], client_of: ClientOf, match_id: str
) -> None:
    """[grpc#43360] Cancellation propagates out of the streaming method, and everything is given back."""
    watchers = [Watcher(client_of("eve"), match_id, None) for _ in range(20)]
    await asyncio.gather(*(watcher.reached(1) for watcher in watchers))
    await asyncio.gather(*(watcher.cut() for watcher in watchers))
    hub = servers[0].service.servicers[0][1]._hub  # type: ignore[attr-defined]

    async def nobody_watches() -> bool:
        return not hub._lanes

    await eventually(nobody_watches)
