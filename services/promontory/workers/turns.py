"""Playing a house bot's turn by the public SDK, like any other player."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from random import Random
from typing import Any, Protocol

from promontory.bots import registry as bots
from promontory.bots.port import Policy
from promontory.client.errors import FailedPrecondition, InvalidArgument, VersionConflict
from promontory.client.matches import Update
from promontory.games import registry as games
from promontory.runtime import clock, metrics

MAX_CONFLICTS = 20
TURN_GONE = frozenset({"REQUEST_ID_REUSED", "MATCH_OVER", "NOT_YOUR_TURN"})
"""The reasons that say that the turn is over: another delivery of the task, or the relay, was quicker."""


class Seated(Protocol):
    """A seat as the SDK plays it."""

    game: str
    match_id: str
    seat: int

    def look(self) -> Update:
        """Return the match as the seat sees it now."""

    def submit(self, commands: Any, *, expected_version: int | None = None, request_id: str | None = None) -> Update:
        """Submit a command and return what came of it."""


PolicyOf = Callable[[str, str, str], Policy]
"""Returns the policy of a game's name, its rules version and the policy's name."""


@cache
def shipped_policy(game: str, rules_version: str, name: str) -> Policy:
    """Return the policy called `name` for a game with the data that comes with the package.

    Raises `UnknownGameError`, `UnknownRulesError` or `UnknownPolicyError`.
    """
    return bots.policy(games.game(game, rules_version=rules_version), name)


def play_turn(seated: Seated, since_version: int, *, policy_of: PolicyOf = shipped_policy) -> int:
    """Play until it is no longer the seat's turn, which began with `since_version`; return how many commands.

    Twice is safe: each command's request id names the commit since which the seat is to act, and its random choices
    follow from the version it acts on, so a second delivery submits the same or finds the turn gone.

    Raises what `Seated` and the policy raise, `VersionConflict` if others kept acting first.
    """
    played, conflicts, update = 0, 0, seated.look()
    while update.your_turn:
        command = _choice(seated, update, policy_of)
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


def _choice(seated: Seated, update: Update, policy_of: PolicyOf) -> Any:
    name = update.match.seats[seated.seat].bot_policy
    choose = policy_of(seated.game, update.match.rules_version, name)
    rng = Random(f"{seated.match_id}:{seated.seat}:{update.version}")  # noqa: S311 - a bot's whim, not a draw
    started = clock.monotonic()
    command = choose(update.view, rng)
    metrics.BOT_DECISION_SECONDS.labels(game=seated.game, policy=name).observe(clock.monotonic() - started)
    return command
