"""Playing and watching one match."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager, suppress
from typing import Any

from google.protobuf.message import Message

from promontory.client.connection import Connection
from promontory.client.errors import (
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    VersionConflict,
    understanding,
)
from promontory.client.line import remote_of
from promontory.client.matches import Commit, LegalAt, MatchSummary, Preview, Update, match_events_of, match_of
from promontory.client.watching import OnHeartbeat, Watch
from promontory.codec import registry as codecs
from promontory.codec.conduct import ENDING_NUMBERS, Ending
from promontory.codec.times import time_of
from promontory.games.registry import AnyGame, GameEntry

PAGE_SIZE = 100
TOO_LATE = frozenset({"MATCH_OVER", "TIME_UP", "SEAT_LEFT"})
"""The reasons that say that a submission comes too late, whatever it says."""


def new_request_id() -> str:
    """Return a name for an intent that nobody else takes."""
    return str(uuid.uuid4())


@contextmanager
def overtaken() -> Iterator[None]:
    """Pass over a submission that comes too late: another seat acted first, time ran out, or the match is over."""
    try:
        yield
    except VersionConflict:
        pass
    except FailedPrecondition as error:
        if error.reason not in TOO_LATE:
            raise


class GameRemote:
    """The service of one game, with the game's structs instead of messages."""

    def __init__(self, connection: Connection, game: GameEntry) -> None:
        self.game = game
        self.codec = codecs.codec(game.name)
        self.remote = remote_of(connection, self.codec.service)

    def request(self, method: str, **fields: Any) -> Message:
        """Return the request message of `method`; fields that are None stay unset."""
        message: Message = getattr(self.codec.messages, f"{method}Request")(**fields)
        return message

    async def rules(self, match: MatchSummary) -> AnyGame:
        """Return the game as `match` is played: the rules and the data it is pinned to.

        Raises:
            UnknownRulesError: this distribution lacks the rules.
            FailedPrecondition: the data is neither that of this distribution nor known to the server.
            Internal: the server gives other data than it is asked for.
        """
        shipped = self.game.load(rules_version=match.rules_version)
        if match.data_hash == shipped.data_hash:
            return shipped
        return self.game.load(await self.data(match), rules_version=match.rules_version)

    async def data(self, match: MatchSummary) -> bytes:
        """Return the data file that `match` is pinned to; raises as `rules` does, for data that is not there."""
        answer = await self.call("GetGameData", data_hash=match.data_hash)
        if hashlib.sha256(answer.data).digest() != match.data_hash:
            raise Internal(f"the data is not that of match {match.match_id}", reason="DATA_MISMATCH")
        data: bytes = answer.data
        return data

    async def call(self, method: str, **fields: Any) -> Any:
        """Return the answer of `method`."""
        return await self.remote.call(method, self.request(method, **fields))

    async def reach(self) -> None:
        """Return once the service has answered; whatever it says of a match that nobody has is an answer."""
        with suppress(NotFound, InvalidArgument):
            await self.call("GetMatch", match_id=f"{self.game.code}-000-{'a' * 26}")

    def events(self, messages: Sequence[Message]) -> tuple[Any, ...]:
        """Return the structs of `Event` messages."""
        with understanding():
            return tuple(self.codec.decode_event(message) for message in messages)

    def encoded(self, command: Any, seat: int) -> Message:
        """Return a command of `seat` as a message. Raises `ValueError` if it is none, or is another seat's."""
        try:
            message = self.codec.encode_command(command)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{command!r} is no command of {self.game.name}") from error
        if command.seat != seat:
            raise ValueError(f"{command!r} is of seat {command.seat}; this is seat {seat}")
        return message

    def update(
        self, message: Any, seat: int | None, *, events: Sequence[Message] = (), match_events: Sequence[Any] = ()
    ) -> Update:
        """Return what a message with `match` and `view` says to `seat`."""
        match = match_of(message.match)
        with understanding():
            view = self.codec.decode_view(message.view)
        return Update(
            version=match.version,
            view=view,
            events=self.events(events),
            match=match,
            your_turn=seat in match.seats_to_act and not match.seats[seat].stand_in_policy,
            match_events=match_events_of(match_events),
        )


class Spectator:
    """One match, seen by somebody who does not play: no hidden cards.

    async for update in client.spectate("transcontinental", match_id):
        print(update.version, update.events)
    """

    def __init__(self, game: GameRemote, match_id: str, seat: int | None = None) -> None:
        self.match_id = match_id
        self.seat = seat
        self._game = game
        self._rules: AnyGame | None = None

    @property
    def game(self) -> str:
        """The game's name."""
        return self._game.game.name

    async def look(self, version: int | None = None) -> Update:
        """Return the match as it is now, or was at `version`."""
        answer = await self._game.call("GetMatch", match_id=self.match_id, seat=self.seat, version=version)
        return self._game.update(answer, self.seat)

    async def rules(self) -> AnyGame:
        """Return the game as the match is played, with the rules and the cards or tiles it is pinned to."""
        if self._rules is None:
            self._rules = await self._game.rules((await self.look()).match)
        return self._rules

    async def data(self) -> bytes:
        """Return the file with the cards or tiles that the match is played with, as the server has it."""
        return await self._game.data((await self.look()).match)

    async def updates(
        self, after: int | None = None, *, resume_token: bytes = b"", on_heartbeat: OnHeartbeat | None = None
    ) -> AsyncGenerator[Update]:
        """Yield the match as it is now, then after every commit, until it is over.

        With `after`, the version of the last update you have, it yields the commits after that one instead. Every
        commit comes exactly once and in order, whatever happens to connections and servers in between; `Unavailable`
        is raised only when no server can be reached for as long as the client retries. Then go on with
        `updates(after=last.version, resume_token=last.resume_token)`: the token has the server notice if its log lost
        what you saw.

        Two things break the row, and an update says so. `skipped` tells how many commits were passed over because you
        took more than 64 commits' time for an update; `events()` has them. `rewound` tells that the log was put back
        behind what you saw, which only a failing store does. While nothing happens, `on_heartbeat` is told now and then
        what the clocks show, and who is gone.
        """
        watch = Watch(self._game, self.match_id, self.seat, on_heartbeat=on_heartbeat)
        async with aclosing(watch.updates(after, resume_token)) as updates:
            async for update in updates:
                yield update

    def __aiter__(self) -> AsyncIterator[Update]:
        return self.updates()

    async def events(self) -> AsyncGenerator[Commit]:
        """Yield all commits so far, from the first: as the seat saw them, or in full once the match is over."""
        request = self._game.request("ListMatchEvents", match_id=self.match_id, seat=self.seat, page_size=PAGE_SIZE)
        async for page in self._game.remote.pages("ListMatchEvents", request):
            for commit in page.commits:
                events = self._game.events(commit.events)
                beside = match_events_of(commit.match_events)
                yield Commit(commit.version, time_of(commit.record_time), events, beside)

    async def export(self) -> bytes:
        """Return the audit file of the match. Raises `FailedPrecondition` while the match is open."""
        return await self._game.remote.whole("ExportMatch", self._game.request("ExportMatch", match_id=self.match_id))


class Seat(Spectator):
    """One seat of a match, played by the client: `await seated.play(choose)`, or update by update."""

    seat: int

    def __init__(self, game: GameRemote, match_id: str, seat: int) -> None:
        super().__init__(game, match_id, seat)

    def check(self, command: Any) -> None:
        """Raise `ValueError` if `command` is no command of the game, or is another seat's."""
        self._game.encoded(command, self.seat)

    async def legal(self) -> LegalAt:
        """Return everything the rules accept from the seat now."""
        answer = await self._game.call("ListLegalCommands", match_id=self.match_id, seat=self.seat)
        with understanding():
            return LegalAt(version=answer.version, commands=self._game.codec.decode_legal(answer.legal))

    async def preview(self, commands: Any) -> Preview:
        """Return what a command, or several in order, would do, as far as the seat can know; changes nothing.

        Raises what `submit` would.
        """
        answer = await self._game.call(
            "PreviewCommand", match_id=self.match_id, seat=self.seat, commands=self._encoded(commands)
        )
        events = self._game.events(answer.events)
        return Preview(version=answer.version, events=events, ends_early=answer.ends_early)

    async def play(self, choose: Callable[[Any], Any]) -> Update:
        """Play to the end: at each turn of the seat submit what `choose` makes of its view. Return the last update.

        Where several seats choose at the same time, another may act first: then `choose` is asked again. Raises what
        `submit` raises for a command that the rules forbid.
        """
        async for update in self:
            if update.your_turn:
                with overtaken():
                    await self.submit(choose(update.view), expected_version=update.version)
        return update

    async def submit(
        self, commands: Any, *, expected_version: int | None = None, request_id: str | None = None
    ) -> Update:
        """Submit a command, or several in order that are accepted together or not at all; return what came of it.

        With `expected_version` they apply to that version or not at all. The call is repeated where its outcome is not
        known, and takes effect once; to go on with the same intent later, or from another process, give it a
        `request_id` of your own.

        Raises:
            FailedPrecondition: the rules forbid it; `reason` and `metadata["rule"]` say why.
            VersionConflict: the match has moved past `expected_version`.
            ValueError: a command is of another seat, or no command of the game.
        """
        answer = await self._game.call(
            "SubmitCommand",
            match_id=self.match_id,
            seat=self.seat,
            commands=self._encoded(commands),
            expected_version=expected_version,
            request_id=request_id or new_request_id(),
        )
        return self._game.update(answer, self.seat, events=answer.events)

    async def resign(self, *, request_id: str | None = None) -> MatchSummary:
        """Give the game up; return the match after it."""
        return await self._act("Resign", request_id)

    async def abort(self, *, request_id: str | None = None) -> MatchSummary:
        """Call the match off; return it closed. Raises `FailedPrecondition` once a player has moved."""
        return await self._act("AbortMatch", request_id)

    async def claim(self, *, request_id: str | None = None) -> MatchSummary:
        """Claim the match from opponents who are to act and gone for its `abandon_after`; return it after that.

        Raises `FailedPrecondition` while nobody is; its metadata may tell `claimableSeconds`.
        """
        return await self._act("ClaimAbandoned", request_id)

    async def offer(self, ending: Ending, *, request_id: str | None = None) -> MatchSummary:
        """Offer to end the match, or agree to what was offered; it is closed once all players who stayed agree."""
        return await self._act("OfferEnding", request_id, ending=ENDING_NUMBERS[Ending(ending)])

    async def decline(self, *, request_id: str | None = None) -> MatchSummary:
        """Decline the offers of others that stand."""
        return await self._act("DeclineEnding", request_id)

    async def _act(self, method: str, request_id: str | None, **fields: Any) -> MatchSummary:
        named = request_id or new_request_id()
        answer = await self._game.call(method, match_id=self.match_id, seat=self.seat, request_id=named, **fields)
        return match_of(answer.match)

    def _encoded(self, commands: Any) -> list[Message]:
        several = isinstance(commands, Sequence) and not isinstance(commands, str | bytes)
        listed = list(commands) if several else [commands]
        return [self._game.encoded(command, self.seat) for command in listed]
