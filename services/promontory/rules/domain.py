"""A match as its log tells it: what it was created from, where it stands, and what a commit changes."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Any

import msgspec
from msgspec.structs import replace

from promontory.codec.conduct import Ending, EndingDeclined, EndingOffered, MatchEvent, SeatLeft
from promontory.codec.outcomes import CloseReason, Result
from promontory.codec.terms import Terms, TimeControl
from promontory.eventlog.obligations import archive_name, bot_turn_name, clock_name, list_name, tally_name
from promontory.eventlog.port import Position
from promontory.games.kernel import Draws, Outcome, Rejected, Seat
from promontory.games.registry import AnyGame
from promontory.rules.clocks import next_end_ms, ticked
from promontory.rules.conduct import Act, Conduct, Leaver, after_move, evolve

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
    """What a match is created from; from `time_control` on, the fields are those of `Terms`."""

    seats: tuple[SeatSetup, ...]
    pool: str = ""
    rated: bool = False
    draw_start: bool = False
    variant: str = ""
    time_control: TimeControl | None = None
    stand_in_policy: str = ""
    abandon_after_ms: int = 0
    spectator_delay: int = 0

    @property
    def terms(self) -> Terms:
        """The terms it is played on."""
        return Terms(
            time_control=self.time_control,
            stand_in_policy=self.stand_in_policy,
            abandon_after_ms=self.abandon_after_ms,
            spectator_delay=self.spectator_delay,
        )

    @property
    def is_timed(self) -> bool:
        """Whether it matters to the players what time a commit tells."""
        return self.time_control is not None or bool(self.abandon_after_ms)

    @property
    def entropies(self) -> tuple[bytes, ...]:
        """The seats' shares in the randomness, in the order of seats."""
        return tuple(seat.client_entropy for seat in self.seats)


class Origin(msgspec.Struct, frozen=True):
    """A closed match at one of its versions, where a fork begins; `head` is the hash of its log up to there."""

    match_id: str
    version: int
    head: bytes


class Match(msgspec.Struct, frozen=True):
    """A match at the version of `position`; times in ms since the epoch.

    `state` is the game's own, `conduct` what stands beside it. `repeated` counts for each seat its last commits that
    brought the game no further, and is empty before any seat has acted. `result` and `server_seed` are set by the
    closing commit, and only by it. A fork was `forked_from` another match.
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
    conduct: Conduct
    created_at_ms: int
    updated_at_ms: int
    repeated: tuple[int, ...] = ()
    result: Result | None = None
    server_seed: bytes = b""
    forked_from: Origin | None = None

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

    def house_policy(self, seat: Seat) -> str:
        """Return the policy by which the house plays `seat` at present, or an empty text while its player does."""
        return _house_policy(self.setup, self.conduct, seat)

    @property
    def stayers(self) -> tuple[Seat, ...]:
        """The seats that nobody has left, ascending; house bots never leave."""
        return tuple(seat for seat in range(len(self.setup.seats)) if self.conduct.leaver(seat) is None)


class CommitMeta(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """What the service notes beside a commit's events.

    `commands` are the accepted commands, encoded as the game's `Command`, so that an audit can judge them again, or
    `act` is what was done instead; `actor` is the seat that did it. `state_hash` is set every `HASHED_EVERY` commits.
    """

    recorded_at_ms: int
    actor: Seat | None = None
    commands: tuple[bytes, ...] = ()
    act: Act | None = None
    state_hash: str = ""


class Happening(msgspec.Struct, frozen=True):
    """One event of the game, and the state after it."""

    event: Any
    state: Any


class Decision(msgspec.Struct, frozen=True):
    """What a commit is to record: what happens beside the game, and then in the game.

    `commands` are those of the game that were chosen for the actor, `act` what was done that is no command.
    """

    happened: tuple[Happening, ...] = ()
    conduct: tuple[MatchEvent, ...] = ()
    commands: tuple[Any, ...] = ()
    act: Act | None = None


class Moment(msgspec.Struct, frozen=True):
    """A match as it stands when something is decided, and what that needs: its rules, its draws, and the time in ms."""

    game: AnyGame
    match: Match
    draws: Draws
    now_ms: int


class Step(msgspec.Struct):
    """One commit: the match after it, the game's events in it, and before those what happened beside the game.

    `told` keeps what was already made of it to be told, which is the presenter's.
    """

    match: Match
    happened: tuple[Happening, ...]
    conduct: tuple[MatchEvent, ...] = ()
    told: Any = None

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


def standing_after(
    match: Match, game: AnyGame, decision: Decision, *, actor: Seat | None, now_ms: int
) -> tuple[Conduct, Result | None, tuple[Seat, ...]]:
    """Return where `match` stands beside the game once `actor` caused `decision` at `now_ms`.

    With that come the result, if it closes the match, and the seats that are to act.
    """
    setup, state = match.setup, decision.happened[-1].state if decision.happened else match.state
    conduct, control = match.conduct, setup.time_control
    for event in decision.conduct:
        conduct = evolve(conduct, event, control, version=match.version + 1)
    if actor is not None and decision.happened and not _leaves(decision, actor) and not match.house_policy(actor):
        conduct = after_move(conduct, actor)
    result = _result(setup, game, conduct=conduct, state=state)
    to_act = () if result else game.to_act(state)
    is_new_period = match.version == 0 or game.period(state) != game.period(match.state)
    if conduct.stand_ins:
        staying = () if is_new_period else tuple(each for each in conduct.stand_ins if each[0] in to_act)
        conduct = replace(conduct, stand_ins=staying)
    owing = [seat for seat in to_act if not _house_policy(setup, conduct, seat)]
    clocks = ticked(control, conduct.clocks, owing, is_new_period=is_new_period, now_ms=now_ms)
    return (conduct if clocks is conduct.clocks else replace(conduct, clocks=clocks)), result, to_act


def _house_policy(setup: Setup, conduct: Conduct, seat: Seat) -> str:
    return setup.seats[seat].bot_policy or conduct.stand_in(seat)


def _leaves(decision: Decision, seat: Seat) -> bool:
    return bool(decision.conduct) and any(isinstance(each, SeatLeft) and each.seat == seat for each in decision.conduct)


def _result(setup: Setup, game: AnyGame, *, conduct: Conduct, state: Any) -> Result | None:
    """Return how a match is closed as it now stands, or None while it goes on."""
    if conduct.aborted:
        return Result(CloseReason.ABORTED)
    if conduct.cancelled:
        return Result(CloseReason.CANCELLED)
    outcome, leavers = game.outcome(state), conduct.leavers
    if outcome is not None:
        return Result(_reason(outcome, leavers), placed(outcome.places, leavers), outcome.scores)
    if not conduct.offers:
        return None
    people = [seat for seat, who in enumerate(setup.seats) if not who.is_house_bot]
    match conduct.agreed([seat for seat in people if conduct.leaver(seat) is None]):
        case Ending.DRAW:
            places = placed((1,) * len(setup.seats), leavers)
            return Result(CloseReason.DRAWN, places, game.scores(state))
        case Ending.CANCEL:
            return Result(CloseReason.CANCELLED)
    return None


def _reason(outcome: Outcome, leavers: Sequence[Leaver]) -> CloseReason:
    if not outcome.resigned:
        return CloseReason.PLAYED_OUT
    return CloseReason(leavers[-1].cause.value) if leavers else CloseReason.RESIGNED


def placed(places: tuple[int, ...], leavers: Sequence[Leaver]) -> tuple[int, ...]:
    """Return `places`, from 1 in the order of seats, with all `leavers` behind those who stayed, the first one last."""
    left = {leaver.seat: order for order, leaver in enumerate(leavers)}
    keys = [(1, -left[seat]) if seat in left else (0, place) for seat, place in enumerate(places)]
    return tuple(1 + sum(other < key for other in keys) for key in keys)


def awaiting_after(before: Awaiting, to_act: Collection[Seat], *, version: int, actor: Seat | None) -> Awaiting:
    """Return since when each seat is to act after commit `version`: anew for the actor and for newcomers."""
    return tuple(
        [
            None if seat not in to_act else version if since is None or seat == actor else since
            for seat, since in enumerate(before)
        ]
    )


def repeated_after(match: Match, game: AnyGame, decision: Decision, *, actor: Seat | None) -> tuple[int, ...]:
    """Return how many of each seat's last commits brought the match no further, once `actor` caused `decision`."""
    if actor is None:
        return match.repeated
    before = match.repeated or (0,) * len(match.setup.seats)
    count = before[actor] + 1 if _is_repeated(game, decision) else 0
    return before if count == before[actor] else (*before[:actor], count, *before[actor + 1 :])


def _is_repeated(game: AnyGame, decision: Decision) -> bool:
    for happening in decision.happened:
        if not game.repeatable(happening.event):
            return False
    return all(isinstance(event, EndingOffered | EndingDeclined) for event in decision.conduct)


def nobody(seats: int) -> Awaiting:
    """Return that no seat is to act."""
    return (None,) * seats


def obligations(
    before: Match, after: Match, *, follow_up: Seat | None, archive_after_ms: int | None = None
) -> Mapping[str, int | None]:
    """Return what a commit obliges the platform to do, or no longer does: names to delays in ms, None clears.

    A house-played turn is due at once, but that of the seat `follow_up`, whose task goes on by itself, only later. A
    match is to be archived `archive_after_ms` after its end, if it is at all.
    """
    due: dict[str, int | None] = {}
    for seat in range(len(after.setup.seats)):
        old, new = _house_turn(before, seat), _house_turn(after, seat)
        if old != new:
            if old is not None:
                due[bot_turn_name(after.match_id, seat, old)] = None
            if new is not None:
                due[bot_turn_name(after.match_id, seat, new)] = FOLLOW_UP_MS if seat == follow_up else 0
    due |= _clock_due(before, after)
    if after.result is not None and after.result.places and after.setup.rated:
        due[tally_name(after.match_id)] = 0
    if after.is_closed and after.forked_from is None:
        due[list_name(after.match_id)] = 0
    if after.is_closed and archive_after_ms is not None:
        due[archive_name(after.match_id, after.updated_at_ms)] = archive_after_ms
    return due


def _house_turn(match: Match, seat: Seat) -> int | None:
    """Return the version since which the house is to act for `seat`, or None."""
    since = match.awaiting[seat]
    return since if since is not None and match.house_policy(seat) else None


def _clock_due(before: Match, after: Match) -> Mapping[str, int | None]:
    control = after.setup.time_control
    old, new = next_end_ms(control, before.conduct.clocks), next_end_ms(control, after.conduct.clocks)
    if old == new:
        return {}
    return {clock_name(after.match_id): None if new is None else max(0, new - after.updated_at_ms)}
