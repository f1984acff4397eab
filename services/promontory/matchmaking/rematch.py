"""Playing a match again: the same players on the same terms, with the seats moved on by one."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from promontory.matchmaking.domain import Entrant, derived_id, fingerprint_of
from promontory.matchmaking.ports import Played, Rules
from promontory.matchmaking.seating import Intent, Seating
from promontory.matchmaking.table import (
    CloseReason,
    Guest,
    Readiness,
    Table,
    agree,
    closed,
    require_open,
)
from promontory.matchmaking.validation import checked_player
from promontory.runtime import clock
from promontory.runtime.errors import Kind, Refusal, match_not_found, match_open
from promontory.runtime.forms import LOGGED_MATCH_ID, REQUEST_ID
from promontory.runtime.identity import Caller, Scope

T = TypeVar("T")


class Rematches:
    """The use cases of rematches. A match has one: its table's id follows from the match's."""

    def __init__(self, rules: Rules, seating: Seating) -> None:
        self._rules, self._seating = rules, seating

    async def request(self, caller: Caller, match_id: str, entropy: bytes, *, request_id: str) -> Table:
        """Ask to play a closed match again, or agree to it; return the rematch's table.

        Raises the refusals `MATCH_NOT_FOUND`, `NOT_YOURS`, `MATCH_OPEN`, and `TABLE_CLOSED` if it was declined or has
        expired.
        """
        caller.require(Scope.PLAY)
        guest = Guest(checked_player(caller, entropy), Readiness.ALWAYS_READY)
        intent = Intent(caller.subject, REQUEST_ID.checked(request_id, "request_id"), ("rematch", match_id, guest))
        wanted = self._table(await self._played(caller, match_id), guest)
        opened = await self._seating.open(replace(wanted, requests=intent.requests))
        return await self._seating.change(opened.id, intent, lambda found: agree(found, guest))

    async def decline(self, caller: Caller, match_id: str, *, request_id: str) -> Table:
        """Decline the rematch that somebody has asked for; return its table.

        Raises the refusals `TABLE_NOT_FOUND` if nobody has, `NOT_YOURS`, and `TABLE_CLOSED` if it has begun or is over.
        """
        caller.require(Scope.PLAY)

        def decline(found: Table) -> Table:
            if caller.subject not in found.reserved:
                raise _not_played(match_id)
            require_open(found)
            return closed(found, CloseReason.DECLINED)

        intent = Intent(caller.subject, REQUEST_ID.checked(request_id, "request_id"), ("decline", match_id))
        return await self._seating.change(table_of(LOGGED_MATCH_ID.checked(match_id, "match_id")), intent, decline)

    async def _played(self, caller: Caller, match_id: str) -> Played:
        played = await self._rules.find_match(LOGGED_MATCH_ID.checked(match_id, "match_id"))
        if played is None or played.is_fork:
            raise match_not_found(match_id)
        if caller.subject not in played.listed.keepers:
            raise _not_played(match_id)
        if played.listed.ended is None:
            raise match_open(match_id)
        return played

    def _table(self, played: Played, first: Guest) -> Table:
        match = played.listed
        entrants = tuple(map(Entrant, rotated(match.players), rotated(match.policies)))
        opened = Table(
            id=table_of(match.match_id),
            game=match.game,
            variant=played.variant,
            pool=match.pool,
            rated=match.rated,
            terms=played.terms,
            rematch_of=match.match_id,
            reserved=tuple("" if each.policy else each.player for each in entrants),
            created_ms=clock.now_ms(),
            expires_ms=self._seating.limits.end_ms(is_rematch=True),
            fingerprint=fingerprint_of("rematch", match.match_id),
            guests=tuple(Guest(each, Readiness.ALWAYS_READY) if each.policy else None for each in entrants),
        )
        return agree(opened, first)


def rotated(seats: tuple[T, ...]) -> tuple[T, ...]:
    """Return `seats` moved on by one: seat 1 becomes seat 0, and seat 0 the last one."""
    return (*seats[1:], seats[0])


def table_of(match_id: str) -> str:
    """Return the id of the table of a match's rematch."""
    return derived_id("rm", match_id, "rematch")


def _not_played(match_id: str) -> Refusal:
    text = "the caller did not play in the match"
    return Refusal(Kind.NOT_ALLOWED, "NOT_YOURS", text, metadata={"matchId": match_id})
