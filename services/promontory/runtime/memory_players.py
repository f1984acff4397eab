"""The directory of players in this process's memory."""

from __future__ import annotations

from collections.abc import Sequence

from promontory.runtime import clock
from promontory.runtime.players import Registered, Revocation, Suspension, new_player_id


class MemoryDirectory:
    """The port `Directory`."""

    def __init__(self) -> None:
        self._ids: dict[str, str] = {}
        self._registered: dict[str, Registered] = {}
        self._revoked: dict[str, int] = {}
        self._suspended: dict[str, int] = {}

    async def player_of(self, subject: str) -> str:
        """Return the player id of `subject`; see `Directory.player_of`."""
        player = self._ids.setdefault(subject, new_player_id())
        self._registered.setdefault(player, Registered(subject, clock.now_ms()))
        return player

    async def registered(self, player: str) -> Registered | None:
        """Return whom `player` stands for, or None."""
        return self._registered.get(player)

    async def find(self, subject: str) -> str | None:
        """Return the player id of `subject`, or None."""
        return self._ids.get(subject)

    async def remove(self, player: str) -> None:
        """Forget whom `player` stands for."""
        if found := self._registered.pop(player, None):
            self._ids.pop(found.subject, None)

    async def revoke(self, account: str) -> Revocation:
        """Revoke the tokens of `account` that have been issued so far."""
        self._revoked[account] = clock.now_ms()
        return Revocation(account, self._revoked[account])

    async def revoked_ms(self, account: str) -> int:
        """Return when the tokens of `account` were last revoked; -1 if never."""
        return self._revoked.get(account, -1)

    async def revocations(self, since_ms: int) -> Sequence[Revocation]:
        """Return those made at `since_ms` or later."""
        return [Revocation(*each) for each in self._revoked.items() if each[1] >= since_ms]

    async def suspend(self, suspension: Suspension) -> None:
        """Keep an account out."""
        self._suspended[suspension.account] = suspension.until_ms

    async def restore(self, account: str) -> bool:
        """Let an account in again; return whether it was kept out."""
        return self._suspended.pop(account, 0) > clock.now_ms()

    async def suspended_ms(self, account: str) -> int:
        """Return until when an account is kept out; -1 if it is not."""
        until_ms = self._suspended.get(account, -1)
        return until_ms if until_ms > clock.now_ms() else -1

    async def suspensions(self) -> Sequence[Suspension]:
        """Return those that are not over."""
        now_ms = clock.now_ms()
        return [Suspension(*each) for each in self._suspended.items() if each[1] > now_ms]
