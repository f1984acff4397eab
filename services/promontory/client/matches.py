"""What the client tells of a match: who sits where, how it stands, what happened."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any, TypeVar

import msgspec

from promontory.api.match.v1 import events_pb2, match_pb2
from promontory.client.clocks import SeatClock, TimeControl, clock_of, time_control_of
from promontory.client.errors import understanding
from promontory.codec import conduct
from promontory.codec.conduct import LEAVE_CAUSE_NUMBERS, EndingOffer, LeaveCause, MatchEvent
from promontory.codec.mapping import StructMapping
from promontory.codec.outcomes import CloseReason
from promontory.codec.port import Undecodable
from promontory.codec.times import span_of, time_of

T = TypeVar("T")


class SeatKind(StrEnum):
    """Who sits at a seat: a player of their own, or a bot of the house."""

    PLAYER = "player"
    HOUSE_BOT = "house_bot"


class MatchState(StrEnum):
    """Where a match stands: commands are accepted, or its outcome is final."""

    OPEN = "open"
    CLOSED = "closed"


class MatchSeat(msgspec.Struct, frozen=True):
    """One seat of a match; `bot_policy` is empty for players, `client_entropy` the 0 to 32 bytes the seat brought.

    `left` tells how the player left the open match, if so; `stand_in_policy` plays for the seat at present, because its
    player left or let the turn's time run out.
    """

    seat: int
    player_id: str
    kind: SeatKind
    bot_policy: str
    client_entropy: bytes
    left: LeaveCause | None = None
    stand_in_policy: str = ""

    @property
    def house_policy(self) -> str:
        """The policy by which the house plays the seat at present, empty while its player does."""
        return self.bot_policy or self.stand_in_policy


class Fairness(msgspec.Struct, frozen=True):
    """The randomness scheme, its 32-byte commitment, and the 32-byte seed, which is empty while the match is open."""

    scheme: str
    commitment: bytes
    server_seed: bytes


class Placement(msgspec.Struct, frozen=True):
    """How a seat came off: its place from 1, ties sharing the better one, and its score in the game's own unit."""

    seat: int
    place: int
    score: int


class MatchOutcome(msgspec.Struct, frozen=True):
    """How a match ended: why, and one placement per seat in the order of seats, none if it has no result."""

    reason: CloseReason
    placements: tuple[Placement, ...]

    @property
    def winners(self) -> tuple[int, ...]:
        """The seats in first place; more than one after a tie."""
        return tuple(placement.seat for placement in self.placements if placement.place == 1)


class ForkOrigin(msgspec.Struct, frozen=True):
    """The version of a closed match that a fork began from; `head` is the hash of its log up to there, 16 bytes."""

    match_id: str
    version: int
    head: bytes


class MatchSummary(msgspec.Struct, frozen=True):
    """What everybody may know of a match at `version`, whichever game it is.

    `pool` is empty for a private match, `seats_to_act` once the match is closed; `outcome` is None until then.
    `data_hash` is the SHA-256 of the game data it is pinned to, 32 bytes; `variant` is the way it is played, one of the
    game's `variants`. Times are the server's, in UTC. Without a `time_control` there are no `clocks`; those tell what
    was left at `update_time`. A player who is to act may be gone for `abandon_after` before an opponent may claim it,
    None: for ever. Spectators see the open match `spectator_delay` commits later. A fork names where it began.
    """

    match_id: str
    game: str
    rules_version: str
    data_hash: bytes
    pool: str
    rated: bool
    seats: tuple[MatchSeat, ...]
    state: MatchState
    version: int
    seats_to_act: tuple[int, ...]
    outcome: MatchOutcome | None
    fairness: Fairness
    create_time: datetime
    update_time: datetime
    variant: str = ""
    time_control: TimeControl | None = None
    clocks: tuple[SeatClock, ...] = ()
    offers: tuple[EndingOffer, ...] = ()
    abandon_after: timedelta | None = None
    spectator_delay: int = 0
    forked_from: ForkOrigin | None = None

    @property
    def is_over(self) -> bool:
        """Whether the match is closed."""
        return self.state is MatchState.CLOSED


class Update(msgspec.Struct, frozen=True):
    """A match at `version`, as one seat or a spectator may see it.

    `events` are the game's events that led to this version, empty when the update does not follow another; `view` is
    the game's own view struct, for Transcontinental `promontory.games.transcontinental.view.GameView`. `your_turn`
    tells whether the seat that looks may act; it is False for spectators. `match_events` happened beside the game, and
    before `events`. Of a stream, `skipped` counts the commits that it passed over because its reader was slow,
    `rewound` tells that the log no longer holds the update before, and `resume_token` is where to go on.
    """

    version: int
    view: Any
    events: tuple[Any, ...]
    match: MatchSummary
    your_turn: bool
    match_events: tuple[MatchEvent, ...] = ()
    skipped: int = 0
    rewound: bool = False
    resume_token: bytes = b""


class Commit(msgspec.Struct, frozen=True):
    """One commit of a match: its number, when it was recorded (UTC), and the game's events in order.

    `match_events` happened beside the game, and before `events`.
    """

    version: int
    record_time: datetime
    events: tuple[Any, ...]
    match_events: tuple[MatchEvent, ...] = ()


class Preview(msgspec.Struct, frozen=True):
    """What commands would do at `version`: the game's events up to the first thing the seat cannot know.

    `ends_early` tells whether the preview stops before the end, because chance or hidden cards come in.
    """

    version: int
    events: tuple[Any, ...]
    ends_early: bool


class LegalAt(msgspec.Struct, frozen=True):
    """Everything the rules accept from a seat at `version`, in the game's own struct: see the game's `legal` module."""

    version: int
    commands: Any


_OUTCOME = StructMapping(MatchOutcome, match_pb2.Outcome)
_FAIRNESS = StructMapping(Fairness, match_pb2.Fairness)
MATCH_STATES: dict[int, MatchState] = {
    match_pb2.MatchState.Value(f"MATCH_STATE_{state.name}"): state for state in MatchState
}

_LEAVE_CAUSES: dict[int, LeaveCause | None] = {
    match_pb2.LEAVE_CAUSE_UNSPECIFIED: None,
    **{number: cause for cause, number in LEAVE_CAUSE_NUMBERS.items()},
}
_SEAT_KINDS: dict[int, SeatKind] = {match_pb2.SeatKind.Value(f"SEAT_KIND_{kind.name}"): kind for kind in SeatKind}


def known(values: Mapping[int, T], number: int, field: str) -> T:
    """Return what the enum value `number` of a message's `field` means. Raises `Undecodable` if that is unknown."""
    if number not in values:
        raise Undecodable(field, f"has the unknown value {number}")
    return values[number]


def outcome_of(message: match_pb2.Outcome) -> MatchOutcome:
    """Return the struct of an `Outcome`. Raises `Undecodable`."""
    outcome: MatchOutcome = _OUTCOME.decode(message)
    return outcome


def match_of(message: match_pb2.Match) -> MatchSummary:
    """Return the struct of a `Match`. Raises `Incompatible` if it says what the SDK does not know."""
    with understanding():
        return MatchSummary(
            match_id=message.match_id,
            game=message.game,
            rules_version=message.rules_version,
            data_hash=message.data_hash,
            pool=message.pool,
            rated=message.rated,
            seats=tuple(_seat_of(seat) for seat in message.seats),
            state=known(MATCH_STATES, message.state, "state"),
            version=message.version,
            seats_to_act=tuple(message.seats_to_act),
            outcome=outcome_of(message.outcome) if message.HasField("outcome") else None,
            fairness=_FAIRNESS.decode(message.fairness),
            create_time=time_of(message.create_time),
            update_time=time_of(message.update_time),
            variant=message.variant,
            time_control=time_control_of(message),
            clocks=tuple(clock_of(clock) for clock in message.clocks),
            offers=tuple(conduct.decode_offer(offer) for offer in message.offers),
            abandon_after=span_of(message.abandon_after) if message.HasField("abandon_after") else None,
            spectator_delay=message.spectator_delay,
            forked_from=origin_of(message),
        )


def origin_of(message: match_pb2.Match | events_pb2.MatchCreated) -> ForkOrigin | None:
    """Return where a match was forked from, None if it was not."""
    origin = message.forked_from
    return ForkOrigin(origin.match_id, origin.version, origin.head) if message.HasField("forked_from") else None


def match_events_of(messages: Iterable[events_pb2.MatchEvent]) -> tuple[MatchEvent, ...]:
    """Return the structs of what happened beside the game. Raises `Incompatible`."""
    with understanding():
        return tuple(conduct.decode(message) for message in messages)


def _seat_of(message: match_pb2.Seat) -> MatchSeat:
    return MatchSeat(
        seat=message.seat,
        player_id=message.player_id,
        kind=known(_SEAT_KINDS, message.kind, "kind"),
        bot_policy=message.bot_policy,
        client_entropy=message.client_entropy,
        left=known(_LEAVE_CAUSES, message.left, "left"),
        stand_in_policy=message.stand_in_policy,
    )
