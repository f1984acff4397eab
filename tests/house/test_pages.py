"""What the pages for people link to is there, and every command they show is one."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from functools import cache
from itertools import takewhile
from pathlib import Path

import pytest

from promontory.cli import parser
from tests.house.source import ROOT

DOCS = ROOT / "docs"
PAGES = [*(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md")), *sorted(DOCS.rglob("*.md"))]
OPERATORS = DOCS / "operators.md"
LINK = re.compile(r"\]\((?!https?://)([^)#\s]*)#?([^)\s]*)\)")
NAMED = re.compile(r"\bdocs/[\w/-]+\.md\b")
BLOCK = re.compile(r"^```(?:console|sh)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PROGRAM = re.compile(r"(?:^|[|;&(]\s*)(?:\.venv/bin/)?promontory\s", re.MULTILINE)
END = frozenset({"|", "||", "&&", ";", "&", ">", ">>", "<", ")"})


def name_of(page: Path) -> str:
    """Return where a page is, as a test is called after it."""
    return page.relative_to(ROOT).as_posix()


@cache
def text_of(page: Path) -> str:
    """Return what a page says."""
    return page.read_text("utf-8")


@cache
def anchors(page: Path) -> frozenset[str]:
    """Return what links to the headings of a page end with."""
    headings = re.findall(r"^#+ (.*)", re.sub(r"```.*?```", "", text_of(page), flags=re.DOTALL), re.MULTILINE)
    return frozenset(re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings)


def linked(page: Path) -> Iterator[tuple[Path, str]]:
    """Yield the file and the anchor of every link within the tree."""
    for path, anchor in LINK.findall(text_of(page)):
        yield (page.parent / path).resolve() if path else page, anchor


def neighbours(page: Path) -> set[Path]:
    """Return the pages that a page leads to, by a link or by their names."""
    return {path for path, _ in linked(page)} | {ROOT / name for name in NAMED.findall(text_of(page))}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_links_to_is_there(page: Path) -> None:
    dead = [
        f"{path.relative_to(ROOT)}#{anchor}"
        for path, anchor in linked(page)
        if not path.exists() or (anchor and anchor not in anchors(path))
    ]
    assert [*dead, *(name for name in NAMED.findall(text_of(page)) if not (ROOT / name).exists())] == []


def test_operators_get_to_every_page_from_theirs() -> None:
    """In two steps, as to the pages of alerts."""
    first = neighbours(OPERATORS) & set(PAGES)
    found = first.union(*map(neighbours, first))
    assert sorted(map(name_of, set(DOCS.rglob("*.md")) - found)) == []


def test_the_readme_sends_operators_to_their_page_first() -> None:
    section = text_of(ROOT / "README.md").partition("\n- For operators: ")[2]
    assert section.startswith("`docs/operators.md`")


def commands(page: Path) -> Iterator[list[str]]:
    """Yield the arguments of every `promontory` that a page has people type."""
    for block in BLOCK.findall(text_of(page)):
        typed = re.sub(r"^\$ ", "", block, flags=re.MULTILINE).replace("\\\n>", " ").replace("\n>", "\n")
        for start in PROGRAM.finditer(typed):
            line = typed[start.end() :].partition(")" if "(" in start[0] else "\n")[0]
            lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
            lexer.whitespace_split = True
            yield list(takewhile(lambda word: word not in END, lexer))


TYPED = sorted({shlex.join(arguments) for page in PAGES for arguments in commands(page)})


@pytest.mark.parametrize("arguments", TYPED)
def test_a_command_that_a_page_shows_is_one(arguments: str) -> None:
    parser().parse_args(shlex.split(arguments))
