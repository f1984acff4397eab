"""Pools, tickets and proposals, and what follows from them without asking anybody."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from enum import StrEnum
from math import inf

import msgspec

from promontory.codec.terms import GRACE_MS, ClockKind, Terms, TimeControl

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

    def widths(self, created_ms: Sequence[int], now_ms: int) -> list[float]:
        """Return the greatest differences accepted at `now_ms` by tickets that were created at `created_ms`."""
        first, most, pace = self.points, self.most_points, self.points_per_second
        widths = [first + pace * (now_ms - each) / 1000 if each < now_ms else first for each in created_ms]
        return [width if width < most else most for width in widths] if pace else widths

    def reached_ms(self, difference: float, created_ms: int) -> float:
        """Return when a ticket created at `created_ms` accepts `difference`, or a moment before; inf if never."""
        if difference <= self.points:
            return -inf
        if difference > self.most_points or not self.points_per_second:
            return inf
        return created_ms + int((difference - self.points) * 1000 / self.points_per_second) - 1


class HouseBot(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A bot of the house: its player id, and the policy that plays it."""

    player: str
    policy: str


class PoolClock(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A `TimeControl` as a pool's configuration gives it, in seconds."""

    kind: ClockKind
    base_seconds: float
    increment_seconds: float = 0
    grace_seconds: float = GRACE_MS / 1000
    default_moves: int = 0
    default_policy: str = ""

    @property
    def control(self) -> TimeControl:
        """The time control."""
        return TimeControl(
            kind=self.kind,
            base_ms=round(1000 * self.base_seconds),
            increment_ms=round(1000 * self.increment_seconds),
            grace_ms=round(1000 * self.grace_seconds),
            default_moves=self.default_moves,
            default_policy=self.default_policy,
        )


class Pool(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A queue, and the kind of match it leads to.

    A ticket waits `house_bots_after_seconds` before one of `house_bots` may take a free seat; None: for ever. From
    `time_control` on, its fields make its `terms`; a player may be gone for ever if `abandon_after_seconds` is None.
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
    time_control: PoolClock | None = None
    stand_in: str = ""
    abandon_after_seconds: float | None = None
    spectator_delay: int = 0

    @property
    def terms(self) -> Terms:
        """The terms its matches are played on."""
        return Terms(
            time_control=None if self.time_control is None else self.time_control.control,
            stand_in_policy=self.stand_in,
            abandon_after_ms=round(1000 * (self.abandon_after_seconds or 0)),
            spectator_delay=self.spectator_delay,
        )

    def bot(self, player: str) -> HouseBot | None:
        """Return the house bot called `player`, or None."""
        return next((bot for bot in self.house_bots if bot.player == player), None)


class Entrant(msgspec.Struct, frozen=True, gc=False):
    """Whom a match seats: a player, or a house bot if a `policy` plays it; `entropy` is 0 to 32 bytes."""

    player: str
    policy: str = ""
    entropy: bytes = b""


class Assignment(msgspec.Struct, frozen=True, gc=False):
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


class Ticket(msgspec.Struct, frozen=True, gc=False, kw_only=True):
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


class Place(msgspec.Struct, frozen=True, gc=False):
    """One seat of a match to be: who takes it, the rating, and the ticket (none: a house bot fills the seat)."""

    entrant: Entrant
    rating: float = NEW_PLAYER_POINTS
    ticket: str = ""
    since_ms: int = 0
    refusals: int = 0


class Proposal(msgspec.Struct, frozen=True, kw_only=True):
    """A match to be: everything its creation needs, so that any process can repeat it.

    `id` is that of the table it comes from if `from_table`; `occasion` tells several matches of one table apart.
    """

    id: str
    game: str
    rated: bool
    draw_start: bool
    places: tuple[Place, ...]
    pool: str = PRIVATE
    variant: str = ""
    terms: Terms = Terms()
    from_table: bool = False
    occasion: str = ""

    @property
    def request_id(self) -> str:
        """What names the match's creation to the rules service."""
        return f"{self.id}-{self.occasion}" if self.occasion else self.id

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


def derived_id(kind: str, subject: str, request_id: str) -> str:
    """Return the id of what `subject` asks for by `request_id`, so that asking again finds it: `tk-` and 26 letters."""
    digest = hashlib.sha256(f"{subject}\0{request_id}".encode()).digest()[:16]
    return f"{kind}-{base64.b32encode(digest).decode().rstrip('=').lower()}"


def fingerprint_of(*content: object) -> str:
    """Return what stands for the content of a request: equal for equal content only."""
    return hashlib.sha256(msgspec.json.encode(content)).hexdigest()
