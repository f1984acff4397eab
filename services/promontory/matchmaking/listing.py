"""Matches as lists keep them: what is told of each, and which lists it is in. Pure."""

from __future__ import annotations

import msgspec

from promontory.codec.outcomes import CloseReason
from promontory.games import registry
from promontory.matchmaking.domain import PRIVATE, Made, Proposal


class Ended(msgspec.Struct, frozen=True):
    """How a match ended: why, when (ms since the epoch), places and scores in the order of seats."""

    reason: CloseReason
    closed_ms: int
    places: tuple[int, ...] = ()
    scores: tuple[int, ...] = ()


class Listed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A match as lists tell of it, all of it from its log; `policies` has one for each seat, empty for players."""

    match_id: str
    game: str
    players: tuple[str, ...]
    policies: tuple[str, ...]
    created_ms: int
    pool: str = PRIVATE
    rated: bool = False
    stand_in: str = ""
    spectator_delay: int = 0
    ended: Ended | None = None

    @property
    def service(self) -> str:
        """The gRPC service that referees it."""
        return registry.entry(self.game).service

    @property
    def keepers(self) -> tuple[str, ...]:
        """The players who keep lists: all but house bots, in the order of their seats."""
        return tuple(player for player, policy in zip(self.players, self.policies, strict=True) if not policy)

    @property
    def live_lists(self) -> tuple[str, ...]:
        """The lists of live matches that it is in while it is open; a private one only in those of its players."""
        if self.pool == PRIVATE:
            return tuple(live_of_player(player) for player in self.keepers)
        return live_of_game(self.game), live_of_pool(self.pool)

    def is_shown_to(self, player: str) -> bool:
        """Whether `player` may find it in lists of others."""
        return self.pool != PRIVATE or player in self.players


class Start(msgspec.Struct, frozen=True):
    """Where in a list one goes on: at the entries of the time `ms` or before, but for the first `skipped` of that time.

    So a page begins where the one before has ended, whatever comes on top in between.
    """

    ms: int
    skipped: int = 0

    def after(self, ms: int) -> Start:
        """Return where to go on behind an entry of the time `ms`."""
        return Start(ms, self.skipped + 1 if ms == self.ms else 1)


def live_of_game(game: str) -> str:
    """Return the name of the list of a game's live matches."""
    return f"live:{game}"


def live_of_pool(pool: str) -> str:
    """Return the name of the list of a pool's live matches; pools' names have no other sign than letters and dots."""
    return f"live:={pool}"


def live_of_player(player: str) -> str:
    """Return the name of the list of a player's private live matches."""
    return f"live:@{player}"


def matches_of(player: str) -> str:
    """Return the name of the list of all matches of a player, by when they were made."""
    return f"made:{player}"


def finished_by(player: str) -> str:
    """Return the name of the list of a player's closed matches, by when they ended."""
    return f"ended:{player}"


def listed(proposal: Proposal, made: Made) -> Listed:
    """Return the match that `proposal` became, as lists tell of it."""
    return Listed(
        match_id=made.match_id,
        game=proposal.game,
        players=proposal.players,
        policies=tuple(place.entrant.policy for place in proposal.places),
        created_ms=made.created_ms,
        pool=proposal.pool,
        rated=proposal.rated,
        stand_in=proposal.terms.stand_in_policy,
        spectator_delay=proposal.terms.spectator_delay,
    )
