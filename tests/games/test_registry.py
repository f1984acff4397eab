"""The one list of games."""

from __future__ import annotations

import hashlib
import re

import pytest

from promontory.games.registry import (
    GAMES,
    GameEntry,
    UnknownGameError,
    UnknownRulesError,
    entry,
    entry_by_code,
    game,
    seat_counts,
)
from promontory.games.transcontinental.cards import CardFileError, shipped_cards


def test_a_game_comes_with_its_shipped_data_and_current_rules() -> None:
    rules = game("transcontinental")
    assert (rules.name, rules.rules_version, list(rules.seats)) == ("transcontinental", "transcontinental/1", [2])
    assert rules.data_hash == hashlib.sha256(shipped_cards()).digest()


def test_an_operator_can_replace_the_data() -> None:
    data = shipped_cards().replace(b"Filling", b"Embankments")
    assert game("transcontinental", data).data_hash == hashlib.sha256(data).digest()


def test_malformed_data_is_refused() -> None:
    with pytest.raises(CardFileError):
        game("transcontinental", b"{}")


def test_a_released_rules_version_can_be_asked_for() -> None:
    assert game("transcontinental", rules_version="transcontinental/1").rules_version == "transcontinental/1"


def test_unknown_rules_are_named_with_those_there_are() -> None:
    with pytest.raises(UnknownRulesError, match=re.escape("no rules 'transcontinental/9', only transcontinental/1")):
        game("transcontinental", rules_version="transcontinental/9")


def test_an_unknown_game_is_named_with_those_there_are() -> None:
    with pytest.raises(UnknownGameError, match="no game 'chess'; there are: "):
        game("chess")


def test_a_game_is_found_by_the_code_of_its_match_ids() -> None:
    assert entry_by_code("tc") is entry("transcontinental")


def test_an_unknown_code_is_an_error() -> None:
    with pytest.raises(UnknownGameError, match="no game 'xx'"):
        entry_by_code("xx")


def test_names_codes_and_services_are_unique() -> None:
    assert len({one.name for one in GAMES}) == len({one.code for one in GAMES}) == len(GAMES)
    assert len({one.service for one in GAMES}) == len(GAMES)


@pytest.mark.parametrize("one", GAMES, ids=lambda one: one.name)
def test_an_entry_agrees_with_its_game(one: GameEntry) -> None:
    loaded = one.load()
    assert (loaded.name, loaded.rules_version) == (one.name, one.rules[0].version)
    assert re.fullmatch(rf"promontory\.api\.{one.name}\.v\d+\.[A-Za-z0-9]+Service", one.service)


@pytest.mark.parametrize(("seats", "words"), [(range(2, 3), "2"), (range(2, 5), "2 to 4")])
def test_the_numbers_of_seats_are_told_in_words(seats: range, words: str) -> None:
    assert seat_counts(seats) == words
