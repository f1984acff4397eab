"""What the service does for its callers, game by game the same: create, read, judge, record."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Collection, Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from promontory.eventlog.port import Commit, VersionConflict
from promontory.games.fairness import BlindDraws
from promontory.games.kernel import Seat
from promontory.rules import access, arbiter, records
from promontory.rules.domain import (
    Decision,
    Happening,
    Match,
    Moment,
    Setup,
    Step,
    begin,
    caused_by,
    foreseen,
    repeated_after,
)
from promontory.rules.draws import draws_of
from promontory.rules.gallery import Gallery
from promontory.rules.ledger import CREATE, Intent, Ledger, Seed, new_match
from promontory.rules.matches import Matches
from promontory.rules.metering import CommandMeter
from promontory.rules.milestones import Milestones
from promontory.rules.ports import DrawSeed, Presence, Seals
from promontory.rules.presence import note
from promontory.rules.recorder import AlreadyActed, Answer, Recorder
from promontory.rules.ruleset import Ruleset
from promontory.rules.validation import check_reached, check_repeated, check_setup
from promontory.runtime import clock
from promontory.runtime.identity import Caller, Scope
from promontory.runtime.pages import page_size, page_start, page_token, token_invalid

MAX_PAGE = 500
DEFAULT_PAGE = 100


class Submission(msgspec.Struct, frozen=True):
    """Commands a seat gives together, and the version they are meant for, if they are for one only."""

    match_id: str
    seat: Seat
    commands: tuple[Any, ...]
    request_id: str
    expected_version: int | None = None


class Preview(msgspec.Struct, frozen=True):
    """What commands would do, up to the first thing that chance or hidden cards decide."""

    match: Match
    happened: tuple[Happening, ...]
    ends_early: bool


class Listing(msgspec.Struct, frozen=True):
    """Which commits to list: the next `size` (0: a usual number), for one who looks from `seat`.

    A closed match is listed in full, unless it is wanted `as_seen` at the time. `token` is that of the page.
    """

    match_id: str
    seat: Seat | None
    size: int = 0
    token: str = ""
    as_seen: bool = False

    @property
    def name(self) -> str:
        """What tells it from other listings."""
        return f"events {self.match_id} {self.seat}{' as seen' if self.as_seen else ''}"


class Page(msgspec.Struct, frozen=True):
    """Some commits of a match, `full` if nothing in them is hidden any more, and the token of the next page or ""."""

    steps: Sequence[Step]
    full: bool
    next_token: str


class Environment(msgspec.Struct, frozen=True):
    """What a referee needs beside the log."""

    seals: Seals
    draw_seed: DrawSeed
    policies: Collection[str]
    buckets: int
    presence: Presence


class Referee:
    """Referees the matches of one game."""

    def __init__(self, ruleset: Ruleset, ledger: Ledger, matches: Matches, environment: Environment) -> None:
        self._ruleset, self._ledger, self._matches = ruleset, ledger, matches
        self._seals, self._draw_seed = environment.seals, environment.draw_seed
        self._policies, self._buckets = environment.policies, environment.buckets
        self._presence = environment.presence
        self._gallery, self._milestones = Gallery(matches), Milestones(matches)
        self._recorder = Recorder(ledger, matches, environment.seals)
        self._meter = CommandMeter(ruleset.game.name)

    async def create(self, caller: Caller, request_id: str, setup: Setup) -> Match:
        """Return the match that `request_id` of `caller` names, created and dealt if there was none yet."""
        caller.require(Scope.CREATE_MATCH)
        check_setup(setup, self._ruleset.game, self._policies)
        match_id = match_id_for(self._ruleset.code, caller.subject, request_id, buckets=self._buckets)
        match, seed = self._new(match_id, setup)
        decision = Decision(begin(self._ruleset.game, setup, draws_of(match_id, match.game, setup, seed.plain)))
        intent = Intent(CREATE, records.setup_fingerprint(setup))
        draft = self._ledger.draft(match, decision, intent, reveal=lambda: seed.plain, now_ms=match.created_at_ms)
        created = await self._matches.append(match, draft)
        return created.match if isinstance(created, Step) else await self._matches.fresh(match_id)

    def _new(self, match_id: str, setup: Setup) -> tuple[Match, Seed]:
        plain = self._draw_seed()
        seed = Seed(plain, self._seals.seal(match_id, plain))
        return new_match(self._ruleset.game, match_id, setup, seed=seed, now_ms=clock.now_ms()), seed

    async def look(self, caller: Caller, match_id: str, seat: Seat | None, *, version: int | None) -> Match:
        """Return the match now or at `version`, for one who may look from `seat`."""
        match = await self._gallery.seen(match_id, seat)
        access.require_audience(match, seat, caller)
        self.note(match, seat, caller)
        if version is None or version == match.version:
            return match
        check_reached(version, match.version)
        return await self._milestones.at(match_id, version)

    async def require_closed(self, match_id: str) -> None:
        """Raise the refusal `MATCH_OPEN` while the match is being played, `MATCH_NOT_FOUND` if there is none."""
        access.require_closed(await self._matches.fresh(match_id))

    async def legal(self, caller: Caller, match_id: str, seat: Seat) -> tuple[int, Any]:
        """Return the match's version and everything the rules accept from `seat` now, in the game's own form."""
        match = await self._matches.fresh(match_id)
        access.require_seat(match, seat, caller)
        self.note(match, seat, caller)
        return match.version, self._ledger.game_of(match).legal(match.state, seat)

    def note(self, match: Match, seat: Seat | None, caller: Caller) -> None:
        """Note that the player of `seat` is there, in case an opponent wants to claim the match."""
        note(self._presence, match, seat, caller)

    async def submit(self, caller: Caller, submission: Submission) -> Answer:
        """Record what the commands cause, all of them or nothing, once; return the commit.

        Raises:
            Rejected: the rules forbid one of them now.
            VersionConflict: the match is past the expected version, or others were quicker again and again.
            CommandIdReused: the request id came before with other commands.
        """
        kinds = {type(command).__name__ for command in submission.commands}
        return await self._meter.observe(kinds, self._submit(caller, submission))

    async def _submit(self, caller: Caller, submission: Submission) -> Answer:
        match, seat = await self._matches.recent(submission.match_id), submission.seat
        if not caller.service:
            access.require_seat(match, seat, caller)
            self.note(match, seat, caller)
        encoded = self._ledger.encoded(submission.commands)
        intent = Intent(
            command_id=f"{seat}:{submission.request_id}",
            fingerprint=records.command_fingerprint(match, encoded),
            actor=seat,
            commands=encoded,
            follow_up=caller.service,
        )

        def decide(moment: Moment) -> Decision:
            return _judged(caller, submission, moment)

        try:
            return await self._recorder.record(match, intent, decide)
        except VersionConflict as conflict:
            check_reached(submission.expected_version or 0, conflict.version)
            raise

    async def resign(self, caller: Caller, match_id: str, seat: Seat, *, request_id: str) -> Answer:
        """Give the game up for `seat`: the same as submitting its command to resign."""
        match = await self._matches.recent(match_id)
        caller = access.as_player(match, seat, caller)
        access.require_seat(match, seat, caller)
        command = self._ledger.game_of(match).resign(seat)
        return await self.submit(caller, Submission(match_id, seat, (command,), request_id))

    async def play_automatically(
        self, caller: Caller, match_id: str, seat: Seat, *, since: int, request_id: str
    ) -> tuple[int, bool]:
        """Play the rules' automatic command for a house bot's seat, if it is to act since version `since`.

        Returns the match's version, and whether a command was played.
        """
        caller.require(Scope.PLAY_AUTOMATICALLY)
        match = await self._matches.recent(match_id)
        access.seat_of(match, seat)
        fingerprint = hashlib.sha256(f"{match_id}|automatic|{seat}|{since}".encode()).hexdigest()
        intent = Intent(f"auto:{seat}:{request_id}", fingerprint, actor=seat)

        def automatic(moment: Moment) -> Decision:
            match = moment.match
            access.require_house_played(match, seat)
            if match.awaiting[seat] != since:
                raise AlreadyActed
            command = moment.game.automatic(match.state, seat)
            decision = arbiter.submitted(moment, seat, (command,))
            return replace(decision, commands=(command,))

        try:
            answer = await self._meter.observe({"automatic"}, self._recorder.record(match, intent, automatic))
        except AlreadyActed:
            return (await self._matches.recent(match_id)).version, False
        return answer.step.version, True

    async def preview(self, caller: Caller, match_id: str, seat: Seat, commands: Sequence[Any]) -> Preview:
        """Return what `commands` would do as far as `seat` can know it; raise as submitting them would."""
        match = await self._matches.fresh(match_id)
        access.require_seat(match, seat, caller)
        if not caller.service:
            access.require_player(match, seat, caller)
        self.note(match, seat, caller)
        game, state = self._ledger.game_of(match), match.state
        shown: tuple[Happening, ...] = ()
        for number in range(len(commands)):
            caused = caused_by(game, state, commands=commands, number=number, draws=BlindDraws())
            known = foreseen(game, state, caused)
            shown += known
            if len(known) < len(caused):
                return Preview(match, shown, ends_early=True)
            state = known[-1].state
        check_repeated(repeated_after(match, game, Decision(shown), actor=seat)[seat])
        return Preview(match, shown, ends_early=False)

    async def page(self, caller: Caller, wanted: Listing) -> Page:
        """Return some commits of a match; raise what keeps `caller` from looking."""
        match = await self._gallery.seen(wanted.match_id, wanted.seat)
        access.require_audience(match, wanted.seat, caller)
        self.note(match, wanted.seat, caller)
        size = page_size(wanted.size, usual=DEFAULT_PAGE, most=MAX_PAGE)
        (after,) = page_start(wanted.name, wanted.token) if wanted.token else (0,)
        if after >= match.version:
            raise token_invalid()
        last = min(after + size, match.version)
        steps = await self._milestones.steps(wanted.match_id, after=after, last=last)
        token = page_token(wanted.name, last) if last < match.version else ""
        return Page(steps, full=match.is_closed and not wanted.as_seen, next_token=token)

    async def whole_log(self, match_id: str) -> Sequence[Commit]:
        """Return all commits of a match that is over, as stored, or raise the refusal `MATCH_OPEN`."""
        await self.require_closed(match_id)
        return await self._matches.log.read(match_id)


def _judged(caller: Caller, submission: Submission, moment: Moment) -> Decision:
    match, seat = moment.match, submission.seat
    if caller.service:
        access.require_seat(match, seat, caller)
    elif moment.game.resign(seat) not in submission.commands or match.is_closed:
        access.require_in_time(match, seat, submission.expected_version)
    if not caller.service:
        access.require_player(match, seat, caller)
    if submission.expected_version not in (None, match.version):
        raise VersionConflict(match.version)
    return arbiter.submitted(moment, seat, submission.commands)


def match_id_for(code: str, subject: str, request_id: str, *, buckets: int) -> str:
    """Return the id of the match that `subject` creates with `request_id`, in one of `buckets` buckets."""
    digest = hashlib.sha256(f"{subject}\0{request_id}".encode()).digest()
    name = base64.b32encode(digest[:16]).decode().rstrip("=").lower()
    return f"{code}-{int.from_bytes(digest[16:20], 'big') % buckets:03x}-{name}"
