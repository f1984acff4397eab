"""Examining a deployment: what is wrong with it, why that matters, and how to mend it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import msgspec

from promontory.games.text import counted

CHECK_SECONDS = 30
"""How long one check may take."""


class Severity(StrEnum):
    """How bad a finding is."""

    BROKEN = "broken"
    RISK = "risk"


class Finding(msgspec.Struct, frozen=True):
    """Something that is not as it should be: what, why that matters, and how to mend it."""

    what: str
    why: str
    mend: str
    severity: Severity = Severity.BROKEN


class Deployment(msgspec.Struct, frozen=True, kw_only=True):
    """Where a deployment is and what it was told, as its processes were.

    `rules` are the rules services' addresses by game, `services` those of the others by name; `metrics` those of every
    process known. `key_files` are the private keys of services, `data_files` the setting of that name. `is_embedded`
    tells of the server that `promontory up` starts, which has the machine to itself. What nobody told is empty or None.
    """

    redis_url: str
    require_aof: bool
    broker_url: str
    buckets: int
    archive_url: str
    rules: Mapping[str, str]
    services: Mapping[str, str]
    metrics: Mapping[str, str]
    key_files: Sequence[Path]
    service_keys_file: Path | None
    player_key_file: Path | None
    player_keys_file: Path | None
    data_files: str = ""
    max_attempts: int = 5
    is_embedded: bool = False


SERVER = "event log's server"
"""The check of what most others need."""


class Check(msgspec.Struct, frozen=True):
    """One thing to examine, called `name`; `needs` names the check of what it cannot be examined without."""

    name: str
    find: Callable[[Deployment], Awaitable[Sequence[Finding]]]
    needs: Callable[[Deployment], str] = lambda _: ""


class Away(Exception):
    """What a check examines is not there at all; whatever needs it cannot be examined either."""

    def __init__(self, finding: Finding) -> None:
        super().__init__(finding.what)
        self.finding = finding


class Examined(msgspec.Struct, frozen=True):
    """What a check found, nothing if all is well, or what is away that it needs: then it was `not_examined`."""

    check: str
    findings: tuple[Finding, ...]
    not_examined: str = ""


async def examine(deployment: Deployment, checks: Sequence[Check]) -> list[Examined]:
    """Return what each of `checks` finds; one that fails or takes too long is a finding itself."""
    examined, away = list[Examined](), set[str]()
    for check in checks:
        if (needed := check.needs(deployment)) in away:
            examined.append(Examined(check.name, (), needed))
            continue
        try:
            examined.append(Examined(check.name, tuple(await _found(check, deployment))))
        except Away as error:
            away.add(check.name)
            examined.append(Examined(check.name, (error.finding,)))
    return examined


async def _found(check: Check, deployment: Deployment) -> Sequence[Finding]:
    try:
        async with asyncio.timeout(CHECK_SECONDS):
            return await check.find(deployment)
    except Away:
        raise
    except Exception as error:  # noqa: BLE001 - whatever keeps a check from its end is what there is to tell
        what = str(error) or type(error).__name__
        mend = "mend what the other checks found first; if nothing is left, this is a fault of the check: report it"
        return [Finding(f"it could not be examined: {what}", "nobody knows whether it works", mend)]


def exit_code(examined: Sequence[Examined]) -> int:
    """Return 0 if all is well, 1 if anything is broken, 2 if something is at risk."""
    found = {finding.severity for each in examined for finding in each.findings}
    return 1 if Severity.BROKEN in found else 2 if found else 0


def text(examined: Sequence[Examined]) -> str:
    """Return what was found as people read it."""
    lines = [line for each in examined for line in _lines(each)]
    count = sum(len(each.findings) for each in examined)
    end = f"{counted(count, 'finding')}" if count else f"all is well: {counted(len(examined), 'check')}"
    waiting = sum(1 for each in examined if each.not_examined)
    rest = f"; {counted(waiting, 'check')} not made: mend this first, and examine again" if waiting else ""
    return "\n".join([*lines, "", end + rest])


def _lines(examined: Examined) -> list[str]:
    if examined.not_examined:
        return [f"?       {examined.check}: not examined, which needs the {examined.not_examined}"]
    if not examined.findings:
        return [f"ok      {examined.check}"]
    lines = []
    for finding in examined.findings:
        lines += [f"{finding.severity.upper():6}  {examined.check}: {finding.what}"]
        lines += [f"        why   {finding.why}", f"        mend  {finding.mend}"]
    return lines
