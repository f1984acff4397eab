"""A game with data of the operator's own: which new matches are played with, and which stay known."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from msgspec.structs import replace

from promontory.games import registry
from promontory.games.pacific.cards import load_deck, shipped_deck
from promontory.games.pacific.decider import Pacific
from promontory.games.registry import GAMES, GameEntry, Rules
from promontory.rules.main import data_files
from promontory.rules.ruleset import load_ruleset
from promontory.runtime.errors import Refusal
from promontory.runtime.settings import SettingsError
from tests.support.own_decks import digest, faulty_deck, level_deck, own_deck

OWN, LEVEL, SHIPPED = own_deck(), level_deck(), shipped_deck()


def hashes(data: Sequence[bytes]) -> list[bytes]:
    """Return the hashes of the data that Pacific is refereed with, that of new matches first."""
    return [game.data_hash for game in load_ruleset("pacific", data).games]


@pytest.mark.parametrize("entry", GAMES, ids=lambda entry: entry.name)
def test_without_files_of_the_operator_s_own_the_shipped_one_is_played_with(entry: GameEntry) -> None:
    ruleset = load_ruleset(entry.name)
    assert (ruleset.game.data_hash, ruleset.game.rules_version) == (
        digest(entry.shipped_data()),
        entry.rules[0].version,
    )
    assert dict(ruleset.files) == {digest(entry.shipped_data()): entry.shipped_data()}


@pytest.mark.parametrize(
    ("data", "known"),
    [
        ([OWN], [OWN, SHIPPED]),
        ([OWN, LEVEL], [OWN, LEVEL, SHIPPED]),
        ([LEVEL, OWN], [LEVEL, OWN, SHIPPED]),
        ([OWN, OWN, LEVEL, OWN], [OWN, LEVEL, SHIPPED]),
        ([SHIPPED, OWN], [SHIPPED, OWN]),
        ([OWN, SHIPPED, LEVEL], [OWN, SHIPPED, LEVEL]),
    ],
    ids=["one", "two", "two the other way", "repeated", "the shipped one first", "the shipped one between"],
)
def test_new_matches_get_the_first_file_and_each_file_is_known_once(
    data: Sequence[bytes], known: Sequence[bytes]
) -> None:
    """The shipped file comes last, unless the operator places it."""
    ruleset = load_ruleset("pacific", data)
    assert hashes(data) == [digest(file) for file in known]
    assert ruleset.game is ruleset.games[0]
    assert dict(ruleset.files) == {digest(file): file for file in known}


@pytest.mark.parametrize("file", [OWN, LEVEL, SHIPPED], ids=["own", "level", "shipped"])
def test_a_match_is_judged_with_the_data_that_it_is_pinned_to(file: bytes) -> None:
    ruleset = load_ruleset("pacific", [OWN, LEVEL])
    assert ruleset.pinned("pacific/1", digest(file)).data_hash == digest(file)
    assert ruleset.data(digest(file)) == file


class Older(Pacific):
    """Rules that cannot read one of the files."""

    rules_version = "pacific/0"


class Newer(Pacific):
    """Rules that can read only that file, with which they come."""

    rules_version = "pacific/2"


def load_older(data: bytes) -> Older:
    if data == LEVEL:
        raise ValueError("unknown to the older rules")
    return Older(load_deck(data))


def load_newer(data: bytes) -> Newer:
    if data != LEVEL:
        raise ValueError("made for older rules")
    return Newer(load_deck(data))


OLDER, NEWER = Rules("pacific/0", load_older, shipped_deck), Rules("pacific/2", load_newer, level_deck)


def test_older_rules_stay_with_every_file_that_they_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """[Ruleset.pinned] A match goes on by the rules it began with; new ones begin with the current rules."""
    entry = registry.entry("pacific")
    monkeypatch.setattr(registry, "GAMES", (replace(entry, rules=(*entry.rules, OLDER)),))
    ruleset = load_ruleset("pacific", [LEVEL, OWN])
    assert [(game.rules_version, game.data_hash) for game in ruleset.games] == [
        *(("pacific/1", digest(file)) for file in (LEVEL, OWN, SHIPPED)),
        *(("pacific/0", digest(file)) for file in (OWN, SHIPPED)),
    ]


def test_the_data_that_came_with_older_rules_stays_with_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """[Ruleset.pinned] New rules come with data of their own; what the operator named for older matches stays too."""
    entry = registry.entry("pacific")
    monkeypatch.setattr(registry, "GAMES", (replace(entry, rules=(NEWER, *entry.rules)),))
    ruleset = load_ruleset("pacific", [LEVEL, OWN])
    assert [(game.rules_version, game.data_hash) for game in ruleset.games] == [
        ("pacific/2", digest(LEVEL)),
        *(("pacific/1", digest(file)) for file in (LEVEL, OWN, SHIPPED)),
    ]
    assert registry.game("pacific", rules_version="pacific/1").data_hash == digest(SHIPPED)
    assert registry.game("pacific").data_hash == digest(LEVEL)


def test_new_matches_need_a_file_that_the_current_rules_can_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one is theirs: an operator's own deck of the old form does not silently give way to the shipped one."""
    entry = registry.entry("pacific")
    monkeypatch.setattr(registry, "GAMES", (replace(entry, rules=(NEWER, *entry.rules)),))
    with pytest.raises(ValueError, match="data file 1 of pacific: made for older rules"):
        load_ruleset("pacific", [OWN, LEVEL])


@pytest.mark.parametrize(("version", "file"), [("pacific/1", LEVEL), ("pacific/9", OWN), ("transcontinental/1", OWN)])
def test_rules_or_data_that_are_not_there_are_refused_by_name(version: str, file: bytes) -> None:
    """[RULES_VERSION_UNKNOWN] The metadata says which are missing."""
    with pytest.raises(Refusal) as refused:
        load_ruleset("pacific", [OWN]).pinned(version, digest(file))
    assert refused.value.reason == "RULES_VERSION_UNKNOWN"
    assert refused.value.metadata == {"rulesVersion": version, "dataHash": digest(file).hex()}


def test_data_that_is_not_there_is_refused_by_name() -> None:
    """[RULES_VERSION_UNKNOWN] As `GetGameData` refuses it."""
    with pytest.raises(Refusal) as refused:
        load_ruleset("pacific").data(digest(OWN))
    assert (refused.value.reason, refused.value.metadata["dataHash"]) == ("RULES_VERSION_UNKNOWN", digest(OWN).hex())


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        ([faulty_deck()], "data file 1 of pacific: card 2 (disperse): it has no colour"),
        ([OWN, OWN, faulty_deck()], "data file 3 of pacific: card 2 (disperse): it has no colour"),
        ([b""], "data file 1 of pacific: deck file: Input data was truncated"),
        ([registry.entry("transcontinental").shipped_data()], "data file 1 of pacific: deck file: "),
    ],
    ids=["faulty", "the third", "empty", "another game's"],
)
def test_a_malformed_file_is_refused_with_its_number_the_card_and_the_reason(
    data: Sequence[bytes], problem: str
) -> None:
    """[Pacific 3.9] None of the files is left out in silence."""
    with pytest.raises(ValueError, match="data file") as refused:
        load_ruleset("pacific", data)
    assert str(refused.value).startswith(problem)


def test_the_setting_names_files_in_their_order(tmp_path: Path) -> None:
    """[PROMONTORY_DATA_FILES] One setting for all games; blanks and empty places do not matter."""
    own, level = tmp_path / "own.json", tmp_path / "level.json"
    own.write_bytes(OWN)
    level.write_bytes(LEVEL)
    setting = f" pacific={level}, pacific = {own} ,transcontinental={tmp_path / 'nowhere.json'}"
    assert data_files("pacific", setting) == [LEVEL, OWN]
    assert data_files("pacific", "") == []


def test_a_named_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nowhere\.json"):
        data_files("pacific", f"pacific={tmp_path / 'nowhere.json'}")


@pytest.mark.parametrize("setting", ["cards.json", "pacific=", "=cards.json", "chess=cards.json"])
def test_a_setting_that_names_no_game_or_no_file_is_refused(setting: str) -> None:
    with pytest.raises(SettingsError, match="game"):
        data_files("pacific", setting)
