"""How often each player may do what leaves something behind, so that none of them fills the store."""

from __future__ import annotations

import math

from promontory.runtime import clock
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import Caller

REMEMBERED = 10_000
"""Of how many players more is known than needed, at most, before it is forgotten."""


class Allowance:
    """`per_minute` times a minute for each player, all of them at once if need be; services go uncounted.

    It is kept in this process: a player has one with each replica.
    """

    def __init__(self, per_minute: int) -> None:
        self._per_minute = per_minute
        self._seconds_each = 60 / per_minute
        self._whole_at: dict[str, float] = {}
        """When each player's allowance is whole again; those of whom nothing is known have a whole one."""
        self._most_known = REMEMBERED

    def spend(self, caller: Caller) -> None:
        """Take one off the player's allowance, or raise the refusal `LIMIT_REACHED` if nothing is left."""
        if caller.service:
            return
        now = clock.monotonic()
        self._forget(now)
        whole_at = max(self._whole_at.get(caller.subject, now), now) + self._seconds_each
        wait = whole_at - now - 60
        if wait > 0:
            text = f"the player did this {self._per_minute} times in a minute, the most allowed"
            metadata = {"limit": self._per_minute, "retrySeconds": math.ceil(wait)}
            raise Refusal(Kind.TOO_MANY, "LIMIT_REACHED", text, metadata=metadata)
        self._whole_at[caller.subject] = whole_at

    def _forget(self, now: float) -> None:
        if len(self._whole_at) > self._most_known:
            self._whole_at = {player: whole_at for player, whole_at in self._whole_at.items() if whole_at > now}
            self._most_known = max(REMEMBERED, 2 * len(self._whole_at))
