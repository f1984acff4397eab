"""Playing a house bot's turn by the public SDK, like any other player."""

from __future__ import annotations

from collections import defaultdict
from random import Random
from threading import Lock
from typing import Any, Protocol

from promontory.bots import registry as bots
from promontory.bots.port import Policy
from promontory.client.errors import FailedPrecondition, InvalidArgument, PermissionDenied, VersionConflict
from promontory.client.matches import MatchSummary, Update
from promontory.games.registry import AnyGame
from promontory.runtime import clock, metrics

MAX_CONFLICTS = 20
TURN_GONE = frozenset({"REQUEST_ID_REUSED", "MATCH_OVER", "NOT_YOUR_TURN"})
"""The reasons that say that the turn is over: another delivery of the task, or the relay, was quicker."""

NOT_THE_HOUSES = "SEAT_NOT_YOURS"
"""The reason that says that the house plays the seat no longer: it only stood in for a turn, and that is over."""


class Seated(Protocol):
    """A seat as the SDK plays it."""

    game: str
    match_id: str
    seat: int

    def look(self) -> Update:
        """Return the match as the seat sees it now."""

    def rules(self) -> AnyGame:
        """Return the game as the match is played."""

    def submit(self, commands: Any, *, expected_version: int | None = None, request_id: str | None = None) -> Update:
        """Submit a command and return what came of it."""


class Policies:
    """The policies that house bots play by, each made once for the rules and the data of a match.

    None of them decides twice at a time: so none has to bear several threads, and one that hangs holds up no others.
    """

    def __init__(self) -> None:
        self._made: dict[tuple[str, str, bytes, str], Policy] = {}
        self._making = Lock()
        self._deciding = defaultdict[tuple[str, str], Lock](Lock)

    def choose(self, seated: Seated, update: Update) -> Any:
        """Return the command that the policy of `seated` chooses; raise what `of` and the policy raise."""
        rng = Random(f"{seated.match_id}:{seated.seat}:{update.version}")  # noqa: S311 - a bot's whim, not a draw
        name = update.match.seats[seated.seat].house_policy
        with self._making:
            choose, deciding = self.of(seated, update.match), self._deciding[seated.game, name]
        with deciding:
            started = clock.monotonic()
            command = choose(update.view, rng)
        metrics.BOT_DECISION_SECONDS.labels(game=seated.game, policy=name).observe(clock.monotonic() - started)
        return command

    def of(self, seated: Seated, match: MatchSummary) -> Policy:
        """Return the policy of `seated` in `match`.

        Raises `UnknownRulesError`, `UnknownPolicyError`, or what `Seated.rules` raises.
        """
        name = match.seats[seated.seat].house_policy
        key = (match.game, match.rules_version, match.data_hash, name)
        if key not in self._made:
            self._made[key] = bots.policy(seated.rules(), name)
        return self._made[key]


def play_turn(seated: Seated, since_version: int, policies: Policies) -> int:
    """Play until it is no longer the seat's turn, which began with `since_version`; return how many commands.

    Twice is safe: each command's request id names the commit since which the seat is to act, and its random choices
    follow from the version it acts on, so a second delivery submits the same or finds the turn gone.

    Raises what `Seated` and the policy raise, `VersionConflict` if others kept acting first.
    """
    try:
        return _play(seated, since_version, policies)
    except PermissionDenied as error:
        if error.reason != NOT_THE_HOUSES:
            raise
        return 0


def _play(seated: Seated, since_version: int, policies: Policies) -> int:
    played, conflicts, update = 0, 0, seated.look()
    while seated.seat in update.match.seats_to_act and update.match.seats[seated.seat].house_policy:
        command = policies.choose(seated, update)
        request_id = f"bot:{seated.match_id}:{seated.seat}:{since_version}"
        try:
            update = seated.submit(command, expected_version=update.version, request_id=request_id)
        except VersionConflict:
            conflicts += 1
            if conflicts > MAX_CONFLICTS:
                raise
            update = seated.look()
        except (FailedPrecondition, InvalidArgument) as error:
            if error.reason not in TURN_GONE:
                raise
            break
        else:
            played, since_version = played + 1, update.version
    return played
