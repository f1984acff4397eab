"""Examining the server that holds the logs: its settings, its functions, its clock, what it owes; and the archive."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from promontory.archive.opening import open_archive
from promontory.eventlog.functions import LibraryMissing, event_log_library, verify_library
from promontory.eventlog.port import ArchiveUnavailable, game_buckets
from promontory.eventlog.redis_cluster import address_of, primaries
from promontory.eventlog.redis_owing import RedisOwings
from promontory.eventlog.redis_server import ServerUnreachable, UnsafeServer, check_policy, connect, vitals
from promontory.eventlog.redis_streams import BUCKETS_KEY, RedisEventLog
from promontory.games.registry import GAMES
from promontory.games.text import counted
from promontory.local import versions
from promontory.local.doctor import SERVER, Away, Check, Deployment, Finding, Severity
from promontory.matchmaking.redis_tickets import matchmaking_library
from promontory.runtime import clock

FULL = 0.8
"""A server that uses this part of its memory is soon full, and then takes no commits."""
LATE_SECONDS = 30
SKEW_SECONDS, RISKY_SKEW_SECONDS = 5, 1


async def find_in_server(deployment: Deployment) -> Sequence[Finding]:
    """Examine how the server is set up and how it fares."""
    async with connect(deployment.redis_url) as connections:
        try:
            await check_policy(connections.commands, require_aof=deployment.require_aof)
        except ServerUnreachable as error:
            why = "without it nothing works: no command is taken, and no service starts"
            raise Away(Finding(error.problem, why, error.remedy)) from error
        except UnsafeServer as unsafe:
            why = "matches would be lost, or the services refuse to start"
            mend = "deploy/redis/event-log.conf is a configuration that may hold the log; restart the server with it"
            return [Finding(problem, why, mend) for problem in unsafe.problems]
        facts = [(address_of(each), await each.info("everything")) for each in await primaries(connections.commands)]
    limited = not deployment.is_embedded
    return [each for address, found in facts for each in _of_server(address or "the server", found, is_limited=limited)]


def _of_server(name: str, facts: Mapping[str, Any], *, is_limited: bool) -> Iterator[Finding]:
    found = vitals(facts)
    if facts.get("aof_enabled") and not found.persists:
        yield Finding(
            f"{name} failed to write its append-only file",
            "what is committed now is lost when the server ends",
            "look for space and errors on the server's disk; when it can write again, BGREWRITEAOF",
        )
    if is_limited and not found.memory_limit_bytes:
        yield Finding(
            f"{name} has no maxmemory",
            "when memory runs out, the system kills the server instead of its refusing commits",
            "set maxmemory to three quarters of what the machine or the pod has",
            Severity.RISK,
        )
    elif found.memory_bytes > FULL * (found.memory_limit_bytes or float("inf")):
        yield Finding(
            f"{name} uses {found.memory_bytes / found.memory_limit_bytes:.0%} of maxmemory",
            "when it is full it takes no commits: every match stands still",
            "raise maxmemory, have finished matches archived (PROMONTORY_ARCHIVE_URL), or spread over a cluster",
        )


async def find_in_functions(deployment: Deployment) -> Sequence[Finding]:
    """Examine whether the functions of this release are loaded."""
    missing = []
    async with connect(deployment.redis_url) as connections:
        for library in (event_log_library(), matchmaking_library()):
            try:
                await verify_library(connections.commands, library)
            except LibraryMissing:
                missing.append(library.title)
    why = "processes of this release cannot start, or append nothing"
    mend = "run `promontory load-functions` of this release against the server"
    return [Finding(f"the function library {title} is not loaded", why, mend) for title in missing]


async def find_in_buckets(deployment: Deployment) -> Sequence[Finding]:
    """Examine whether the number of buckets fits the matches that are there."""
    async with connect(deployment.redis_url) as connections:
        noted = int(await connections.commands.get(BUCKETS_KEY) or 0)
    if noted in (0, deployment.buckets):
        return []
    what = f"matches are spread over {noted} buckets, the setting says {deployment.buckets}"
    mend = f"set PROMONTORY_BUCKETS={noted} for every process, or more for all of them at once"
    return [Finding(what, "in buckets that a relay does not follow, bots and clocks stand still", mend)]


async def find_in_server_clock(deployment: Deployment) -> Sequence[Finding]:
    """Examine whether the server's clock and this machine's agree."""
    async with connect(deployment.redis_url) as connections:
        found = [await each.time() for each in await primaries(connections.commands)]
    return [*skew_findings("the event log's server", *(seconds - clock.now_ms() / 1000 for seconds, _ in found))]


def skew_findings(name: str, *skews: float) -> Iterator[Finding]:
    """Yield what is wrong where the clock of `name` is ahead of this machine's by so many seconds."""
    for skew in skews:
        if abs(skew) > RISKY_SKEW_SECONDS:
            yield Finding(
                f"the clock of {name} is {abs(skew):.1f} s {'ahead of' if skew > 0 else 'behind'} this machine's",
                "with 5 s between clocks nobody's time runs out, bots stand still, matches with clocks refuse moves",
                "let one time service set the clocks of all machines (chrony, systemd-timesyncd)",
                Severity.BROKEN if abs(skew) > SKEW_SECONDS else Severity.RISK,
            )


async def find_in_obligations(deployment: Deployment) -> Sequence[Finding]:
    """Examine whether what is owed is met."""
    buckets = [bucket for game in GAMES for bucket in game_buckets(game.code, deployment.buckets)]
    async with connect(deployment.redis_url) as connections:
        log = RedisEventLog(connections.commands, blocking=connections.blocking, clock=clock.now_ms)
        owings = [each for bucket in buckets for each in await RedisOwings(log).owings(bucket)]
    late = [each for each in owings if each.due_ms < clock.now_ms() - 1000 * LATE_SECONDS]
    parked = [each for each in owings if each.attempts > deployment.max_attempts]
    return [*_late([each.name for each in late]), *_parked([each.name for each in parked])]


def _late(names: Sequence[str]) -> Iterator[Finding]:
    if names:
        yield Finding(
            f"{counted(len(names), 'obligation')} overdue for more than {LATE_SECONDS} s, as {names[0]}",
            "nobody hands them out: house bots do not move, clocks do not run out, matches are not tallied",
            "start a relay (`promontory relay`) with PROMONTORY_RULES_TARGETS of every game, and read its log",
        )


def _parked(names: Sequence[str]) -> Iterator[Finding]:
    if names:
        yield Finding(
            f"{counted(len(names), 'obligation')} parked, as {names[0]}",
            "each was tried too often: workers fail at it, or there are none",
            "see `promontory admin obligations --parked` and the workers' logs; then release them, or drop them",
        )


async def find_in_open_matches(deployment: Deployment) -> Sequence[Finding]:
    """Examine whether the rules and the data of open matches are here."""
    rulesets = versions.installed(deployment.data_files, {})
    found = await versions.survey(deployment.redis_url, rulesets, progress=lambda _: None)
    return [
        Finding(
            f"{counted(each.matches, 'open match', 'open matches')} of {each.rules_version} with the data"
            f" {each.data_hash[:12]} cannot be served by this release, as {each.example}",
            "they wait, and their players with them",
            "bring that version, or the data file in PROMONTORY_DATA_FILES, back (docs/rules-versions.md)",
        )
        for each in found
        if not each.served
    ]


async def find_in_archive(deployment: Deployment) -> Sequence[Finding]:
    """Examine whether the archive can be read, and written if it is a directory of this machine."""
    if not deployment.archive_url:
        what, why = "there is no archive", "finished matches stay in the server's memory until it is full"
        return [Finding(what, why, "set PROMONTORY_ARCHIVE_URL (docs/archive.md)", Severity.RISK)]
    mend = "mount the volume, or give the processes access to it; PROMONTORY_ARCHIVE_URL must be theirs"
    try:
        await open_archive(deployment.archive_url, is_new=False).get("tc-000-doctor")
    except ArchiveUnavailable as error:
        return [Finding(str(error), "finished matches cannot be moved there, and those there not be shown", mend)]
    parts = urlsplit(deployment.archive_url)
    path = Path(unquote(parts.path))
    if parts.scheme == "file" and not os.access(path, os.W_OK | os.X_OK):
        return [Finding(f"{path} cannot be written", "finished matches stay in the server's memory", mend)]
    return []


def _on_server(_: Deployment) -> str:
    return SERVER


CHECKS = (
    Check(SERVER, find_in_server),
    Check("functions", find_in_functions, _on_server),
    Check("buckets", find_in_buckets, _on_server),
    Check("server's clock", find_in_server_clock, _on_server),
    Check("obligations", find_in_obligations, _on_server),
    Check("open matches", find_in_open_matches, _on_server),
    Check("archive", find_in_archive),
)
