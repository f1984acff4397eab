"""Telling when a server has not answered for a while, and when it does again."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeAlias

import msgspec

from promontory.client.errors import PromontoryError, is_from_transport

TELL_SECONDS = 1.0
"""How long nothing comes from an address before that is told: a server that is replaced is back sooner."""


class Outage(msgspec.Struct, frozen=True):
    """Nothing useful has come from `address` for a second or more; each call goes on trying, for `retry_seconds`.

    `problem` is a sentence, `hint` what the one who runs the client might do about it.
    """

    address: str
    problem: str
    retry_seconds: float
    hint: str = ""

    def __str__(self) -> str:
        hint = f" ({self.hint})" if self.hint else ""
        return f"{self.problem}{hint}; trying for {self.retry_seconds:g} s"


class Recovery(msgspec.Struct, frozen=True):
    """The outage of `address` is over."""

    address: str

    def __str__(self) -> str:
        return f"{self.address} answers again"


OnOutage: TypeAlias = Callable[[Outage | Recovery], None]
"""Told in the client's event loop; it must not block."""


class OutageWatch:
    """Notes what fails and what succeeds at each address."""

    def __init__(self, tell: OnOutage | None, retry_seconds: float) -> None:
        self._tell = tell or (lambda _: None)
        self._retry_seconds = retry_seconds
        self._since: dict[str, float] = {}
        self._told: set[str] = set()

    def failed(self, address: str, error: PromontoryError) -> None:
        """Note that an attempt at `address` failed and will be repeated."""
        now = asyncio.get_running_loop().time()
        since = self._since.setdefault(address, now)
        if now - since >= TELL_SECONDS and address not in self._told:
            self._told.add(address)
            self._tell(Outage(address, _problem(address, error), retry_seconds=self._retry_seconds))

    def answered(self, address: str) -> None:
        """Note that something came from `address`."""
        if self._since.pop(address, None) is not None and address in self._told:
            self._told.remove(address)
            self._tell(Recovery(address))


def _problem(address: str, error: PromontoryError) -> str:
    if is_from_transport(error):
        return f"nothing answers at {address}"
    return f"{address} cannot serve just now: {error.message}"
