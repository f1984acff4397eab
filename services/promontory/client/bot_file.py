"""A bot in a file of its own: loading it, calling it, and saying where in the file something went wrong."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import sys
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from threading import current_thread, main_thread
from types import ModuleType
from typing import Any

from promontory.bots.registry import policy
from promontory.client.wording import shown
from promontory.games.registry import AnyGame

CHOOSE = "choose"
EXAMPLE_POLICY = "random"
HOOKS = ("on_match_start", "on_match_end")


class BotError(Exception):
    """A bot cannot be loaded or failed; the message names the file and, where there is one, the line."""


class Bot:
    """The functions of a bot file.

    `choose(view, rng)` returns a command for the game's view of the seat; `rng` is a `random.Random` of the match's
    own. `on_match_start(match, seat)` and `on_match_end(match, seat)` are called if the file has them, with the match's
    `MatchSummary`. Any of them may be `async def`. Plain functions run one at a time in a thread of their own, so that
    thinking never keeps other matches from being watched.
    """

    def __init__(self, file: Path, module: ModuleType) -> None:
        """Raise `BotError` if the module lacks `choose`, or a function does not take its two arguments."""
        self.file = file
        self._module = module
        self._functions = {name: _function(file, module, name) for name in (CHOOSE, *HOOKS) if hasattr(module, name)}
        if CHOOSE not in self._functions:
            raise BotError(f"{file} has no function choose(view, rng)")
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="promontory-bot")

    async def call(self, name: str, *arguments: Any) -> Any:
        """Return what the file's function `name` returns, or None if it has none. Raises `BotError` where it fails."""
        function = self._functions.get(name)
        if function is None:
            return None
        try:
            if inspect.iscoroutinefunction(function):
                return await function(*arguments)
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._guarded, function, *arguments)
        except BotError:
            raise
        except (Exception, SystemExit) as error:
            raise self._failure(error) from error

    def choose(self, view: Any, rng: Random) -> Any:
        """Return what the file's `choose` returns, for callers without an event loop. Raises `BotError`."""
        function = self._functions[CHOOSE]
        if not inspect.iscoroutinefunction(function):
            return self._guarded(function, view, rng)
        self._loop = self._loop or asyncio.new_event_loop()
        return self._loop.run_until_complete(self.call(CHOOSE, view, rng))

    def misled(self, game: AnyGame, view: Any, *, problem: object) -> BotError:
        """Return the error of a `choose` that returned no command for `view`; it shows one that the rules accept."""
        example = policy(game, EXAMPLE_POLICY)(view, Random(0))  # noqa: S311 - an example, not secrecy
        home = f"promontory.games.{game.name}.commands"
        return BotError(f"{self.file}: {CHOOSE}: {problem}; return for example {shown(example)} of {home}")

    def close(self) -> None:
        """Give back the thread; a function that still runs is left to finish."""
        self._thread.shutdown(wait=False, cancel_futures=True)
        if self._loop is not None:
            self._loop.close()

    def _guarded(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Call `function`; nothing it raises, whatever that is, passes for something else further up."""
        try:
            return function(*arguments)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and current_thread() is main_thread():
                raise
            raise self._failure(error) from error

    def _failure(self, error: BaseException) -> BotError:
        return BotError(_located(self.file, str(self._module.__file__), error))


def load_bot(file: Path) -> Bot:
    """Return the bot in `file`, whose folder its own imports may use. Raises `BotError`."""
    if not file.is_file():
        raise BotError(f"there is no file {file}")
    path = file.resolve()
    spec = importlib.util.spec_from_file_location(f"promontory_bot_{file.stem}", path)
    if spec is None or spec.loader is None:
        raise BotError(f"{file} is no Python file; its name must end in .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    folder = str(path.parent)
    if folder not in sys.path:
        sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        raise BotError(_located(file, str(path), error)) from error
    return Bot(file, module)


def _function(file: Path, module: ModuleType, name: str) -> Callable[..., Any]:
    function = getattr(module, name)
    if not callable(function):
        raise BotError(f"{file}: {name} is no function, but {function!r}")
    try:
        inspect.signature(function).bind(None, None)
    except TypeError as error:
        arguments = "view, rng" if name == CHOOSE else "match, seat"
        line = getattr(getattr(function, "__code__", None), "co_firstlineno", "?")
        raise BotError(f"{file}, line {line}: {name} must take ({arguments})") from error
    return function  # type: ignore[no-any-return]


def _located(file: Path, path: str, error: BaseException) -> str:
    """Return what happened, at the innermost line of `file`, as people name it, that has to do with it.

    `path` is how Python names it, whatever people call it.
    """
    if isinstance(error, SyntaxError) and error.filename is not None and Path(error.filename).is_file():
        where = file if error.filename == path else error.filename
        return f"{where}, line {error.lineno}: {type(error).__name__}: {error.msg}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == path]
    where = f"{file}, line {frames[-1].lineno}, in {frames[-1].name}" if frames else file
    return f"{where}: {_what(error)}"


def _what(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "it called sys.exit(), which ends no match; return a command, for example Resign(view.seat)"
    if isinstance(error, SyntaxError):  # of what has no file; it would be shown with its text first
        return f"{type(error).__name__}: {error.msg}"
    return traceback.format_exception_only(error)[0].strip().splitlines()[0]
