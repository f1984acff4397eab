"""The arena, and the strength of the policies it measures [Transcontinental 12.2]."""

from __future__ import annotations

from itertools import count
from time import process_time

import msgspec
import pytest

from promontory.bots.arena import ArenaResult, Plan, Played, Share, play, run_arena, summarise, wilson
from promontory.bots.port import RefusedPolicyError, UnknownPolicyError
from promontory.games.transcontinental.commands import Command, EndWork, Resign
from tests.bots.worlds import GREEDY, RANDOM
from tests.support.transcontinental import GAME


@pytest.fixture(scope="module")
def mirror() -> ArenaResult:
    """The greedy policy against itself."""
    return run_arena(GAME, Plan(("greedy", "greedy"), 60, 5), cpu_clock=process_time)


def test_greedy_beats_random() -> None:
    """[12.4] G1 beats RandMin 100 times in 100."""
    result = run_arena(GAME, Plan(("greedy", "random"), 30, 5), cpu_clock=process_time)
    assert result.policies[0].wins >= 28


def test_a_greedy_game_lasts_about_thirty_turns(mirror: ArenaResult) -> None:
    """[12.2] 27 to 31 turns on average, a wider band for so few games."""
    assert 26 <= mirror.mean_turns <= 32


def test_every_mirror_game_has_a_winner(mirror: ArenaResult) -> None:
    """[12.3] Sensible play never comes near the limit of turns without a meld."""
    assert (mirror.draws, sum(standing.wins for standing in mirror.seats)) == (0, 60)


def test_both_ways_of_counting_see_all_decisions(mirror: ArenaResult) -> None:
    """Standings by policy and by seat are two sums of the same games."""
    by_policy, by_seat = mirror.policies, mirror.seats
    assert sum(each.decisions for each in by_policy) == sum(each.decisions for each in by_seat)


def test_thinking_takes_time() -> None:
    """The CPU time per decision is measured, in seconds: here by a clock that runs a second a look."""
    looks = count()
    result = run_arena(GAME, Plan(("greedy", "random"), games=1), cpu_clock=lambda: float(next(looks)))
    assert [standing.cpu_seconds_per_decision for standing in result.policies] == [1.0, 1.0]


def test_a_result_is_plain_json(mirror: ArenaResult) -> None:
    """What the command line prints can be read back."""
    assert msgspec.json.decode(msgspec.json.encode(mirror), type=ArenaResult) == mirror


def test_the_same_seed_gives_the_same_games() -> None:
    """All but the time spent is a function of the arguments."""
    assert moves(seed=3, number=4) == moves(seed=3, number=4)


def test_another_number_gives_another_game() -> None:
    """Each game of a run has its own shuffle and random numbers."""
    assert moves(seed=3, number=4) != moves(seed=3, number=6)


@pytest.mark.parametrize(("number", "seating"), [(0, (0, 1)), (1, (1, 0)), (2, (0, 1))])
def test_seats_rotate_from_game_to_game(number: int, seating: tuple[int, int]) -> None:
    """No policy keeps the advantage of the first move."""
    assert play(GAME, [GREEDY, RANDOM], seed=1, number=number, cpu_clock=process_time).seating == seating


def test_progress_is_told_after_each_game() -> None:
    """A caller can show how far a long run is."""
    told: list[tuple[int, int]] = []
    plan = Plan(("greedy", "greedy"), games=3)
    run_arena(GAME, plan, cpu_clock=process_time, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 3), (2, 3), (3, 3)]


def test_a_policy_that_breaks_the_rules_is_not_covered_up() -> None:
    """The referee's refusal reaches the caller, with whose it is and what led to it."""
    policies = [GREEDY, lambda view, rng: EndWork(view.seat)]
    with pytest.raises(RefusedPolicyError, match=r"policy 1 gave EndWork.* in game 0: WRONG_PHASE") as caught:
        play(GAME, policies, seed=1, number=0, cpu_clock=process_time)
    fault = caught.value
    assert (fault.policy, fault.number, fault.command) == (1, 0, EndWork(fault.view.seat))
    assert fault.refusal.rule == "Transcontinental 3.1"


def test_a_policy_gives_no_commands_for_other_seats() -> None:
    """[T-28] Anybody may resign at any time, but not another."""
    with pytest.raises(RefusedPolicyError, match="SEAT_NOT_YOURS"):
        play(GAME, [lambda view, rng: Resign(1 - view.seat)] * 2, seed=1, number=0, cpu_clock=process_time)


def test_policies_of_ones_own_are_measured_under_their_names() -> None:
    """Against those of the game, and in their stead where they have the same name."""
    plan = Plan(("mine", "greedy"), games=4)
    result = run_arena(GAME, plan, cpu_clock=process_time, own={"mine": GREEDY, "greedy": RANDOM})
    assert [(each.name, each.wins) for each in result.policies] == [("mine", 4), ("greedy", 0)]


@pytest.mark.parametrize("names", [(), ("greedy",), ("greedy",) * 3])
def test_a_game_needs_a_policy_for_every_seat(names: tuple[str, ...]) -> None:
    """[1] Transcontinental is for exactly two."""
    with pytest.raises(ValueError, match=f"not a game for {len(names)} policies"):
        run_arena(GAME, Plan(names, games=1), cpu_clock=process_time)


def test_an_arena_without_games_measures_nothing() -> None:
    """There is no share of no games."""
    with pytest.raises(ValueError, match="must be at least 1"):
        run_arena(GAME, Plan(("greedy", "random"), games=0), cpu_clock=process_time)


def test_an_unknown_policy_does_not_start() -> None:
    """The names are looked up before the first game."""
    with pytest.raises(UnknownPolicyError):
        run_arena(GAME, Plan(("greedy", "perfect"), games=1), cpu_clock=process_time)


def test_a_shared_win_counts_half_for_each() -> None:
    """A draw is a win for nobody, and half of one in the share."""
    shared = played(places=(1, 1))
    result = summarise(GAME, Plan(("greedy", "random")), [shared, played(places=(1, 2))])
    greedy = result.policies[0]
    assert (result.draws, greedy.wins, greedy.draws, greedy.share.value) == (1, 1, 1, 0.75)


def test_the_winner_is_who_sat_there() -> None:
    """Places are by seat, standings of policies by who sat in it."""
    result = summarise(GAME, Plan(("greedy", "random")), [played(places=(1, 2), seating=(1, 0))])
    assert [standing.wins for standing in result.policies] == [0, 1]


@pytest.mark.parametrize(
    ("places", "shares"),
    [((1, 2, 3), [1, 0, 0]), ((1, 3, 1), [1 / 2, 0, 1 / 2]), ((1, 1, 1), [1 / 3] * 3), ((1, 1, 1, 1), [1 / 4] * 4)],
)
def test_a_win_is_shared_by_as_many_as_won(places: tuple[int, ...], shares: list[float]) -> None:
    """[P-12] The shares of all policies add up to one game."""
    game = played(places=places, seating=tuple(range(len(places))), scores=(9,) * len(places))
    result = summarise(GAME, Plan(("greedy",) * len(places)), [game])
    assert [each.share.value for each in result.policies] == pytest.approx(shares)


def test_scores_are_those_of_who_sat_there() -> None:
    """By policy, by seat, and those of first places."""
    games = [
        played(places=(2, 1), scores=(40, 70)),
        played(places=(1, 2), scores=(80, 60), seating=(1, 0)),
    ]
    result = summarise(GAME, Plan(("greedy", "random")), games)
    assert [each.mean_score for each in result.policies] == [50, 75]
    assert [each.mean_score for each in result.seats] == [60, 65]
    assert result.mean_best_score == 75


@pytest.mark.parametrize(
    ("successes", "trials", "share"),
    [
        (50, 100, Share(0.5, 0.4038, 0.5962)),
        (0, 10, Share(0.0, 0.0, 0.2775)),
        (10, 10, Share(1.0, 0.7225, 1.0)),
        (1.5, 3, Share(0.5, 0.1253, 0.8747)),
    ],
)
def test_the_wilson_interval_is_that_of_the_textbook(successes: float, trials: int, share: Share) -> None:
    """At the edges it neither leaves 0 to 1 nor shrinks to a point."""
    found = wilson(successes, trials)
    assert msgspec.structs.astuple(found) == pytest.approx(msgspec.structs.astuple(share), abs=1e-4)


def moves(*, seed: int, number: int) -> list[Command]:
    """Return the commands of one game between a greedy and a random player."""
    given: list[Command] = []

    def recorded(view: object, rng: object) -> Command:
        command: Command = (GREEDY if len(given) % 3 else RANDOM)(view, rng)
        given.append(command)
        return command

    play(GAME, [recorded, recorded], seed=seed, number=number, cpu_clock=process_time)
    return given


def played(*, places: tuple[int, ...], seating: tuple[int, ...] = (0, 1), scores: tuple[int, ...] = (0, 0)) -> Played:
    """Return a game that ended with these places and scores."""
    count = len(places)
    return Played(seating, places, scores, turns=30, decisions=(50,) * count, cpu_seconds=(0.1,) * count)
