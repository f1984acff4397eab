"""Creating matches."""

from __future__ import annotations

import re
from typing import Any

import pytest
from msgspec.structs import replace

from promontory.api.match.v1 import events_pb2
from promontory.eventlog.port import CommandIdReused, bucket_of
from promontory.games import fairness
from promontory.games.kernel import Draws
from promontory.games.transcontinental.decider import Transcontinental
from promontory.games.transcontinental.events import Event
from promontory.games.transcontinental.state import State
from promontory.rules.domain import SeatKind, SeatSetup, Setup, begin
from promontory.rules.presenter import Presenter
from promontory.rules.usecases import match_id_for
from promontory.runtime.errors import Refusal
from promontory.runtime.identity import Caller
from tests.support.refereeing import ADA, HOUSE_FIRST, MATCHMAKING, SEED, TWO_PLAYERS, Bench, ruleset

GREEDY = SeatSetup("bot:1", SeatKind.HOUSE_BOT, "greedy")


async def test_a_match_has_an_id_that_names_its_game_and_bucket() -> None:
    """[event_log 2.2] The bucket is written in the id."""
    match = await Bench().create()
    assert re.fullmatch(r"tc-0[0-3][0-9a-f]-[a-z2-7]{26}", match.match_id)
    assert bucket_of(match.match_id) == match.match_id[:6].replace("-", ":")


async def test_repeating_a_creation_finds_the_match_as_it_now_stands() -> None:
    """[architecture 3] The same request id gives the same match."""
    bench = Bench()
    played = await bench.play(await bench.create(), until=5)
    assert await bench.replica().create() == played


async def test_a_request_id_with_another_setup_is_refused() -> None:
    """[architecture 3] The same id with other content is refused."""
    bench = Bench()
    await bench.create()
    with pytest.raises(CommandIdReused):
        await bench.create(replace(TWO_PLAYERS, draw_start=True))


async def test_another_caller_with_the_same_request_id_gets_another_match() -> None:
    """Request ids belong to their caller."""
    bench = Bench()
    other = Caller("service:other", frozenset({"match:create"}), service=True)
    theirs = await bench.referee.create(other, "creation", TWO_PLAYERS)
    assert theirs.match_id != (await bench.create()).match_id


def test_callers_and_request_ids_that_join_to_the_same_text_name_different_matches() -> None:
    """The id is made of caller and request id with a separator that neither can hold."""
    assert match_id_for("tc", "a", "bc", buckets=64) != match_id_for("tc", "ab", "c", buckets=64)


async def test_only_who_may_create_matches_creates_them() -> None:
    """CreateMatch needs the scope `match:create`."""
    with pytest.raises(Refusal, match="scope") as refusal:
        await Bench().referee.create(ADA, "creation", TWO_PLAYERS)
    assert refusal.value.reason == "SCOPE_MISSING"


@pytest.mark.parametrize(
    ("setup", "field"),
    [
        (Setup(()), "setup.seats"),
        (Setup((SeatSetup("ada"),)), "setup.seats"),
        (Setup((SeatSetup("a"), SeatSetup("b"), SeatSetup("c"))), "setup.seats"),
        (Setup((SeatSetup("ada"), SeatSetup("ada"))), "setup.seats[1].player_id"),
        (Setup((SeatSetup("ada"), SeatSetup(""))), "setup.seats[1].player_id"),
        (Setup((SeatSetup("Ada"), SeatSetup("ben"))), "setup.seats[0].player_id"),
        (Setup((SeatSetup("a" * 65), SeatSetup("ben"))), "setup.seats[0].player_id"),
        (Setup((SeatSetup("ada\n"), SeatSetup("ben"))), "setup.seats[0].player_id"),
        (Setup((SeatSetup("ada", client_entropy=bytes(33)), SeatSetup("ben"))), "setup.seats[0].client_entropy"),
        (Setup((replace(GREEDY, client_entropy=b"1"), SeatSetup("ben"))), "setup.seats[0].client_entropy"),
        (Setup((replace(GREEDY, bot_policy=""), SeatSetup("ben"))), "setup.seats[0].bot_policy"),
        (Setup((replace(GREEDY, bot_policy="oracle"), SeatSetup("ben"))), "setup.seats[0].bot_policy"),
        (Setup((SeatSetup("ada", bot_policy="greedy"), SeatSetup("ben"))), "setup.seats[0].bot_policy"),
        (replace(TWO_PLAYERS, pool="No Pool"), "setup.pool"),
        (replace(TWO_PLAYERS, pool="a-b"), "setup.pool"),
        (replace(TWO_PLAYERS, rated=True), "setup.rated"),
        (replace(TWO_PLAYERS, variant="chess"), "setup.variant"),
    ],
)
async def test_a_setup_that_cannot_be_played_is_refused_by_field(setup: Setup, field: str) -> None:
    """[match/v1 MatchSetup] What each field must be."""
    with pytest.raises(Refusal) as refusal:
        await Bench().create(setup)
    assert (refusal.value.reason, list(refusal.value.fields)) == ("BAD_REQUEST", [field])


async def test_all_faults_of_a_setup_are_told_at_once() -> None:
    """One look at the refusal is enough to correct the request."""
    with pytest.raises(Refusal) as refusal:
        await Bench().create(Setup((SeatSetup("?"), SeatSetup("!")), rated=True))
    assert list(refusal.value.fields) == ["setup.seats[0].player_id", "setup.seats[1].player_id", "setup.rated"]


async def first_commit(bench: Bench, setup: Setup = TWO_PLAYERS) -> Any:
    match = await bench.create(setup)
    (commit,) = await bench.log.read(match.match_id)
    return commit


async def test_the_first_commit_holds_everything_up_to_the_first_decision() -> None:
    """Commit 1 is MatchCreated and what sets the game up."""
    commit = await first_commit(Bench())
    names = [event.type.rpartition(".")[2] for event in commit.events]
    assert names == ["MatchCreated", "SidesAssigned", "DeckShuffled", "HandsDealt", "TurnStarted"]


async def test_the_commitment_is_public_and_the_seed_is_sealed() -> None:
    """[fairness 2.6] MatchCreated holds the commitment openly and the seed sealed."""
    bench = Bench()
    commit = await first_commit(bench)
    created = events_pb2.MatchCreated.FromString(commit.events[0].payload)
    assert created.commitment == fairness.commitment(created.match_id, SEED)
    assert not any(SEED in event.payload for event in commit.events)
    assert created.data_hash == ruleset().game.data_hash


async def test_a_house_bot_that_begins_is_due_at_once() -> None:
    """[event_log 2.9] The append that makes a bot's seat active obliges somebody to play it."""
    bench = Bench()
    match = await bench.create(HOUSE_FIRST)
    (due,) = await bench.log.claim(bucket_of(match.match_id), limit=9, lease_ms=1, max_attempts=5)
    assert due.name == f"bot|{match.match_id}|0|1"


async def test_a_player_who_begins_obliges_nobody() -> None:
    """Only house bots are played by the platform."""
    bench = Bench()
    match = await bench.create()
    assert await bench.log.oldest_due(bucket_of(match.match_id)) is None


async def test_entropy_of_the_seats_changes_the_deal_and_not_the_commitment() -> None:
    """[fairness 2.4, 2.5] The key comes from seed and entropies; the commitment from the seed alone."""
    stirred = Setup((SeatSetup("ada", client_entropy=b"luck"), SeatSetup("ben")))
    plain, other = await Bench().create(), await Bench().create(stirred)
    assert plain.state.deck != other.state.deck
    assert plain.commitment == other.commitment


async def test_the_sides_are_drawn_only_if_the_setup_says_so() -> None:
    """[T-4] Seat 0 is CP unless the start is drawn; then it is a checkable draw."""
    drawn = [await Bench().create(replace(TWO_PLAYERS, draw_start=True), request_id=f"{n}") for n in range(8)]
    assert {match.state.cp_seat for match in drawn} == {0, 1}
    assert (await Bench().create()).state.cp_seat == 0


class Drawing(Transcontinental):
    """Transcontinental with a variant in which the sides are drawn."""

    variants = ("standard", "drawn")

    def begin(self, state: State, rng: Draws, *, draw_start: bool, variant: str = "") -> tuple[Event, ...]:
        """Return what begins the game; see `Game.begin`."""
        return super().begin(state, rng, draw_start=variant == "drawn")


@pytest.mark.parametrize(("variant", "sides"), [("", {0}), ("standard", {0}), ("drawn", {0, 1})])
def test_a_match_begins_as_its_variant(variant: str, sides: set[int]) -> None:
    """[match/v1 MatchSetup] The usual one unless the setup names another."""
    game, setup = Drawing(ruleset().game.deck), replace(TWO_PLAYERS, variant=variant)
    begun = [begin(game, setup, fairness.KeyedDraws(bytes([n]) * 32, game.name))[-1].state for n in range(8)]
    assert {state.cp_seat for state in begun} == sides


@pytest.mark.parametrize("variant", ["", "standard"], ids=["the usual one", "by name"])
async def test_everybody_is_told_the_variant_of_a_match(variant: str) -> None:
    """[match/v1 Match] Also by a process that reads it from the log."""
    bench, setup = Bench(), replace(TWO_PLAYERS, variant=variant)
    created, read = await bench.create(setup), await bench.replica().create(setup)
    assert [match.setup.variant for match in (created, read)] == [variant] * 2
    assert [Presenter(ruleset()).match(match).variant for match in (created, read)] == ["standard"] * 2


async def test_a_creation_that_lost_its_answer_is_found_again() -> None:
    """[architecture 2] Any process may die at any moment; repeating the call is safe."""
    bench = Bench()
    first = await bench.create()
    again = await Bench(bench.log).referee.create(MATCHMAKING, "creation", TWO_PLAYERS)
    assert (again, len(await bench.log.read(first.match_id))) == (first, 1)
