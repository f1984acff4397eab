"""Rules versions are as they were frozen: what was released never changes, and the next version begins beside it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from promontory.games.registry import GAMES
from tests.house.source import PACKAGE
from tests.support.rules_versions import tree
from tools.rules_versions import Frozen, Rules, Version, check, code, freeze, read, write

TC = "transcontinental"
MELDS = "games/transcontinental/melds.py"


@pytest.fixture
def rules(tmp_path: Path) -> Rules:
    """The rules versions of a copy of one game, as they are frozen today."""
    copied = tree(tmp_path, TC)
    assert freeze(copied) == []
    return copied


def edit(rules: Rules, file: str, change: Callable[[str], str]) -> None:
    """Change a file of the copy."""
    path = rules.list.parents[1] / file
    before = path.read_text("utf-8")
    path.write_text(change(before), "utf-8")
    assert path.read_text("utf-8") != before


def release(rules: Rules) -> None:
    """Release today's versions."""
    assert freeze(rules, release="0.1.0") == []


def test_the_rules_are_as_they_were_frozen() -> None:
    """[event_log 2.13] A released version is frozen. If it never was released: `make rules-freeze`."""
    assert check(Rules(PACKAGE)) == []


def test_the_registry_lists_the_versions_that_there_are() -> None:
    """The current one of a game first."""
    listed = [rules.version for game in sorted(GAMES, key=lambda game: game.name) for rules in game.rules]
    assert listed == list(Rules(PACKAGE).versions())


@pytest.mark.parametrize(
    ("file", "change", "differing"),
    [
        (
            MELDS,
            lambda text: text.replace("SMALLEST_TRACK = ", "SMALLEST_TRACK = 1 + "),
            "transcontinental/1: melds.py differs",
        ),
        (MELDS, lambda text: text + "\nEXTRA = 1\n", "transcontinental/1: melds.py differs"),
        ("games/transcontinental/cards.json", lambda text: text + "\n", "transcontinental/1: cards.json differs"),
        (
            "games/transcontinental/decider.py",
            lambda text: text.replace("import points, recognise", "import points as recognise"),
            "transcontinental/1: decider.py differs",
        ),
        (
            "games/transcontinental/vocabulary.py",
            lambda text: text.replace('PLANNING = "', 'PLANNING = "re'),
            "transcontinental/1: vocabulary.py differs",
        ),
    ],
    ids=["a value", "a constant more", "the cards", "an import", "the words"],
)
def test_changed_rules_are_found(rules: Rules, file: str, change: Callable[[str], str], differing: str) -> None:
    """The check names the version and the file."""
    edit(rules, file, change)
    assert check(rules) == [differing]


def test_remarks_may_change(rules: Rules) -> None:
    """Comments, docstrings, blank lines and the order of imports are not rules; neither is what draws or samples."""
    edit(rules, MELDS, lambda text: text.replace('"""', '"""Said anew: ', 1) + "\n\n# A last word.\n")
    edit(rules, "games/transcontinental/drawing.py", lambda text: text + "\nWIDER = 1\n")
    assert check(rules) == []


def test_what_stands_in_texts_and_looks_like_a_remark_counts() -> None:
    assert code("x = 'a # b'") != code("x = 'a # c'")
    assert code('x = """a\n\nb"""') != code('x = """a\nb"""')
    assert code("x = 1  # one\n\n\ny = 2") == code("x = 1\ny = 2  # two")
    assert code("def f():\n    'said'\n    return 1") == code("def f():\n    return 1")


def test_the_order_of_imports_and_the_folder_of_the_version_do_not_count() -> None:
    here = "from promontory.games.pacific.v1.cards import (\n    Card,\n    Deck,\n)\nfrom a import b\nx = 1"
    assert code(here) == code("from a import b\nfrom promontory.games.pacific.cards import Deck, Card\nx = 1")
    assert code(here) != code("from a import b\nfrom promontory.games.pacific.cards import Deck\nx = 1")


def test_a_version_that_was_never_released_is_frozen_anew(rules: Rules) -> None:
    """As with the protos: freely, until the release."""
    edit(rules, MELDS, lambda text: text + "\nEXTRA = 1\n")
    assert freeze(rules) == []
    assert check(rules) == []


def test_a_released_version_is_never_frozen_anew(rules: Rules) -> None:
    """[event_log 2.13] Not by mistake: the list would have to be edited by hand."""
    release(rules)
    edit(rules, MELDS, lambda text: text + "\nEXTRA = 1\n")
    before = read(rules.list)
    assert freeze(rules) == freeze(rules, release="0.2.0") == ["transcontinental/1: melds.py differs"]
    assert read(rules.list) == before


def test_a_released_version_cannot_go(rules: Rules) -> None:
    """Matches may be pinned to it, and finished ones are to be judged by it."""
    release(rules)
    write(rules.list, read(rules.list) | {f"{TC}/0": Frozen("0.0.9", {})})
    assert freeze(rules) == [f"{TC}/0 is frozen, but no longer there"]


def test_the_next_version_begins_beside_the_released_one(rules: Rules) -> None:
    """`make rules-next`: what was released lives on unchanged in a folder of its own, its bots beside."""
    release(rules)
    before = rules.hashes(Version(TC, None))
    assert "transcontinental/2" in " ".join(rules.begin_next(TC))
    assert [name for name in rules.versions() if name.startswith(TC)] == [f"{TC}/2", f"{TC}/1"]
    kept = rules.hashes(Version(TC, 1))
    assert kept.items() <= before.items()
    assert before.keys() - kept.keys() == {"commands.py", "events.py", "vocabulary.py"}
    assert check(rules) == ["transcontinental/2 is not in frozen.toml"]
    assert freeze(rules) == []
    assert {name: each.released for name, each in read(rules.list).items() if name.startswith(TC)} == {
        f"{TC}/1": "0.1.0",
        f"{TC}/2": "",
    }


def test_the_next_version_may_change_while_the_older_one_may_not(rules: Rules) -> None:
    """Words are added to the game's, for all of its versions."""
    release(rules)
    rules.begin_next(TC)
    freeze(rules)
    edit(rules, MELDS, lambda text: text + "\nEXTRA = 1\n")
    edit(rules, "games/transcontinental/events.py", lambda text: text + "\nEXTRA = 1\n")
    assert freeze(rules) == []
    edit(rules, "games/transcontinental/v1/melds.py", lambda text: text + "\nEXTRA = 1\n")
    assert freeze(rules) == ["transcontinental/1: melds.py differs"]


def test_the_next_version_begins_once(rules: Rules) -> None:
    (rules.list.parent / TC / "v1").mkdir()
    with pytest.raises(FileExistsError):
        rules.begin_next(TC)
