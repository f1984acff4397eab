"""What a bot is: a policy that chooses one command from what its seat may know."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any, TypeAlias

from promontory.games.kernel import Rejected

Policy: TypeAlias = Callable[[Any, Random], Any]
"""Chooses a command from a game's view of the seat that is to act, and random numbers of its own.

Pure: the same view and the same state of the random numbers give the same command, so nothing but the view, which
holds what the seat may know, can influence it. Called for a seat that is not to act, it raises `NotToActError`.
"""


class NotToActError(ValueError):
    """A policy was asked for a command of a seat that is not to act."""


class RefusedPolicyError(Exception):
    """A policy gave a command that is not its seat's to give, or that the rules refuse: see `refusal`.

    `policy` is its number in the order the policies were given, `number` that of the game, both from 0; `view` is what
    it chose `command` from.
    """

    def __init__(self, policy: int, number: int, *, view: Any, command: Any, refusal: Rejected) -> None:
        super().__init__(f"policy {policy} gave {command!r} in game {number}: {refusal}")
        self.policy, self.number = policy, number
        self.view, self.command, self.refusal = view, command, refusal


class UnknownPolicyError(LookupError):
    """The game has no policy of this name."""
