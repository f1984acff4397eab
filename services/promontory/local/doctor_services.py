"""Examining the processes: do they serve, take one another's tokens, agree on the time, and are of one release."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

from promontory import __version__
from promontory.api.matchmaking.v1 import matchmaking_service_pb2 as matchmaking_pb
from promontory.api.scoring.v1 import scoring_service_pb2 as scoring_pb
from promontory.client.stubs import Stub
from promontory.codec.registry import codec
from promontory.games.registry import entry
from promontory.games.text import joined
from promontory.local.doctor import SERVER, Check, Deployment, Finding, Severity
from promontory.local.doctor_log import skew_findings
from promontory.local.scrape import Shown, shown
from promontory.relay.celery_publisher import CeleryPublisher
from promontory.relay.ports import BrokerUnavailable
from promontory.runtime import clock
from promontory.runtime.broker import broker_url
from promontory.runtime.errors import Refusal
from promontory.runtime.health import NotServing, check_service
from promontory.runtime.identity import PLAYER_SCOPES, KeyFileError, ServiceIdentity, Verifier, load_key
from promontory.runtime.peers import Peer, peer_errors

LONG_QUEUE = 500
SWEEP_SECONDS = 30
KINDS = ("matchmaking", "scoring", "relay", "worker")
"""What there must be one process of, beside a rules service for each game."""


async def find_in_health(deployment: Deployment) -> Sequence[Finding]:
    """Examine whether every service serves."""
    found = list(_unnamed(deployment))
    for name, address in _addresses(deployment).items():
        try:
            await asyncio.to_thread(check_service, address)
        except NotServing as error:
            why = "players cannot use it, and other services not do their work"
            found.append(
                Finding(f"{name}: {error}", why, f"start it, or name its address; then read the log of {name}")
            )
    return found


def _unnamed(deployment: Deployment) -> Iterator[Finding]:
    unknown = [name for name in ("matchmaking", "scoring") if name not in deployment.services]
    unknown += [] if deployment.rules else ["the rules services"]
    if unknown:
        mend = (
            "set PROMONTORY_MATCHMAKING_TARGET, PROMONTORY_SCORING_TARGET, PROMONTORY_RULES_TARGETS as admin has them"
        )
        yield Finding(f"nobody told where {joined(unknown)} is", "it was not examined", mend, Severity.RISK)


def _addresses(deployment: Deployment) -> Mapping[str, str]:
    return {**{f"rules.{game}": address for game, address in deployment.rules.items()}, **deployment.services}


async def find_in_keys(deployment: Deployment) -> Sequence[Finding]:
    """Examine whether each private key at hand is one of the public keys, and the services take its tokens."""
    if deployment.player_keys_file is None or deployment.service_keys_file is None:
        why = "whether services take one another's tokens was not examined"
        mend = "set PROMONTORY_PLAYER_KEYS_FILE and PROMONTORY_SERVICE_KEYS_FILE as admin has them"
        return [Finding("no keys are known", why, mend, Severity.RISK)]
    try:
        verifier = Verifier(deployment.player_keys_file, deployment.service_keys_file)
        found = [each for file in deployment.key_files for each in await _of_key(deployment, verifier, file)]
    except KeyFileError as error:
        return [Finding(str(error), "services cannot start, or not prove themselves", "bring the file back")]
    if deployment.player_key_file is not None:
        token = load_key(deployment.player_key_file).mint("doctor", PLAYER_SCOPES, life=timedelta(minutes=1))
        found += _of_token(verifier, token, deployment.player_key_file)
    return found


async def _of_key(deployment: Deployment, verifier: Verifier, file: Path) -> Sequence[Finding]:
    identity = ServiceIdentity(load_key(file), "doctor", _NONE)
    if wrong := _of_token(verifier, identity.token(), file):
        return wrong
    refusing = [name for name in _CALLS if not await _takes(deployment, name, identity)]
    refusing += [f"rules.{game}" for game in deployment.rules if not await _takes_game(deployment, game, identity)]
    if not refusing:
        return []
    what = f"{joined(refusing)} refuse tokens that {file} signs"
    mend = "give every service the same PROMONTORY_SERVICE_KEYS_FILE with all public keys, and restart those"
    return [Finding(what, "services cannot call one another", mend)]


def _of_token(verifier: Verifier, token: str, file: Path) -> list[Finding]:
    try:
        verifier.verify(token)
    except Refusal as refusal:
        what = f"tokens that {file} signs do not verify: {refusal.metadata.get('cause')}"
        mend = "put its public key into PROMONTORY_SERVICE_KEYS_FILE, or PROMONTORY_PLAYER_KEYS_FILE for players'"
        return [Finding(what, "calls with such tokens are refused everywhere", mend)]
    return []


_NONE = frozenset[str]()
_CALLS: Mapping[str, tuple[Any, str, Any]] = {
    "matchmaking": (
        matchmaking_pb.DESCRIPTOR.services_by_name["MatchmakingService"],
        "ListPools",
        matchmaking_pb.ListPoolsRequest(),
    ),
    "scoring": (
        scoring_pb.DESCRIPTOR.services_by_name["ScoringService"],
        "GetRating",
        scoring_pb.GetRatingRequest(pool="doctor", player_id="doctor"),
    ),
}


async def _takes(deployment: Deployment, name: str, identity: ServiceIdentity) -> bool:
    service, method, request = _CALLS[name]
    address = deployment.services.get(name)
    return not address or await _is_taken(Peer(address, identity), service, method, request)


async def _takes_game(deployment: Deployment, game: str, identity: ServiceIdentity) -> bool:
    request = codec(game).messages.GetMatchRequest(match_id=f"{entry(game).code}-000-doctor")
    return await _is_taken(Peer(deployment.rules[game], identity), codec(game).service, "GetMatch", request)


async def _is_taken(peer: Peer, service: Any, method: str, request: Any) -> bool:
    """Tell whether a call gets past the check of its token; one that gets no answer at all may be right."""
    try:
        with peer_errors(service.name):
            await getattr(Stub(peer.channel, service), method)(request, **peer.call())
    except Refusal as refusal:
        return refusal.metadata["code"] != "UNAUTHENTICATED"
    finally:
        await peer.aclose()
    return True


async def find_in_pools(deployment: Deployment) -> Sequence[Finding]:
    """Examine whether every pool's game has a rules service."""
    if "matchmaking" not in deployment.services or not deployment.key_files:
        return []
    peer = Peer(deployment.services["matchmaking"], ServiceIdentity(load_key(deployment.key_files[0]), "doctor", _NONE))
    try:
        with peer_errors("matchmaking"):
            answer = await Stub(peer.channel, _CALLS["matchmaking"][0]).ListPools(
                _CALLS["matchmaking"][2], **peer.call()
            )
    finally:
        await peer.aclose()
    homeless = sorted({pool.game for pool in answer.pools} - set(deployment.rules))
    mend = "start its rules service, and name it in PROMONTORY_RULES_TARGETS of matchmaking, relay, workers, admin"
    why = "tickets never get a match"
    return [Finding(f"pools of {game} lead to no rules service", why, mend) for game in homeless]


async def find_in_metrics(deployment: Deployment) -> Sequence[Finding]:
    """Examine every process by its metrics: that it shows them, its release, its clock, and whether the relay works."""
    if not deployment.metrics:
        what, why = "no process's metrics are known", "releases, clocks, relay and workers cannot be examined"
        return [Finding(what, why, "name them: --metrics HOST:PORT for each process", Severity.RISK)]
    pages, found = dict[str, Shown](), list[Finding]()
    for name, address in deployment.metrics.items():
        try:
            pages[name] = await asyncio.to_thread(shown, address)
        except OSError as error:
            why = "it has ended or stands still; and nobody is alerted without its metrics"
            mend = f"start {name} again, and read its log; or correct PROMONTORY_METRICS_LISTEN"
            found.append(Finding(f"{name} shows no metrics at {address}: {error}", why, mend))
    missing = [] if found else _of_kinds(deployment, pages)
    skewed = [finding for name, page in pages.items() for finding in skew_findings(name, page.skew_seconds)]
    return [*found, *missing, *skewed, *_of_releases(pages), *_of_relays(pages)]


def _of_releases(pages: Mapping[str, Shown]) -> Sequence[Finding]:
    releases = {name: page.label("promontory_build_info", "version") for name, page in pages.items()}
    others = {name: version for name, version in releases.items() if version != __version__}
    if not others:
        return []
    what = f"this is {__version__}, but {joined(f'{name} is {version}' for name, version in others.items())}"
    why = "two releases side by side are meant for an upgrade that is under way, and tested for that alone"
    return [Finding(what, why, "finish the upgrade, or examine with that release (docs/upgrades.md)", Severity.RISK)]


def _of_kinds(deployment: Deployment, pages: Mapping[str, Shown]) -> Sequence[Finding]:
    kinds = {page.label("promontory_process_info", "process") for page in pages.values()}
    wanted = (*KINDS, *(f"rules.{game}" for game in deployment.rules))
    return [
        Finding(f"there is no {kind} among the processes that show metrics", _WITHOUT[kind.partition(".")[0]], _START)
        for kind in wanted
        if kind not in kinds
    ]


_START = "start one, or name where it shows its metrics: --metrics HOST:PORT"
_WITHOUT = {
    "matchmaking": "nobody gets a match",
    "scoring": "nothing is tallied, and no rating shown",
    "relay": "house bots do not move, no time runs out, nothing is tallied",
    "worker": "house bots do not move but by the relay's fallback, and nothing is tallied",
    "rules": "the game cannot be played",
}


def _of_relays(pages: Mapping[str, Shown]) -> Sequence[Finding]:
    sweeps = {name: page.value("promontory_last_sweep_timestamp_seconds") for name, page in pages.items()}
    now = clock.now().timestamp()
    late = [name for name, at in sweeps.items() if at and at < now - SWEEP_SECONDS]
    why = "it hands nothing out: house bots do not move, and no time runs out"
    mend = "read its log: it waits for the event log, for the broker, or for clocks that differ"
    return [Finding(f"{name} has not looked for obligations for {SWEEP_SECONDS} s", why, mend) for name in late]


async def find_in_broker(deployment: Deployment) -> Sequence[Finding]:
    """Examine whether the broker answers, and its queues are short."""
    publisher = CeleryPublisher(broker_url(deployment.broker_url, deployment.redis_url))
    try:
        queued = await publisher.queued()
    except BrokerUnavailable as error:
        why = "no task reaches a worker: the relay plays bots' turns itself, and nothing is tallied or archived"
        mend = "start it, or correct PROMONTORY_BROKER_URL, with its user and password"
        return [Finding(f"the broker does not answer: {error}", why, mend)]
    finally:
        await publisher.aclose()
    return [
        Finding(
            f"{count} tasks wait in the queue {queue}",
            "workers do not keep up, or none takes from it",
            f"start workers with {queue} in PROMONTORY_QUEUES, and read the logs of those there are",
        )
        for queue, count in queued.items()
        if count > LONG_QUEUE
    ]


def _on_server(_: Deployment) -> str:
    return SERVER  # without it services say that they do not serve, or have ended


def _on_shared_server(deployment: Deployment) -> str:
    return "" if deployment.broker_url else SERVER


CHECKS = (
    Check("services", find_in_health, _on_server),
    Check("keys", find_in_keys, _on_server),
    Check("pools", find_in_pools, _on_server),
    Check("processes", find_in_metrics, _on_server),
    Check("broker", find_in_broker, _on_shared_server),
)
