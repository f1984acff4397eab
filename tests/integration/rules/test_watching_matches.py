"""Watching over real gRPC: a whole random game as each seat sees it, cuts, drains, slow readers."""

from __future__ import annotations

import asyncio
import re
import uuid
from collections.abc import Callable
from random import Random
from typing import Any

import grpc
import pytest

from promontory.api.match.v1 import stream_pb2
from promontory.codec.transcontinental import CODEC
from promontory.eventlog.redis_server import Connections
from promontory.eventlog.redis_streams import RedisEventLog
from promontory.games.transcontinental.commands import DrawCard
from promontory.games.transcontinental.vocabulary import Phase, Side, Source
from promontory.rules.domain import Step
from promontory.runtime import clock
from tests.support.random_play import near_legal, racer
from tests.support.refereeing import Bench
from tests.support.rules_servers import Client, RulesServer
from tests.support.serving import reason_of
from tests.support.transcontinental import seeded
from tests.support.waiting import eventually

ClientOf = Callable[..., Client]
CARD_FIELDS = {"card_id", "card_ids", "cp_card_ids", "up_card_ids", "hand_card_ids"}
OPEN_FIELDS = CARD_FIELDS | {"discard_card_ids", "opponent_known_card_ids"}


class Watcher:
    """Watches a match in a task of its own and keeps every message; `seat` None is a spectator."""

    def __init__(self, client: Client, match_id: str, seat: int | None, *, after: int | None = None) -> None:
        self.told: list[Any] = []
        self._after = after or 0
        self._call = client.stream("WatchMatch", match_id=match_id, seat=seat, after_version=after)
        self._task = asyncio.create_task(self._watch())

    async def _watch(self) -> None:
        async for message in self._call:
            self.told.append(message)

    @property
    def version(self) -> int:
        """The last version received, before the first the one watched after; raises what cut the stream."""
        if self._task.done() and not self._task.cancelled():
            self._task.result()
        versions = [message.commit.version or message.snapshot.match.version for message in self.told]
        return max(versions, default=self._after)

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


async def test_a_stream_cut_at_random_and_resumed_on_any_replica_misses_nothing(
    client_of: ClientOf, table: Table, truth: Bench
) -> None:
    """[WatchMatch] Resumes after any version on any replica, without gaps."""
    random, received, after = seeded(5), list[Any](), 1
    playing = asyncio.create_task(table.play(truth, until=60))
    while not (playing.done() and after == playing.result()):
        watcher = Watcher(client_of("ben", replica=random.randrange(2)), table.match_id, 1, after=after)
        await watcher.reached(after + random.randint(1, 12), unless=playing)
        received += commits(await watcher.cut())
        after = received[-1].version
    assert [commit.version for commit in received] == list(range(2, after + 1))
    listed = await client_of("ben").call("ListMatchEvents", match_id=table.match_id, seat=1)
    assert [list(commit.events) for commit in received] == [list(each.events) for each in listed.commits[1:]]


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
