"""A rules service for Transcontinental that lives in the test, plays by the real rules, and fails as it is told."""

# ruff: noqa: N802 - methods are named as in the protos

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec
from google.protobuf.duration_pb2 import Duration
from google.protobuf.timestamp_pb2 import Timestamp

from promontory.api.match.v1 import match_pb2, stream_pb2
from promontory.api.transcontinental.v1 import transcontinental_service_pb2 as pb
from promontory.codec.transcontinental import CODEC
from promontory.games.fairness import KeyedDraws
from promontory.games.kernel import fold
from promontory.games.registry import game
from promontory.games.transcontinental.cards import shipped_cards
from promontory.games.transcontinental.events import Event
from promontory.games.transcontinental.state import State
from promontory.rules.playing import PlayStream
from promontory.rules.presenter import Told
from promontory.runtime.errors import Kind, Refusal, malformed
from promontory.runtime.identity import caller

SERVICE = pb.DESCRIPTOR.services_by_name["TranscontinentalService"]
GAME = game("transcontinental")
NOON = Timestamp(seconds=1_700_000_000)
UNAVAILABLE = Refusal(Kind.UNAVAILABLE, "EVENT_LOG_UNAVAILABLE", "out of order")
HANG = object()
"""A fault: never answer."""

StreamEnd = stream_pb2.StreamEnd
Cut = tuple[int, Any]


class Recorded(msgspec.Struct, frozen=True):
    """One commit: the events, and the state after them."""

    events: tuple[Event, ...]
    state: State


class Faults:
    """What is to go wrong, call by call, and what has been called; `on_call` holds what else a call sets off."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, Any]] = []
        self.hanging = 0
        self.on_call: dict[str, Callable[[], object]] = {}
        self._before: dict[str, list[Any]] = defaultdict(list)
        self._after: dict[str, list[Any]] = defaultdict(list)
        self._cuts: list[Cut] = []

    def refuse(self, method: str, *errors: Any) -> None:
        """Fail the next calls of `method` before they do anything; None lets one pass, `HANG` never answers."""
        self._before[method] += errors

    def lose_answer(self, method: str, *errors: Any) -> None:
        """Do what the next calls of `method` ask for, then fail."""
        self._after[method] += errors

    def cut(self, *cuts: Cut) -> None:
        """End the next streams after so many messages: by an error, `HANG`, a `StreamEnd`, or just so (None)."""
        self._cuts += cuts

    def requests(self, method: str) -> list[Any]:
        """Return the requests of all calls of `method`, in order."""
        return [request for name, request in self.calls if name == method]

    @contextmanager
    def call(self, method: str, request: Any) -> Iterator[None]:
        """Note a call, and fail it before or after the body as planned."""
        self.calls.append((method, request))
        self.on_call.get(method, _nothing)()
        _raise(self._before[method])
        yield
        _raise(self._after[method])

    async def hang_if_told(self, method: str) -> None:
        """Never return if the next call of `method` is not to be answered."""
        if self._before[method][:1] == [HANG]:
            self._before[method].pop(0)
            self.hanging += 1
            await asyncio.Event().wait()

    def next_cut(self) -> Cut | None:
        """Return how the stream that begins now ends, or None if nothing is planned."""
        return self._cuts.pop(0) if self._cuts else None


def _nothing() -> None:
    pass


def _raise(planned: list[Any]) -> None:
    error = planned.pop(0) if planned else None
    if error is not None:
        raise error


class Referee:
    """The servicer: one match, `tc-000-test`, between `ada` (seat 0) and `bob` (seat 1).

    Streams send every commit `repeats` times, and those of the versions in `skips` not at all. Their resume tokens are
    the versions in words, and with `takes_tokens` off none is taken. They say that they have a heartbeat every
    `told_heartbeat_seconds`, or say nothing. Whatever data the match is said to be pinned to, only the shipped deck is
    given.
    """

    match_id = "tc-000-test"
    players = ("ada", "bob")

    def __init__(self, faults: Faults | None = None, *, heartbeat_seconds: float = 10) -> None:
        self.faults = faults or Faults()
        self.commits: list[Recorded] = []
        self.open_streams = 0
        self.heartbeats = 0
        self.repeats = 1
        self.takes_tokens = True
        self.told_heartbeat_seconds = 0.0
        self.data_hash = GAME.data_hash
        self.skips: set[int] = set()
        self.streams: Any = Streams(self)
        self.heartbeat_seconds = heartbeat_seconds
        self._draws = KeyedDraws(b"test", GAME.name)
        self._answers: dict[str, tuple[bytes, int]] = {}
        self._changed = asyncio.Condition()
        state = GAME.initial(2)
        self._record(state, GAME.begin(state, self._draws, draw_start=False))

    @property
    def state(self) -> State:
        """The state of the match."""
        return self.commits[-1].state

    @property
    def version(self) -> int:
        """The version of the match."""
        return len(self.commits)

    async def play(self, policy: Callable[[Any, Any], Any], rng: Any, *, until: int) -> None:
        """Let `policy` act for whoever is to act, until the match is at version `until` or over."""
        while self.version < until and (seats := GAME.to_act(self.state)):
            await self._commit(policy(GAME.view(self.state, seats[0]), rng))

    async def GetMatch(self, request: pb.GetMatchRequest, context: Any) -> pb.GetMatchResponse:
        await self.faults.hang_if_told("GetMatch")
        with self.faults.call("GetMatch", request):
            if request.match_id != self.match_id:
                raise Refusal(Kind.NOT_FOUND, "MATCH_NOT_FOUND", "no such match", metadata={"matchId": "?"})
            version = request.version or self.version
            return pb.GetMatchResponse(match=self._match(version), view=self._view(version, _seat(request)))

    async def GetGameData(self, request: pb.GetGameDataRequest, context: Any) -> pb.GetGameDataResponse:
        with self.faults.call("GetGameData", request):
            return pb.GetGameDataResponse(
                rules_version=GAME.rules_version, data_hash=request.data_hash, data=shipped_cards()
            )

    async def ListLegalCommands(
        self, request: pb.ListLegalCommandsRequest, context: Any
    ) -> pb.ListLegalCommandsResponse:
        with self.faults.call("ListLegalCommands", request):
            legal: Any = CODEC.encode_legal(GAME.legal(self.state, request.seat))
            return pb.ListLegalCommandsResponse(version=self.version, legal=legal)

    async def SubmitCommand(self, request: pb.SubmitCommandRequest, context: Any) -> pb.SubmitCommandResponse:
        await self.faults.hang_if_told("SubmitCommand")
        with self.faults.call("SubmitCommand", request):
            version = await self._submit(request)
            return pb.SubmitCommandResponse(
                version=version,
                events=self._events(version, request.seat),
                view=self._view(version, request.seat),
                match=self._match(version),
            )

    async def PreviewCommand(self, request: pb.PreviewCommandRequest, context: Any) -> pb.PreviewCommandResponse:
        with self.faults.call("PreviewCommand", request):
            events = [e for command in request.commands for e in self._decided(command, request.seat)]
            known: list[Any] = [CODEC.encode_event(event) for event in events if GAME.foreseeable(self.state, event)]
            return pb.PreviewCommandResponse(version=self.version, events=known, ends_early=len(known) < len(events))

    async def WatchMatch(self, request: pb.WatchMatchRequest, context: Any) -> AsyncIterator[pb.WatchMatchResponse]:
        with self.faults.call("WatchMatch", request):
            if request.resume_token and not self.takes_tokens:
                raise malformed("resume_token", "was issued by somebody else")
            self.open_streams += 1
            try:
                async for message in cut_short(self._watch(request), self.faults.next_cut()):
                    yield self._completed(message)
            finally:
                self.open_streams -= 1

    async def Play(self, requests: Any, context: Any) -> AsyncIterator[pb.PlayResponse]:
        with self.faults.call("Play", None):
            async for response in PlayStream(Streamed(self), requests, self.streams, pb).responses():
                yield response

    async def ListMatchEvents(self, request: pb.ListMatchEventsRequest, context: Any) -> pb.ListMatchEventsResponse:
        with self.faults.call("ListMatchEvents", request):
            first = int(request.page_token or 1)
            versions = range(first, min(first + 5, self.version + 1))
            commits = [pb.Commit(version=v, record_time=NOON, events=self._events(v, _seat(request))) for v in versions]
            more = versions.stop <= self.version
            return pb.ListMatchEventsResponse(commits=commits, next_page_token=str(versions.stop) if more else "")

    async def Resign(self, request: pb.ResignRequest, context: Any) -> pb.ResignResponse:
        with self.faults.call("Resign", request):
            await self._commit(GAME.resign(request.seat))
            return pb.ResignResponse(version=self.version, match=self._match(self.version))

    async def ExportMatch(self, request: pb.ExportMatchRequest, context: Any) -> AsyncIterator[pb.ExportMatchResponse]:
        with self.faults.call("ExportMatch", request):
            pieces = _each(pb.ExportMatchResponse(chunk=chunk) for chunk in (b"one ", b"two ", b"three"))
            async for message in cut_short(pieces, self.faults.next_cut()):
                yield message

    async def CreateMatch(self, request: Any, context: Any) -> Any:
        raise NotImplementedError

    async def _unwanted(self, request: Any, context: Any) -> Any:
        raise NotImplementedError

    PlayAutomatically = AbortMatch = ClaimAbandoned = OfferEnding = DeclineEnding = EnforceClock = ForkMatch = _unwanted
    CancelMatch = _unwanted

    async def _submit(self, request: pb.SubmitCommandRequest) -> int:
        if caller().subject != self.players[request.seat]:
            raise Refusal(Kind.NOT_ALLOWED, "SEAT_NOT_YOURS", "the seat is another's", metadata={"seat": request.seat})
        content = request.SerializeToString(deterministic=True)
        if request.request_id in self._answers:
            assert self._answers[request.request_id][0] == content
            return self._answers[request.request_id][1]
        if request.HasField("expected_version") and request.expected_version != self.version:
            metadata = {"currentVersion": self.version}
            raise Refusal(Kind.CONFLICT, "VERSION_CONFLICT", "the match has moved", metadata=metadata)
        (message,) = request.commands
        await self._commit(CODEC.decode_command(message, request.seat))
        self._answers[request.request_id] = content, self.version
        return self.version

    async def _commit(self, command: Any) -> None:
        self._record(self.state, GAME.decide(self.state, command, self._draws))
        async with self._changed:
            self._changed.notify_all()

    def _record(self, state: State, events: tuple[Event, ...]) -> None:
        self.commits.append(Recorded(events, fold(GAME, state, events)))

    def _decided(self, message: Any, seat: int) -> tuple[Event, ...]:
        return GAME.decide(self.state, CODEC.decode_command(message, seat), self._draws)

    async def _watch(self, request: pb.WatchMatchRequest) -> AsyncIterator[pb.WatchMatchResponse]:
        seat = _seat(request)
        sent = request.after_version or self.version
        if not request.HasField("after_version"):
            snapshot = pb.Snapshot(match=self._match(sent), view=self._view(sent, seat))
            yield pb.WatchMatchResponse(snapshot=snapshot)
        while sent < self.version or GAME.to_act(self.state):
            if sent < self.version:
                sent += 1
                for _ in range(self.repeats if sent not in self.skips else 0):
                    yield pb.WatchMatchResponse(commit=self._commit_of(sent, seat))
            elif not await self._moved_past(sent):
                self.heartbeats += 1
                yield pb.WatchMatchResponse(heartbeat=heartbeat(sent))
        end = StreamEnd(reason=stream_pb2.STREAM_END_REASON_MATCH_CLOSED, version=sent)
        yield pb.WatchMatchResponse(end=end)

    def _completed(self, message: pb.WatchMatchResponse) -> pb.WatchMatchResponse:
        version = message.commit.version or message.snapshot.match.version or message.heartbeat.version
        message.resume_token = f"after {version}".encode()
        if self.told_heartbeat_seconds:
            message.heartbeat_interval.FromMilliseconds(round(1000 * self.told_heartbeat_seconds))
        return message

    def snapshot(self, version: int, **fields: Any) -> pb.WatchMatchResponse:
        """Return a snapshot as a spectator may see it."""
        return pb.WatchMatchResponse(
            snapshot=pb.Snapshot(match=self._match(version), view=self._view(version, None), **fields)
        )

    async def _moved_past(self, version: int) -> bool:
        try:
            async with asyncio.timeout(self.heartbeat_seconds), self._changed:
                await self._changed.wait_for(lambda: self.version > version)
        except TimeoutError:
            return False
        return True

    def _commit_of(self, version: int, seat: int | None) -> pb.Commit:
        return pb.Commit(
            version=version,
            record_time=NOON,
            events=self._events(version, seat),
            match=self._match(version),
            view=self._view(version, seat),
        )

    def _events(self, version: int, seat: int | None) -> list[Any]:
        commit = self.commits[version - 1]
        return [CODEC.encode_event(GAME.redact(commit.state, event, seat)) for event in commit.events]

    def _view(self, version: int, seat: int | None) -> Any:
        return CODEC.encode_view(GAME.view(self.commits[version - 1].state, seat))

    def _match(self, version: int) -> match_pb2.Match:
        state = self.commits[version - 1].state
        outcome = GAME.outcome(state)
        match = match_pb2.Match(
            match_id=self.match_id,
            game=GAME.name,
            rules_version=GAME.rules_version,
            data_hash=self.data_hash,
            pool="transcontinental.ranked",
            rated=True,
            seats=[
                match_pb2.Seat(seat=seat, player_id=player, kind=match_pb2.SEAT_KIND_PLAYER)
                for seat, player in enumerate(self.players)
            ],
            state=match_pb2.MATCH_STATE_CLOSED if outcome else match_pb2.MATCH_STATE_OPEN,
            version=version,
            seats_to_act=GAME.to_act(state),
            fairness=match_pb2.Fairness(scheme="promontory/1", commitment=bytes(32)),
            create_time=NOON,
            update_time=NOON,
        )
        if outcome:
            reason = match_pb2.CLOSE_REASON_RESIGNED if outcome.resigned else match_pb2.CLOSE_REASON_PLAYED_OUT
            standing = enumerate(zip(outcome.places, outcome.scores, strict=True))
            placements = [match_pb2.Placement(seat=s, place=place, score=score) for s, (place, score) in standing]
            match.outcome.CopyFrom(match_pb2.Outcome(reason=reason, placements=placements))
        return match


class Accepted(msgspec.Struct, frozen=True):
    """The response to a submission, as `PlayStream` hands it about."""

    response: pb.SubmitCommandResponse

    @property
    def step(self) -> pb.SubmitCommandResponse:
        """What has the version."""
        return self.response


class Streamed:
    """A referee's match, played over one stream as the real service has it."""

    def __init__(self, referee: Referee) -> None:
        self._referee = referee

    async def watched(self, request: Any) -> AsyncIterator[Told]:
        async for message in self._referee.WatchMatch(request, None):
            yield Told(_version_of(message), message.SerializeToString())

    async def submitted(self, request: Any) -> Any:
        return Accepted(await self._referee.SubmitCommand(request, None))

    def accepted(self, answer: Any, seat: int, *, briefly: bool) -> bytes:
        response = pb.SubmitCommandResponse(version=answer.step.version) if briefly else answer.response
        return response.SerializeToString()

    def end(self, reason: Any) -> StreamEnd:
        return StreamEnd(reason=stream_pb2.STREAM_END_REASON_SERVER_DRAINING, resumable=True)


def _version_of(message: pb.WatchMatchResponse) -> int:
    kind = message.WhichOneof("kind")
    return message.snapshot.match.version if kind == "snapshot" else getattr(message, kind).version


class Streams:
    """How streams live that matches are played over, and when they are to end."""

    max_stream_seconds = 3600.0

    def __init__(self, referee: Referee) -> None:
        self._referee = referee
        self.draining = asyncio.Event()

    @property
    def heartbeat_seconds(self) -> float:
        """How often they have a heartbeat: what the referee says, if it does."""
        return self._referee.told_heartbeat_seconds or 2.0

    async def drained(self) -> None:
        """Return once they are to end."""
        await self.draining.wait()


def heartbeat(version: int) -> stream_pb2.Heartbeat:
    """Return a heartbeat of a match in which seat 0 is gone with 90 seconds on its clock."""
    clock = match_pb2.SeatClock(seat=0, remaining=Duration(seconds=90), deadline=NOON)
    absence = stream_pb2.Absence(seat=0, claimable_time=NOON)
    return stream_pb2.Heartbeat(version=version, server_time=NOON, clocks=[clock], absences=[absence])


def _seat(request: Any) -> int | None:
    return request.seat if request.HasField("seat") else None


async def _each(messages: Iterable[Any]) -> AsyncIterator[Any]:
    for message in messages:
        yield message


async def cut_short(messages: AsyncIterator[Any], cut: Cut | None) -> AsyncIterator[Any]:
    """Yield `messages`, but end as `cut` says, after one more message if that is how."""
    count, how = cut or (-1, None)
    while count:
        count -= 1
        try:
            yield await anext(messages)
        except StopAsyncIteration:
            return
    if how is HANG:
        await asyncio.Event().wait()
    if isinstance(how, Exception):
        raise how
    if isinstance(how, StreamEnd):
        yield pb.WatchMatchResponse(end=how)
    if isinstance(how, pb.WatchMatchResponse):
        yield how
