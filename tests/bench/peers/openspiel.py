"""Games of other projects that `bench-rules` plays beside ours: OpenSpiel's, through Python.

A random player needs from either side the same: to be told what is legal, to choose, to have the choice applied, and to
have chance resolved and a game set up. So a decision of theirs is `legal_actions`, a choice and `apply_action`, and one
of ours `legal`, a choice and `decide` with `evolve`. Ours pays for more in it: draws that can be checked by HMAC, every
check of a referee, events, and a new immutable state for each; theirs changes its state in place, in floats and strings
or NumPy arrays. Of OpenSpiel's games in Python those count as of like size that hold hands, tiles or a board and take
some ten decisions or more; its games of a few bits (Kuhn poker, tic-tac-toe) are left out. Gin rummy is C++, called
through Python, and there for scale only.
"""

from __future__ import annotations

import time
from random import Random
from typing import Any

import msgspec

IN_PYTHON = ("python_ant_foraging", "python_block_dominoes", "python_liars_poker", "python_team_dominoes")
IN_CPP = ("gin_rummy",)
TO_INSTALL = "OpenSpiel is not installed, so nothing is compared: `make bench-rules` installs it"


class PeerFigures(msgspec.Struct, frozen=True):
    """What one game of OpenSpiel does per CPU second; `chances` are what chance decided, and no player."""

    game: str
    language: str
    games: int
    decisions: int
    chances: int
    games_per_second: float
    decisions_per_second: float


def has_peers() -> bool:
    """Return whether OpenSpiel is installed."""
    try:
        import pyspiel  # noqa: F401
    except ImportError:
        return False
    return True


def peers() -> list[tuple[str, str]]:
    """Return the games to play, each with the language it is written in."""
    return [*((name, "Python") for name in IN_PYTHON), *((name, "C++") for name in IN_CPP)]


def measure_peer(name: str, language: str, *, seconds: float) -> PeerFigures:
    """Play random games of OpenSpiel for so many seconds of CPU time."""
    import open_spiel.python.games  # noqa: F401 - registers those in Python
    import pyspiel

    game, rng = pyspiel.load_game(name), Random(1)
    _play(game, rng)
    games = decisions = chances = 0
    started = time.process_time()
    while (taken := time.process_time() - started) < seconds:
        decided, chanced = _play(game, rng)
        games, decisions, chances = games + 1, decisions + decided, chances + chanced
    return PeerFigures(
        game=name,
        language=language,
        games=games,
        decisions=decisions,
        chances=chances,
        games_per_second=round(games / taken, 1),
        decisions_per_second=round(decisions / taken),
    )


def _play(game: Any, rng: Random) -> tuple[int, int]:
    """Play one game, and return how many decisions players made in it, and how many chance."""
    state, decisions, chances = game.new_initial_state(), 0, 0
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes, weights = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(rng.choices(outcomes, weights)[0])
            chances += 1
        else:
            state.apply_action(rng.choice(state.legal_actions()))
            decisions += 1
    return decisions, chances
