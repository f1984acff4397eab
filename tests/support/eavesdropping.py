"""A whole match played through the API while every byte that anybody gets is written down."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import grpc
import msgspec
from google.protobuf.message import Message

from promontory.api.match.v1 import match_pb2
from promontory.api.transcontinental.v1 import transcontinental_service_pb2 as pb
from promontory.bots.registry import policy
from promontory.codec.transcontinental import CODEC
from promontory.games.transcontinental.state import State
from promontory.games.transcontinental.vocabulary import Phase
from tests.support.hostile import METHODS, PLAIN, Attacker
from tests.support.serving import Metadata
from tests.support.transcontinental import DECK, GAME

PLAYERS = ("ada", "ben")
SPECTATOR = "eve"
DRAW: dict[str, Any] = {"draw_card": {"source": 1}}
AUDIENCES = (0, 1, None)
ASKED_SHARE = 0.5
PHASES = frozenset(phase.value for phase in Phase)
"""Refusals name the phase; one of them has the name of a card."""


class Heard(msgspec.Struct, frozen=True):
    """What `audience` was told of `version`: bytes, but for names that it had said itself."""

    audience: int | None
    version: int
    told: bytes
    said: frozenset[str] = frozenset()


class Match(msgspec.Struct):
    """A match being overheard: its id, where it stands, and all that was heard of it."""

    match_id: str
    version: int = 1
    heard: list[Heard] = msgspec.field(default_factory=list)


class Listener:
    """Plays both seats of a match, asks everything as everybody again and again, and writes down all answers."""

    def __init__(self, attacker: Attacker, match: Match) -> None:
        self._attacker, self._match = attacker, match
        self._choose, self._rng = policy(GAME, "greedy"), Random(1)

    def _who(self, audience: int | None) -> Metadata:
        return self._attacker.player(SPECTATOR if audience is None else PLAYERS[audience])

    async def ask(self, method: str, audience: int | None, **fields: Any) -> Any:
        """Write down what `audience` gets for a request with `fields`; return it, or None if it was refused."""
        version = fields.get("version") or self._match.version
        try:
            answer = await self._attacker.call(f"transcontinental.{method}", self._who(audience), **fields)
        except grpc.aio.AioRpcError as error:
            said = PHASES.union(card_id for card_id in DECK.ids if card_id in repr(fields))
            self._match.heard.append(Heard(audience, version, repr_of(error), said))
            return None
        if method != "SubmitCommand":
            self._match.heard += [Heard(audience, *piece) for piece in pieces(answer, version)]
        return answer

    async def ask_everything(self, view: Any, seat: int) -> None:
        """Ask as everybody what may be asked and what may not, for a match in which `seat` is to act."""
        match_id, early = self._match.match_id, self._rng.randint(1, self._match.version)
        guesses = [{"play_meld": {"card_ids": self._rng.sample(view.unseen_card_ids, 3)}}]
        mine, theirs = {"match_id": match_id, "seat": seat}, {"match_id": match_id, "seat": 1 - seat}
        for audience in AUDIENCES:
            await self.ask("GetMatch", audience, match_id=match_id, seat=audience)
            await self.ask("GetMatch", audience, match_id=match_id, seat=audience, version=early)
            await self.ask("GetMatch", audience, **theirs)
            await self.ask("ListLegalCommands", audience, **mine)
            await self.ask("PreviewCommand", audience, commands=[DRAW], **mine)
            await self.ask("SubmitCommand", audience, commands=guesses, request_id="guess", **theirs)
        await self.ask("PreviewCommand", seat, commands=[DRAW, *guesses], **mine)
        await self.ask("PreviewCommand", seat, commands=guesses, **mine)
        await self.ask("SubmitCommand", seat, commands=[DRAW, *guesses], request_id="peek", **mine)
        await self.ask("SubmitCommand", seat, commands=guesses, request_id="guess", **mine)

    async def list_all(self) -> None:
        """List the commits as everybody."""
        for audience in AUDIENCES:
            await self.ask("ListMatchEvents", audience, match_id=self._match.match_id, seat=audience, page_size=500)

    async def play(self) -> None:
        """Play the match to its end."""
        seats: Sequence[int] = (0,)
        while seats:
            seat = seats[0]
            shown = await self.ask("GetMatch", seat, match_id=self._match.match_id, seat=seat)
            if self._rng.random() < ASKED_SHARE:
                await self.ask_everything(shown.view, seat)
            command = CODEC.encode_command(self._choose(CODEC.decode_view(shown.view), self._rng))
            done = await self._submit(seat, command)
            seats = done.match.seats_to_act

    async def _submit(self, seat: int, command: Any) -> Any:
        request = {"match_id": self._match.match_id, "seat": seat, "request_id": f"{self._match.version}"}
        done = await self.ask("SubmitCommand", seat, commands=[command], **request)
        self._match.version = done.version
        if not done.match.HasField("outcome"):
            self._match.heard.append(Heard(seat, done.version, blanked(done).SerializeToString()))
        if done.version % 25 == 0 and not done.match.HasField("outcome"):
            await self.list_all()
        return done

    async def watch(self, audience: int | None) -> None:
        """Write down what a stream tells `audience`, to its end."""
        method = METHODS["transcontinental.WatchMatch"]
        path = f"/{method.containing_service.full_name}/{method.name}"
        request = pb.WatchMatchRequest(match_id=self._match.match_id, seat=audience).SerializeToString()
        call = self._attacker.channels["transcontinental"].unary_stream(path, *PLAIN)
        async for raw in call(request, metadata=self._who(audience)):
            message = pb.WatchMatchResponse.FromString(raw)
            self._match.heard += [Heard(audience, *piece) for piece in pieces(message, self._match.version)]


def pieces(message: Any, version: int) -> Iterator[tuple[int, bytes]]:
    """Yield what `message` tells, each piece with the version it tells of: `version` where it names none."""
    if isinstance(message, pb.ListMatchEventsResponse):
        yield from ((commit.version, blanked(commit).SerializeToString()) for commit in message.commits)
    elif isinstance(message, pb.WatchMatchResponse) and message.HasField("commit"):
        yield message.commit.version, blanked(message).SerializeToString()
    else:
        yield version, blanked(message).SerializeToString()


def blanked(message: Any) -> Any:
    """Return `message` without the lists of unseen cards, which name what is hidden, but nothing of where it is."""
    found = type(message)()
    found.CopyFrom(message)
    for view in _views(found):
        assert list(view.unseen_card_ids) == [each for each in DECK.ids if each in set(view.unseen_card_ids)]
        view.ClearField("unseen_card_ids")
    return found


def _views(message: Any) -> Iterator[Any]:
    if message.DESCRIPTOR.name == "GameView":
        yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for each in [value] if isinstance(value, Message) else value:
                yield from _views(each)


def repr_of(error: grpc.aio.AioRpcError) -> bytes:
    """Return all that a failed call tells."""
    trailers: Any = error.trailing_metadata() or ()
    parts = [value if isinstance(value, bytes) else value.encode() for _, value in trailers]
    return b"|".join([*parts, (error.details() or "").encode()])


def hidden(state: State, audience: int | None) -> frozenset[str]:
    """Return the cards that `audience` cannot know where they are."""
    sides = [state.cp, state.up]
    own = None if audience is None else state.of(state.side_of(audience))
    return frozenset(state.deck).union(*(side.hand - side.seen for side in sides if side is not own))


def states(commits: Sequence[Any]) -> Sequence[State]:
    """Return the state after each of the `commits` of a closed match."""
    state, found = GAME.initial(2), []
    for commit in commits:
        for event in commit.events:
            state = GAME.evolve(state, CODEC.decode_event(event))
        found.append(state)
    return found


def leaks(match: Match, truth: Sequence[State]) -> list[tuple[int | None, int, str]]:
    """Return who was told of which hidden card, at which version."""
    return [
        (heard.audience, heard.version, card_id)
        for heard in match.heard
        for card_id in hidden(truth[heard.version - 1], heard.audience) - heard.said
        if bytes([len(card_id)]) + card_id.encode() in heard.told
    ]


async def overhear(attacker: Attacker, request_id: str) -> tuple[Match, Sequence[State], bytes]:
    """Play a match and return what was heard of it while it was open, its true states, and its seed."""
    match = Match(await attacker.new_match(request_id, *PLAYERS))
    listener = Listener(attacker, match)
    watchers = [asyncio.create_task(listener.watch(audience)) for audience in AUDIENCES]
    await listener.play()
    await asyncio.gather(*watchers)
    all_of = {"match_id": match.match_id, "page_size": 500}
    listed = await attacker.call("transcontinental.ListMatchEvents", attacker.player(SPECTATOR), **all_of)
    shown = await attacker.call("transcontinental.GetMatch", attacker.player(SPECTATOR), match_id=match.match_id)
    return match, states(listed.commits), shown.match.fairness.server_seed


async def play_the_house(attacker: Attacker, request_id: str) -> str:
    """Play a rated match against a bot of the house to its end and return its id."""
    kinds = match_pb2.SeatKind
    seats = [
        match_pb2.SeatSetup(player_id="ada"),
        match_pb2.SeatSetup(player_id="house-greedy-1", kind=kinds.SEAT_KIND_HOUSE_BOT, bot_policy="greedy"),
    ]
    setup = match_pb2.MatchSetup(seats=seats, pool="transcontinental.ranked", rated=True)
    made = await attacker.call("transcontinental.CreateMatch", attacker.service(), request_id=request_id, setup=setup)
    match_id: str = made.match.match_id
    await _answer_turns(attacker, match_id)
    return match_id


async def _answer_turns(attacker: Attacker, match_id: str) -> None:
    choose, rng, who = policy(GAME, "greedy"), Random(1), attacker.player("ada")
    request = pb.WatchMatchRequest(match_id=match_id, seat=0).SerializeToString()
    method = METHODS["transcontinental.WatchMatch"]
    path = f"/{method.containing_service.full_name}/{method.name}"
    async for raw in attacker.channels["transcontinental"].unary_stream(path, *PLAIN)(request, metadata=who):
        message = pb.WatchMatchResponse.FromString(raw)
        told: Any = message.snapshot if message.HasField("snapshot") else message.commit
        if 0 in told.match.seats_to_act:
            command = CODEC.encode_command(choose(CODEC.decode_view(told.view), rng))
            fields = {"match_id": match_id, "seat": 0, "request_id": f"{told.match.version}", "commands": [command]}
            await attacker.call("transcontinental.SubmitCommand", who, **fields)
