"""What players and the platform do in a match that is no command of the game: offers, claims, the clock."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping

import msgspec

from promontory.codec.conduct import Ending
from promontory.eventlog.port import EventLogUnavailable
from promontory.games.kernel import Rejected, Seat
from promontory.rules import access, arbiter
from promontory.rules.clocks import next_end_ms
from promontory.rules.conduct import Abort, Act, Cancel, Claim, Decline, Enforce, Offer
from promontory.rules.domain import Decision, Match, Moment
from promontory.rules.ledger import Intent, Ledger
from promontory.rules.matches import Matches
from promontory.rules.ports import Presence, Seals
from promontory.rules.presence import note
from promontory.rules.recorder import AlreadyActed, Answer, Recorder
from promontory.runtime import clock
from promontory.runtime.identity import Caller, Scope

CANCEL = "cancel:"
"""What the command ids of the platform's own cancellations begin with."""


HOLD_MS = 10_000
"""For how long nobody is claimed or timed out after a standstill, where nothing else is set: all are to come back."""


class Wish(msgspec.Struct, frozen=True):
    """What a seat's player wants to do in a match, and the name of that intent."""

    match_id: str
    seat: Seat
    request_id: str


class Enforced(msgspec.Struct, frozen=True):
    """A match's version, whether time ran out and that was recorded now, and in how many ms the next clock is up."""

    version: int
    recorded: bool
    due_in_ms: int | None


class Arbitration:
    """The use cases of an arbiter. All but the clock's take the player of a seat, and are done once for a request id.

    They raise `Rejected` if the rules of conduct forbid it, and what keeps the caller from acting for the seat.
    """

    def __init__(
        self, ledger: Ledger, matches: Matches, *, seals: Seals, presence: Presence, hold_ms: int = HOLD_MS
    ) -> None:
        """Take for how long, in ms, players may come back once `presence` knows who is there."""
        self._matches, self._presence, self._hold_ms = matches, presence, hold_ms
        self._recorder = Recorder(ledger, matches, seals)

    async def abort(self, caller: Caller, wish: Wish) -> Answer:
        """Call the match off, before any player has moved."""
        return await self._act(caller, wish, "abort", lambda _: Abort())

    async def claim(self, caller: Caller, wish: Wish) -> Answer:
        """Have the players leave who are to act, and have been gone for so long that they can be claimed."""
        last_seen = await self._presence.last_seen(wish.match_id)
        held_ms = self._presence.since_ms + self._hold_ms
        return await self._act(
            caller, wish, "claim", lambda moment: Claim(_gone(moment, wish.seat, last_seen, held_ms=held_ms))
        )

    async def absences(self, match: Match, *, silent_ms: int) -> Mapping[Seat, int]:
        """Return the seats to act whose players were last there `silent_ms` ago or longer.

        They come with when each can be claimed, in ms since the epoch. None are told where nobody can be claimed, and
        while nobody knows.
        """
        if match.is_closed or not match.setup.abandon_after_ms:
            return {}
        try:
            last_seen = await self._presence.last_seen(match.match_id)
        except EventLogUnavailable:
            return {}
        held_ms = self._presence.since_ms + self._hold_ms
        latest_ms = clock.now_ms() - silent_ms
        claimable = {seat: arbiter.claimable_ms(match, seat, last_seen.get(seat, 0)) for seat in match.to_act}
        return {
            seat: max(from_ms, held_ms)
            for seat, from_ms in claimable.items()
            if from_ms is not None and from_ms - match.setup.abandon_after_ms <= latest_ms
        }

    async def offer(self, caller: Caller, wish: Wish, ending: Ending) -> Answer:
        """Agree to end the match; it ends once all players who stayed do."""
        return await self._act(caller, wish, f"offer {ending.value}", lambda _: Offer(ending))

    async def decline(self, caller: Caller, wish: Wish) -> Answer:
        """Decline what others offered."""
        return await self._act(caller, wish, "decline", lambda _: Decline())

    async def _act(self, caller: Caller, wish: Wish, content: str, act: Callable[[Moment], Act]) -> Answer:
        match = await self._matches.recent(wish.match_id)
        access.require_seat(match, wish.seat, caller)
        note(self._presence, match, wish.seat, caller)
        fingerprint = _fingerprint(wish.match_id, content)
        intent = Intent(f"{wish.seat}:{wish.request_id}", fingerprint, actor=wish.seat)

        def decide(moment: Moment) -> Decision:
            arbiter.require_open(moment.match)
            access.require_player(moment.match, wish.seat, caller)
            return arbiter.acted(moment, wish.seat, act(moment))

        return await self._recorder.record(match, intent, decide)

    async def cancel(self, caller: Caller, match_id: str, note: str, *, request_id: str) -> Answer:
        """Cancel the match in the name of the platform, without a result; players are told `note`."""
        caller.require(Scope.CANCEL_MATCH)
        match = await self._matches.recent(match_id)
        intent = Intent(f"{CANCEL}{request_id}", _fingerprint(match_id, f"cancel {note}"))

        def decide(moment: Moment) -> Decision:
            return arbiter.acted(moment, None, Cancel(note))

        return await self._recorder.record(match, intent, decide)

    async def enforce_clock(self, caller: Caller, match_id: str) -> Enforced:
        """Record that time ran out, if it did for any seat, and what that leads to.

        Where the platform stood still in a turn, that is put off until players may be back.
        """
        caller.require(Scope.PLAY_AUTOMATICALLY)
        match = await self._matches.fresh(match_id)
        if not arbiter.due(match, clock.now_ms()):
            return _enforced(match, recorded=False)
        if held_ms := self._held_ms(match):
            return Enforced(match.version, recorded=False, due_in_ms=held_ms)
        intent = Intent(f"clock:{match.version}", _fingerprint(match_id, "clock"))
        try:
            answer = await self._recorder.record(match, intent, _run_out)
        except AlreadyActed:
            return _enforced(await self._matches.recent(match_id), recorded=False)
        return _enforced(answer.step.match, recorded=not answer.duplicate)

    def _held_ms(self, match: Match) -> int:
        """Return for how many ms players may come back, because a turn under way began before the standstill."""
        begun = [each.since_ms for each in match.conduct.clocks if each.since_ms is not None]
        if min(begun) >= self._presence.since_ms:
            return 0
        return max(0, self._presence.since_ms + self._hold_ms - clock.now_ms())


def _run_out(moment: Moment) -> Decision:
    if moment.match.is_closed or not arbiter.due(moment.match, moment.now_ms):
        raise AlreadyActed
    return arbiter.acted(moment, None, Enforce())


def _gone(moment: Moment, claimer: Seat, last_seen: Mapping[Seat, int], *, held_ms: int) -> tuple[Seat, ...]:
    """Return the seats that `claimer` may claim now, not before `held_ms`, or raise `NOTHING_TO_CLAIM`."""
    match, now_ms = moment.match, moment.now_ms
    others = [seat for seat in range(len(match.setup.seats)) if seat != claimer]
    claimable = {
        seat: max(from_ms, held_ms)
        for seat in others
        if (from_ms := arbiter.claimable_ms(match, seat, last_seen.get(seat, 0)))
    }
    gone = tuple(seat for seat, from_ms in claimable.items() if from_ms <= now_ms)
    if gone:
        return gone
    wait = {"claimableSeconds": -(-(min(claimable.values()) - now_ms) // 1000)} if claimable else {}
    raise Rejected("NOTHING_TO_CLAIM", rule=arbiter.RULE, **wait)


def _enforced(match: Match, *, recorded: bool) -> Enforced:
    end_ms = next_end_ms(match.setup.time_control, match.conduct.clocks)
    due_in_ms = None if end_ms is None else max(0, end_ms - clock.now_ms())
    return Enforced(match.version, recorded, due_in_ms)


def _fingerprint(match_id: str, content: str) -> str:
    return hashlib.sha256(f"{match_id}|{content}".encode()).hexdigest()
