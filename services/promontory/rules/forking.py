"""Playing on from an earlier version of a closed match, in a match of its own that counts for nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import msgspec

from promontory.bots.registry import house_player
from promontory.rules import access
from promontory.rules.domain import Decision, Happening, Match, Origin, SeatKind, SeatSetup, Setup, Step
from promontory.rules.ledger import CREATE, Intent, Ledger, Seed, new_match
from promontory.rules.matches import Matches
from promontory.rules.usecases import Environment, match_id_for
from promontory.rules.validation import check_fork, check_reached
from promontory.runtime import clock
from promontory.runtime.allowance import Allowance
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import Caller, Scope


class ForkSeat(msgspec.Struct, frozen=True):
    """Who is to play a seat of a fork: a house bot by `bot_policy`, or the caller if that is empty.

    `client_entropy`, 0 to 32 bytes, is the seat's share in the randomness from then on.
    """

    bot_policy: str = ""
    client_entropy: bytes = b""


class ForkWish(msgspec.Struct, frozen=True):
    """Which match to fork, from which version on, and who plays its seats: the caller all of them if none are given."""

    match_id: str
    version: int
    seats: tuple[ForkSeat, ...] = ()


class Forking:
    """The use case of forks.

    A fork's log stands by itself: its first commit tells where it comes from, and holds all that happened in the
    original's game up to there. Clocks, departures and offers of the original stay behind.
    """

    def __init__(self, ledger: Ledger, matches: Matches, environment: Environment, allowance: Allowance) -> None:
        """Take how many forks a player may ask for in `allowance`."""
        self._ledger, self._matches, self._environment = ledger, matches, environment
        self._allowance = allowance

    async def fork(self, caller: Caller, request_id: str, wish: ForkWish) -> Match:
        """Return the match that `request_id` of `caller` names, begun as `wish` says if there was none yet.

        Raises:
            Refusal: `MATCH_OPEN` while the original is being played, whoever asks; `MATCH_OVER` if its game is over at
                that version; `VERSION_OUT_OF_RANGE`; `BAD_REQUEST` for seats that it cannot have; `LIMIT_REACHED`.
            CommandIdReused: the request id came before with another wish.
        """
        caller.require(Scope.PLAY)
        self._allowance.spend(caller)
        original = await self._matches.fresh(wish.match_id)
        access.require_closed(original)
        check_reached(wish.version, original.version)
        steps = await self._matches.history(wish.match_id, last=wish.version)
        self._check_goes_on(steps[-1].match, original)
        setup = _setup(caller, wish, original)
        check_fork(setup.seats, len(original.setup.seats), self._environment.policies)
        return await self._begun(caller, request_id, wish, Copy(setup, steps))

    def _check_goes_on(self, match: Match, original: Match) -> None:
        if self._ledger.game_of(match).outcome(match.state) is not None:
            text = f"the game is over at version {match.version}; fork an earlier one"
            reason = original.result.reason.value if original.result else ""
            raise Refusal(Kind.FORBIDDEN_NOW, "MATCH_OVER", text, metadata={"closeReason": reason})

    async def _begun(self, caller: Caller, request_id: str, wish: ForkWish, copy: Copy) -> Match:
        code, _, _ = wish.match_id.partition("-")
        match_id = match_id_for(code, f"fork {caller.subject}", request_id, buckets=self._environment.buckets)
        match, seed = self._new(match_id, copy)
        intent = Intent(CREATE, _fingerprint(wish))
        draft = self._ledger.draft(
            match, Decision(copy.happened), intent, reveal=lambda: seed.plain, now_ms=match.created_at_ms
        )
        begun = await self._matches.append(match, draft)
        return begun.match if isinstance(begun, Step) else await self._matches.fresh(match_id)

    def _new(self, match_id: str, copy: Copy) -> tuple[Match, Seed]:
        plain = self._environment.draw_seed()
        seed = Seed(plain, self._environment.seals.seal(match_id, plain))
        game, now_ms = self._ledger.game_of(copy.last), clock.now_ms()
        match = new_match(game, match_id, copy.setup, seed=seed, now_ms=now_ms)
        return msgspec.structs.replace(match, forked_from=copy.origin), seed


class Copy(msgspec.Struct, frozen=True):
    """What a fork begins with: its setup, and the steps of the original that are its past, at least one."""

    setup: Setup
    steps: Sequence[Step]

    @property
    def last(self) -> Match:
        """The original where the fork begins."""
        return self.steps[-1].match

    @property
    def origin(self) -> Origin:
        """Where the fork begins."""
        return Origin(self.last.match_id, self.last.version, self.last.position.head)

    @property
    def happened(self) -> tuple[Happening, ...]:
        """All that has happened in the game up to there."""
        return tuple(happening for step in self.steps for happening in step.happened)


def _setup(caller: Caller, wish: ForkWish, original: Match) -> Setup:
    seats = wish.seats or (ForkSeat(),) * len(original.setup.seats)
    return Setup(
        tuple(_seat(caller, seat, number) for number, seat in enumerate(seats)), variant=original.setup.variant
    )


def _seat(caller: Caller, seat: ForkSeat, number: int) -> SeatSetup:
    if not seat.bot_policy:
        return SeatSetup(caller.subject, client_entropy=seat.client_entropy)
    return SeatSetup(house_player(seat.bot_policy, number), SeatKind.HOUSE_BOT, seat.bot_policy, seat.client_entropy)


def _fingerprint(wish: ForkWish) -> str:
    return hashlib.sha256(msgspec.msgpack.encode(wish)).hexdigest()
