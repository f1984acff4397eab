"""The directory of players in the server that holds the event log."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import msgspec

from promontory.eventlog.redis_calls import Caller
from promontory.eventlog.redis_server import connect
from promontory.runtime.players import Players, Registered, Revocation, Suspension, new_player_id
from promontory.runtime.settings import OPAQUE, ServerSettings

ATTEMPTS, DEADLINE_SECONDS = 3, 2.0
IDS, SUBJECTS, REVOKED, SUSPENDED = (f"{{pl}}:{part}" for part in ("ids", "subjects", "revoked", "suspended"))
"""Player ids by subject, and who was registered by player id (hashes).

Accounts by when they were revoked, and by when their suspensions end (sorted sets).
"""

_decode = msgspec.json.Decoder(Registered).decode


class RedisDirectory:
    """The port `Directory`; revocations are kept for `token_seconds`, as long as a token may be accepted."""

    def __init__(self, caller: Caller, *, token_seconds: float) -> None:
        self._caller, self._token_ms = caller, int(1000 * token_seconds)

    async def player_of(self, subject: str) -> str:
        """Return the player id of `subject`; see `Directory.player_of`."""
        found = await self.find(subject)
        if found is None:
            _, row = await self._caller.pipeline(("HSETNX", IDS, subject, new_player_id()), ("HGET", IDS, subject))
            found = row.decode()
        # Also for one that was there: whoever gave it may have ended before this.
        row = msgspec.json.encode(Registered(subject, await self._now_ms()))
        await self._caller.command("HSETNX", SUBJECTS, found, row)
        return found

    async def registered(self, player: str) -> Registered | None:
        """Return whom `player` stands for, or None."""
        row = await self._caller.command("HGET", SUBJECTS, player)
        return _decode(row) if row else None

    async def find(self, subject: str) -> str | None:
        """Return the player id of `subject`, or None."""
        row: bytes | None = await self._caller.command("HGET", IDS, subject)
        return row.decode() if row else None

    async def remove(self, player: str) -> None:
        """Forget whom `player` stands for."""
        found = await self.registered(player)
        if found and await self.find(found.subject) == player:
            await self._caller.command("HDEL", IDS, found.subject)
        await self._caller.command("HDEL", SUBJECTS, player)

    async def revoke(self, account: str) -> Revocation:
        """Revoke the tokens of `account` that have been issued so far."""
        now_ms = await self._now_ms()
        await self._caller.pipeline(
            ("ZADD", REVOKED, "GT", now_ms, account),
            ("ZREMRANGEBYSCORE", REVOKED, "-inf", now_ms - self._token_ms),
        )
        return Revocation(account, now_ms)

    async def revoked_ms(self, account: str) -> int:
        """Return when the tokens of `account` were last revoked; -1 if never."""
        score = await self._caller.command("ZSCORE", REVOKED, account)
        return -1 if score is None else int(float(score))

    async def revocations(self, since_ms: int) -> Sequence[Revocation]:
        """Return those made at `since_ms` or later."""
        rows = await self._caller.command("ZRANGEBYSCORE", REVOKED, since_ms, "+inf", "WITHSCORES")
        return [Revocation(account.decode(), int(float(ms))) for account, ms in zip(rows[::2], rows[1::2], strict=True)]

    async def suspend(self, suspension: Suspension) -> None:
        """Keep an account out."""
        await self._caller.pipeline(
            ("ZADD", SUSPENDED, suspension.until_ms, suspension.account),
            ("ZREMRANGEBYSCORE", SUSPENDED, "-inf", await self._now_ms()),
        )

    async def restore(self, account: str) -> bool:
        """Let an account in again; return whether it was kept out."""
        return bool(await self._caller.command("ZREM", SUSPENDED, account))

    async def suspended_ms(self, account: str) -> int:
        """Return until when an account is kept out; -1 if it is not."""
        score = await self._caller.command("ZSCORE", SUSPENDED, account)
        return int(float(score)) if score and float(score) > await self._now_ms() else -1

    async def suspensions(self) -> Sequence[Suspension]:
        """Return those that are not over."""
        rows = await self._caller.command("ZRANGEBYSCORE", SUSPENDED, await self._now_ms(), "+inf", "WITHSCORES")
        return [Suspension(account.decode(), int(float(ms))) for account, ms in zip(rows[::2], rows[1::2], strict=True)]

    async def _now_ms(self) -> int:
        seconds, microseconds = await self._caller.command("TIME")
        return int(seconds) * 1000 + int(microseconds) // 1000


@asynccontextmanager
async def open_players(settings: ServerSettings) -> AsyncIterator[Players]:
    """Give what tells the callers behind tokens, as `settings` say, knowing all revocations so far.

    Raises `EventLogUnavailable` if the server does not answer.
    """
    token_seconds = settings.max_token_age_seconds
    async with connect(settings.redis_url) as connections:
        caller = Caller(connections.commands, attempts=ATTEMPTS, deadline_seconds=DEADLINE_SECONDS)
        directory = RedisDirectory(caller, token_seconds=token_seconds)
        players = Players(directory, opaque=settings.player_ids == OPAQUE, token_seconds=token_seconds)
        await players.refresh()
        yield players
