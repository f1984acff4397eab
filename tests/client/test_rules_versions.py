"""Two rules versions of a game in one process: a match goes on under those it began with, new ones get the newer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from random import Random
from typing import Any

import msgspec
import pytest

from promontory import FailedPrecondition
from promontory.bots.arena import Plan, run_arena
from promontory.bots.port import Policy
from promontory.bots.registry import policy
from promontory.client.seats import Seat
from promontory.codec.registry import codec
from promontory.eventlog.audit_file import CommitLine
from promontory.games import registry
from promontory.games.kernel import fold
from promontory.games.registry import AnyGame, GameEntry, UnknownRulesError
from promontory.rules.audit import audit, audit_file, shipped_rulesets
from promontory.rules.domain import SeatSetup, Setup
from tests.client.hall import play
from tests.client.installation import Installation, SeatsOf
from tests.golden.record import DIRECTORY
from tests.support import rules_versions
from tests.support.serving import Keys

GAME = registry.entry("transcontinental")
PLAYERS = ("ada", "ben")
TABLE = Setup(tuple(map(SeatSetup, PLAYERS)))
RENAMED = GAME.shipped_data().replace(b"Filling", b"Embankments")
RECORDED = {
    "transcontinental": ("points", "resigned"),
    "pacific": ("two_against_house", "five_step_by_step"),
    "railroad_dice_2": ("two_against_house", "three_resigned"),
}
RESIGNED = {"transcontinental": "resigned", "pacific": "three_resigned", "railroad_dice_2": "three_resigned"}
EVERY_GAME = pytest.mark.parametrize("entry", registry.GAMES, ids=lambda entry: entry.name)

Install = Callable[..., None]


@pytest.fixture(scope="module", autouse=True)
def older_rules(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """The present rules of each game as an older version of it."""
    with rules_versions.kept(tmp_path_factory.mktemp("older")):
        yield


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """What replaces the games that everybody in this process knows."""
    return lambda *games: monkeypatch.setattr(registry, "GAMES", games)


@pytest.fixture
def installation(keys: Keys) -> Installation:
    return Installation(keys, GAME.name, PLAYERS)


@pytest.fixture
async def seats(installation: Installation) -> AsyncIterator[SeatsOf]:
    async with installation.seated() as of:
        yield of


async def begin(seats: Sequence[Seat]) -> None:
    """Have the seat that is to act do so."""
    update = await seats[0].look()
    await seats[0].submit(policy(await seats[0].rules(), "greedy")(update.view, Random(1)))


async def play_out(seats: Sequence[Seat]) -> bytes:
    """Play a match to its end and return its audit file."""
    await asyncio.gather(*(play(seated, [], policy_name="greedy") for seated in seats))
    return await seats[0].export()


async def test_a_match_goes_on_under_its_rules_while_new_ones_get_the_newer(
    installation: Installation, seats: Callable[[str], Sequence[Seat]], install: Install
) -> None:
    """[event_log 2.13] Rules and data; the SDK, the bots and the audit go by what the match is pinned to."""
    async with installation.serving():
        before = await installation.create()
        await begin(seats(before))
    install(rules_versions.both(GAME, data=RENAMED))
    async with installation.serving():
        after = await installation.create()
        rules: list[Any] = [await seats(match_id)[1].rules() for match_id in (before, after)]
        files = [await play_out(seats(match_id)) for match_id in (before, after)]
    reports = [audit(file, shipped_rulesets()) for file in files]
    assert [each.rules_version for each in rules] == ["transcontinental/1", "transcontinental/2"]
    assert type(rules[0]).__module__ == "promontory.games.transcontinental.v1.decider"
    assert [each.data_hash for each in rules] == [each.load().data_hash for each in (GAME, registry.entry(GAME.name))]
    assert [(each.ok, each.rules_version) for each in reports] == [
        (True, "transcontinental/1"),
        (True, "transcontinental/2"),
    ]
    assert all(score % 2 == 0 for score in reports[1].scores)
    assert [decided_without(file, install, GAME) for file in files] == [True, False]


def decided_without(file: bytes, install: Install, *games: GameEntry) -> bool:
    """Tell whether a distribution with `games` alone can judge a file."""
    install(*games)
    return not audit(file, shipped_rulesets()).undecided


async def test_a_match_whose_rules_are_gone_waits_until_they_are_back(
    installation: Installation, seats: Callable[[str], Sequence[Seat]], install: Install
) -> None:
    """[RULES_VERSION_UNKNOWN] On a server that lacks them nothing of the match is lost; clients say so, too."""
    async with installation.serving():
        match_id = await installation.create()
        await begin(seats(match_id))
        before = await seats(match_id)[0].look()
    games = rules_versions.both(GAME)
    install(rules_versions.replace(games, rules=games.rules[:1]))
    async with installation.serving():
        ada = seats(match_id)[0]
        refusals = await asyncio.gather(ada.look(), ada.resign(), anext(ada.updates()), return_exceptions=True)
    install(games)
    async with installation.serving():
        after = await seats(match_id)[0].look()
        install(rules_versions.replace(games, rules=games.rules[:1]))
        with pytest.raises(UnknownRulesError, match="no rules 'transcontinental/1', only transcontinental/2"):
            await seats(match_id)[0].rules()
    assert [unknown_rules(refusal) for refusal in refusals] == ["transcontinental/1"] * 3
    assert after == before


def unknown_rules(refusal: object) -> str:
    """Return which rules a refusal says are missing."""
    assert isinstance(refusal, FailedPrecondition), refusal
    assert refusal.reason == "RULES_VERSION_UNKNOWN"
    return refusal.metadata["rulesVersion"]


@EVERY_GAME
def test_recorded_matches_are_judged_by_the_older_rules_where_newer_ones_are_there(
    entry: GameEntry, install: Install
) -> None:
    """[event_log 2.13] Golden matches of every version stay right for ever."""
    install(rules_versions.both(entry))
    rulesets = shipped_rulesets()
    reports = [audit_file(DIRECTORY / entry.name / f"{name}.jsonl", rulesets) for name in RECORDED[entry.name]]
    assert [(each.ok, each.cause, each.rules_version) for each in reports] == [(True, None, f"{entry.name}/1")] * 2
    judges = {type(game).__module__ for game in rulesets[0].games if game.rules_version == f"{entry.name}/1"}
    assert judges == {f"promontory.games.{entry.name}.v1.decider"}


@EVERY_GAME
def test_house_bots_play_matches_of_older_rules_as_they_did(entry: GameEntry, install: Install) -> None:
    """The policies are kept with the rules that they were written for."""
    install(rules_versions.both(entry))
    newer, older = (registry.game(entry.name, rules_version=f"{entry.name}/{number}") for number in (2, 1))
    plan = Plan(("greedy",) * newer.seats.start, games=1, seed=7)
    played = [run_arena(game, plan, cpu_clock=lambda: 0, own={"greedy": sent(game)}) for game in (newer, older)]
    assert played[0].mean_turns == played[1].mean_turns
    assert played[0].mean_best_score == 2 * played[1].mean_best_score
    assert [policy(game, "greedy").__module__[-3:] == "_v1" for game in (newer, older)] == [False, True]


def sent(game: AnyGame) -> Policy:
    """Return the greedy policy as a worker asks it: with views that have come as messages."""
    choose, found = policy(game, "greedy"), codec(game.name)
    return lambda view, rng: choose(found.decode_view(found.encode_view(view)), rng)


@EVERY_GAME
def test_views_of_older_rules_travel_in_the_present_messages(entry: GameEntry, install: Install) -> None:
    """Clients decode them into the structs they know, at every point of a recorded match."""
    install(rules_versions.both(entry))
    older, present, found = registry.game(entry.name, rules_version=f"{entry.name}/1"), entry.load(), codec(entry.name)
    shown = [list(views(game, RESIGNED[entry.name])) for game in (older, present)]
    assert {type(view).__module__.split(".")[-2] for view in shown[0]} == {"v1"}
    assert [found.encode_view(view) for view in shown[0]] == [found.encode_view(view) for view in shown[1]]
    assert [found.decode_view(found.encode_view(view)) for view in shown[0]] == shown[1]


def views(game: AnyGame, recorded: str) -> Iterator[Any]:
    """Yield what the first seat sees after each commit of a recorded match."""
    restore, seats = codec(game.name).restore, {"resigned": 2, "three_resigned": 3}[recorded]
    state = game.initial(seats)
    for line in (DIRECTORY / game.name / f"{recorded}.jsonl").read_bytes().splitlines()[1:-1]:
        stored = msgspec.json.decode(line, type=CommitLine).events
        events = [restore(each.type, each.payload) for each in stored if ".match.v1." not in each.type]
        state = fold(game, state, events)
        yield game.view(state, 0)
