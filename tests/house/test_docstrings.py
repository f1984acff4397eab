"""Whoever reads the games, the bots, the SDK or the event log finds every public name explained."""

from __future__ import annotations

import ast

import pytest

from tests.house.source import MODULES, public, tree_of

EXPLAINED = [module for module in MODULES if module.split("/")[0] in {"games", "bots", "client", "eventlog"}]


@pytest.mark.parametrize("module", EXPLAINED)
def test_a_public_name_has_a_docstring(module: str) -> None:
    tree = tree_of(module)
    assert ast.get_docstring(tree)
    assert [name for name, definition in public(tree) if not ast.get_docstring(definition)] == []
