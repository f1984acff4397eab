"""The doctor finds what is wrong with a platform that runs, thing by thing, and nothing where nothing is."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from redis.asyncio import Redis

from promontory.api.match.v1 import events_pb2, match_pb2
from promontory.client.places import DATA_DIRECTORY
from promontory.codec.stored import canonical
from promontory.eventlog.functions import event_log_library, load_library
from promontory.eventlog.port import START, Proposed, StoredEvent
from promontory.eventlog.redis_streams import BUCKETS_KEY
from promontory.games.fairness import SCHEME
from promontory.local.doctor import SERVER, Deployment, Severity, examine, text
from promontory.local.doctor_commands import deployment_of
from promontory.local.doctor_log import CHECKS as LOG_CHECKS
from promontory.local.doctor_log import skew_findings
from promontory.local.doctor_services import CHECKS as SERVICE_CHECKS
from promontory.local.keys import KeyRing
from promontory.local.log import operators_log
from promontory.local.platform import Platform
from promontory.local.up import write_connection
from promontory.runtime.clock import now_ms
from tests.e2e.test_bot_command import promontory

CHECKS = {check.name: check for check in (*LOG_CHECKS, *SERVICE_CHECKS)}
Break = Callable[[Platform, Redis], Awaitable[Callable[[], Awaitable[object]]]]


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Every process, with an archive."""
    home = tmp_path_factory.mktemp("doctor") / DATA_DIRECTORY
    (home / "archive").mkdir(parents=True)
    with Platform(home, settings={"PROMONTORY_ARCHIVE_URL": f"file://{home}/archive"}) as running:
        write_connection(running)
        yield running


@pytest.fixture
async def redis(platform: Platform) -> AsyncIterator[Redis]:
    """A client of the platform's server, which may use as much memory as it will ever need."""
    async with Redis.from_url(platform.redis_url) as client:
        await client.config_set("maxmemory", "4gb")
        yield client


def deployment(platform: Platform) -> Deployment:
    return deployment_of(platform.directory, metrics=(), redis_url=platform.redis_url)


async def found(check: str, told: Deployment) -> Sequence[str]:
    (examined,) = await examine(told, [CHECKS[check]])
    return [finding.what for finding in examined.findings]


@pytest.mark.timeout(120)
async def test_nothing_is_found_where_all_is_well(platform: Platform, redis: Redis) -> None:
    """Exit code 0, and a line for each check; the server that `promontory up` starts needs no limit of memory."""
    await redis.config_set("maxmemory", 0)
    code, out, err = await promontory("admin", "doctor", "--data-dir", str(platform.directory))
    assert (code, err) == (0, "")
    assert out.splitlines()[-1] == f"all is well: {len(CHECKS)} checks"
    (what,) = await found(SERVER, replace(deployment(platform), is_embedded=False))
    assert "has no maxmemory" in what


async def _evicting(_: Platform, redis: Redis) -> Any:
    await redis.config_set("maxmemory-policy", "allkeys-lru")
    return lambda: redis.config_set("maxmemory-policy", "noeviction")


async def _forgetful(_: Platform, redis: Redis) -> Any:
    await redis.config_set("appendonly", "no")
    return lambda: redis.config_set("appendonly", "yes")


async def _full(_: Platform, redis: Redis) -> Any:
    await redis.config_set("maxmemory", int((await redis.info("memory"))["used_memory"] * 1.1))
    return lambda: redis.config_set("maxmemory", "4gb")


async def _without_functions(_: Platform, redis: Redis) -> Any:
    await redis.execute_command("FUNCTION", "DELETE", f"promontory_{event_log_library().title}")
    return lambda: load_library(redis, event_log_library())


async def _of_more_buckets(_: Platform, redis: Redis) -> Any:
    before = await redis.get(BUCKETS_KEY)
    await redis.set(BUCKETS_KEY, 128)
    return lambda: redis.set(BUCKETS_KEY, before)


async def _parking(_: Platform, redis: Redis) -> Any:
    await redis.zadd("{pc:03f}:due", {"tally|pc-03f-a": now_ms() + 600_000})
    await redis.hset("{pc:03f}:tries", "tally|pc-03f-a", "6")
    return lambda: redis.delete("{pc:03f}:due", "{pc:03f}:tries")


async def _of_old_rules(platform: Platform, redis: Redis) -> Any:
    setup = match_pb2.MatchSetup(seats=[match_pb2.SeatSetup(player_id=each) for each in ("ann", "bob")])
    created = events_pb2.MatchCreated(
        match_id="pc-03f-old", game="pacific", rules_version="pacific/0", setup=setup, scheme=SCHEME
    )
    stored = StoredEvent(created.DESCRIPTOR.full_name, canonical(created))
    async with operators_log(platform.redis_url) as log:
        await log.append("pc-03f-old", Proposed((stored,), "create", "x"), expected=START)
    return lambda: redis.delete(*(f"{{pc:03f}}:m:pc-03f-old:{part}" for part in ("log", "head", "idem")))


@pytest.mark.parametrize(
    ("broken", "check", "what"),
    [
        (_evicting, "event log's server", "maxmemory-policy is 'allkeys-lru'"),
        (_forgetful, "event log's server", "appendonly is 'no'"),
        (_full, "event log's server", "of maxmemory"),
        (_without_functions, "functions", "the function library eventlog_"),
        (_of_more_buckets, "buckets", "128 buckets"),
        (_parking, "obligations", "1 obligation parked"),
        (_of_old_rules, "open matches", "1 open match of pacific/0"),
    ],
)
async def test_what_is_wrong_with_the_server_is_found(
    platform: Platform, redis: Redis, broken: Break, check: str, what: str
) -> None:
    """And no more than that; mended, nothing is found any more."""
    mend = await broken(platform, redis)
    try:
        (finding,) = await found(check, deployment(platform))
    finally:
        await mend()
    assert what in finding
    assert await found(check, deployment(platform)) == []


async def test_what_no_relay_hands_out_is_found(platform: Platform, redis: Redis) -> None:
    """In a bucket that the relay does not follow, because it was told of fewer."""
    await redis.zadd("{pc:07f}:due", {"tally|pc-07f-a": now_ms() - 60_000})
    what = await found("obligations", replace(deployment(platform), buckets=128))
    await redis.delete("{pc:07f}:due")
    assert what == ["1 obligation overdue for more than 30 s, as tally|pc-07f-a"]


def _elsewhere(told: Deployment) -> Deployment:
    return replace(told, redis_url="redis://127.0.0.1:1/0", broker_url="redis://127.0.0.1:1/0")


def _without_pacific(told: Deployment) -> Deployment:
    return replace(told, rules={game: told.rules[game] for game in told.rules if game != "pacific"})


def _unreachable(told: Deployment) -> Deployment:
    return replace(told, services={**told.services, "scoring": "127.0.0.1:1"}, metrics={"relay": "127.0.0.1:1"})


@pytest.mark.parametrize(
    ("otherwise", "check", "what"),
    [
        (_elsewhere, "broker", "the broker does not answer"),
        (_without_pacific, "pools", "pools of pacific lead to no rules service"),
        (_unreachable, "services", "scoring: 127.0.0.1:1 does not answer"),
        (_unreachable, "processes", "relay shows no metrics"),
        (lambda told: replace(told, archive_url=""), "archive", "there is no archive"),
        (lambda told: replace(told, archive_url="file:///nowhere/archive"), "archive", "/nowhere/archive"),
        (lambda told: replace(told, metrics={}), "processes", "no process's metrics are known"),
    ],
)
async def test_what_is_not_where_it_should_be_is_found(
    platform: Platform, otherwise: Callable[[Deployment], Deployment], check: str, what: str
) -> None:
    assert what in (await found(check, otherwise(deployment(platform))))[0]


async def test_what_needs_a_server_that_is_away_is_not_examined(platform: Platform) -> None:
    """The cause is one finding, and its consequences none; what is apart from it is examined all the same."""
    told = replace(deployment(platform), redis_url="redis://127.0.0.1:1/0")
    first, *rest = await examine(told, tuple(CHECKS.values()))
    assert [finding.what[:44] for finding in first.findings] == ["the event log's server does not answer (Erro"]
    assert [each.findings for each in rest] == [()] * len(rest)
    assert {each.check for each in rest if not each.not_examined} == {"archive"}
    assert "1 finding; 10 checks not made" in text([first, *rest])


async def test_keys_that_do_not_fit_are_found(platform: Platform, tmp_path: Path) -> None:
    """[event_log 5.1] A private key without its public one, and public keys that the services do not have."""
    other = KeyRing(tmp_path)
    other.create_missing()
    told = replace(deployment(platform), key_files=[other.service_key_file])
    assert ["do not verify: unknown key" in what for what in await found("keys", told)] == [True]
    told = replace(told, service_keys_file=other.service_keys_file)
    (what,) = await found("keys", told)
    assert what.startswith("matchmaking, scoring, rules.")


async def test_processes_that_are_gone_are_found(platform: Platform) -> None:
    """[event_log 2.9] A platform whose relay is dead looks well to players, for a while."""
    told = deployment(platform)
    assert await found("processes", told) == []
    rest = {name: address for name, address in told.metrics.items() if name not in ("relay", "worker-0")}
    missing = await found("processes", replace(told, metrics=rest))
    assert [what.split()[3] for what in missing] == ["relay", "worker"]


async def test_the_exit_code_says_how_bad_it_is(platform: Platform, redis: Redis) -> None:
    """1 for what is broken, with why it matters and how to mend it."""
    before = await redis.get(BUCKETS_KEY)
    await redis.set(BUCKETS_KEY, 128)
    code, out, _ = await promontory("admin", "doctor", "--json", "--data-dir", str(platform.directory))
    await redis.set(BUCKETS_KEY, before)
    (finding,) = [finding for each in json.loads(out) for finding in each["findings"]]
    assert (code, finding["severity"]) == (1, "broken")
    assert all(finding[part] for part in ("what", "why", "mend"))


@pytest.mark.parametrize(("skew", "severity"), [(0.9, None), (-2.0, Severity.RISK), (6.0, Severity.BROKEN)])
def test_clocks_that_differ_are_found(skew: float, severity: Severity | None) -> None:
    """[CLOCK_SKEWED] At 5 s nothing is handed out any more."""
    assert [finding.severity for finding in skew_findings("it", skew)] == ([severity] if severity else [])
