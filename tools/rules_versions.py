"""The games' rules versions as they are frozen: `check` them, `freeze` today's, or begin the `next` one of a game.

`games/frozen.toml` holds for each rules version a hash of every module that its rules are made of, and of the data file
that comes with it. A hash is of the code alone: comments, docstrings, blank lines, the order of imports and the folder
that the version lives in do not count.

The current version of a game lives in `games/<game>/`, an older one in `games/<game>/v<number>/`. All versions share
the game's words, the modules of its commands and events, which the protos keep from changing: they are only added to.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import shutil
import sys
import tokenize
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from io import StringIO
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "services" / "promontory"
WORDS = ("commands", "events")
ROOTS = ("decider", "cards", "component_file")
COPIED = ("sampling",)
"""What else is copied to an older version: it belongs to the rules, but judges nothing, so it is not frozen."""

REMEDY = """\
Matches in flight keep the rules and the data they began with. Leave a released version as it is, and begin the next
one: make rules-next GAME={game}. A version that was never released may be frozen anew: make rules-freeze."""

Hashes = dict[str, str]


class Frozen(NamedTuple):
    """A rules version in the list: the release it was first in, or "", and the hashes of its modules and its data."""

    released: str
    hashes: Hashes


class Version(NamedTuple):
    """A rules version in the tree: `number` is None for the current one, in the game's own folder."""

    game: str
    number: int | None

    @property
    def module(self) -> str:
        """The package it lives in."""
        return f"promontory.games.{self.game}" + ("" if self.number is None else f".v{self.number}")


class Rules:
    """The rules versions in a tree, and the list of those that are frozen."""

    def __init__(self, package: Path) -> None:
        self._games, self._bots = package / "games", package / "bots"
        self.list = self._games / "frozen.toml"

    def versions(self) -> dict[str, Version]:
        """Return all versions by name, the current one of each game first."""
        found: dict[str, Version] = {}
        for decider in sorted(self._games.glob("*/decider.py")):
            game = decider.parent.name
            found[self._name(Version(game, None))] = Version(game, None)
            for folder in sorted(decider.parent.glob("v[0-9]*/"), key=_number, reverse=True):
                found[self._name(Version(game, _number(folder)))] = Version(game, _number(folder))
        return found

    def hashes(self, version: Version) -> Hashes:
        """Return the hash of each module that the rules are made of, and of their data file."""
        names = sorted(self.modules(version, ROOTS) - (self.words(version.game) if version.number else frozenset()))
        folder = self.folder(version)
        hashes = {f"{name}.py": digest(code(self._source(version, name))) for name in names}
        hashes.update({file.name: digest(file.read_bytes()) for file in folder.glob("*.json")})
        return hashes

    def words(self, game: str) -> frozenset[str]:
        """Return the modules that all versions of `game` share: of commands and events, and what they import."""
        return frozenset(self.modules(Version(game, None), WORDS))

    def modules(self, version: Version, roots: Iterable[str]) -> set[str]:
        """Return the modules of `version` that are among `roots`, or that these import; the words are everywhere."""
        found, waiting = set[str](), [name for name in roots if self._file(version, name).exists()]
        while waiting:
            name = waiting.pop()
            if name not in found:
                found.add(name)
                waiting += _imported(self._source(version, name), version)
        return found

    def begin_next(self, game: str) -> list[str]:
        """Keep the current rules of `game` as an older version, and make the number of the current ones the next.

        Returns what is left to be done by hand. Raises `FileExistsError` if that version is there already.
        """
        current = Version(game, None)
        name = self._name(current)
        number = int(name.rpartition("/")[2])
        older = Version(game, number)
        kept = self.modules(current, (*ROOTS, *COPIED)) - self.words(game)
        self.folder(older).mkdir()
        (self.folder(older) / "__init__.py").write_text(f'"""The rules `{name}` of older matches."""\n')
        for file in (*(self._file(current, each) for each in sorted(kept)), *self.folder(current).glob("*.json")):
            target = self.folder(older) / file.name
            if file.suffix == ".json":
                shutil.copyfile(file, target)
            else:
                target.write_text(_moved(file.read_text("utf-8"), older, kept), "utf-8")
        self._copy_bots(older, kept)
        self._count_on(current, name, f"{game}/{number + 1}")
        return _to_do(older, name, f"{game}/{number + 1}")

    def _copy_bots(self, older: Version, kept: Iterable[str]) -> None:
        """Copy the policies, which were written for the older rules; nothing of them is frozen."""
        modules = [file for file in self._bots.glob(f"{older.game}*.py") if not re.search(r"_v\d+", file.stem)]
        for file in modules:
            rest = file.name.removeprefix(older.game)
            text = _moved(file.read_text("utf-8"), older, kept)
            text = re.sub(rf"\bpromontory\.bots\.{older.game}(?=[\s_])", rf"\g<0>_v{older.number}", text)
            (self._bots / f"{older.game}_v{older.number}{rest}").write_text(text, "utf-8")

    def _count_on(self, current: Version, before: str, after: str) -> None:
        """Put the name of the new version where the old one's stands in the current rules and their data."""
        for file in self.folder(current).iterdir():
            if file.suffix in {".py", ".json"} and f'"{before}"' in (text := file.read_text("utf-8")):
                file.write_text(text.replace(f'"{before}"', f'"{after}"'), "utf-8")

    def _name(self, version: Version) -> str:
        for file in self.folder(version).glob("*.py"):
            if named := re.search(r'^RULES_VERSION = "(.+)"$', file.read_text("utf-8"), re.MULTILINE):
                return named[1]
        raise LookupError(f"no module of {version.module} says its RULES_VERSION")

    def folder(self, version: Version) -> Path:
        """Return the folder of `version`."""
        return self._games.joinpath(*version.module.split(".")[2:])

    def _file(self, version: Version, name: str) -> Path:
        own = self.folder(version) / f"{name}.py"
        return own if own.exists() else self._games / version.game / f"{name}.py"

    def _source(self, version: Version, name: str) -> str:
        return self._file(version, name).read_text("utf-8")


def check(rules: Rules) -> list[str]:
    """Return what differs from the list, a line each; empty if nothing does."""
    frozen, present = read(rules.list), rules.versions()
    lines = [f"{name} is frozen, but no longer there" for name in frozen.keys() - present.keys()]
    lines += [f"{name} is not in {rules.list.name}" for name in present.keys() - frozen.keys()]
    for name in sorted(frozen.keys() & present.keys()):
        was, is_now = frozen[name].hashes, rules.hashes(present[name])
        if present[name].number is not None:  # the words have gone on with the current version
            was = {file: value for file, value in was.items() if Path(file).stem not in rules.words(present[name].game)}
        lines += [f"{name}: {file} differs" for file in sorted(was | is_now) if was.get(file) != is_now.get(file)]
    return lines


def freeze(rules: Rules, *, release: str = "") -> list[str]:
    """Write the list of today's versions, as part of `release` if it is given; return what stands against it.

    Versions that were released before stay as they are: what differs from them is returned, and nothing is written.
    """
    frozen, present = read(rules.list), rules.versions()
    released = {name: each for name, each in frozen.items() if each.released}
    against = [line for line in check(rules) if line.split(":")[0].split(" ")[0] in released]
    if not against:
        today = {name: Frozen(release, rules.hashes(version)) for name, version in present.items()}
        write(rules.list, today | released)
    return against


def read(file: Path) -> dict[str, Frozen]:
    """Return the list in `file`; empty if there is none."""
    if not file.exists():
        return {}
    tables = tomllib.loads(file.read_text("utf-8"))
    return {name: Frozen(table.pop("released"), table) for name, table in tables.items()}


def write(file: Path, frozen: Mapping[str, Frozen]) -> None:
    """Write the list to `file`."""
    lines = ["# Rules versions as they are frozen; `make rules-freeze` writes this, `make lint` compares it."]
    for name, each in sorted(frozen.items()):
        lines += ["", f'["{name}"]', f'released = "{each.released}"']
        lines += [f'"{module}" = "{value}"' for module, value in sorted(each.hashes.items())]
    file.write_text("\n".join(lines) + "\n", "utf-8")


def digest(content: bytes) -> str:
    """Return the SHA-256 of `content` in hex."""
    return hashlib.sha256(content).hexdigest()


def code(source: str) -> bytes:
    """Return what counts of a module: its code, and what it imports, wherever its rules version lives."""
    tree = ast.parse(source)
    imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    left_out = set[int]()
    for node in (*imports, *_remarks(tree)):
        left_out |= set(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    within = {line for node in ast.walk(tree) if isinstance(node, ast.Constant | ast.JoinedStr) for line in _tail(node)}
    lines = enumerate(_without_comments(source), start=1)
    kept = [line for number, line in lines if number not in left_out and (line.strip() or number in within)]
    return "\n".join([*sorted(_names(imports)), *kept]).encode()


def _remarks(tree: ast.Module) -> Iterator[ast.Expr]:
    """Yield the docstrings, and other text that is no part of an expression."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            yield node


def _tail(node: ast.expr) -> range:
    """Return the lines that a text of several lines goes on in."""
    return range(node.lineno + 1, (node.end_lineno or node.lineno) + 1)


def _without_comments(source: str) -> list[str]:
    lines = source.splitlines()
    for token in tokenize.generate_tokens(StringIO(source).readline):
        if token.type == tokenize.COMMENT:
            row, column = token.start
            lines[row - 1] = lines[row - 1][:column].rstrip()
    return lines


def _names(imports: Iterable[ast.Import | ast.ImportFrom]) -> Iterator[str]:
    """Yield each imported name with its module, in which the folder of a version does not count."""
    for node in imports:
        module = getattr(node, "module", "") or ""
        place = re.sub(r"^(promontory\.games\.\w+)\.v\d+(?=\.|$)", r"\1", module)
        for alias in node.names:
            yield f"import {place} {alias.name} {alias.asname or ''}".rstrip()


def _imported(source: str, version: Version) -> list[str]:
    """Return the modules of the game that a module imports, whichever version's they are."""
    own = re.compile(rf"promontory\.games\.{version.game}(?:\.v\d+)?(?:\.(\w+))?$")
    found: list[str] = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (match := own.match(node.module or "")):
            found += [match[1]] if match[1] else [alias.name for alias in node.names]
    return found


def _moved(source: str, version: Version, modules: Iterable[str]) -> str:
    """Return a module that imports those of `modules` from the folder of `version`."""
    names = "|".join(sorted(modules))
    moved = re.sub(rf"\b(promontory\.games\.{version.game})\.({names})\b", rf"\1.v{version.number}.\2", source)
    return re.sub(rf"^from (promontory\.games\.{version.game}) import", rf"from \1.v{version.number} import", moved)


def _number(folder: Path) -> int:
    return int(folder.name[1:])


def _to_do(older: Version, before: str, after: str) -> list[str]:
    return [
        f"{before} is in games/{older.game}/v{older.number}/ now, its bots in bots/{older.game}_v{older.number}*.py.",
        f"In games/registry.py, put an entry for {after} before that of {before}, which takes all from {older.module}.",
        f"Then change the rules in games/{older.game}/, its RULES.md and its tests; make format, make rules-freeze.",
        "Record matches of the new version (CONTRIBUTING, Recording a match); those of the old one stay as they are.",
    ]


def main() -> None:
    """Do what the arguments say; exit with 1 and the reasons if it cannot be done."""
    parser = argparse.ArgumentParser(description="Keep the games' rules versions as they were released.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("check", help="fail if a frozen version differs")
    commands.add_parser("freeze", help="write today's versions").add_argument("--release", default="", metavar="X.Y.Z")
    commands.add_parser("next", help="keep a game's rules as an older version").add_argument("game")
    arguments, rules = parser.parse_args(), Rules(PACKAGE)
    if arguments.command == "next":
        sys.stdout.write("\n".join(rules.begin_next(arguments.game)) + "\n")
        return
    found = check(rules) if arguments.command == "check" else freeze(rules, release=arguments.release)
    if found:
        sys.exit("\n".join([*found, "", REMEDY.format(game=found[0].split("/")[0])]))
    sys.stdout.write(f"{len(rules.versions())} rules versions as frozen\n")


if __name__ == "__main__":
    main()
