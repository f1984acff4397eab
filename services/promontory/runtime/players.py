"""Who the bearers of tokens are to the platform: their player ids, and whose tokens are revoked.

A token names its bearer by a subject, which is the identity provider's and may be anything, an e-mail address for one.
Either that is the player id, or the player id is a random one that only the directory ties to the subject. Revocations
know no subject but its digest.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import secrets
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from typing import Protocol

import msgspec
import structlog

from promontory.eventlog.port import EventLogUnavailable
from promontory.runtime import clock
from promontory.runtime.errors import Kind, Refusal
from promontory.runtime.identity import Bearer, Caller

log = structlog.get_logger()

REFRESH_SECONDS = 2.0
OVERLAP_MS = 60_000
"""How far back revocations are read again, in case one was written late."""
CLOCKS_MS = 5_000
"""By how much the clock of who issues tokens may differ from this one."""
CACHED = 100_000
"""Of how many bearers a process remembers the player id."""


class Revocation(msgspec.Struct, frozen=True):
    """Tokens of the account that were issued at `revoked_ms` (ms since the epoch) or before are not accepted."""

    account: str
    revoked_ms: int


class Suspension(msgspec.Struct, frozen=True):
    """The account is kept out until `until_ms`, in ms since the epoch."""

    account: str
    until_ms: int


class Registered(msgspec.Struct, frozen=True):
    """Whom a player id stands for, and when they were first seen, in ms since the epoch."""

    subject: str
    created_ms: int


class Directory(Protocol):
    """Player ids of subjects, and revocations. Everything is safe to repeat; any may raise `EventLogUnavailable`."""

    async def player_of(self, subject: str) -> str:
        """Return the player id of `subject`, a new random one if there is none yet."""

    async def registered(self, player: str) -> Registered | None:
        """Return whom `player` stands for, or None if nobody, or nobody any more."""

    async def find(self, subject: str) -> str | None:
        """Return the player id of `subject`, or None if there is none."""

    async def remove(self, player: str) -> None:
        """Forget whom `player` stands for: the same subject gets another player id from now on."""

    async def revoke(self, account: str) -> Revocation:
        """Revoke the tokens of `account` that have been issued so far."""

    async def revoked_ms(self, account: str) -> int:
        """Return when the tokens of `account` were last revoked, in ms since the epoch; -1 if never."""

    async def revocations(self, since_ms: int) -> Sequence[Revocation]:
        """Return those made at `since_ms` or later; they are kept as long as a token may be accepted."""

    async def suspend(self, suspension: Suspension) -> None:
        """Keep an account out, until another time than before if it was already."""

    async def restore(self, account: str) -> bool:
        """Let an account in again; return whether it was kept out."""

    async def suspended_ms(self, account: str) -> int:
        """Return until when an account is kept out, in ms since the epoch; -1 if it is not."""

    async def suspensions(self) -> Sequence[Suspension]:
        """Return those that are not over."""


@lru_cache(maxsize=4096)
def account_of(subject: str) -> str:
    """Return the digest that stands for a subject where it must not be kept: 32 hex digits."""
    return hashlib.sha256(f"promontory account\0{subject}".encode()).hexdigest()[:32]


def new_player_id() -> str:
    """Return a player id that nobody has: `pl-` and 26 letters and digits."""
    return f"pl-{base64.b32encode(secrets.token_bytes(16)).decode().rstrip('=').lower()}"


class Players:
    """Tells the callers behind tokens, with what the directory said a few seconds ago.

    `opaque` gives every subject a player id of its own. `token_seconds` is how long a token can be accepted at most.
    """

    def __init__(self, directory: Directory, *, opaque: bool, token_seconds: float) -> None:
        self._directory, self._opaque, self._token_ms = directory, opaque, int(1000 * token_seconds)
        self._revoked: dict[str, int] = {}
        self._suspended: dict[str, int] = {}
        self._known: dict[str, tuple[str, int]] = {}
        """Player ids by account, and when they were read, in ms since the epoch."""
        self._read_to_ms = 0
        self.on_refused: Callable[[Collection[str], Refusal], None] = lambda *_: None
        """Told the accounts that are refused from now on, and how."""

    async def identify(self, bearer: Bearer) -> Caller:
        """Return the caller with the player id for a subject.

        Raises the refusals `TOKEN_REVOKED` and `PLAYER_SUSPENDED`.
        """
        who = bearer.caller
        if who.service:
            return who
        account = account_of(who.subject)
        self._require_served(bearer, account)
        player = who.subject
        if self._opaque:
            player = await self._player(bearer, account)
            self._require_served(bearer, account)  # `on_refused` told only of streams that were open meanwhile
        return msgspec.structs.replace(who, subject=player, account=account)

    def _require_served(self, bearer: Bearer, account: str) -> None:
        if bearer.issued_ms <= self._revoked.get(account, -1):
            raise token_revoked()
        until_ms = self._suspended.get(account, 0)
        if clock.now_ms() < until_ms:
            raise player_suspended(until_ms)

    async def _player(self, bearer: Bearer, account: str) -> str:
        """Return the player id, as it was last read if that was after the token was issued.

        Whoever was forgotten in between is somebody new by the new token, and the revocation may not be known here yet.
        """
        found, read_ms = self._known.get(account, ("", 0))
        if not found or read_ms < bearer.issued_ms + CLOCKS_MS:
            read_ms, found = clock.now_ms(), await self._registered(bearer, account)
            if account not in self._known and len(self._known) >= CACHED:
                del self._known[next(iter(self._known))]
            self._known[account] = found, read_ms
        return found

    async def _registered(self, bearer: Bearer, account: str) -> str:
        """Return the player id in the directory, new if need be, unless the token was revoked a moment ago.

        An old token must not bring back what was removed after it was revoked; the second look is for what happens
        between the first one and the registration.
        """
        await self._require_unrevoked(bearer, account)
        found = await self._directory.player_of(bearer.caller.subject)
        try:
            await self._require_unrevoked(bearer, account)
        except Refusal:
            await self._directory.remove(found)
            raise
        return found

    async def _require_unrevoked(self, bearer: Bearer, account: str) -> None:
        if bearer.issued_ms <= await self._directory.revoked_ms(account):
            raise token_revoked()

    async def refresh(self) -> None:
        """Read who was revoked or suspended since the last time, and tell it. Raises `EventLogUnavailable`."""
        await self._read_revocations()
        suspended = {each.account: each.until_ms for each in await self._directory.suspensions()}
        fresh, self._suspended = suspended.items() - self._suspended.items(), suspended
        for account, until_ms in fresh:
            self.on_refused([account], player_suspended(until_ms))

    async def _read_revocations(self) -> None:
        found = await self._directory.revocations(max(0, self._read_to_ms - OVERLAP_MS))
        fresh = {
            each.account: each.revoked_ms for each in found if each.revoked_ms > self._revoked.get(each.account, -1)
        }
        self._read_to_ms = max([self._read_to_ms, *fresh.values()])
        oldest_ms = clock.now_ms() - self._token_ms - OVERLAP_MS
        self._revoked = {account: ms for account, ms in {**self._revoked, **fresh}.items() if ms > oldest_ms}
        for account in fresh:
            self._known.pop(account, None)
        if fresh:
            self.on_refused(fresh.keys(), token_revoked())

    async def run(self) -> None:
        """Refresh every few seconds; while the directory does not answer, what is known stays."""
        while True:
            await asyncio.sleep(REFRESH_SECONDS)
            try:
                await self.refresh()
            except EventLogUnavailable as error:
                log.warning("revocations_not_read", error=str(error))


def token_revoked() -> Refusal:
    """Return the refusal of a token that was issued before its bearer was forgotten."""
    return Refusal(
        Kind.UNAUTHENTICATED, "TOKEN_REVOKED", "the token was revoked: its player was forgotten; sign in anew"
    )


def player_suspended(until_ms: int) -> Refusal:
    """Return the refusal of a player who is kept out until `until_ms`, in ms since the epoch."""
    until = clock.from_ms(until_ms).isoformat(timespec="seconds")
    text = f"the player is suspended until {until}"
    return Refusal(Kind.NOT_ALLOWED, "PLAYER_SUSPENDED", text, metadata={"untilTime": until})
