"""What must hold of the whole platform when the players have gone: each oracle returns what is wrong, in words."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from promontory.client.asynchronous import AsyncClient
from promontory.eventlog.redis_cluster import primaries
from promontory.eventlog.redis_server import connect
from promontory.games.registry import GAMES, entry_of_match
from promontory.local.platform import Platform
from promontory.local.ratings import rebuild
from promontory.rules.audit import audit, shipped_rulesets
from tests.support.players import Journal, client_of
from tests.support.waiting import eventually

SETTLING_SECONDS = 90.0


class Kept(msgspec.Struct, frozen=True):
    """What the server holds: matches by id, tickets by id, the names of obligations that are due or parked."""

    matches: dict[str, dict[str, str]]
    tickets: dict[str, dict[str, str]]
    due: list[str]
    parked: list[str]

    @property
    def open_matches(self) -> list[str]:
        """The ids of the matches that are not over."""
        return [match_id for match_id, head in self.matches.items() if head["s"] != "closed"]


async def kept(redis_url: str) -> Kept:
    """Return what the server holds now."""
    connections = connect(redis_url)
    try:
        return await _kept(connections.commands)
    finally:
        await connections.aclose()


async def settled(platform: Platform) -> Kept:
    """Wait until every match is over and nothing is due, and return what the server holds then."""

    async def attempt() -> list[Kept]:
        found = await kept(platform.redis_url)
        return [] if found.open_matches or found.due else [found]

    return (await eventually(attempt, seconds=SETTLING_SECONDS))[0]


async def faults(platform: Platform, journal: Journal, *, pools: Sequence[str]) -> Sequence[str]:
    """Return what is wrong with the platform's matches, tickets, ratings and obligations, once it has settled.

    All matches must be of rated `pools`.
    """
    found = await settled(platform)
    async with client_of(platform, "arbiter") as arbiter:
        logs = {match_id: await arbiter.export_match(game_of(match_id), match_id) for match_id in found.matches}
        seats = sum([await _seats(arbiter, match_id) for match_id in found.matches])
        tallied = sum([entry.rating.matches for pool in pools async for entry in arbiter.leaderboard(pool)])
    rebuilt = [await rebuild(platform.redis_url, pool) for pool in pools]
    return [
        *(fault for match_id, log in logs.items() for fault in journal.faults(match_id, log)),
        *(f"audit: {match_id}" for match_id, log in logs.items() if not audit(log, shipped_rulesets()).ok),
        *(f"unknown match acknowledged: {each}" for each in journal.acknowledged if each.match_id not in logs),
        *([] if tallied == seats else [f"{tallied} results of {seats} on the leaderboards"]),
        *(f"ratings differ from the logs: {each.first_difference}" for each in rebuilt if not each.equal),
        *ticket_faults(found, set(logs)),
        *(f"parked: {each}" for each in found.parked),
    ]


def game_of(match_id: str) -> str:
    """Return the name of the game that `match_id` is a match of."""
    return entry_of_match(match_id).name


async def _seats(arbiter: AsyncClient, match_id: str) -> int:
    shown = await arbiter.spectate(game_of(match_id), match_id).look()
    return len(shown.match.seats)


def ticket_faults(found: Kept, matches: set[str]) -> Iterable[str]:
    """Return the tickets that got no match, one that is not there, or one whose seat another ticket has."""
    assigned = {
        name: json.loads(ticket["assignment"]) for name, ticket in found.tickets.items() if "assignment" in ticket
    }
    seats = Counter((each["match_id"], each["seat"]) for each in assigned.values())
    yield from (
        f"ticket {name} is {ticket['state']}"
        for name, ticket in found.tickets.items()
        if ticket["state"] not in {"assigned", "cancelled"}
    )
    yield from (f"ticket {name} in no match" for name, each in assigned.items() if each["match_id"] not in matches)
    yield from (f"seat {seat} given {times} times" for seat, times in seats.items() if times > 1)


async def _kept(redis: Any) -> Kept:
    due = [await redis.zrange(key, 0, -1) for key in await _keys(redis, "{*}:due") if not key.startswith(b"{mm}")]
    parks = [await redis.xrange(key) for key in await _keys(redis, "{*}:park")]
    games = tuple(f"{{{entry.code}:".encode() for entry in GAMES)
    heads = [key for key in await _keys(redis, "{*}:m:*:head") if key.startswith(games)]
    return Kept(
        matches={_name(key, -2): await _hash(redis, key) for key in heads},
        tickets={_name(key, -1): await _hash(redis, key) for key in await _keys(redis, "{mm}:t:*")},
        due=[name.decode() for names in due for name in names],
        parked=[fields[b"o"].decode() for entries in parks for _, fields in entries],
    )


def _name(key: bytes, part: int) -> str:
    return key.decode().split(":")[part]


async def _keys(redis: Any, pattern: str) -> Sequence[bytes]:
    return [key for server in await primaries(redis) async for key in server.scan_iter(pattern, count=1000)]


async def _hash(redis: Any, key: bytes) -> dict[str, str]:
    fields: dict[bytes, bytes] = await redis.hgetall(key)
    return {name.decode(errors="replace"): value.decode(errors="replace") for name, value in fields.items()}
