"""What makes a request well-formed, before any match is looked at."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

from promontory.codec.terms import faults_of, unknown_policy
from promontory.games.fairness import MAX_ENTROPY_BYTES
from promontory.games.registry import AnyGame, seat_counts
from promontory.rules.domain import MOST_REPEATED, SeatSetup, Setup
from promontory.rules.ruleset import Ruleset
from promontory.runtime.errors import Kind, Refusal, malformed, match_not_found
from promontory.runtime.forms import MATCH_ID, PLAYER_ID, POOL_ID

MAX_COMMANDS = 16
DATA_HASH_BYTES = 32
MAX_NOTE_CHARACTERS = 300


def check_match_id(ruleset: Ruleset, match_id: str) -> None:
    """Raise `BAD_REQUEST` for what no match id looks like, `MATCH_NOT_FOUND` for one that is not of this game."""
    if not ruleset.owns(MATCH_ID.checked(match_id, "match_id")):
        raise match_not_found(match_id)


def check_command_count(count: int) -> None:
    """Raise `BAD_REQUEST` unless a submission may hold so many commands."""
    if not 1 <= count <= MAX_COMMANDS:
        raise malformed("commands", f"must be 1 to {MAX_COMMANDS}, not {count}")


def check_note(note: str) -> None:
    """Raise `BAD_REQUEST` unless `note` is short enough to be kept in a match's log."""
    if len(note) > MAX_NOTE_CHARACTERS:
        raise malformed("note", f"must have at most {MAX_NOTE_CHARACTERS} characters, not {len(note)}")


def check_data_hash(data_hash: bytes) -> None:
    """Raise `BAD_REQUEST` unless `data_hash` is a SHA-256, or empty."""
    if data_hash and len(data_hash) != DATA_HASH_BYTES:
        raise malformed("data_hash", f"has {DATA_HASH_BYTES} bytes, not {len(data_hash)}")


def check_version(version: int | None, field: str) -> None:
    """Raise `BAD_REQUEST` unless `version` is unset or a version."""
    if version is not None and version < 1:
        raise malformed(field, "counts from 1")


def check_reached(version: int, current: int) -> None:
    """Raise the refusal `VERSION_OUT_OF_RANGE` if `version` lies beyond the match's `current` one."""
    if version > current:
        text = f"the match is at version {current}, not yet at {version}"
        metadata = {"version": version, "currentVersion": current}
        raise Refusal(Kind.MALFORMED, "VERSION_OUT_OF_RANGE", text, metadata=metadata)


def check_repeated(repeated: int) -> None:
    """Raise the refusal `TOO_MANY_CHANGES` if too many of a seat's last commits brought the game no further."""
    if repeated > MOST_REPEATED:
        text = f"the last {MOST_REPEATED} submissions of the seat brought the game no further; play on, or resign"
        raise Refusal(Kind.FORBIDDEN_NOW, "TOO_MANY_CHANGES", text, metadata={"limit": MOST_REPEATED})


def check_setup(setup: Setup, game: AnyGame, policies: Collection[str]) -> None:
    """Raise `BAD_REQUEST` with every fault of `setup`, if it has any."""
    _refuse(dict(_faults(setup, game, policies)))


def check_fork(seats: Sequence[SeatSetup], count: int, policies: Collection[str]) -> None:
    """Raise `BAD_REQUEST` with every fault of the `seats` of a fork of a match with `count` seats, if they have any."""
    faults = {
        f"seats[{index}].{field}": problem
        for index, seat in enumerate(seats)
        for field, problem in _seat_faults(seat, policies)
        if field != "player_id"
    }
    if len(seats) != count:
        faults["seats"] = f"are {count}, as in the match, or none"
    _refuse(faults)


def _refuse(faults: dict[str, str]) -> None:
    """Raise `BAD_REQUEST` with `faults`, problems by field, if there are any."""
    if faults:
        field, problem = next(iter(faults.items()))
        text = f"{field}: {problem}"
        raise Refusal(Kind.MALFORMED, "BAD_REQUEST", text, fields=faults, metadata={"field": field})


def _faults(setup: Setup, game: AnyGame, policies: Collection[str]) -> Iterator[tuple[str, str]]:
    if len(setup.seats) not in game.seats:
        yield "setup.seats", f"{game.name} has {seat_counts(game.seats)} seats, not {len(setup.seats)}"
    players = [seat.player_id for seat in setup.seats]
    for index, seat in enumerate(setup.seats):
        path = f"setup.seats[{index}]"
        if seat.player_id in players[:index]:
            yield f"{path}.player_id", "holds another seat already"
        for field, problem in _seat_faults(seat, policies):
            yield f"{path}.{field}", problem
    if setup.pool and not POOL_ID.fits(setup.pool):
        yield "setup.pool", f"must be {POOL_ID.words}"
    if setup.variant and setup.variant not in game.variants:
        yield "setup.variant", f"is empty or one of {', '.join(game.variants)}"
    if setup.rated and not setup.pool:
        yield "setup.rated", "needs a pool"
    for field, problem in faults_of(setup.terms, policies):
        yield f"setup.{field}", problem


def _seat_faults(seat: SeatSetup, policies: Collection[str]) -> Iterator[tuple[str, str]]:
    if not PLAYER_ID.fits(seat.player_id):
        yield "player_id", f"must be {PLAYER_ID.words}"
    if len(seat.client_entropy) > MAX_ENTROPY_BYTES:
        yield "client_entropy", f"has at most {MAX_ENTROPY_BYTES} bytes, not {len(seat.client_entropy)}"
    if seat.is_house_bot and seat.client_entropy:
        yield "client_entropy", "house bots bring none"
    if seat.is_house_bot and seat.bot_policy not in policies:
        yield "bot_policy", unknown_policy(policies)
    if not seat.is_house_bot and seat.bot_policy:
        yield "bot_policy", "is for house bots only"
