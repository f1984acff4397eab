"""Playing on from any version of a finished match, in a match that counts for nothing."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from promontory.api.match.v1 import match_pb2
from promontory.client.matches import MatchSummary, SeatKind, match_of
from promontory.client.seats import GameRemote, Seat

Policies = Sequence[str | None]
"""For each seat the policy of a house bot that plays it, for example `greedy`, or None for the player."""


class Fork(msgspec.Struct, frozen=True):
    """A match that begins where another one stood, and the player's own `seats` in it, ascending.

    Keep its id: no list tells of it.
    """

    match: MatchSummary
    seats: tuple[Seat, ...]

    @property
    def match_id(self) -> str:
        """The fork's own id."""
        return self.match.match_id


async def fork(game: GameRemote, match_id: str, version: int, *, seats: Policies, request_id: str) -> Fork:
    """Fork a match; see `AsyncClient.fork`."""
    answer = await game.call(
        "ForkMatch",
        match_id=match_id,
        version=version,
        seats=[match_pb2.ForkSeat(bot_policy=policy or "") for policy in seats],
        request_id=request_id,
    )
    match = match_of(answer.match)
    own = [seat.seat for seat in match.seats if seat.kind is SeatKind.PLAYER]
    return Fork(match, tuple(Seat(game, match.match_id, seat) for seat in own))
