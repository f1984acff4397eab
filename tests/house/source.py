"""The hand-written modules of the package, read as syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "services" / "promontory"
MODULES = sorted(
    path.relative_to(PACKAGE).as_posix()
    for path in PACKAGE.rglob("*.py")
    if path.relative_to(PACKAGE).parts[0] != "api"
)

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.ClassDef | Function


def lines_of(module: str) -> list[str]:
    """Return the lines of `module`, a path below the package."""
    return (PACKAGE / module).read_text("utf-8").splitlines()


def tree_of(module: str) -> ast.Module:
    """Return the syntax tree of `module`."""
    return ast.parse("\n".join(lines_of(module)))


def functions_of(module: str) -> list[Function]:
    """Return every function and method of `module`, nested ones too."""
    return [node for node in ast.walk(tree_of(module)) if isinstance(node, Function)]


def length(module: str, function: Function) -> int:
    """Return how many lines that are not blank `function` has, docstring included, decorators not."""
    return sum(bool(line.strip()) for line in lines_of(module)[function.lineno - 1 : function.end_lineno])


def parameters(function: Function) -> int:
    """Return how many parameters a caller of `function` may give, without `self` and `cls`."""
    given = function.args
    names = [arg.arg for arg in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def public(node: ast.AST, owner: str = "") -> Iterator[tuple[str, Definition]]:
    """Yield the public classes, functions and methods defined in `node`, each with its dotted name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Definition) and not child.name.startswith("_"):
            yield f"{owner}{child.name}", child
            if isinstance(child, ast.ClassDef):
                yield from public(child, f"{owner}{child.name}.")
