"""What a service of Pacific tells somebody: the same in every world that differs only in what is hidden from it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import aclosing
from typing import Any, get_args

import pytest
from msgspec.structs import replace

from promontory.codec.pacific import CODEC
from promontory.eventlog.memory import MemoryEventLog
from promontory.eventlog.port import CommandIdReused, VersionConflict, game_buckets
from promontory.games.kernel import Rejected
from promontory.games.pacific.commands import Command
from promontory.games.pacific.decisions import Question
from promontory.games.pacific.state import Player, State
from promontory.rules.arbitration import Arbitration
from promontory.rules.forking import Forking
from promontory.rules.ledger import Ledger
from promontory.rules.matches import Matches
from promontory.rules.presence import LocalPresence
from promontory.rules.resuming import ResumeTokens
from promontory.rules.ruleset import Ruleset
from promontory.rules.servicer import RulesCases, RulesServicer
from promontory.rules.usecases import Environment, Referee
from promontory.rules.watch import Hub, Pace
from promontory.runtime import clock
from promontory.runtime.allowance import Allowance, creations
from promontory.runtime.errors import Refusal, as_refusal, status
from promontory.runtime.identity import serve_as
from promontory.runtime.rpc import encoded
from tests.support.pacific import BLIND, GAME
from tests.support.pacific_leaks import Foretelling, Impatient, InOrder, Padded, Precise, Unredacted, Verbose
from tests.support.pacific_observer import Observer, Told, differences
from tests.support.pacific_worlds import SECRET_PHASES, Arranged, Pair, pairs
from tests.support.refereeing import MATCHMAKING, SEALS, SEED, player

NO_CONTEXT: Any = None
GAMES = [(2, 0), (2, 6), (3, 6), (4, 13), (5, 2)]
DECISIONS = {kind.__name__ for kind in get_args(Question)}
FOUND = {f"{seats}-{seed} {pair.secret}": pair for seats, seed in GAMES for pair in pairs(seats, seed)}
FIRST = {pair.secret: name for name, pair in reversed(FOUND.items())}
PAIRS = {name: pair for name, pair in FOUND.items() if pair.secret not in DECISIONS or FIRST[pair.secret] == name}
"""Every sort of secret in each game, and every kind of decision once."""
each_pair = pytest.mark.parametrize("name", PAIRS)

SECRETS = {phase + words for phase in SECRET_PHASES for words in ("", " last")} | {
    "put_out_first late_put_out",
    "put_out_first late_put_out last",
    "choose extra_card",
    "choose own_card_only",
    "choose own_card_only required",
    "choose extra_card own_card_only required",
    "reserved draws",
}
REASONS = [
    "WRONG_PHASE",
    "NOT_YOUR_DECISION",
    "UNKNOWN_CARD",
    "NOT_IN_HAND",
    "BAD_SLOT",
    "OWN_CARD_REQUIRED",
    "WRONG_NUMBER",
    "SAME_AREA",
    "AREA_NOT_ALLOWED",
    "KIND_NOT_ALLOWED",
    "NOT_ENOUGH_TOKENS",
    "TOO_FEW",
    "NOTHING_PENDING",
    "UNUSED_REMOVAL_LIST",
    "MALFORMED",
    "SEAT_RESIGNED",
]


class Desk:
    """A rules service on a log in memory, reached without a wire."""

    def __init__(self, rules: Ruleset) -> None:
        ledger = Ledger(rules)
        matches = Matches(MemoryEventLog(clock=clock.now_ms), ledger, game=rules.game.name, cached=10)
        presence = LocalPresence(clock.now_ms)
        environment = Environment(SEALS, lambda: SEED, frozenset(), 4, presence)
        referee = Referee(rules, ledger, matches, environment)
        forking = Forking(ledger, matches, environment, Allowance(creations(120)))
        arbitration = Arbitration(ledger, matches, seals=SEALS, presence=presence)
        buckets, tokens = game_buckets(rules.code, 4), ResumeTokens(b"k" * 32)
        hub = Hub(matches, buckets, game=rules.game.name, pace=Pace(0.02, 600), tokens=tokens)
        self._servicer = RulesServicer(rules, RulesCases(referee, arbitration, forking), hub)

    async def ask(self, who: str, method: str, **fields: Any) -> tuple[bool, bytes]:
        """Call a method; see `Service`."""
        serve_as(MATCHMAKING if who == "platform" else player(who))
        try:
            response = await self._call(method, getattr(CODEC.messages, f"{method}Request")(**fields))
        except (Refusal, Rejected, VersionConflict, CommandIdReused) as error:
            return False, status(as_refusal(error)).SerializeToString(deterministic=True)
        return True, encoded(response)

    async def _call(self, method: str, request: Any) -> Any:
        called = getattr(self._servicer, method)(request, NO_CONTEXT)
        return await (anext(called) if method == "ExportMatch" else called)

    async def watch(self, who: str, **fields: Any) -> AsyncIterator[bytes]:
        """Watch a match; see `Service`."""
        serve_as(player(who))
        messages: Any = self._servicer.WatchMatch(CODEC.messages.WatchMatchRequest(**fields), NO_CONTEXT)
        async with aclosing(messages):
            async for message in messages:
                yield message


async def told(pair: Pair, number: int, kind: type[Arranged] = Arranged) -> Told:
    """Return all that the observer of a pair is told of one of its worlds, whose game is one of `kind`."""
    world = pair.worlds[number]
    return await Observer(Desk(world.rules(kind)), pair, world).live()


async def catches(leaky: type[Arranged], chosen: Iterable[Pair], occasion: str) -> bool:
    """Tell whether in one of the pairs different things are told on an occasion, if the game is a leaky one."""
    for pair in chosen:
        if occasion in differences(await told(pair, 0, leaky), await told(pair, 1, leaky)):
            return True
    return False


def refusal(state: State, command: Command) -> bytes:
    """Return all that the refusal of a command tells, or nothing if it is accepted."""
    try:
        GAME.decide(state, command, BLIND)
    except Rejected as rejected:
        refused: bytes = status(as_refusal(rejected)).SerializeToString(deterministic=True)
        return refused
    return b""


def answers(state: State, observer: int | None) -> list[object]:
    """Return the secret answers of the seats that the observer is not."""
    others = [player for seat, player in enumerate(state.players) if seat != observer]
    return [(player.setup, player.put_out_card_id, player.slots) for player in others]


def unanswered(player: Player) -> Player:
    """Return the player before any answer in a secret phase."""
    return replace(player, setup=None, put_out_card_id="", slots=())


@each_pair
async def test_two_worlds_that_differ_in_what_is_hidden_are_told_in_the_same_bytes(name: str) -> None:
    """[Pacific 7] Views now and before, streams, lists, legal commands, previews, answers, refusals, heartbeats."""
    assert differences(await told(PAIRS[name], 0), await told(PAIRS[name], 1)) == []


@each_pair
def test_two_worlds_of_a_pair_differ(name: str) -> None:
    """In hidden cards, and in the answers that are not revealed yet."""
    first, second = (world.end for world in PAIRS[name].worlds)
    cards = [[state.deck, [player.holdings.hand for player in state.players]] for state in (first, second)]
    assert cards[0] != cards[1]
    are_other = answers(first, PAIRS[name].observer) != answers(second, PAIRS[name].observer)
    assert are_other == PAIRS[name].hides_answers


def test_every_sort_of_secret_and_every_kind_of_decision_is_observed() -> None:
    """[Pacific 2.1, Pacific 3.7] By players and spectators, with 2 to 5 seats, with seats that resigned."""
    assert {pair.secret for pair in PAIRS.values()} >= DECISIONS | SECRETS
    assert {pair.seats for pair in PAIRS.values()} == {2, 3, 4, 5}
    observers = {pair.observer for pair in PAIRS.values() if pair.secret not in DECISIONS}
    assert observers >= {None, 0, 1, 2}
    assert any(pair.worlds[0].end.resigned for pair in PAIRS.values())


def test_what_the_observers_try_meets_refusals() -> None:
    """[Pacific 2, Pacific 3.7] For nearly every reason there is."""
    refused = [refusal(pair.worlds[0].end, command) for pair in PAIRS.values() for command in pair.tried[-1]]
    told = b" ".join(refused).decode(errors="replace")
    assert [reason for reason in REASONS if reason not in told] == []


@each_pair
def test_a_refusal_does_not_depend_on_whether_others_have_answered(name: str) -> None:
    """[Pacific 2.1] Their answers are taken in any order, until the last one that is needed."""
    pair = PAIRS[name]
    state = pair.worlds[0].end
    players = [unanswered(player) if seat != pair.observer else player for seat, player in enumerate(state.players)]
    alone = replace(state, players=tuple(players))
    assert [refusal(state, command) for command in pair.tried[-1]] == [
        refusal(alone, command) for command in pair.tried[-1]
    ]


@pytest.mark.parametrize(
    ("leaky", "secret", "occasion"),
    [
        (Unredacted, "put_out_first", "WatchMatch"),
        (Unredacted, "choose", "ListMatchEvents as a spectator"),
        (Unredacted, "setup_place", "WatchMatch"),
        (Unredacted, "reserved draws", "WatchMatch"),
        (Padded, "put_out_late", "ListMatchEvents as a spectator"),
        (InOrder, "put_out_first", "GetMatch"),
        (InOrder, "PickArea", "SubmitCommand accepted"),
        (Foretelling, "put_out_first last", "PreviewCommand"),
        (Foretelling, "choose last", "PreviewCommand"),
        (Precise, "put_out_first last", "SubmitCommand refused"),
        (Impatient, "choose", "GetMatch as a spectator"),
        (Verbose, "put_out_first", "WatchMatch"),
    ],
)
async def test_a_game_that_leaks_is_caught(leaky: type[Arranged], secret: str, occasion: str) -> None:
    """The test of the test: what a game tells too much is found, where it is told."""
    assert await catches(leaky, [pair for pair in PAIRS.values() if pair.secret == secret], occasion)
