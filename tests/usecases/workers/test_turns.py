"""A house bot's turn by the SDK, against a match that does what a test wants."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import msgspec
import pytest

from promontory.bots.port import Policy
from promontory.client.errors import FailedPrecondition, InvalidArgument, PromontoryError, Unavailable, VersionConflict
from promontory.client.matches import Update
from promontory.games.registry import AnyGame, game
from promontory.workers.turns import MAX_CONFLICTS, Policies, play_turn

TURN_GONE = [
    InvalidArgument("used", reason="REQUEST_ID_REUSED"),
    FailedPrecondition("over", reason="MATCH_OVER"),
    FailedPrecondition("not yours", reason="NOT_YOUR_TURN"),
]


class Seat(msgspec.Struct):
    bot_policy: str

    @property
    def house_policy(self) -> str:
        return self.bot_policy


class Match(msgspec.Struct):
    seats: tuple[Seat, ...]
    seats_to_act: tuple[int, ...] = ()
    game: str = "transcontinental"
    rules_version: str = "transcontinental/1"
    data_hash: bytes = bytes(32)


def at(version: int, *, your_turn: bool, policy: str = "greedy") -> Update:
    match: Any = Match((Seat(policy), Seat("")), (0,) if your_turn else (1,))
    return Update(version=version, view=f"view {version}", events=(), match=match, your_turn=your_turn)


class Seated:
    """A seat at version 7, since when it is to act; each submission meets the next of `answers`."""

    game, match_id, seat = "transcontinental", "tc-000-a", 0

    def __init__(self, *answers: Update | PromontoryError, now: Update | None = None) -> None:
        self._answers = list(answers)
        self._now = now or at(7, your_turn=True)
        self.submitted: list[tuple[Any, int | None, str | None]] = []

    def look(self) -> Update:
        return self._now

    def rules(self) -> AnyGame:
        return game(self.game)

    def submit(self, commands: Any, *, expected_version: int | None = None, request_id: str | None = None) -> Update:
        self.submitted.append((commands, expected_version, request_id))
        answer = self._answers.pop(0)
        if isinstance(answer, PromontoryError):
            raise answer
        return answer


class Whims(Policies):
    """Policies that choose a view and a number."""

    def of(self, seated: Any, match: Any) -> Policy:
        return lambda view, rng: (view, rng.random())


def play(seated: Seated) -> int:
    return play_turn(seated, 7, Whims())


def policy_of(policies: Policies, bot_policy: str = "greedy", **pinned: Any) -> Policy:
    """Return the policy of a seat in a match with these rules and data, which is asked for anew."""
    match: Any = Match((Seat(bot_policy), Seat("")), **pinned)
    return policies.of(Seated(), match)


def test_a_policy_is_made_once_for_all_matches_with_the_same_cards() -> None:
    policies = Policies()
    assert policy_of(policies) is policy_of(policies)


@pytest.mark.parametrize(
    "other", [{"data_hash": b"other"}, {"rules_version": "transcontinental/2"}, {"bot_policy": "random"}], ids=str
)
def test_other_cards_rules_or_names_have_a_policy_of_their_own(other: dict[str, Any]) -> None:
    """[Match.data_hash] A policy knows the cards it was made with."""
    policies = Policies()
    assert policy_of(policies) is not policy_of(policies, **other)


def test_policies_that_think_hold_up_no_others() -> None:
    """Else one that hangs takes all turns along that overlap with its own, attempt for attempt."""
    both = Barrier(2, timeout=10)

    class Thinking(Policies):
        def of(self, seated: Any, match: Any) -> Policy:
            return lambda view, rng: both.wait()

    policies, one, other = Thinking(), at(7, your_turn=True), at(7, your_turn=True, policy="random")
    with ThreadPoolExecutor() as threads:
        chosen = threads.map(lambda update: policies.choose(Seated(), update), [one, other])
    assert sorted(chosen) == [0, 1]


def test_one_command_may_end_the_turn() -> None:
    """[event_log 2.9] The request id names the commit since which the seat is to act."""
    seated = Seated(at(8, your_turn=False))
    assert play(seated) == 1
    assert [sent[1:] for sent in seated.submitted] == [(7, "bot:tc-000-a:0:7")]


def test_a_turn_of_several_commands_is_played_to_its_end() -> None:
    """Each command is asked for since the one before."""
    seated = Seated(at(8, your_turn=True), at(9, your_turn=False))
    assert play(seated) == 2
    assert [sent[1:] for sent in seated.submitted] == [(7, "bot:tc-000-a:0:7"), (8, "bot:tc-000-a:0:8")]


def test_a_turn_that_is_over_already_is_left_alone() -> None:
    """[event_log 2.9] A second delivery finds the turn gone."""
    seated = Seated(now=at(9, your_turn=False))
    assert (play(seated), seated.submitted) == (0, [])


@pytest.mark.parametrize("error", TURN_GONE, ids=lambda error: error.reason)
def test_another_delivery_that_was_quicker_is_success(error: PromontoryError) -> None:
    """[event_log 2.9] One command wins; the others have nothing to do."""
    assert play(Seated(error)) == 0


def test_a_command_of_another_seat_in_between_is_no_reason_to_give_up() -> None:
    """[architecture 4] Seats that choose at the same time conflict only for the moment."""
    seated = Seated(VersionConflict("moved"), at(9, your_turn=False))
    assert play(seated) == 1
    assert len({sent[2] for sent in seated.submitted}) == 1


def test_conflicts_without_end_are_given_up() -> None:
    """The relay sends the task again."""
    seated = Seated(*[VersionConflict("moved")] * (MAX_CONFLICTS + 1))
    with pytest.raises(VersionConflict):
        play(seated)


@pytest.mark.parametrize("error", [Unavailable("down"), FailedPrecondition("no meld", reason="NOT_A_MELD")])
def test_any_other_failure_fails_the_task(error: PromontoryError) -> None:
    """A policy that breaks the rules, or a service that is down, is not hidden."""
    with pytest.raises(type(error)):
        play(Seated(error))


def test_a_second_delivery_chooses_the_same() -> None:
    """[style 1.9] The bot's random numbers follow from match, seat and version."""
    first, second = Seated(at(8, your_turn=False)), Seated(at(8, your_turn=False))
    play(first)
    play(second)
    assert first.submitted == second.submitted


def test_random_numbers_differ_from_version_to_version() -> None:
    """A bot does not repeat itself."""
    seated = Seated(at(8, your_turn=True), at(9, your_turn=False))
    play(seated)
    assert seated.submitted[0][0][1] != seated.submitted[1][0][1]
