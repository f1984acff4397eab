"""Pools, tickets, proposals and tables to begin with, ordinary but for what is given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from promontory.codec.outcomes import CloseReason
from promontory.codec.terms import Terms
from promontory.matchmaking.domain import Entrant, HouseBot, Made, Place, Pool, Proposal, Ticket, Window
from promontory.matchmaking.listing import Ended, Listed
from promontory.matchmaking.ports import Played
from promontory.matchmaking.table import Guest, Readiness, Table

POOL = "transcontinental.ranked"
SERVICE = "promontory.api.transcontinental.v1.TranscontinentalService"
WINDOW = Window(points=100, points_per_second=10, most_points=400)
NOW_MS = 1_800_000_000_000
FOREVER_SECONDS = 600.0


def pool(**given: Any) -> Pool:
    """Return a ranked pool for two without house bots."""
    usual: dict[str, Any] = {"id": POOL, "game": "transcontinental", "seats": 2, "rated": True, "window": WINDOW}
    usual["variant"] = "standard"
    return Pool(**(usual | given))


def house_bots(*players: str) -> tuple[HouseBot, ...]:
    """Return greedy house bots."""
    return tuple(HouseBot(player, "greedy") for player in players)


def ticket(player: str, rating: float = 1500.0, *, waited_seconds: float = 0, **given: Any) -> Ticket:
    """Return `player`'s ticket, called `tk-<player>`, that has waited so long at `NOW_MS`."""
    usual: dict[str, Any] = {
        "id": f"tk-{player}",
        "pool": POOL,
        "entrant": Entrant(player, entropy=player.encode()),
        "rating": rating,
        "created_ms": NOW_MS - round(waited_seconds * 1000),
        "fingerprint": "content",
    }
    return Ticket(**(usual | given))


def proposal(tickets: Sequence[Ticket], *fillers: Entrant, id: str = "pr-1") -> Proposal:  # noqa: A002
    """Return the proposal of a ranked match for `tickets`, and house bots after them."""
    places = [Place(each.entrant, each.rating, each.id, each.created_ms, each.refusals) for each in tickets]
    places += [Place(filler) for filler in fillers]
    return Proposal(id=id, pool=POOL, game="transcontinental", rated=True, draw_start=True, places=tuple(places))


def made(match_id: str = "tc-000-match", created_ms: int = NOW_MS) -> Made:
    """Return what creating a match gives."""
    return Made(SERVICE, match_id, created_ms)


def table(host: str = "ann", *, seats: int = 2, **given: Any) -> Table:
    """Return a table that `host` has opened and is always ready at."""
    usual: dict[str, Any] = {
        "id": f"tb-{host}",
        "invite_code": f"CODE{host.upper():4.4}".replace(" ", "X"),
        "host": host,
        "game": "transcontinental",
        "created_ms": NOW_MS,
        "expires_ms": NOW_MS,
        "fingerprint": "content",
        "guests": (guest(host, entropy=b"\x00\xff"), *[None] * (seats - 1)),
    }
    return Table(**(usual | given))


def guest(player: str, readiness: Readiness = Readiness.ALWAYS_READY, *, entropy: bytes = b"") -> Guest:
    """Return a player who sits at a table."""
    return Guest(Entrant(player, entropy=entropy), readiness)


def listed(number: int = 0, *players: str, ended_ms: int | None = None, **given: Any) -> Listed:
    """Return a ranked match of `players`, made `number` ms after `NOW_MS`, and closed `ended_ms` after it if given."""
    seated = players or ("ann", "bob")
    usual: dict[str, Any] = {
        "match_id": f"tc-000-{number}",
        "game": "transcontinental",
        "players": seated,
        "policies": ("",) * len(seated),
        "created_ms": NOW_MS + number,
        "pool": POOL,
        "rated": True,
    }
    if ended_ms is not None:
        usual["ended"] = Ended(CloseReason.PLAYED_OUT, NOW_MS + ended_ms, (1, 2), (100, 40))
    return Listed(**(usual | given))


def changed(ticket: Ticket, **given: Any) -> Ticket:
    """Return `ticket` with other content."""
    return msgspec.structs.replace(ticket, **given)


class RulesStandIn:
    """The port `Rules`: keeps one match per request id, as rules services do; `fault` is raised once it is set."""

    def __init__(self) -> None:
        self.matches: dict[str, Proposal] = {}
        self.played: dict[str, Played] = {}
        self.calls = 0
        self.fault: Exception | None = None

    async def create_match(self, proposal: Proposal) -> Made:
        """Return the match of `proposal`."""
        self.calls += 1
        if self.fault:
            raise self.fault
        self.matches.setdefault(proposal.request_id, proposal)
        return made(f"tc-000-{proposal.id}")

    async def find_match(self, match_id: str) -> Played | None:
        """Return a match that was put there."""
        if self.fault:
            raise self.fault
        return self.played.get(match_id)

    def put(self, match: Listed, *, terms: Terms | None = None, is_fork: bool = False) -> None:
        """Put a match there."""
        played = Played(listed=match, variant="standard", terms=terms or Terms(), is_fork=is_fork)
        self.played[match.match_id] = played


class RatingsStandIn:
    """The port `Ratings`: everybody holds `ratings`, or 1500 points; `fault` is raised once it is set."""

    def __init__(self, **ratings: float) -> None:
        self.ratings = ratings
        self.fault: Exception | None = None

    async def points(self, pool: str, player: str) -> float:
        """Return the player's rating."""
        if self.fault:
            raise self.fault
        return self.ratings.get(player, 1500.0)
