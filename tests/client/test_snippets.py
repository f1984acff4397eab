"""What the README and docstrings show works when it is pasted."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path
from random import Random
from textwrap import dedent
from typing import Any

import pytest

from promontory.bots.arena import Plan
from promontory.client import arena_command
from promontory.client.bot_command import new
from promontory.games.transcontinental.sampling import determinize
from tests.bots.worlds import acting_view, position
from tests.support.transcontinental import GAME

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
SNIPPETS = re.findall(r"```python\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_the_readmes_python_compiles(snippet: str) -> None:
    compile(snippet, "README.md", "exec")


DOCS = sorted((Path(__file__).parents[2] / "docs").glob("*.md"))


@pytest.mark.parametrize("page", DOCS, ids=lambda page: page.name)
def test_the_python_of_the_docs_compiles(page: Path) -> None:
    """It stands inside a coroutine where it waits."""
    for snippet in re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL):
        compile(snippet, page.name, "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)


@pytest.mark.parametrize("call", re.findall(r"`(determinize\(.*?\))`", README))
def test_the_readme_names_the_arguments_as_they_are(call: str) -> None:
    assert call == f"determinize({', '.join(inspect.signature(determinize).parameters)})"


def test_the_search_of_the_docstring_runs() -> None:
    """It tries every command that the view allows, each in a game that looks like its own."""
    example = inspect.getdoc(determinize).partition("`choose(view, rng)`:\n")[2].partition("\n\n`promontory")[0]
    found: dict[str, Any] = {"view": acting_view(position(1, 10)), "rng": Random(1)}
    exec(dedent(example), found)  # noqa: S102 - our own text
    assert GAME.view(found["state"], found["view"].seat) == found["view"]
    assert found["after"] != found["state"]


def test_the_bot_that_searches_plays(tmp_path: Path) -> None:
    """[README] `bot new --search` writes a whole bot, as good as any start."""
    new(tmp_path / "searching.py", search=True)
    result = arena_command.run("transcontinental", Plan((str(tmp_path / "searching.py"), "random"), games=2))
    assert result.policies[0].wins == 2
