"""Lists of matches in the server that `redis_tickets` uses too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Sequence
from typing import Any

import msgspec

from promontory.matchmaking.listing import Listed, Start, finished_by, live_of_player, matches_of
from promontory.matchmaking.redis_records import read
from promontory.matchmaking.redis_tickets import Server, key, listing

GONE = key("gone", "players")
"""When the lists of players were dropped (hash)."""

SCAN_PAGE = 500
_KINDS = {"live": "l", "made": "m", "ended": "f"}
_LISTS = {letter: kind for kind, letter in _KINDS.items()}
_decode = msgspec.json.Decoder(Listed).decode


class RedisLists:
    """The port `Lists`."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def record(self, match: Listed) -> bool:
        """Put a match into the lists where it belongs; see `Lists.record`."""
        keys, arguments = listing(match, without=await self._gone(match))
        return bool(await self._server.function("list_match", keys, *arguments))

    async def restore(self, match: Listed) -> bool:
        """Do so whatever stands there; see `Lists.restore`."""
        keys, arguments = listing(match, overwrites=True, without=await self._gone(match))
        return bool(await self._server.function("list_match", keys, *arguments))

    async def remove(self, match: Listed) -> None:
        """Take a match from all lists it may be in."""
        keys, _ = listing(match)
        await self._server.function("unlist_match", keys, match.match_id, len(match.live_lists))

    async def entries(
        self, names: Sequence[str], *, start: Start | None, limit: int
    ) -> Sequence[tuple[int, Listed | None]]:
        """Return entries of the lists called `names`, the latest first; see `Lists.entries`."""
        first, skipped = (start.ms, start.skipped) if start else ("+inf", 0)
        span = ("BYSCORE", "REV", "LIMIT", 0, skipped + limit, "WITHSCORES")
        pages = await self._server.pipeline(*(("ZRANGE", key_of(name), first, "-inf", *span) for name in names))
        found = [
            (int(float(score)), member, name)
            for name, page in zip(names, pages, strict=True)
            for member, score in zip(page[::2], page[1::2], strict=True)
        ]
        found.sort(reverse=True)
        chosen = found[skipped : skipped + limit]
        rows = await self._server.pipeline(*(_row_of(name, member) for _, member, name in chosen)) if chosen else []
        return [(ms, read(_decode, row)) for (ms, _, _), row in zip(chosen, rows, strict=True)]

    async def count_open(self, player: str) -> int:
        """Return how many of the player's matches are not closed."""
        names = matches_of(player), finished_by(player)
        made, closed = await self._server.pipeline(*(("ZCARD", key_of(name)) for name in names))
        return int(made) - int(closed)

    async def members(self) -> AsyncIterator[tuple[str, str]]:
        """Yield the name of every list with every match in it; see `Lists.members`."""
        async for keys in self._server.caller.keys(key("[lmf]", "*"), page=SCAN_PAGE):
            for found in keys:
                name = _name_of(found.decode())
                for member in await self._server.command("ZRANGE", found, 0, -1):
                    yield name, member.decode()

    async def strike(self, name: str, match_id: str) -> None:
        """Remove a match from the list called `name`; see `Lists.strike`."""
        kind, _, player = name.partition(":")
        row = ("DEL", key("k", match_id)) if kind == "live" else ("HDEL", key("e", player), match_id)
        await self._server.pipeline(("ZREM", key_of(name), match_id), row)

    async def drop(self, player: str, *, before_ms: int) -> None:
        """Remove the player's lists; see `Lists.drop`."""
        await self._server.command("HSET", GONE, player, before_ms)
        own = [key_of(name) for name in (matches_of(player), finished_by(player), live_of_player(player))]
        await self._server.command("DEL", *own, key("e", player))

    async def _gone(self, match: Listed) -> Collection[str]:
        """Return the players of `match` whose lists were dropped after it was made."""
        if not match.keepers:
            return ()
        dropped = await self._server.command("HMGET", GONE, *match.keepers)
        pairs = zip(match.keepers, dropped, strict=True)
        return [player for player, before_ms in pairs if before_ms and match.created_ms <= int(before_ms)]

    async def find(self, player: str, match_id: str) -> Listed | None:
        """Return one of the player's matches, or None."""
        row = await self._server.command("HGET", key("e", player), match_id)
        return read(_decode, row)


def key_of(name: str) -> str:
    """Return the key of the list called `name`."""
    kind, _, rest = name.partition(":")
    return key(_KINDS[kind], rest)


def _name_of(found: str) -> str:
    _, kind, rest = found.split(":", 2)
    return f"{_LISTS[kind]}:{rest}"


def _row_of(name: str, member: bytes) -> tuple[Any, ...]:
    kind, _, player = name.partition(":")
    if kind == "live":
        return "HGET", key("k", member.decode()), "row"
    return "HGET", key("e", player), member
