"""How a match's facts are stored: the envelope events that all games share, and the meta of commits."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec
from google.protobuf.message import Message

from promontory.api.match.v1 import events_pb2, match_pb2
from promontory.codec import conduct
from promontory.codec.outcomes import Result, outcome_message, result_of
from promontory.codec.port import GameCodec, Undecodable
from promontory.codec.stored import canonical, parse
from promontory.codec.terms import term_fields, terms_of
from promontory.eventlog.port import Commit, StoredEvent
from promontory.games.fairness import SCHEME
from promontory.rules.domain import CommitMeta, Match, Origin, SeatKind, SeatSetup, Setup

MATCH_CREATED = events_pb2.MatchCreated.DESCRIPTOR.full_name
MATCH_CLOSED = events_pb2.MatchClosed.DESCRIPTOR.full_name

KIND_NUMBERS = {
    SeatKind.PLAYER: match_pb2.SEAT_KIND_PLAYER,
    SeatKind.HOUSE_BOT: match_pb2.SEAT_KIND_HOUSE_BOT,
}
_KINDS = {number: kind for kind, number in KIND_NUMBERS.items()} | {match_pb2.SEAT_KIND_UNSPECIFIED: SeatKind.PLAYER}


_META = msgspec.json.Decoder(CommitMeta)
_STATE = msgspec.msgpack.Encoder(order="deterministic")

M = TypeVar("M", bound=Message)


class Created(msgspec.Struct, frozen=True):
    """What `MatchCreated` says."""

    match_id: str
    game: str
    rules_version: str
    data_hash: bytes
    setup: Setup
    commitment: bytes
    sealed_seed: bytes
    forked_from: Origin | None = None


class Closed(msgspec.Struct, frozen=True):
    """What `MatchClosed` says."""

    result: Result
    server_seed: bytes


def setup_of(message: match_pb2.MatchSetup) -> Setup:
    """Return the struct of a `MatchSetup`; a seat without a kind is a player's. Raises `Undecodable`."""
    return Setup(
        seats=tuple(_seat(seat, index) for index, seat in enumerate(message.seats)),
        pool=message.pool,
        rated=message.rated,
        draw_start=message.draw_start,
        variant=message.variant,
        **msgspec.structs.asdict(terms_of(message)),
    )


def _seat(message: match_pb2.SeatSetup, index: int) -> SeatSetup:
    if message.kind not in _KINDS:
        raise Undecodable(f"seats[{index}].kind", f"has the unknown value {message.kind}")
    return SeatSetup(message.player_id, _KINDS[message.kind], message.bot_policy, message.client_entropy)


def setup_message(setup: Setup) -> match_pb2.MatchSetup:
    """Return `setup` as the message that is stored and fingerprinted."""
    seats = [
        match_pb2.SeatSetup(
            player_id=seat.player_id,
            kind=KIND_NUMBERS[seat.kind],
            bot_policy=seat.bot_policy,
            client_entropy=seat.client_entropy,
        )
        for seat in setup.seats
    ]
    return match_pb2.MatchSetup(
        seats=seats,
        pool=setup.pool,
        rated=setup.rated,
        draw_start=setup.draw_start,
        variant=setup.variant,
        **term_fields(setup.terms),
    )


def store_created(created: Created) -> StoredEvent:
    """Return the first event of a match."""
    message = events_pb2.MatchCreated(
        match_id=created.match_id,
        game=created.game,
        rules_version=created.rules_version,
        data_hash=created.data_hash,
        setup=setup_message(created.setup),
        scheme=SCHEME,
        commitment=created.commitment,
        sealed_seed=created.sealed_seed,
        forked_from=None if created.forked_from is None else origin_message(created.forked_from),
    )
    return StoredEvent(MATCH_CREATED, canonical(message))


def restore_created(stored: StoredEvent) -> Created:
    """Return what a stored `MatchCreated` says. Raises `Undecodable`."""
    message = _message(events_pb2.MatchCreated, stored)
    if message.scheme != SCHEME:
        raise Undecodable("scheme", f"is {message.scheme!r}, not {SCHEME!r}")
    return Created(
        message.match_id,
        message.game,
        message.rules_version,
        message.data_hash,
        setup_of(message.setup),
        message.commitment,
        message.sealed_seed,
        _origin(message.forked_from) if message.HasField("forked_from") else None,
    )


def origin_message(origin: Origin) -> match_pb2.ForkOrigin:
    """Return `origin` as the message that is stored and shown."""
    return match_pb2.ForkOrigin(match_id=origin.match_id, version=origin.version, head=origin.head)


def _origin(message: match_pb2.ForkOrigin) -> Origin:
    return Origin(message.match_id, message.version, message.head)


def store_closed(closed: Closed) -> StoredEvent:
    """Return the last event of a match, which publishes the seed."""
    message = events_pb2.MatchClosed(outcome=outcome_message(closed.result), server_seed=closed.server_seed)
    return StoredEvent(MATCH_CLOSED, canonical(message))


def restore_closed(stored: StoredEvent) -> Closed:
    """Return what a stored `MatchClosed` says. Raises `Undecodable`."""
    message = _message(events_pb2.MatchClosed, stored)
    closed = Closed(result_of(message.outcome), message.server_seed)
    if store_closed(closed) != stored:
        raise Undecodable(MATCH_CLOSED, "has no reason, or placements out of order")
    return closed


def is_beside_the_game(stored: StoredEvent) -> bool:
    """Tell whether `stored` happened beside the game."""
    return conduct.is_match_event(stored.type)


def of_game(commit: Commit) -> tuple[StoredEvent, ...]:
    """Return the events of the game itself in `commit`."""
    return tuple(
        event
        for event in commit.events
        if event.type not in (MATCH_CREATED, MATCH_CLOSED) and not is_beside_the_game(event)
    )


def store_events(codec: GameCodec, events: Iterable[Any]) -> tuple[StoredEvent, ...]:
    """Return the game's `events` as stored."""
    store = codec.store
    return tuple([StoredEvent(*store(event)) for event in events])


def restore_events(codec: GameCodec, stored: Iterable[StoredEvent]) -> tuple[Any, ...]:
    """Return the structs of the game's `stored` events. Raises `Undecodable`."""
    restore = codec.restore
    return tuple([restore(event.type, event.payload) for event in stored])


def encode_meta(meta: CommitMeta) -> bytes:
    """Return `meta` as the JSON that is stored."""
    return msgspec.json.encode(meta)


def decode_meta(raw: bytes) -> CommitMeta:
    """Return the struct of a stored meta. Raises `Undecodable`."""
    try:
        return _META.decode(raw)
    except msgspec.MsgspecError as error:
        raise Undecodable("meta", str(error)) from error


def state_hash(state: Any) -> str:
    """Return a hash of a game's state, 32 hex digits, the same in every process."""
    return hashlib.blake2b(_STATE.encode(state), digest_size=16).hexdigest()


def command_fingerprint(match: Match, commands: Iterable[bytes]) -> str:
    """Return what stands for the content of a submission: its commands, whatever version they were for."""
    digest = hashlib.sha256(match.match_id.encode())
    for command in commands:
        digest.update(len(command).to_bytes(4, "big") + command)
    return digest.hexdigest()


def setup_fingerprint(setup: Setup) -> str:
    """Return what stands for the content of a creation."""
    return hashlib.sha256(canonical(setup_message(setup))).hexdigest()


def _message(kind: type[M], stored: StoredEvent) -> M:
    if stored.type != kind.DESCRIPTOR.full_name:
        raise Undecodable(stored.type, f"stands where {kind.DESCRIPTOR.full_name} must")
    return parse(kind, stored.payload)
