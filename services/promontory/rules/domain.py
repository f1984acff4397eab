"""A match as its log tells it: what it was created from, where it stands, and what a commit changes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec

from promontory.eventlog.obligations import bot_turn_name, tally_name
from promontory.eventlog.port import Position
from promontory.games.kernel import Draws, Outcome, Rejected, Seat
from promontory.games.registry import AnyGame

FOLLOW_UP_MS = 3000
"""When a house bot's own next command is handed out, because its task, which normally goes on by itself, did not."""

HASHED_EVERY = 20
"""Every so many commits, a commit's meta tells the hash of the state after it."""

MOST_REPEATED = 20
"""How many commits in a row a seat may make that bring the game no further; the others, too, want to be heard."""

Awaiting = tuple[int | None, ...]
"""For each seat the version since which it is to act, None while it is not."""


class SeatKind(StrEnum):
    """Who sits at a seat."""

    PLAYER = "player"
    HOUSE_BOT = "house_bot"


class SeatSetup(msgspec.Struct, frozen=True):
    """One seat as the creator filled it; `client_entropy` has 0 to 32 bytes."""

    player_id: str
    kind: SeatKind = SeatKind.PLAYER
    bot_policy: str = ""
    client_entropy: bytes = b""

    @property
    def is_house_bot(self) -> bool:
        """Whether the platform's workers play the seat."""
        return self.kind is SeatKind.HOUSE_BOT


class Setup(msgspec.Struct, frozen=True):
    """What a match is created from."""

    seats: tuple[SeatSetup, ...]
    pool: str = ""
    rated: bool = False
    draw_start: bool = False
    variant: str = ""

    @property
    def entropies(self) -> tuple[bytes, ...]:
        """The seats' shares in the randomness, in the order of seats."""
        return tuple(seat.client_entropy for seat in self.seats)


class Result(msgspec.Struct, frozen=True):
    """How a match was closed; places from 1 and scores in the order of seats."""

    resigned: bool
    places: tuple[int, ...]
    scores: tuple[int, ...]


class Match(msgspec.Struct, frozen=True):
    """A match at the version of `position`; times in ms since the epoch.

    `state` is the game's own. `repeated` counts for each seat its last commits that brought the game no further, and is
    empty before any seat has acted. `result` and `server_seed` are set by the closing commit, and only by it.
    """

    match_id: str
    game: str
    rules_version: str
    data_hash: bytes
    setup: Setup
    commitment: bytes
    sealed_seed: bytes
    position: Position
    awaiting: Awaiting
    state: Any
    created_at_ms: int
    updated_at_ms: int
    repeated: tuple[int, ...] = ()
    result: Result | None = None
    server_seed: bytes = b""

    @property
    def version(self) -> int:
        """The number of the last commit, 1 or more."""
        return self.position.version

    @property
    def is_closed(self) -> bool:
        """Whether the match takes no more commands."""
        return self.result is not None

    @property
    def to_act(self) -> tuple[Seat, ...]:
        """The seats that may act, ascending."""
        return tuple(seat for seat, since in enumerate(self.awaiting) if since is not None)


class CommitMeta(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the service notes beside a commit's events.

    `commands` are the accepted commands, encoded as the game's `Command`, so that an audit can judge them again;
    `actor` is the seat that gave them. `state_hash` is set every `HASHED_EVERY` commits.
    """

    recorded_at_ms: int
    actor: Seat | None = None
    commands: tuple[bytes, ...] = ()
    state_hash: str = ""


class Happening(msgspec.Struct, frozen=True):
    """One event of the game, and the state after it."""

    event: Any
    state: Any


class Step(msgspec.Struct):
    """One commit: the match after it, and the game's events in it.

    `told` keeps what was already made of it for an audience (a seat, or None for spectators).
    """

    match: Match
    happened: tuple[Happening, ...]
    told: dict[Seat | None, Any] = msgspec.field(default_factory=dict)

    @property
    def version(self) -> int:
        """The commit's number."""
        return self.match.version


def begin(game: AnyGame, setup: Setup, draws: Draws) -> tuple[Happening, ...]:
    """Return what sets the game up and brings it to its first decision."""
    state = game.initial(len(setup.seats))
    return happenings(game, state, game.begin(state, draws, draw_start=setup.draw_start, variant=setup.variant))


def judge(game: AnyGame, state: Any, commands: Sequence[Any], draws: Draws) -> tuple[Happening, ...]:
    """Return what `commands`, at least one, cause one after the other.

    Raises what `caused_by` does, and `Rejected` with `OUTCOME_UNKNOWN`, unseen, for a command that stands behind
    chance or hidden cards: its refusal, which undoes all, would tell what was drawn before it is drawn for good.
    """
    happened: tuple[Happening, ...] = ()
    is_known = True
    for number in range(len(commands)):
        if not is_known:
            raise Rejected("OUTCOME_UNKNOWN", rule="fairness 3", command=number)
        caused = caused_by(game, state, commands=commands, number=number, draws=draws)
        is_known = len(foreseen(game, state, caused)) == len(caused)
        happened += caused
        state = happened[-1].state
    return happened


def caused_by(
    game: AnyGame, state: Any, *, commands: Sequence[Any], number: int, draws: Draws
) -> tuple[Happening, ...]:
    """Return what the command at `number` of `commands` causes in `state`.

    Raises `Rejected` if the rules forbid it: with the `command`'s number if there are several, and with the path of a
    malformed `field` in the request.
    """
    command = commands[number]
    try:
        return happenings(game, state, game.decide(state, command, draws))
    except Rejected as refusal:
        details = dict(refusal.details)
        if "field" in details:
            details["field"] = f"commands[{number}].{kind_of(command)}.{details['field']}"
        if len(commands) > 1:
            details["command"] = number
        raise type(refusal)(refusal.reason, rule=refusal.rule, **details) from refusal


def kind_of(command: Any) -> str:
    """Return what a message calls the kind of `command`: `place_die` of a `PlaceDie`."""
    return re.sub("(?<!^)(?=[A-Z])", "_", type(command).__name__).lower()


def foreseen(game: AnyGame, state: Any, caused: Collection[Happening]) -> tuple[Happening, ...]:
    """Return what of `caused`, which follows `state`, a seat could know before, up to the first event it could not."""
    known: list[Happening] = []
    for happening in caused:
        if not game.foreseeable(state, happening.event):
            break
        known.append(happening)
        state = happening.state
    return tuple(known)


def happenings(game: AnyGame, state: Any, events: Collection[Any]) -> tuple[Happening, ...]:
    """Return `events` with the states they lead to from `state`."""
    happened = []
    for event in events:
        state = game.evolve(state, event)
        happened.append(Happening(event, state))
    return tuple(happened)


def result_of(outcome: Outcome) -> Result:
    """Return what is recorded of a game's outcome."""
    return Result(outcome.resigned, outcome.places, outcome.scores)


def awaiting_after(before: Awaiting, to_act: Collection[Seat], *, version: int, actor: Seat | None) -> Awaiting:
    """Return since when each seat is to act after commit `version`: anew for the actor and for newcomers."""
    return tuple(
        None if seat not in to_act else version if since is None or seat == actor else since
        for seat, since in enumerate(before)
    )


def repeated_after(
    match: Match, game: AnyGame, happened: Collection[Happening], *, actor: Seat | None
) -> tuple[int, ...]:
    """Return how many of each seat's last commits brought the game no further, once `actor` caused `happened`."""
    if actor is None:
        return match.repeated
    before = match.repeated or (0,) * len(match.setup.seats)
    is_repeated = all(game.repeatable(each.event) for each in happened)
    return (*before[:actor], before[actor] + 1 if is_repeated else 0, *before[actor + 1 :])


def nobody(seats: int) -> Awaiting:
    """Return that no seat is to act."""
    return (None,) * seats


def obligations(before: Awaiting, after: Match, *, follow_up: Seat | None) -> Mapping[str, int | None]:
    """Return what a commit obliges the platform to do, or no longer does: names to delays in ms, None clears.

    A house bot's turn is due at once, but that of the seat `follow_up`, whose task goes on by itself, only later.
    """
    due: dict[str, int | None] = {}
    for seat, setup in enumerate(after.setup.seats):
        old, new = before[seat], after.awaiting[seat]
        if setup.is_house_bot and old != new:
            if old is not None:
                due[bot_turn_name(after.match_id, seat, old)] = None
            if new is not None:
                due[bot_turn_name(after.match_id, seat, new)] = FOLLOW_UP_MS if seat == follow_up else 0
    if after.is_closed and after.setup.rated:
        due[tally_name(after.match_id)] = 0
    return due
