"""A referee on some event log, with players whose games are the same in every run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from random import Random
from typing import Any

from promontory.bots.registry import policy
from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import Appended, EventLog, EventLogUnavailable, Position, Proposed
from promontory.games.fairness import BlindDraws
from promontory.games.kernel import fold
from promontory.rules.arbitration import Arbitration
from promontory.rules.domain import Match, SeatKind, SeatSetup, Setup, Step
from promontory.rules.forking import Forking
from promontory.rules.ledger import Ledger
from promontory.rules.matches import Matches
from promontory.rules.presence import LocalPresence
from promontory.rules.recorder import Answer
from promontory.rules.ruleset import Ruleset, load_ruleset
from promontory.rules.seal import AesGcmSeals
from promontory.rules.servicer import RulesCases
from promontory.rules.usecases import Environment, Referee, Submission
from promontory.runtime import clock
from promontory.runtime.allowance import Allowance, creations
from promontory.runtime.identity import Caller

GAME = "transcontinental"
POOL = "transcontinental.ranked"
SEED = bytes(range(32))
SEALS = AesGcmSeals(b"k" * 32)

MATCHMAKING = Caller("service:matchmaking", frozenset({"match:create"}), service=True)
WORKERS = Caller("service:workers", frozenset({"house:play"}), service=True)
RELAY = Caller("service:relay", frozenset({"match:automatic"}), service=True)

Choose = Callable[[Any, Random], Any]


def player(name: str, *scopes: str) -> Caller:
    """Return the player `name`, who may play and no more unless `scopes` are given."""
    return Caller(name, frozenset(scopes or {"match:play"}))


ADA, BEN, EVE = player("ada"), player("ben"), player("eve")
TWO_PLAYERS = Setup((SeatSetup("ada"), SeatSetup("ben")))
HOUSE_SEAT = SeatSetup("bot:greedy-1", SeatKind.HOUSE_BOT, "greedy")
AGAINST_THE_HOUSE = Setup((SeatSetup("ada"), HOUSE_SEAT), pool=POOL, rated=True)
HOUSE_FIRST = Setup((HOUSE_SEAT, SeatSetup("ada")))


@cache
def ruleset(game: str = GAME, data: tuple[bytes, ...] = ()) -> Ruleset:
    """Return Transcontinental, or another game, as its service loads it with the operator's files `data`."""
    return load_ruleset(game, data)


class Bench:
    """A referee with a log, which is in memory unless one is given."""

    def __init__(
        self, log: EventLog | None = None, *, cached: int = 100, game: str = GAME, data: tuple[bytes, ...] = ()
    ) -> None:
        self.log = log or MemoryEventLog()
        self.ruleset = ruleset(game, data)
        self.ledger = Ledger(self.ruleset)
        self.matches = Matches(self.log, self.ledger, game=game, cached=cached)
        self.presence = LocalPresence(clock.now_ms)
        self.environment = Environment(SEALS, lambda: SEED, frozenset({"greedy"}), 64, self.presence)
        self.arbitration = Arbitration(self.ledger, self.matches, seals=SEALS, presence=self.presence)
        self.referee = Referee(self.ruleset, self.ledger, self.matches, self.environment)
        self.forking = self.forking_at(120)
        self.cases = RulesCases(self.referee, self.arbitration, self.forking)

    def forking_at(self, most: int) -> Forking:
        """Return the use case of forks, of which a player may ask for so many a minute."""
        return Forking(self.ledger, self.matches, self.environment, Allowance(creations(most)))

    def replica(self) -> Bench:
        """Return another process's referee on the same log."""
        return Bench(self.log, game=self.ruleset.game.name, data=tuple(self.ruleset.files.values()))

    async def create(self, setup: Setup = TWO_PLAYERS, *, request_id: str = "creation") -> Match:
        """Return a new match."""
        return await self.referee.create(MATCHMAKING, request_id, setup)

    async def submit(
        self, match: Match, *commands: Any, request_id: str | None = None, expected: int | None = None
    ) -> Answer:
        """Submit `commands`, in their seat's name, as one submission with an id of its own unless one is given."""
        seat = self.ruleset.game.seat_of(commands[0])
        name = f"at-{match.version}" if request_id is None else request_id
        return await self.referee.submit(
            holder(match, seat), Submission(match.match_id, seat, commands, name, expected)
        )

    async def play_turn(self, match: Match) -> Match:
        """Play the turn of the seat to act in two submissions, what it draws and all the rest; return the match."""
        draw, *rest = whole_turn(match)
        match = (await self.submit(match, draw)).step.match
        return (await self.submit(match, *rest)).step.match

    async def play(self, match: Match, *, until: int = 10_000, choose: Choose | None = None) -> Match:
        """Let `choose` (the greedy policy) play all seats until the match is closed or at version `until`."""
        choose, rng = choose or policy(self.ruleset.game, "greedy"), random_of(match)
        while not match.is_closed and match.version < until:
            seat = match.to_act[0]
            answer = await self.submit(match, choose(self.ruleset.game.view(match.state, seat), rng))
            match = answer.step.match
        return match

    async def steps(self, match: Match) -> Sequence[Step]:
        """Return all steps of the match, as its log tells them."""
        return await self.replica().matches.history(match.match_id, last=10_000)


def holder(match: Match, seat: int) -> Caller:
    """Return who may act for `seat`."""
    setup = match.setup.seats[seat]
    return WORKERS if setup.is_house_bot else player(setup.player_id)


def next_command(match: Match) -> Any:
    """Return the command that the seat to act gets played automatically: always legal."""
    return ruleset(match.game).game.automatic(match.state, match.to_act[0])


def whole_turn(match: Match) -> tuple[Any, ...]:
    """Return commands that play the turn of the seat to act to its end, for a turn in which nothing is shuffled."""
    game, state, commands = ruleset(match.game).game, match.state, list[Any]()
    while game.to_act(state) == match.to_act:
        commands.append(game.automatic(state, match.to_act[0]))
        state = fold(game, state, game.decide(state, commands[-1], BlindDraws()))
    return tuple(commands)


def random_of(match: Match) -> Random:
    """Return random numbers that are the same in every run for the same match and version."""
    return Random(f"{match.match_id} {match.version}")


class ForgetfulLog(MemoryEventLog):
    """A log that loses answers: it appends, but the next `lost` times it does not say so. It counts its calls."""

    def __init__(self) -> None:
        super().__init__()
        self.lost = 0
        self.calls = 0

    async def append(self, stream: str, proposed: Proposed, *, expected: Position) -> Appended:
        """Append; see `EventLog.append`."""
        self.calls += 1
        appended = await super().append(stream, proposed, expected=expected)
        if self.lost:
            self.lost -= 1
            raise EventLogUnavailable("the answer was lost")
        return appended

    async def read(self, stream: str, **options: Any) -> Any:
        """Read; see `EventLog.read`."""
        self.calls += 1
        return await super().read(stream, **options)

    async def find(self, stream: str, command_id: str) -> tuple[str, int] | None:
        """Find; see `EventLog.find`."""
        self.calls += 1
        return await super().find(stream, command_id)
