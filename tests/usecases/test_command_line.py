"""The `promontory` command: its help, its exit codes, and the commands that need no platform."""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import jwt
import pytest

from promontory import __version__
from promontory.bots.pacific import play_at_random
from promontory.cli import main, parser
from promontory.eventlog.audit_file import audit_lines
from promontory.games.registry import GAMES
from promontory.local.keys import KeyRing
from promontory.matchmaking.pools import shipped_pools
from promontory.rules.domain import SeatSetup, Setup
from promontory.runtime.identity import PLAYER_SCOPES, Caller, Verifier
from tests.golden.record import DIRECTORY
from tests.support.commands import exit_code as run
from tests.support.own_decks import digest, faulty_deck, own_deck
from tests.support.refereeing import Bench

Output = pytest.CaptureFixture[str]
MATCHES = sorted(file for file in DIRECTORY.glob("*/*.jsonl") if file.stat().st_size < 20_000)
MATCH = DIRECTORY / "transcontinental" / "resigned.jsonl"


def commands(of: argparse.ArgumentParser, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command below `of`, itself first."""
    yield path
    for action in of._actions:
        for name, command in (action.choices or {}).items() if isinstance(action, argparse._SubParsersAction) else ():
            yield from commands(command, (*path, name))


COMMANDS = list(commands(parser()))
GROUPS = [(), ("bot",), ("serve",), ("ratings",), ("archive",), ("table",), ("lists",), ("player",)]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_every_command_explains_itself(command: tuple[str, ...], capsys: Output) -> None:
    """[README] All have `--help`; every argument is explained."""
    assert run(*command, "--help") == 0
    out = capsys.readouterr().out
    assert out.startswith(" ".join(("usage: promontory", *command)))
    assert "--end-with-input" not in out


@pytest.mark.parametrize(
    "options", [("--bot", "1"), ("--bot", "x=greedy"), ("--clock", "soon"), ("--clock", "5+x")], ids=" ".join
)
def test_a_table_that_is_described_wrong_is_wrong_usage(options: tuple[str, ...], capsys: Output) -> None:
    """[docs/lobby] The message shows what it should look like."""
    assert run("table", "create", "--game", "pacific", *options) == 2
    assert "for example" in capsys.readouterr().err


def test_all_commands_of_the_readme_are_there() -> None:
    assert {" ".join(command) for command in COMMANDS} >= {
        "up",
        "demo",
        "bot new",
        "bot run",
        "arena",
        "leaderboard",
        "show",
        "replay",
        "export",
        "audit",
        "versions",
        "token",
        "admin rebuild ratings",
        "matches",
        "table create",
        "table join",
        "table rematch",
        "admin rebuild lists",
        "archive list",
        "archive export",
        "archive verify",
        "archive rebuild",
        "archive backfill",
        "serve rules",
        "serve matchmaking",
        "serve scoring",
        "relay",
        "work",
        "load-functions",
        "admin replicas",
        "admin drain",
        "admin load-functions",
    }


@pytest.mark.parametrize(
    ("command", "option"),
    [
        (("bot", "run", "bot.py", "--pool", "x"), "--matches"),
        (("bot", "run", "bot.py", "--pool", "x"), "--concurrent"),
        (("arena",), "--games"),
        (("demo",), "--matches"),
        (("up",), "--workers"),
    ],
)
@pytest.mark.parametrize("value", ["0", "-1", "two", "1.5", ""])
def test_a_number_of_something_is_1_or_more(command: tuple[str, ...], option: str, value: str, capsys: Output) -> None:
    """The option is named, before anything is read or reached."""
    assert run(*command, f"{option}={value}") == 2
    assert f"argument {option}: must be 1 or more, not {value}" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command", [*GROUPS, ("fly",), ("bot", "fly"), ("audit",), ("token",), ("arena", "--games", "x")]
)
def test_wrong_usage_ends_with_2_and_says_what_is_missing(command: tuple[str, ...], capsys: Output) -> None:
    assert run(*command) == 2
    assert "promontory" in capsys.readouterr().err


def test_the_version_is_told(capsys: Output) -> None:
    assert run("--version") == 0
    assert capsys.readouterr().out == f"promontory {__version__}\n"


def test_an_exported_match_is_audited(capsys: Output) -> None:
    """In words, and one line for each file."""
    assert run("audit", *map(str, MATCHES)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.partition(":")[0] for line in lines] == list(map(str, MATCHES))
    assert all("all right" in line for line in lines)


@pytest.fixture
def spoiled(tmp_path: Path) -> Path:
    """A match in which one bit has flipped."""
    raw = bytearray(MATCH.read_bytes())
    raw[len(raw) // 2] ^= 1
    file = tmp_path / "spoiled.jsonl"
    file.write_bytes(raw)
    return file


def test_a_flipped_bit_ends_the_audit_with_1(spoiled: Path, capsys: Output) -> None:
    """[README] Exit code 1 if one is not in order; the others are told all the same."""
    assert run("audit", str(MATCH), str(spoiled)) == 1
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("(ada 1., ben 2.)")
    assert "is wrong" in second


def test_an_audit_is_told_as_json(spoiled: Path, capsys: Output) -> None:
    assert run("audit", "--json", str(MATCH), str(spoiled)) == 1
    good, bad = json.loads(capsys.readouterr().out)
    assert (good["file"], good["ok"], good["players"], good["places"]) == (str(MATCH), True, ["ada", "ben"], [1, 2])
    assert (bad["file"], bad["ok"]) == (str(spoiled), False)
    assert bad["version"] > 0
    assert bad["cause"]


def test_a_file_that_is_not_there_is_named_and_the_others_are_audited(tmp_path: Path, capsys: Output) -> None:
    """[docs/audit] Exit code 2: nothing is known to be wrong."""
    assert run("audit", str(tmp_path / "nowhere.jsonl"), str(MATCH)) == 2
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith("nowhere.jsonl: cannot be judged: cannot be read: No such file or directory")
    assert "all right" in second


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with a match of Pacific, and the deck it was played with."""
    deck = tmp_path / "deck.json"
    deck.write_bytes(own_deck())
    (tmp_path / "match.jsonl").write_bytes(asyncio.run(_played_with(deck.read_bytes())))
    return tmp_path


async def _played_with(deck: bytes) -> bytes:
    bench = Bench(game="pacific", data=(deck,))
    setup = Setup(tuple(map(SeatSetup, ("ada", "ben", "eve"))))
    match = await bench.play(await bench.create(setup), choose=play_at_random)
    return b"".join(audit_lines(match.match_id, await bench.log.read(match.match_id)))


def test_a_match_with_an_own_deck_is_audited_with_that_deck(own: Path, capsys: Output) -> None:
    """[README] Matches with the shipped cards and tiles, and with other own ones, are audited along with it."""
    (own / "other.json").write_bytes(own_deck("Another"))
    options = ("--game-data", f"pacific={own / 'other.json'}", "--game-data", f"pacific={own / 'deck.json'}")
    assert run("audit", *options, str(own / "match.jsonl"), str(MATCH)) == 0
    assert capsys.readouterr().out.count("all right") == 2


def test_without_its_deck_the_audit_says_which_one_is_missing(own: Path, capsys: Output) -> None:
    assert run("audit", str(own / "match.jsonl")) == 2
    told = capsys.readouterr().out
    missing = digest(own_deck()).hex()
    assert f"cannot be judged: it is played with data whose SHA-256 is {missing}; name that file:" in told
    assert told.endswith("--game-data pacific=FILE\n")


def test_a_match_with_an_own_deck_is_replayed_with_that_deck(own: Path, capsys: Output) -> None:
    """[docs/replay] The deck is named as for an audit."""
    assert run("replay", "--json", str(own / "match.jsonl")) == 1
    assert capsys.readouterr().err.endswith("name that file: --game-data pacific=FILE\n")
    assert run("replay", "--json", "--game-data", f"pacific={own / 'deck.json'}", str(own / "match.jsonl")) == 0
    assert capsys.readouterr().out.startswith('{"version":1,')


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        ("pacific", "must be GAME=FILE, not 'pacific'"),
        ("pacific=", "must be GAME=FILE, not 'pacific='"),
        ("=deck.json", "must be GAME=FILE, not '=deck.json'"),
        ("chess=deck.json", "no game 'chess'; there are: transcontinental, pacific"),
    ],
)
def test_game_data_that_names_no_game_or_no_file_is_wrong_usage(given: str, problem: str, capsys: Output) -> None:
    assert run("audit", "--game-data", given, str(MATCH)) == 2
    assert f"argument --game-data: {problem}" in capsys.readouterr().err


def test_game_data_that_is_not_there_is_named(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "nowhere.json"
    assert run("audit", "--game-data", f"pacific={file}", str(MATCH)) == 2
    assert capsys.readouterr().err == f"promontory: {file}: No such file or directory\n"


def test_game_data_that_is_malformed_is_named_with_the_reason(tmp_path: Path, capsys: Output) -> None:
    (tmp_path / "faulty.json").write_bytes(faulty_deck())
    assert run("audit", "--game-data", f"pacific={tmp_path / 'faulty.json'}", str(MATCH)) == 2
    fault = "data file 1 of pacific: card 2 (disperse): it has no colour"
    assert capsys.readouterr().err == f"promontory: {fault}\n"


def test_the_arena_measures_policies(capsys: Output) -> None:
    """[README] Only JSON on standard output, the same for the same seed."""
    figures = []
    for _ in range(2):
        assert run("arena", "--policies", "greedy,random", "--games", "2", "--seed", "7", "--json") == 0
        figures.append(json.loads(capsys.readouterr().out))
    assert (figures[0]["games"], [each["name"] for each in figures[0]["policies"]]) == (2, ["greedy", "random"])
    assert [each["wins"] for each in figures[0]["policies"]] == [each["wins"] for each in figures[1]["policies"]]


def test_the_arena_draws_a_table(capsys: Output) -> None:
    assert run("arena", "--games", "1", "--policies", "greedy,greedy") == 0
    assert "greedy" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("--policies", "genius,random"), "there are: greedy, random"),
        (("--policies", "greedy"), "1 policies"),
        (("--game", "chess"), "there are: "),
    ],
)
def test_what_the_arena_cannot_play_is_said_in_a_sentence(
    arguments: tuple[str, ...], problem: str, capsys: Output
) -> None:
    assert run("arena", *arguments) == 1
    assert problem in capsys.readouterr().err


@pytest.fixture
def verifier(tmp_path: Path) -> Verifier:
    """Who checks tokens by the keys of a platform in the directory."""
    ring = KeyRing(tmp_path / "keys")
    ring.create_missing()
    return Verifier(ring.player_keys_file, ring.service_keys_file)


def test_a_token_is_minted_with_the_platforms_key(tmp_path: Path, verifier: Verifier, capsys: Output) -> None:
    """[README] A development token, and nothing else, on standard output."""
    tokens = []
    for player in ("ada", "ben"):
        assert run("token", "--player", player, "--data-dir", str(tmp_path)) == 0
        tokens.append(capsys.readouterr().out.strip())
    assert [verifier.verify(token) for token in tokens] == [Caller("ada", PLAYER_SCOPES), Caller("ben", PLAYER_SCOPES)]
    assert (tmp_path / "keys").stat().st_mode & 0o777 == 0o700


def test_a_token_is_good_for_as_long_as_it_is_asked_for(tmp_path: Path, verifier: Verifier, capsys: Output) -> None:
    assert run("token", "--player", "ada", "--hours", "2.5", "--data-dir", str(tmp_path)) == 0
    content = jwt.decode(capsys.readouterr().out.strip(), options={"verify_signature": False})
    assert content["exp"] - content["iat"] == 2.5 * 3600


@pytest.mark.parametrize(
    "arguments",
    [
        ("--player", "Ada"),
        ("--player", ""),
        ("--player", "service:relay"),
        ("--player", "a" * 65),
        ("--player", "ada", "--hours", "0"),
        ("--player", "ada", "--hours", "-1"),
        ("--player", "ada", "--hours", "nan"),
        ("--player", "ada", "--hours", "1e12"),
    ],
)
def test_a_token_that_no_service_would_take_is_not_minted(
    tmp_path: Path, verifier: Verifier, arguments: tuple[str, ...], capsys: Output
) -> None:
    assert run("token", *arguments, "--data-dir", str(tmp_path)) == 1
    assert capsys.readouterr().out == ""


def test_a_new_bot_never_overwrites_a_file(tmp_path: Path, capsys: Output) -> None:
    file = tmp_path / "bot.py"
    assert run("bot", "new", str(file)) == 0
    written = file.read_text()
    assert "def choose(view" in written
    assert f"promontory arena --policies {file},greedy" in capsys.readouterr().out
    assert run("bot", "new", str(file)) == 1
    assert (file.read_text(), str(file) in capsys.readouterr().err) == (written, True)


@pytest.mark.parametrize(
    ("game", "pool", "measure"),
    [
        ("transcontinental", "transcontinental.ranked", "arena --policies {file},greedy"),
        ("pacific", "pacific.ranked.2", "arena --game pacific --policies {file},greedy"),
    ],
)
def test_a_new_bots_author_is_told_what_to_run(
    tmp_path: Path, game: str, pool: str, measure: str, capsys: Output
) -> None:
    """[README] A shipped pool of the game, and a table of its smallest size, which is then played at."""
    file = tmp_path / "bot.py"
    assert run("bot", "new", str(file), "--game", game) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first.endswith(f"promontory bot run {file} --pool {pool}")
    assert second.endswith(f"promontory {measure.format(file=file)}")
    assert pool in [shipped.id for shipped in shipped_pools() if shipped.game == game]
    assert run(*measure.format(file=file).split(), "--games", "1") == 0


@pytest.mark.parametrize("option", [(), ("--search",)])
def test_a_game_that_does_not_exist_gets_no_bot(tmp_path: Path, option: tuple[str, ...], capsys: Output) -> None:
    """The games there are are named."""
    assert run("bot", "new", str(tmp_path / "bot.py"), "--game", "chess", *option) == 1
    assert "no game 'chess'; there are: transcontinental, pacific" in capsys.readouterr().err
    assert not (tmp_path / "bot.py").exists()


@pytest.mark.parametrize("game", [entry.name for entry in GAMES])
def test_the_arena_has_policies_for_every_game(game: str, capsys: Output) -> None:
    """[README] Without `--policies`: greedy, against random on the other seats of the smallest table."""
    assert run("arena", "--game", game, "--games", "1", "--json") == 0
    names = [each["name"] for each in json.loads(capsys.readouterr().out)["policies"]]
    assert (names[0], {*names[1:]}) == ("greedy", {"random"})


def test_a_bot_without_a_platform_is_told_what_to_start(tmp_path: Path, capsys: Output) -> None:
    """In a sentence, not a trace."""
    assert run("bot", "run", "bot.py", "--pool", "x", "--data-dir", str(tmp_path)) == 1
    err = capsys.readouterr().err
    assert "promontory up" in err
    assert "Traceback" not in err


def test_a_setting_that_nobody_reads_ends_the_start(capsys: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    """[README, settings] Every process refuses names it does not know."""
    monkeypatch.setenv("PROMONTORY_REDIS_ULR", "redis://x")
    assert [run("relay"), run("serve", "scoring"), run("load-functions")] == [1, 1, 1]
    assert capsys.readouterr().err.count("PROMONTORY_REDIS_ULR") == 3


def test_with_debug_the_trace_is_shown(tmp_path: Path) -> None:
    with pytest.raises(LookupError):
        main(["--debug", "bot", "new", str(tmp_path / "bot.py"), "--game", "chess"])


def test_a_match_is_not_fetched_where_there_is_no_platform(tmp_path: Path, capsys: Output) -> None:
    """[docs/audit] Its id is not taken for a file."""
    assert run("audit", f"tc-0a7-{'a' * 26}", "--data-dir", str(tmp_path)) == 2
    assert "promontory up" in capsys.readouterr().err


def test_a_token_is_not_minted_where_there_is_no_platform(tmp_path: Path, capsys: Output) -> None:
    """It would be a token that nobody takes."""
    assert run("token", "--player", "ada", "--data-dir", str(tmp_path / "nowhere")) == 1
    assert "promontory up" in capsys.readouterr().err
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("number", ["0", "-3", "x"])
def test_a_demonstration_of_no_matches_is_wrong_usage(number: str, capsys: Output) -> None:
    assert run("demo", "--matches", number) == 2
    assert "--matches" in capsys.readouterr().err


def test_an_audit_file_that_is_cut_off_is_called_so(tmp_path: Path, capsys: Output) -> None:
    lines = MATCH.read_bytes().splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_bytes(b"".join(lines[:-1]))
    assert run("audit", str(tmp_path / "cut.jsonl")) == 1
    assert "cut off" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [("replay", str(MATCH)), ("bot", "new", "mine.py")], ids=["much", "a line"])
def test_whoever_reads_no_further_ends_a_command_without_a_word(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """[README] `promontory replay MATCH | head` is no failure to tell of."""
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "-m", "promontory", *arguments]
    ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, cwd=tmp_path, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr) == (141, b"")


@pytest.mark.parametrize("answer", ["", "\n", "no\n", "y\n"])
def test_nobody_is_forgotten_who_did_not_mean_it(answer: str, monkeypatch: pytest.MonkeyPatch, capsys: Output) -> None:
    """[docs/privacy] It cannot be undone, so that it takes a whole yes."""
    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    assert run("player", "forget") == 1
    told = capsys.readouterr().err
    assert "for good: type yes" in told
    assert "not forgotten" in told
