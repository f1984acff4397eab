"""How often each player may do something, so that none of them keeps a server busy or fills the store."""

from __future__ import annotations

import math

import msgspec

from promontory.runtime import clock
from promontory.runtime.identity import Caller
from promontory.runtime.limits import Limit, limit_reached

REMEMBERED = 10_000
"""Of how many players more is known than needed, at most, before it is forgotten."""
BURST_SECONDS = 3
"""What is counted by the second may be saved up for so long."""
RETRY_STEPS = 20
"""Into how many parts a second is divided when a refusal says how long to wait."""


class Rate(msgspec.Struct, frozen=True, kw_only=True):
    """`most` in `seconds` for each player in the long run, `burst` of them at once if none were made before."""

    limit: Limit
    most: int
    seconds: int
    burst: int
    sentence: str


def calls(most: int) -> Rate:
    """Return the rate of a player's calls of any kind: `most` a second."""
    return _by_the_second(Limit.CALLS, most, f"the player made {most} calls a second here, the most allowed")


def commands(most: int) -> Rate:
    """Return the rate of a player's calls that change something: `most` a second."""
    text = f"the player made {most} calls a second here that change something, the most allowed"
    return _by_the_second(Limit.COMMANDS, most, text)


def creations(most: int) -> Rate:
    """Return the rate of what leaves something behind: `most` a minute, all of them at once if need be."""
    text = f"the player did this {most} times in a minute, the most allowed"
    return Rate(limit=Limit.CREATIONS, most=most, seconds=60, burst=most, sentence=text)


def _by_the_second(limit: Limit, most: int, sentence: str) -> Rate:
    return Rate(limit=limit, most=most, seconds=1, burst=BURST_SECONDS * most, sentence=sentence)


class Allowance:
    """What each player has left of a rate; services go uncounted.

    It is kept in this process: a player has one with each replica.
    """

    def __init__(self, rate: Rate) -> None:
        self._rate = rate
        self._seconds_each = rate.seconds / rate.most
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
        wait = whole_at - now - self._rate.burst * self._seconds_each
        if wait > 0:
            seconds = math.ceil(wait * RETRY_STEPS) / RETRY_STEPS
            raise limit_reached(self._rate.limit, self._rate.most, self._rate.sentence, retry_seconds=seconds)
        self._whole_at[caller.subject] = whole_at

    def _forget(self, now: float) -> None:
        if len(self._whole_at) > self._most_known:
            self._whole_at = {player: whole_at for player, whole_at in self._whole_at.items() if whole_at > now}
            self._most_known = max(REMEMBERED, 2 * len(self._whole_at))
