"""The relay process: builds its objects and hands out obligations until it is told to stop."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import structlog

from promontory.eventlog.port import game_buckets
from promontory.eventlog.redis_streams import RedisEventLog, Tuning, open_log
from promontory.games.registry import UnknownGameError, entry
from promontory.relay.celery_publisher import CeleryPublisher
from promontory.relay.deadlines import Deadlines
from promontory.relay.dispatcher import Dispatcher, OwnChores, Pace
from promontory.relay.fallbacks import Fallbacks
from promontory.relay.gauges import LogFunctions, LogServer, Measured, measure
from promontory.relay.rules_client import RulesClient
from promontory.relay.traced_publisher import TracedPublisher
from promontory.relay.unarchived import Unarchived
from promontory.runtime import clock, server, tracing
from promontory.runtime.broker import broker_url
from promontory.runtime.identity import Scope, ServiceIdentity, load_key
from promontory.runtime.redis_trails import RedisTrails
from promontory.runtime.settings import RelaySettings, SettingsError, targets

log = structlog.get_logger()

SCOPES = frozenset({Scope.PLAY_AUTOMATICALLY})


async def main(settings: RelaySettings) -> None:
    """Hand out the obligations of the games in `rules_targets` until SIGTERM.

    Raises `SettingsError` if no game is named there, `UnsafeServer` or `LibraryMissing` if the server at `redis_url`
    must not or cannot hold the logs.
    """
    games = _games(settings)
    tuning = Tuning(max_skew_ms=round(settings.max_clock_skew_seconds * 1000))
    async with open_log(
        settings.redis_url, clock=clock.now_ms, require_aof=settings.require_aof, tuning=tuning
    ) as event_log:
        await event_log.agree_on_buckets(settings.buckets)
        await _relay(event_log, games, settings)
    log.info("relay_stopped")


async def _relay(event_log: RedisEventLog, games: Mapping[str, str], settings: RelaySettings) -> None:
    publisher = CeleryPublisher(broker_url(settings.broker_url, settings.redis_url))
    identity = ServiceIdentity(load_key(settings.service_key_file), "relay", SCOPES)
    rules = RulesClient(games, identity)
    chores = OwnChores(Fallbacks(event_log, rules), Deadlines(rules, hold_seconds=settings.clock_hold_seconds))
    buckets = [bucket for game in games for bucket in game_buckets(entry(game).code, settings.buckets)]
    sending = TracedPublisher(publisher, RedisTrails(event_log.caller)) if tracing.is_on() else publisher
    dispatcher = Dispatcher(event_log, sending, chores, buckets=buckets, pace=_pace(settings))
    gauges = (Unarchived(event_log, buckets), LogServer(event_log.vitals), LogFunctions(event_log.start))
    await _run(dispatcher, gauges, settings)
    await publisher.aclose()
    await rules.aclose()


async def _run(dispatcher: Dispatcher, gauges: Sequence[Measured], settings: RelaySettings) -> None:
    stopping, told_to_stop = asyncio.Event(), server.stop_event()
    running = asyncio.create_task(dispatcher.run(stopping))
    measuring = asyncio.create_task(measure(gauges, stopping))
    server.announce(settings)
    stop = asyncio.create_task(told_to_stop.wait())
    await asyncio.wait((running, stop), return_when=asyncio.FIRST_COMPLETED)
    log.info("relay_draining")
    stop.cancel()
    stopping.set()
    await running
    await measuring


def _games(settings: RelaySettings) -> dict[str, str]:
    games = targets(settings.rules_targets)
    if not games:
        raise SettingsError("PROMONTORY_RULES_TARGETS names no game: write game=host:port,game=host:port")
    for game in games:
        try:
            entry(game)
        except UnknownGameError as error:
            raise SettingsError(f"PROMONTORY_RULES_TARGETS: {error}") from error
    return games


def _pace(settings: RelaySettings) -> Pace:
    return Pace(
        sweep_seconds=settings.sweep_seconds,
        lease_seconds=settings.lease_seconds,
        max_attempts=settings.max_attempts,
        max_skew_seconds=settings.max_clock_skew_seconds,
    )
