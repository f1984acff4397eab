"""Runs a bot of one's own: enters a pool's queue again and again and plays every match with the bot's `choose`.

What happens when the bot is wrong:

- A command that the rules refuse is reported and counted, and the seat plays what the policy `random` chooses instead,
  so the match goes on. A bot that plays well has no refusals. Where others act first, the bot is asked again instead.
- An exception in the bot's file, or something returned that is no command, ends the run with a `BotError` that names
  the file and the line. Open matches are resigned, so that no opponent waits for a bot that is gone; the same happens
  when the run is cancelled. When the platform fails, they are left open. Either is told for each match.

Matches overlap as far as the bot lets them: one at a time waits in the queue, since a player has one ticket in a pool,
while those that have begun are played. Plain functions of the bot run one at a time, whatever match they are for;
`async` ones interleave.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

import msgspec

from promontory.bots.registry import policy
from promontory.client.asynchronous import AsyncClient
from promontory.client.bot_events import (
    BotResult,
    CommandRefused,
    MatchesLeftOpen,
    MatchLeft,
    MatchPlayed,
    MatchStarted,
    OnEvent,
    QueueEntered,
    RatingSpan,
)
from promontory.client.bot_file import CHOOSE, Bot, BotError, load_bot
from promontory.client.errors import (
    AlreadyExists,
    FailedPrecondition,
    InvalidArgument,
    PromontoryError,
    ResourceExhausted,
    VersionConflict,
)
from promontory.client.matches import MatchSummary, Update
from promontory.client.ratings import Rating
from promontory.client.seats import TOO_LATE, Seat, new_request_id
from promontory.client.tickets import Pool
from promontory.client.wording import shown

FALLBACK_POLICY = "random"
RESIGN_SECONDS = 5
LIMIT_PAUSE_SECONDS = 1.0
RATING_SECONDS = 5.0
RATING_PAUSE_SECONDS = 0.1
RECENT_MATCHES = 20
_TOO_LATE = {*TOO_LATE, "NOT_YOUR_TURN"}


class BotPlan(msgspec.Struct, frozen=True):
    """What to play: `matches` matches of `pool` in all (None: without end), up to `concurrent` at a time.

    `seed` fixes the random numbers of each match, together with its id; None takes another one for each run. With
    `resume` the first matches are those of the pool that an earlier run left open, if there are any among the player's
    last 20; leave it off if another run of the same player is under way.
    """

    pool: str
    matches: int | None = 1
    concurrent: int = 1
    seed: int | None = None
    resume: bool = False


async def run_bot(client: AsyncClient, file: Path, plan: BotPlan, *, on_event: OnEvent | None = None) -> BotResult:
    """Play as `plan` says with the bot in `file`, whose player `client` is, and return how it did.

        async with promontory.AsyncClient(endpoints, token=token) as client:
            result = await run_bot(client, Path("my_bot.py"), BotPlan("transcontinental.ranked", matches=10))
        print(result)

    Raises:
        BotError: the file cannot be loaded, or failed; see the top of this module.
        PromontoryError: the platform refuses the player, or cannot be reached for as long as the client retries.
        ValueError: the plan is for less than one match.
    """
    if plan.concurrent < 1 or (plan.matches is not None and plan.matches < 1):
        raise ValueError("a plan needs at least one match, and at least one at a time")
    bot = load_bot(file)
    run = _Run(client, bot, plan, on_event=on_event)
    try:
        return await run.play()
    finally:
        bot.close()


class _Run:
    """One run: so many players of matches, of whom one at a time waits in the queue."""

    def __init__(self, client: AsyncClient, bot: Bot, plan: BotPlan, *, on_event: OnEvent | None) -> None:
        self._client, self._bot, self._plan = client, bot, plan
        self._tell = on_event or (lambda _: None)
        self._seed = SystemRandom().getrandbits(32) if plan.seed is None else plan.seed
        self._to_begin = plan.matches
        self._left_open: list[Seat] = []
        self._queueing = asyncio.Lock()
        self._pool: Pool
        self._played: list[MatchPlayed] = []

    async def play(self) -> BotResult:
        """Play all matches."""
        self._pool = await self._client.prepare(self._plan.pool)
        before = await self._rating()
        if self._plan.resume:
            await self._find_left_open()
        players = self._plan.concurrent if self._to_begin is None else min(self._plan.concurrent, self._to_begin)
        try:
            async with asyncio.TaskGroup() as group:
                for _ in range(players):
                    group.create_task(self._keep_playing())
        except BaseExceptionGroup as failures:
            failure = failures.exceptions[0]
            raise failure from failure.__cause__
        rating = await self._rating_span(before) if before else None
        return BotResult(self._plan.pool, self._seed, tuple(self._played), rating)

    async def _keep_playing(self) -> None:
        while self._to_begin is None or self._to_begin > 0:
            if self._to_begin is not None:
                self._to_begin -= 1
            seated = self._left_open.pop() if self._left_open else await self._next_seat()
            rng = Random(f"{self._seed}/{seated.match_id}/{seated.seat}")  # noqa: S311 - play, not secrecy
            played = await _Match(seated, self._bot, rng, tell=self._tell).play()
            self._played.append(played)
            self._tell(played)

    async def _find_left_open(self) -> None:
        self._left_open = [seated async for seated in self._open_seats()]
        found = len(self._left_open)
        taken = found if self._to_begin is None else min(found, self._to_begin)
        self._tell(MatchesLeftOpen(self._plan.pool, found, taken))

    async def _open_seats(self) -> AsyncIterator[Seat]:
        """Yield the player's seats in open matches of the pool, among the last ones."""
        looked = 0
        async for entry in self._client.matches():
            if entry.pool == self._plan.pool and entry.seat is not None:
                seated = self._client.seat(entry.game, entry.match_id, entry.seat)
                if not (await seated.look()).match.is_over:
                    yield seated
            looked += 1
            if looked == RECENT_MATCHES:
                return

    async def _next_seat(self) -> Seat:
        """Return a seat from the queue: with a new ticket, or the one that an earlier run has left there."""
        async with self._queueing:
            after = self._pool.house_bots_after
            self._tell(QueueEntered(self._plan.pool, after.total_seconds() if after is not None else None))
            while True:
                try:
                    return await self._client.play(self._plan.pool)
                except AlreadyExists as error:
                    return await self._client.ticket(error.metadata["ticketId"]).seat_or_leave()
                except ResourceExhausted as error:
                    await asyncio.sleep(error.retry_after or LIMIT_PAUSE_SECONDS)

    async def _rating(self) -> Rating | None:
        """Return the player's rating, or None if the pool has none or scoring does not tell: play goes on without."""
        if self._pool.rated:
            with suppress(PromontoryError, TimeoutError, ValueError):
                async with asyncio.timeout(RATING_SECONDS):
                    return await self._client.rating(self._plan.pool)
        return None

    async def _rating_span(self, before: Rating) -> RatingSpan:
        """Return how the rating has changed, after a wait for the last matches to be counted."""
        expected = before.matches + len(self._played)
        after = before
        with suppress(TimeoutError):
            async with asyncio.timeout(RATING_SECONDS):
                while after.matches < expected:
                    after = await self._rating() or after
                    await asyncio.sleep(RATING_PAUSE_SECONDS)
        return RatingSpan(before.points, after.points, uncounted=max(0, expected - after.matches))


class _Match:
    """One match that the bot plays."""

    def __init__(self, seated: Seat, bot: Bot, rng: Random, *, tell: OnEvent) -> None:
        self._seated, self._bot, self._rng, self._tell = seated, bot, rng, tell
        self._commands = 0
        self._reasons: Counter[str] = Counter()

    async def play(self) -> MatchPlayed:
        """Play to the end; if the bot fails or is stopped, resign."""
        try:
            return await self._play()
        except PromontoryError:
            self._tell(MatchLeft(self._seated.match_id, resigned=False))
            raise
        except BaseException:
            await self._leave()
            raise

    async def _leave(self) -> None:
        """Resign, if the match is still open and that can be done quickly."""
        try:
            await asyncio.wait_for(self._seated.resign(), RESIGN_SECONDS)
        except FailedPrecondition:  # it is over
            return
        except (PromontoryError, TimeoutError):
            self._tell(MatchLeft(self._seated.match_id, resigned=False))
        else:
            self._tell(MatchLeft(self._seated.match_id, resigned=True))

    async def _play(self) -> MatchPlayed:
        begun = False
        async for update in self._seated:
            if not begun:
                begun = True
                self._tell(MatchStarted(self._seated.match_id, self._seated.seat, self._opponents(update.match)))
                await self._bot.call("on_match_start", update.match, self._seated.seat)
            if update.your_turn:
                await self._act(update)
        await self._bot.call("on_match_end", update.match, self._seated.seat)
        return self._report(update.match)

    async def _act(self, update: Update) -> None:
        command = await self._bot.call(CHOOSE, update.view, self._rng)
        await self._check(command, update)
        try:
            await self._submit(command, update.version)
        except (FailedPrecondition, InvalidArgument) as error:
            instead = await self._fallback(update)
            if await self._submit(instead, update.version):
                self._reasons[error.reason] += 1
                self._tell(self._refusal(update, command, instead, error=error))

    async def _check(self, command: Any, update: Update) -> None:
        """Raise `BotError` if `command` is none of the game, or not the seat's to give."""
        try:
            self._seated.check(command)
        except ValueError as error:
            raise self._bot.misled(await self._seated.rules(), update.view, problem=error) from error

    async def _submit(self, command: Any, version: int) -> bool:
        """Submit `command`, and return whether it was played; others may have acted first, or time has run out."""
        request_id = new_request_id()
        while True:
            try:
                await self._seated.submit(command, expected_version=version, request_id=request_id)
            except VersionConflict:
                return False
            except FailedPrecondition as error:
                if error.reason not in _TOO_LATE:
                    raise
                return False
            except ResourceExhausted as error:
                await asyncio.sleep(error.retry_after or LIMIT_PAUSE_SECONDS)
            else:
                self._commands += 1
                return True

    async def _fallback(self, update: Update) -> Any:
        """Return a command that the rules accept."""
        seed = f"{self._seated.match_id}/{update.version}/{self._seated.seat}"
        rng = Random(seed)  # noqa: S311 - the bot's numbers stay its own
        return policy(await self._seated.rules(), FALLBACK_POLICY)(update.view, rng)

    def _refusal(self, update: Update, command: Any, instead: Any, *, error: PromontoryError) -> CommandRefused:
        return CommandRefused(
            match_id=self._seated.match_id,
            version=update.version,
            phase=str(getattr(update.view, "phase", "")),
            command=shown(command),
            reason=error.reason,
            message=error.message,
            metadata=error.metadata,
            instead=shown(instead),
        )

    def _opponents(self, match: MatchSummary) -> tuple[str, ...]:
        return tuple(seat.player_id for seat in match.seats if seat.seat != self._seated.seat)

    def _report(self, match: MatchSummary) -> MatchPlayed:
        if match.outcome is None:
            raise BotError(f"{match.match_id} ended without an outcome")
        placements = match.outcome.placements
        place = placements[self._seated.seat].place if placements else 0
        return MatchPlayed(
            match_id=match.match_id,
            seat=self._seated.seat,
            opponents=self._opponents(match),
            place=place,
            shared=[placement.place for placement in placements].count(place) > 1,
            scores=tuple(placement.score for placement in placements),
            reason=match.outcome.reason,
            commands=self._commands,
            refused=self._reasons.total(),
            reasons=dict(self._reasons),
        )
