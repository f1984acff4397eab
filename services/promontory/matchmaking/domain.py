"""Pools, tickets, proposals and tables, and what follows from them without asking anybody."""

from __future__ import annotations

import base64
import hashlib
from enum import StrEnum

import msgspec

NEW_PLAYER_POINTS = 1500.0
"""The rating of a player without one, in rating points."""

PRIVATE = ""
"""The pool of a match that comes from a private table."""


class Window(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far from its own rating a ticket accepts opponents; all in rating points, and points a second of waiting."""

    points: float
    points_per_second: float
    most_points: float

    def width(self, waited_ms: int) -> float:
        """Return the greatest difference accepted after `waited_ms`."""
        return min(self.most_points, self.points + self.points_per_second * max(0, waited_ms) / 1000)


class HouseBot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bot of the house: its player id, and the policy that plays it."""

    player: str
    policy: str


class Pool(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A queue, and the kind of match it leads to.

    A ticket waits `house_bots_after_seconds` before one of `house_bots` may take a free seat; None: for ever.
    """

    id: str
    game: str
    seats: int
    rated: bool
    window: Window
    draw_start: bool = True
    variant: str = ""
    house_bots_after_seconds: float | None = None
    house_bots: tuple[HouseBot, ...] = ()

    def bot(self, player: str) -> HouseBot | None:
        """Return the house bot called `player`, or None."""
        return next((bot for bot in self.house_bots if bot.player == player), None)


class Entrant(msgspec.Struct, frozen=True):
    """Whom a match seats: a player, or a house bot if a `policy` plays it; `entropy` is 0 to 32 bytes."""

    player: str
    policy: str = ""
    entropy: bytes = b""


class Assignment(msgspec.Struct, frozen=True):
    """The match a ticket got: the gRPC service that referees it, its id, and the seat in it."""

    service: str
    match_id: str
    seat: int


class TicketState(StrEnum):
    """Where a ticket stands."""

    WAITING = "waiting"
    PROPOSED = "proposed"
    ASSIGNED = "assigned"
    CANCELLED = "cancelled"


class Ticket(msgspec.Struct, frozen=True, kw_only=True):
    """A player's place in a pool's queue; times in ms since the epoch, `rating` in rating points.

    `fingerprint` stands for what was asked for. Nobody proposes it before `retry_at_ms`: its last proposals, `refusals`
    of them in a row, were refused by the rules service.
    """

    id: str
    pool: str
    entrant: Entrant
    rating: float
    created_ms: int
    fingerprint: str
    state: TicketState = TicketState.WAITING
    refusals: int = 0
    retry_at_ms: int = 0
    assignment: Assignment | None = None

    @property
    def is_over(self) -> bool:
        """Whether nothing can change any more."""
        return self.state in (TicketState.ASSIGNED, TicketState.CANCELLED)


class Place(msgspec.Struct, frozen=True):
    """One seat of a match to be: who takes it, the rating, and the ticket (none: a house bot fills the seat)."""

    entrant: Entrant
    rating: float = NEW_PLAYER_POINTS
    ticket: str = ""
    since_ms: int = 0
    refusals: int = 0


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A match to be: everything its creation needs, so that any process can repeat it. Its id is the creation's."""

    id: str
    game: str
    rated: bool
    draw_start: bool
    places: tuple[Place, ...]
    pool: str = PRIVATE
    variant: str = ""

    @property
    def refusals(self) -> int:
        """How many proposals before it were refused by the rules service, at most, for one of its tickets."""
        return max(place.refusals for place in self.places)

    @property
    def tickets(self) -> tuple[str, ...]:
        """The tickets in it."""
        return tuple(place.ticket for place in self.places if place.ticket)

    @property
    def players(self) -> tuple[str, ...]:
        """The players in the order of their seats."""
        return tuple(place.entrant.player for place in self.places)

    @property
    def rating_gap(self) -> float:
        """The difference between its highest and its lowest rating, in rating points."""
        ratings = [place.rating for place in self.places]
        return max(ratings) - min(ratings)


class Made(msgspec.Struct, frozen=True):
    """A match that was made: the gRPC service that referees it, its id, and when, in ms since the epoch."""

    service: str
    match_id: str
    created_ms: int


class MatchEntry(msgspec.Struct, frozen=True, kw_only=True):
    """One match in a player's list; `pool` is empty for a private one."""

    match_id: str
    service: str
    game: str
    pool: str
    seat: int
    players: tuple[str, ...]
    created_ms: int


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """A private table; `guests` sit in the order of their seats. `made` is its match once there is one."""

    id: str
    invite_code: str
    game: str
    seats: int
    draw_start: bool
    created_ms: int
    fingerprint: str
    guests: tuple[Entrant, ...]
    made: Made | None = None
    variant: str = ""

    @property
    def is_full(self) -> bool:
        """Whether every seat is taken."""
        return len(self.guests) == self.seats

    def proposal(self) -> Proposal:
        """Return the match this full table is to become."""
        places = tuple(Place(guest) for guest in self.guests)
        return Proposal(
            id=self.id,
            game=self.game,
            rated=False,
            draw_start=self.draw_start,
            places=places,
            variant=self.variant,
        )


def derived_id(kind: str, subject: str, request_id: str) -> str:
    """Return the id of what `subject` asks for by `request_id`, so that asking again finds it: `tk-` and 26 letters."""
    digest = hashlib.sha256(f"{subject}\0{request_id}".encode()).digest()[:16]
    return f"{kind}-{base64.b32encode(digest).decode().rstrip('=').lower()}"


def fingerprint_of(*content: object) -> str:
    """Return what stands for the content of a request: equal for equal content only."""
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()


def entries(proposal: Proposal, made: Made) -> tuple[MatchEntry | None, ...]:
    """Return what each seat's player finds in their list of matches; None for house bots, which keep none."""
    return tuple(
        None if place.entrant.policy else _entry(proposal, made, seat) for seat, place in enumerate(proposal.places)
    )


def _entry(proposal: Proposal, made: Made, seat: int) -> MatchEntry:
    return MatchEntry(
        match_id=made.match_id,
        service=made.service,
        game=proposal.game,
        pool=proposal.pool,
        seat=seat,
        players=proposal.players,
        created_ms=made.created_ms,
    )
