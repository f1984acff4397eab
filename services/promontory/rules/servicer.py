"""One servicer for every game: decode, call one use case, encode."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Any

import msgspec
from msgspec.structs import replace

from promontory.api.match.v1 import stream_pb2
from promontory.client.retrying import SILENT_HEARTBEATS
from promontory.codec.times import duration
from promontory.eventlog.audit_file import audit_lines
from promontory.games.kernel import Seat
from promontory.rules import access
from promontory.rules.arbitration import Arbitration
from promontory.rules.domain import Match
from promontory.rules.forking import Forking
from promontory.rules.gallery import is_late
from promontory.rules.playing import PlayStream
from promontory.rules.presenter import Presenter, Told
from promontory.rules.recorder import Answer
from promontory.rules.requests import Reader
from promontory.rules.resuming import Resume
from promontory.rules.ruleset import Ruleset
from promontory.rules.usecases import Referee
from promontory.rules.watch import EndReason, Hub, Quiet, Update
from promontory.runtime.chunks import chunks
from promontory.runtime.gate import Requests
from promontory.runtime.identity import caller
from promontory.runtime.rpc import Context


class RulesCases(msgspec.Struct, frozen=True):
    """The use cases of one game's matches."""

    referee: Referee
    arbitration: Arbitration
    forking: Forking


class RulesServicer:
    """Serves the gRPC service of the game in `ruleset`; the messages are those of its proto package."""

    def __init__(self, ruleset: Ruleset, cases: RulesCases, hub: Hub) -> None:
        self._ruleset, self._hub = ruleset, hub
        self._referee, self._arbitration, self._forking = cases.referee, cases.arbitration, cases.forking
        self._read, self._present = Reader(ruleset), Presenter(ruleset, hub.tokens)
        self._pb: Any = ruleset.codec.messages

    async def CreateMatch(self, request: Any, context: Context) -> Any:
        """Create a match and deal it."""
        setup, request_id = self._read.setup(request), self._read.request_id(request)
        match = await self._referee.create(caller(), request_id, setup)
        return self._pb.CreateMatchResponse(match=self._present.match(match))

    async def GetMatch(self, request: Any, context: Context) -> Any:
        """Return a match and the caller's view of it."""
        match_id, seat = self._read.match_id(request), self._read.audience(request)
        if request.full:
            await self._referee.require_closed(match_id)
        match = await self._referee.look(caller(), match_id, seat, version=self._read.version(request, "version"))
        hidden = self._present.hidden(match) if request.full else {}
        return self._pb.GetMatchResponse(
            match=self._present.match(match), view=self._present.view(match, seat), **hidden
        )

    async def GetGameData(self, request: Any, context: Context) -> Any:
        """Return the data file that matches are played with."""
        game = self._ruleset.game
        data_hash = self._read.data_hash(request) or game.data_hash
        data = self._ruleset.data(data_hash)
        return self._pb.GetGameDataResponse(rules_version=game.rules_version, data_hash=data_hash, data=data)

    async def ListLegalCommands(self, request: Any, context: Context) -> Any:
        """Return everything the rules accept from a seat now."""
        version, legal = await self._referee.legal(caller(), self._read.match_id(request), request.seat)
        return self._pb.ListLegalCommandsResponse(version=version, legal=self._present.legal(legal))

    async def SubmitCommand(self, request: Any, context: Context) -> bytes:
        """Record what one or more commands of a seat cause."""
        return self.accepted(await self.submitted(request), request.seat, briefly=False)

    async def submitted(self, request: Any) -> Answer:
        """Record what a `SubmitCommandRequest` asks for."""
        return await self._referee.submit(caller(), self._read.submission(request))

    def accepted(self, answer: Answer, seat: Seat, *, briefly: bool) -> bytes:
        """Return the response to commands of `seat`, encoded; if `briefly`, with the version only."""
        if briefly:
            brief: bytes = self._pb.SubmitCommandResponse(version=answer.step.version).SerializeToString()
            return brief
        return self._present.accepted(answer.step, seat)

    async def PreviewCommand(self, request: Any, context: Context) -> Any:
        """Tell what commands would do, as far as the seat can know it."""
        match_id, seat, commands = self._read.match_id(request), request.seat, self._read.commands(request)
        preview = await self._referee.preview(caller(), match_id, seat, commands)
        events = self._present.events(preview.match, preview.happened, seat)
        version = preview.match.version
        return self._pb.PreviewCommandResponse(version=version, events=events, ends_early=preview.ends_early)

    async def Play(self, requests: Requests, context: Context) -> AsyncIterator[Any]:
        """Follow and play matches over one stream."""
        async with aclosing(PlayStream(self, requests, self._hub, self._pb).responses()) as responses:
            async for response in responses:
                yield response

    def end(self, reason: EndReason) -> stream_pb2.StreamEnd:
        """Return the last message of a stream that is about no single match."""
        return self._present.end(reason)

    async def WatchMatch(self, request: Any, context: Context) -> AsyncIterator[bytes]:
        """Stream a match as one seat, or a spectator, may see it."""
        async with aclosing(self.watched(request)) as updates:
            async for update in updates:
                yield update.message

    async def watched(self, request: Any) -> AsyncGenerator[Told, None]:
        """Yield the messages of a stream that a `WatchMatchRequest` asks for."""
        match_id, seat, who = self._read.match_id(request), self._read.audience(request), caller()
        after, watched = self._read.version(request, "after_version"), list[Match]()

        def admit(match: Match) -> None:
            access.require_audience(match, seat, who)
            watched.append(match)

        resume = None if after is None else Resume(after)
        if request.resume_token:
            resume = self._hub.tokens.read(request.resume_token, match_id, seat)
        async with aclosing(self._hub.follow(match_id, seat, resume=resume, admit=admit)) as updates:
            is_first = True
            async for update in updates:
                self._referee.note(watched[0], seat, who)
                told = self._present.update(await self._complete(update, seat), seat)
                yield self._present.opening(told, self._hub.heartbeat_seconds) if is_first else told
                is_first = False

    async def _complete(self, update: Update, seat: Seat | None) -> Update:
        """Return `update` with who is absent, if it is a heartbeat of the match as it is now."""
        if not isinstance(update, Quiet) or is_late(update.match.setup, seat):
            return update
        silent_ms = round(1000 * SILENT_HEARTBEATS * self._hub.heartbeat_seconds)
        return replace(update, absences=await self._arbitration.absences(update.match, silent_ms=silent_ms))

    async def ListMatchEvents(self, request: Any, context: Context) -> Any:
        """List a match's commits in pages."""
        wanted = self._read.listing(request)
        page = await self._referee.page(caller(), wanted)
        commits = [self._present.listed(step, wanted.seat, full=page.full) for step in page.steps]
        return self._pb.ListMatchEventsResponse(commits=commits, next_page_token=page.next_token)

    async def Resign(self, request: Any, context: Context) -> Any:
        """Give the game up for a seat."""
        match_id, request_id = self._read.match_id(request), self._read.request_id(request)
        answer = await self._referee.resign(caller(), match_id, request.seat, request_id=request_id)
        return self._pb.ResignResponse(**self._after(answer))

    async def AbortMatch(self, request: Any, context: Context) -> Any:
        """Call a match off, before any player has moved."""
        answer = await self._arbitration.abort(caller(), self._read.wish(request))
        return self._pb.AbortMatchResponse(**self._after(answer))

    async def ClaimAbandoned(self, request: Any, context: Context) -> Any:
        """Claim a match from opponents who are gone."""
        answer = await self._arbitration.claim(caller(), self._read.wish(request))
        return self._pb.ClaimAbandonedResponse(**self._after(answer))

    async def OfferEnding(self, request: Any, context: Context) -> Any:
        """Offer to end a match by agreement, or agree to it."""
        answer = await self._arbitration.offer(caller(), self._read.wish(request), self._read.ending(request))
        return self._pb.OfferEndingResponse(**self._after(answer))

    async def DeclineEnding(self, request: Any, context: Context) -> Any:
        """Decline what others offered."""
        answer = await self._arbitration.decline(caller(), self._read.wish(request))
        return self._pb.DeclineEndingResponse(**self._after(answer))

    async def CancelMatch(self, request: Any, context: Context) -> Any:
        """Cancel a match in the name of the platform."""
        match_id, note = self._read.match_id(request), self._read.note(request)
        request_id = self._read.request_id(request)
        answer = await self._arbitration.cancel(caller(), match_id, note, request_id=request_id)
        return self._pb.CancelMatchResponse(**self._after(answer))

    async def EnforceClock(self, request: Any, context: Context) -> Any:
        """Record that time ran out, if it did."""
        enforced = await self._arbitration.enforce_clock(caller(), self._read.match_id(request))
        due_in = None if enforced.due_in_ms is None else duration(enforced.due_in_ms)
        return self._pb.EnforceClockResponse(version=enforced.version, enforced=enforced.recorded, due_in=due_in)

    def _after(self, answer: Answer) -> dict[str, Any]:
        match = answer.step.match
        return {"version": match.version, "match": self._present.match(match)}

    async def ExportMatch(self, request: Any, context: Context) -> AsyncIterator[Any]:
        """Stream a closed match's audit file."""
        match_id = self._read.match_id(request)
        commits = await self._referee.whole_log(match_id)
        for chunk in chunks(audit_lines(match_id, commits)):
            yield self._pb.ExportMatchResponse(chunk=chunk)

    async def ForkMatch(self, request: Any, context: Context) -> Any:
        """Begin a match where a closed one stood."""
        wish, request_id = self._read.fork(request), self._read.request_id(request)
        match = await self._forking.fork(caller(), request_id, wish)
        return self._pb.ForkMatchResponse(match=self._present.match(match))

    async def PlayAutomatically(self, request: Any, context: Context) -> Any:
        """Play the automatic command for a house bot's seat that failed to act."""
        match_id, request_id = self._read.match_id(request), self._read.request_id(request)
        version, played = await self._referee.play_automatically(
            caller(), match_id, request.seat, since=request.since_version, request_id=request_id
        )
        return self._pb.PlayAutomaticallyResponse(version=version, played=played)
