"""Recorded matches of every game: every later version replays them to the same result."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any

import msgspec
import pytest
from google.protobuf.message_factory import GetMessageClass

from promontory.api.match.v1.events_pb2 import MatchEvent
from promontory.codec.mapping import kinds_of
from promontory.codec.outcomes import CloseReason, Result
from promontory.codec.registry import codec
from promontory.eventlog.audit_file import CommitLine
from promontory.eventlog.port import Commit
from promontory.games.kernel import fold
from promontory.games.railroad_dice_2.events import EndTriggered, Restocked
from promontory.games.railroad_dice_2.vocabulary import EndReason, EndTrigger, RestockCause
from promontory.games.registry import GAMES, AnyGame, entry
from promontory.rules import records
from promontory.rules.audit import audit_file
from tests.golden import record
from tests.golden.record import Key

FILES = {Key(file.parent.name, file.stem): file for file in sorted(record.DIRECTORY.glob("*/*.jsonl"))}
MAX_BYTES = 150_000
PLATFORMS_OWN = {"MatchCreated", "MatchClosed", *kinds_of(MatchEvent.DESCRIPTOR)}
each_match = pytest.mark.parametrize("key", FILES, ids="/".join)
each_game = pytest.mark.parametrize("game", [game.name for game in GAMES])


class Expected(msgspec.Struct, frozen=True):
    """What is known of a recorded match; the hash is of its file."""

    reason: str
    places: tuple[int, ...]
    scores: tuple[int, ...]
    sha256: str


EXPECTED: Mapping[str, Mapping[str, Expected]] = {
    "transcontinental": {
        "abandoned": Expected(
            "resignation", (2, 1), (4, 4), "d6da7dfef95db8f7533998e7f3cedb74ecddd79a8dfe26d15c8e4cffb896119d"
        ),
        "aborted": Expected("aborted", (), (), "b8b395b2c6760aa9ac024caf0ac40c4230a474cf1b15cfd943fab6b1b0f149a5"),
        "cancelled": Expected("cancelled", (), (), "7fcb0372f78c10238341bdf3f77e5d960911bae55c1119c241dfdbcfc1ff7b38"),
        "drawn": Expected("drawn", (1, 1), (9, 12), "bd13b86d8fc890ba1242a80a75259066e60069d36bd6808de74b596f4cb40cdb"),
        "timed_out": Expected(
            "resignation", (2, 1), (8, 4), "89509e75b17da0e3f4c837a9370fd036b754e53583c96172f518f5e16da9f5f6"
        ),
        "no_progress": Expected(
            "no_progress", (1, 1), (0, 0), "cdf71dc5c8b016bd75843c97adb0a167db5329f86ef990c3773b22ad75361a19"
        ),
        "points": Expected(
            "victory", (1, 2), (102, 92), "57b67c283bde51a6c22123d470ae2f61893035432832b9f3255252d260d4b746"
        ),
        "resigned": Expected(
            "resignation", (1, 2), (20, 34), "d3daddf882957b27678c7566e6b45671d9d3eedcc6deffbefaa0deb3ebe215f8"
        ),
    },
    "pacific": {
        "two_cancelled": Expected(
            "cancelled", (), (), "9a88fee760238adfde34448ed11225b31bdaa3901da3fcd5291727d7c2d8aa68"
        ),
        "three_taken_over": Expected(
            "tenth_turn", (1, 2, 3), (23, 13, 53), "c62bf450ffa9556ebda66e16c006f1e9074ad3903b0409af79d2d16f0895b66c"
        ),
        "five_greedy": Expected(
            "tenth_turn",
            (1, 3, 5, 4, 2),
            (131, 120, 107, 112, 125),
            "5e9bc68e3a8d715d3eb658bbc5b98dabf50eb77f670a0a709d6cad1673800911",
        ),
        "five_self_reliant": Expected(
            "tenth_turn",
            (1, 5, 2, 3, 4),
            (25, 2, 18, 15, 12),
            "5109703490ecd0d548eea39a1dcb8479f72f1b1f05f0a7dcac2da2d5c8de7cb5",
        ),
        "five_step_by_step": Expected(
            "tenth_turn",
            (4, 5, 2, 3, 1),
            (9, 3, 18, 15, 23),
            "6232654a083119b4b329c2a93fbe6dcd8a5ea2768bdbd8d2efb266b61b07bfc3",
        ),
        "four_one_resigned": Expected(
            "tenth_turn",
            (2, 3, 4, 1),
            (38, 14, 15, 84),
            "2cd1d3de4a114e93c1fd367be2cde219a5abbd1f16b161e673e299de590b21c5",
        ),
        "three_greedy": Expected(
            "tenth_turn", (2, 2, 1), (60, 60, 63), "fa5d3c17fbf4d437121fe48945d7395212d0248dbede53edd7768b7f380d663e"
        ),
        "three_resigned": Expected(
            "resignation", (2, 1, 3), (0, 0, 2), "1e3f4689a5e9a71a09bf905ef5d482b055bf3a7748a10eff0b1b8734f9197d28"
        ),
        "two_against_house": Expected(
            "tenth_turn", (2, 1), (37, 65), "3d713b1623f7da902bf502a39e94200881f9022e95116784e559455ff6b6c85d"
        ),
        "two_second_thoughts": Expected(
            "tenth_turn", (2, 1), (29, 35), "ea7611934cd0bc7c3930ab78d033142c1a5be9e93a4a3798e31431471d984130"
        ),
    },
    "railroad_dice_2": {
        "three_abandoned": Expected(
            "no_passengers",
            (2, 3, 1),
            (190, 23, 192),
            "f1157d84cb4f1b8c2a5946dbdef64e782c54139489b86e48e66b1fdcc9e4dcb7",
        ),
        "four_passing": Expected(
            "idle_round",
            (1, 1, 1, 1),
            (10, 10, 10, 10),
            "3fc20a557bc4e01b5a582f47fbc9d637107da98693da36676b2ff17198e873ac",
        ),
        "four_random": Expected(
            "idle_round",
            (3, 2, 1, 3),
            (0, 12, 16, 0),
            "093dad539eb5257495e5481614de1e97b422d4127526b6411fe79e20f78314eb",
        ),
        "four_sprawling": Expected(
            "idle_round", (2, 3, 1, 4), (6, 4, 7, 2), "32ce744bed705d2d32fb98652aed8ea2ad58b6830808bef6449879db53f7d1a7"
        ),
        "four_sprawling_on": Expected(
            "idle_round", (2, 4, 1, 3), (8, 1, 9, 7), "cf9c18c84451c5af8f44cbd8199f00566f364882213688bff93b0aed5317ef99"
        ),
        "four_variable_one_resigned": Expected(
            "no_passengers",
            (1, 4, 3, 2),
            (163, 20, 93, 136),
            "00c0da3cf1c0c8f40f0582c0b2e733042167f51afd1dc598c5a96bfc0dd5d865",
        ),
        "four_variable_upgrading": Expected(
            "idle_round", (3, 1, 1, 4), (6, 8, 8, 5), "386594bdbe24638b1a789a929e25c6cd6953ed875fbe917b30db7c7eef9a1ff2"
        ),
        "three_resigned": Expected(
            "resignation", (3, 1, 2), (10, 3, 3), "ee3de30616c868db84c3c551356221735e394c6c235a03a666888725d6db32b3"
        ),
        "three_shopping": Expected(
            "no_passengers",
            (1, 3, 2),
            (193, 15, 160),
            "a1bf1702fb828842862ffecde94b612c4c2efc2926b72e9849a9a3e66a5082f5",
        ),
        "three_variable_greedy": Expected(
            "no_passengers",
            (1, 3, 2),
            (144, 109, 111),
            "cee73b00c7c08dafde5e0cd58384101068ac433a4792210db4a2a211403f05ee",
        ),
        "three_variable_restocking": Expected(
            "idle_round", (1, 1, 1), (10, 10, 10), "9e39ee3e17e86680a16c5703f79b5b4b280acc5edd25d2d1513166a0f68c526e"
        ),
        "two_against_house": Expected(
            "no_passengers", (2, 1), (36, 272), "151e3cc59129b53da78a59829036ea37e08bd543cd5538d6d910f050565af454"
        ),
        "two_variable_random": Expected(
            "idle_round", (1, 2), (16, 1), "9fe57ec2111d6791e42263238a9bc795434dbb8f9f0fe630ad948fc12dba4640"
        ),
    },
}


@cache
def commits(key: Key) -> Sequence[Commit]:
    """Return the commits of a match."""
    lines = FILES[key].read_bytes().splitlines()[1:-1]
    return [msgspec.json.decode(line, type=CommitLine).commit() for line in lines]


def creation(key: Key) -> records.Created:
    return records.restore_created(commits(key)[0].events[0])


def events_of(key: Key) -> list[Any]:
    """Return the events of a match's game."""
    stored = [event for commit in commits(key) for event in commit.events]
    restore = codec(key.game).restore
    beside = {f"{MatchEvent.DESCRIPTOR.file.package}.{name}" for name in PLATFORMS_OWN}
    return [restore(each.type, each.payload) for each in stored if each.type not in beside]


@cache
def replayed(key: Key) -> tuple[AnyGame, Any]:
    """Return the rules a match is pinned to, and the state to which its events alone lead."""
    created = creation(key)
    game = entry(key.game).load(rules_version=created.rules_version)
    return game, fold(game, game.initial(len(created.setup.seats)), events_of(key))


def result(key: Key) -> Result:
    return records.restore_closed(commits(key)[-1].events[-1]).result


def matches_of(game: str) -> list[Key]:
    return [key for key in FILES if key.game == game]


def message_type(game: str, name: str) -> Any:
    """Return the type of the message called `name` in a game's package."""
    package = codec(game).messages.DESCRIPTOR
    return GetMessageClass(package.pool.FindMessageTypeByName(f"{package.package}.{name}"))


def kinds_of_events(key: Key) -> set[str]:
    return {event.type.rpartition(".")[2] for commit in commits(key) for event in commit.events}


def commands(key: Key) -> list[Any]:
    metas = [records.decode_meta(commit.meta) for commit in commits(key)]
    return [message_type(key.game, "Command").FromString(raw) for meta in metas for raw in meta.commands]


@each_match
def test_a_recorded_match_passes_the_audit(key: Key) -> None:
    """[fairness 5] Hash chain, seed and commitment, every draw, every decision, every state hash, the outcome."""
    report, expected = audit_file(FILES[key]), EXPECTED[key.game][key.name]
    assert (report.cause, report.ok) == (None, True)
    assert (report.places, report.scores) == (expected.places, expected.scores)


@each_match
def test_a_recorded_match_replays_to_its_recorded_outcome(key: Key) -> None:
    """From its events alone, by the rules it is pinned to, without a draw or a decision."""
    game, state = replayed(key)
    outcome, recorded, expected = game.outcome(state), result(key), EXPECTED[key.game][key.name]
    ended = recorded.reason.value if outcome is None else outcome.reason
    assert (ended, recorded.places, recorded.scores) == (expected.reason, expected.places, expected.scores)
    assert recorded.scores in (game.scores(state), ())


@each_match
def test_a_recorded_match_is_as_it_was_recorded(key: Key) -> None:
    """It is never written again, not even in another form."""
    raw = FILES[key].read_bytes()
    assert hashlib.sha256(raw).hexdigest() == EXPECTED[key.game][key.name].sha256
    assert len(raw) < MAX_BYTES


def test_every_recipe_is_recorded_and_known() -> None:
    """`python -m tests.golden.record` records those that are missing."""
    expected = {Key(game, name) for game, matches in EXPECTED.items() for name in matches}
    assert FILES.keys() == set(record.all_keys()) == expected


@each_game
def test_every_kind_of_event_is_recorded(game: str) -> None:
    """A kind of the game's that is missing could change its meaning unnoticed."""
    wanted = set(kinds_of(message_type(game, "Event").DESCRIPTOR))
    assert set().union(*map(kinds_of_events, matches_of(game))) - PLATFORMS_OWN == wanted


def test_every_kind_of_event_beside_the_game_is_recorded() -> None:
    """So with the platform's own, and with every way to close a match, whichever game it is."""
    assert set().union(*map(kinds_of_events, FILES)) >= PLATFORMS_OWN
    assert {result(key).reason for key in FILES} == set(CloseReason)


@each_game
def test_every_kind_of_command_is_recorded(game: str) -> None:
    """The audit judges them again."""
    wanted = {field.name for field in message_type(game, "Command").DESCRIPTOR.oneofs_by_name["kind"].fields}
    assert {command.WhichOneof("kind") for key in matches_of(game) for command in commands(key)} == wanted


@each_game
def test_every_way_to_submit_is_recorded(game: str) -> None:
    """By each seat, by the service for a house bot, and several commands at once."""
    everything = [commit for key in matches_of(game) for commit in commits(key)]
    seats = {str(seat) for seat in range(max(entry(game).load().seats))}
    ways = {commit.command_id.partition(":")[0] for commit in everything}
    assert ways - {"clock", "cancel"} == {"create", "auto"} | seats
    assert max(len(records.decode_meta(commit.meta).commands) for commit in everything) > 1


@each_game
def test_every_way_to_end_is_recorded(game: str) -> None:
    """Played out and given up, and with seats that share a place."""
    results = [result(key) for key in matches_of(game)]
    assert {CloseReason.RESIGNED, CloseReason.PLAYED_OUT} <= {each.reason for each in results}
    assert any(len(set(each.places)) < len(each.places) for each in results)


@each_game
def test_every_variant_is_recorded_with_every_number_of_seats(game: str) -> None:
    """A number of seats may have rules of its own, as the dummies of Pacific [Pacific 1.5]."""
    rules, setups = entry(game).load(), [creation(key).setup for key in matches_of(game)]
    recorded = {(setup.variant or rules.variants[0], len(setup.seats)) for setup in setups}
    assert recorded == set(product(rules.variants, rules.seats))


def test_every_card_of_pacific_is_executed() -> None:
    """[Pacific 5.3] What a card does that is missing could change unnoticed."""
    game, _ = replayed(Key("pacific", "five_greedy"))
    turns = [past for key in matches_of("pacific") for past in replayed(key)[1].history]
    executed = {past.card_ids[slot] for past in turns for choice in past.choices for slot in choice.slots}
    assert set(game.deck.ids) - executed == set()  # type: ignore[attr-defined]


def test_every_kind_of_decision_of_pacific_is_answered() -> None:
    """[Pacific 3.7] A run both by what its factories remove and step by step."""
    wanted = {field.name for field in message_type("pacific", "Answer").DESCRIPTOR.oneofs_by_name["kind"].fields}
    given = [command.answer_decision.answer for key in matches_of("pacific") for command in commands(key)]
    assert {answer.WhichOneof("kind") for answer in given} - {None} == wanted


def test_a_match_of_pacific_goes_on_without_the_seat_that_resigned() -> None:
    """[P-52] The rules answer for it up to the tenth turn."""
    _, state = replayed(Key("pacific", "four_one_resigned"))
    assert (state.resigned, state.turn, state.result.reason.value) == ((2,), 10, "tenth_turn")


def test_every_reason_for_the_end_of_railroad_dice_2_is_recorded() -> None:
    """[Railroad Dice 2 5.1] [R-60] What begins the final phase, also two reasons at once, and what ends it."""
    happened = [event for key in matches_of("railroad_dice_2") for event in events_of(key)]
    triggers = {event.reasons for event in happened if isinstance(event, EndTriggered)}
    assert triggers == {(trigger,) for trigger in EndTrigger} | {(EndTrigger.COMPLEX_DICE, EndTrigger.DICE)}
    assert {replayed(key)[1].result.reason for key in matches_of("railroad_dice_2")} == set(EndReason)


def test_every_cause_of_restocking_in_railroad_dice_2_is_recorded() -> None:
    """[Railroad Dice 2 4.7] By a die, as the dice action, and because tiles are empty."""
    happened = [event for key in matches_of("railroad_dice_2") for event in events_of(key)]
    assert {event.cause for event in happened if isinstance(event, Restocked)} == set(RestockCause)


def test_a_match_of_railroad_dice_2_goes_on_without_the_seat_that_resigned() -> None:
    """[R-59] The rules lay its tiles, place its stations and end its turns."""
    _, state = replayed(Key("railroad_dice_2", "four_variable_one_resigned"))
    assert (state.resigned, state.result.reason) == ((1,), EndReason.NO_PASSENGERS)
    assert state.players[1].network is not None


def test_a_recorded_match_is_never_recorded_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even by name."""
    monkeypatch.setattr(record, "DIRECTORY", tmp_path)
    key = Key("transcontinental", "resigned")
    record.file_of(key).parent.mkdir()
    record.file_of(key).write_text("as it was")
    with pytest.raises(FileExistsError):
        record.main([key])
    assert record.file_of(key).read_text() == "as it was"
