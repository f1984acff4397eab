"""Matches that are played at random by players who also offer, leave, sleep, come late and do what they must not."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import cache, partial
from random import Random
from typing import Any

import msgspec
from msgspec.structs import replace

from promontory.bots.port import Policy
from promontory.bots.registry import policy
from promontory.codec.conduct import Ending
from promontory.codec.outcomes import CloseReason
from promontory.codec.terms import ClockKind, TimeControl
from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.obligations import bot_turn_name, clock_name, list_name, tally_name
from promontory.eventlog.port import CommandIdReused, Commit, VersionConflict, bucket_of
from promontory.games.kernel import Rejected, Seat
from promontory.games.registry import AnyGame
from promontory.rules import arbiter
from promontory.rules.arbitration import Enforced, Wish
from promontory.rules.clocks import Clock, next_end_ms
from promontory.rules.conduct import Enforce
from promontory.rules.domain import Match, Moment, SeatKind, SeatSetup, Setup, Step
from promontory.rules.draws import SealedDraws
from promontory.rules.gallery import visible_version
from promontory.rules.ledger import Ledger
from promontory.rules.usecases import Submission
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import Caller
from tests.support.conduct import MINUTE, SECOND, Arbiters, Time, table
from tests.support.refereeing import EVE, POOL, RELAY, SEALS, WORKERS, Bench, holder, ruleset

SAID_NO = (Rejected, Refusal, VersionConflict, CommandIdReused)
"""How a referee says no; whatever else is raised is a fault."""

_MATCH = msgspec.msgpack.Encoder(order="deterministic")


def digest(match: Match) -> str:
    """Return a hash of all that is known of `match`, the same in every process."""
    return hashlib.sha256(_MATCH.encode(match)).hexdigest()


class Told(msgspec.Struct):
    """A match as its log has it."""

    game: str
    match_id: str
    commits: list[Commit]


def refolded(raw: bytes) -> list[str]:
    """Return the digest of every version of the matches in `raw`, a MessagePack of `Told`."""
    digests = []
    for told in msgspec.msgpack.decode(raw, type=list[Told]):
        match, ledger = None, Ledger(ruleset(told.game))
        for commit in told.commits:
            match = ledger.step(told.match_id, match, commit).match
            digests.append(digest(match))
    return digests


@cache
def policy_of(game: str, name: str) -> Policy:
    """Return a policy, made once."""
    return policy(ruleset(game).game, name)


def any_setup(game: AnyGame, random: Random) -> Setup:
    """Return a setup with some clock or none, some house bots or none, and whatever else a match can have."""
    seats = random.choice(game.seats)
    bots = random.sample(range(seats), random.choice([0, 0, 1, seats - 1]))
    setup = table(
        seats,
        time_control=any_control(random),
        stand_in_policy=random.choice(["", "greedy"]),
        abandon_after_ms=random.choice([0, 30 * SECOND]),
        spectator_delay=random.choice([0, 0, 3]),
    )
    house = (SeatSetup(f"bot-{seat}", SeatKind.HOUSE_BOT, "greedy") for seat in range(seats))
    setup = replace(setup, seats=tuple(bot if n in bots else setup.seats[n] for n, bot in enumerate(house)))
    return random.choice([setup, replace(setup, pool=POOL, rated=True)])


def any_control(random: Random) -> TimeControl | None:
    """Return some time control, most often one."""
    kind = random.choice([None, ClockKind.INCREMENT, ClockKind.PER_TURN, ClockKind.PER_TURN])
    if kind is None:
        return None
    increment_ms = random.choice([0, 5 * SECOND]) if kind is ClockKind.INCREMENT else 0
    default_moves = random.choice([0, 1, 3, 50])
    default_policy = random.choice(["", "greedy"])
    return TimeControl(kind, MINUTE, increment_ms, default_moves=default_moves, default_policy=default_policy)


class Unruly:
    """One match in which everybody does something at random, one after the other; `faults` is what must not be."""

    def __init__(self, game: str, seed: int, time: Time) -> None:
        self._random, self._time = Random(f"{game} {seed}"), time
        self.log = MemoryEventLog(clock=time)
        self.bench = Bench(self.log, game=game)
        self._other = self.bench.replica()
        self._arbiters, self._game = Arbiters(self.bench), self.bench.ruleset.game
        self._submitted: list[tuple[Caller, Submission, int]] = []
        self._periods: dict[Seat, object] = {}
        self.steps: list[Step] = []
        self.faults: list[str] = []

    @property
    def match(self) -> Match:
        """The match at its last version."""
        return self.steps[-1].match

    async def play(self, acts: int) -> None:
        """Begin the match, and have so many things be done or tried, or fewer if it is over before."""
        match = await self.bench.create(any_setup(self._game, self._random))
        await self._hear(match.match_id)
        for _ in range(acts):
            if self.match.is_closed:
                return
            await self._try(self._random.choice(_ACTS))

    async def end(self) -> None:
        """Have all players resign, and the house play what is left."""
        for seat in range(len(self.match.setup.seats)):
            await self._try(partial(Unruly.resign, seat=seat))
        while not self.match.is_closed and len(self.steps) < MOST_COMMITS:
            await self._try(Unruly.move)
        if not self.match.is_closed:
            self._fault("does not end")

    async def _try(self, act: Callable[[Unruly], Awaitable[object]]) -> None:
        before = self.match
        with suppress(*SAID_NO):
            await act(self)
        await self._hear(before.match_id)

    def _fault(self, what: str) -> None:
        self.faults.append(f"version {self.match.version}: {what}")

    # What somebody may do.

    def _seat(self) -> Seat:
        return self._random.randrange(len(self.match.setup.seats))

    def _command(self, match: Match, seat: Seat) -> Any:
        if self._random.random() < 0.3:
            return self._game.automatic(match.state, seat)
        return policy_of(self._game.name, "random")(self._game.view(match.state, seat), self._random)

    async def _submit(self, caller: Caller, seat: Seat, *commands: Any, expected: int | None = None) -> None:
        submission = Submission(self.match.match_id, seat, commands, f"c-{len(self._submitted)}", expected)
        answer = await self.bench.referee.submit(caller, submission)
        self._submitted.append((caller, submission, answer.step.version))

    async def move(self) -> None:
        """Have a seat that is to act do so, or the relay in its place."""
        match, seat = self.match, self._random.choice(self.match.to_act)
        if not match.house_policy(seat):
            await self._submit(holder(match, seat), seat, self._command(match, seat), expected=match.version)
        elif self._random.random() < 0.5:
            await self._submit(WORKERS, seat, self._command(match, seat), expected=match.version)
        else:
            since = match.awaiting[seat] or 0
            await self.bench.referee.play_automatically(
                RELAY, match.match_id, seat, since=since, request_id=f"late-{since}"
            )

    async def misplay(self) -> None:
        """Have anybody submit for any seat what was right at some time for some seat."""
        then = self._random.choice(self.steps).match
        if not then.to_act:
            return
        seat = self._random.choice(then.to_act)
        caller = self._random.choice([holder(then, seat), holder(then, self._seat()), WORKERS, RELAY, EVE])
        expected = self._random.choice([None, then.version, self.match.version, self.match.version + 1])
        commands = [self._command(then, seat), *self._random.choice([(), (self._game.resign(seat),)])]
        await self._submit(caller, seat, *self._random.sample(commands, len(commands)), expected=expected)

    async def repeat(self) -> None:
        """Have somebody submit once more what was accepted already."""
        if self._submitted:
            caller, submission, version = self._random.choice(self._submitted)
            answer = await self.bench.referee.submit(caller, submission)
            if (answer.step.version, answer.duplicate) != (version, True):
                self._fault(f"did {submission.request_id} again")

    async def reuse(self) -> None:
        """Have a seat act under a name that it has given to something else."""
        if self._submitted:
            caller, submission, _ = self._random.choice(self._submitted)
            wish = Wish(submission.match_id, submission.seat, submission.request_id)
            await self.bench.arbitration.offer(caller, wish, Ending.CANCEL)
            self._fault(f"took {submission.request_id} for an offer")

    async def preview(self) -> None:
        """Have somebody look ahead."""
        seat = self._random.choice(self.match.to_act)
        command = self._command(self.match, seat)
        await self.bench.referee.preview(holder(self.match, seat), self.match.match_id, seat, (command,))

    async def offer(self) -> None:
        """Have any seat offer any ending, mostly one that others have offered."""
        wanted = [offer.ending for offer in self.match.conduct.offers] or [*Ending]
        await self._arbiters.offer(self.match, self._seat(), self._random.choice(wanted))

    async def decline(self) -> None:
        """Have any seat decline."""
        await self._arbiters.decline(self.match, self._seat())

    async def claim(self) -> None:
        """Have any seat claim the match, mostly when the others have been gone for long enough."""
        self._time.passes(self._random.choice([0, 30 * SECOND, 30 * SECOND]))
        await self._arbiters.claim(self.match, self._seat())

    async def abort(self) -> None:
        """Have any seat call the match off."""
        await self._arbiters.abort(self.match, self._seat())

    async def resign(self, seat: Seat | None = None) -> None:
        """Have `seat`, or any, resign."""
        seat = self._seat() if seat is None else seat
        await self._submit(holder(self.match, seat), seat, self._game.resign(seat))

    async def enforce(self) -> None:
        """Have two relays enforce the clock at the same time."""
        due = bool(arbiter.due(self.match, self._time()))
        found = await asyncio.gather(
            self._arbiters.enforce(self.match), Arbiters(self._other).enforce(self.match), return_exceptions=True
        )
        recorded = [isinstance(each, Enforced) and each.recorded for each in found]
        if recorded.count(True) != due or not all(isinstance(each, Enforced) for each in found):
            self._fault(f"enforced {found} where {due} was due")

    async def wait(self) -> None:
        """Let time pass."""
        self._time.passes(self._random.choice([1, 500, 10 * SECOND, 30 * SECOND, MINUTE, MINUTE + 300, 3 * MINUTE]))

    async def sleep(self) -> None:
        """Let the time of whoever is to act run out."""
        end_ms = next_end_ms(self.match.setup.time_control, self.match.conduct.clocks)
        self._time.passes(max(0, (end_ms or 0) - self._time()))
        await self.enforce()

    async def look(self) -> None:
        """Have a player look, and a spectator."""
        seat, match = self._seat(), self.match
        seen = await self.bench.referee.look(EVE, match.match_id, None, version=None)
        if seen.version != visible_version(match.setup, match.version, is_closed=match.is_closed):
            self._fault(f"spectators see version {seen.version}")
        await self.bench.referee.look(holder(match, seat), match.match_id, seat, version=None)

    # What must be true whatever they do.

    async def _hear(self, match_id: str) -> None:
        match = self.steps[-1].match if self.steps else None
        news = (
            await self._other.matches.following(match) if match else await self._other.matches.history(match_id, last=9)
        )
        for step in news:
            before, self.steps = self.steps[-1].match if self.steps else None, [*self.steps, step]
            if before is not None:
                self._check_clocks(before, step.match)
        if await self.bench.matches.fresh(match_id) != self.match:
            self._fault("another process folds another match")
        self._check_obligations()
        self._check_exits()

    def _check_exits(self) -> None:
        """Whoever stays can resign at any time, and time can run out for whoever is to act."""
        match = self.match
        if match.is_closed:
            return
        moment = Moment(self._game, match, SealedDraws(match, SEALS), self._time())
        for seat in match.stayers:
            try:
                arbiter.submitted(moment, seat, (self._game.resign(seat),))
            except Rejected as refusal:
                self._fault(f"seat {seat} cannot resign: {refusal}")
        try:
            arbiter.acted(replace(moment, now_ms=self._time() + DAY_MS), None, Enforce())
        except Rejected as refusal:
            self._fault(f"time cannot run out: {refusal}")

    def _check_obligations(self) -> None:
        match, due = self.match, self.log._buckets[bucket_of(self.match.match_id)].due
        playing = [seat for seat in match.to_act if match.house_policy(seat)]
        owed = {bot_turn_name(match.match_id, seat, match.awaiting[seat] or 0) for seat in playing}
        end_ms = next_end_ms(match.setup.time_control, match.conduct.clocks)
        owed |= {clock_name(match.match_id)} if end_ms is not None else set()
        owed |= {list_name(match.match_id)} if match.is_closed else set()
        is_rated = match.setup.rated and match.result is not None and match.result.reason not in WITHOUT_RESULT
        owed |= {tally_name(match.match_id)} if is_rated else set()
        if owed != {*due}:
            self._fault(f"owes {sorted(due)}, not {sorted(owed)}")
        due_ms = due.get(clock_name(match.match_id))
        if end_ms is not None and due_ms != end_ms and not end_ms < (due_ms or 0) <= self._time():
            self._fault(f"the clock is due at {due_ms}, not at {end_ms}")

    def _check_clocks(self, before: Match, after: Match) -> None:
        running = tuple(seat for seat, clock in enumerate(after.conduct.clocks) if clock.since_ms is not None)
        if running != tuple(seat for seat in after.to_act if not after.house_policy(seat)):
            self._fault(f"the clocks of {running} run")
        if self._game.period(after.state) != self._game.period(before.state):
            if after.conduct.stand_ins:
                self._fault(f"{after.conduct.stand_ins} stand in after the turn")
            if any(clock.since_ms not in (None, after.updated_at_ms) for clock in after.conduct.clocks):
                self._fault("a clock runs on from the turn before")
        if len({leaver.seat for leaver in after.conduct.leavers}) < len(after.conduct.leavers):
            self._fault("somebody has left twice")
        control = after.setup.time_control
        for seat, (old, new) in enumerate(zip(before.conduct.clocks, after.conduct.clocks, strict=True)):
            if control is not None and new.since_ms != old.since_ms and new.timeouts == old.timeouts:
                self._check_turn(control, seat, old, new, after)

    def _check_turn(self, control: TimeControl, seat: Seat, old: Clock, new: Clock, after: Match) -> None:
        """Time is never given twice for one turn: a clock that has stopped in a period stands still to its end."""
        left_ms = old.remaining_at(after.updated_at_ms)
        if old.since_ms is None:
            expected_ms = old.remaining_ms
        else:
            expected_ms = left_ms + control.increment_ms if control.has_budget else control.base_ms
        if new.remaining_ms != expected_ms:
            self._fault(f"seat {seat} has {new.remaining_ms} ms, not {expected_ms}")
        period = self._game.period(after.state)
        if new.since_ms is not None:
            if self._periods.get(seat) == period:
                self._fault(f"the clock of seat {seat} begins again")
            self._periods[seat] = period


WITHOUT_RESULT = (CloseReason.ABORTED, CloseReason.CANCELLED)
MOST_COMMITS = 1500
DAY_MS = 86_400_000

_ACTS: tuple[Callable[[Unruly], Awaitable[object]], ...] = (
    *(Unruly.move,) * 40,
    *(Unruly.misplay,) * 8,
    *(Unruly.enforce, Unruly.wait, Unruly.sleep) * 3,
    *(Unruly.repeat, Unruly.reuse, Unruly.preview, Unruly.look, Unruly.offer, Unruly.decline, Unruly.claim) * 2,
    *(Unruly.abort, Unruly.resign),
)
