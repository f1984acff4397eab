"""`promontory admin doctor`: where a deployment is, what there is to examine in it, and what was found."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from promontory.client.places import REDIS_URL_FILE
from promontory.local.arguments import Parsers, archive_url, command, data_option, json_option, print_json, redis_url

if TYPE_CHECKING:
    from promontory.local.doctor import Deployment


def add_doctor(actions: Parsers) -> None:
    """Add `promontory admin doctor`."""
    summary = "Examine a deployment: what is wrong with it, why that matters, and how to mend it."
    doctor = command(actions, "doctor", _run_doctor, summary)
    doctor.epilog = (
        "Exit code 0: all is well; 1: something is broken; 2: something is at risk. Changes nothing. Settings come from"
        " PROMONTORY_*, as the processes have them, and where these say nothing from `promontory up`;"
        " nothing is taken from there if PROMONTORY_REDIS_URL names another server than its own."
    )
    doctor.add_argument(
        "--metrics",
        action="append",
        default=[],
        metavar="HOST:PORT",
        help="where a process shows its metrics; may be repeated (default: all of `promontory up`)",
    )
    data_option(doctor)
    json_option(doctor, instead="a JSON list")


def _run_doctor(arguments: argparse.Namespace) -> int:
    from promontory.local import doctor, doctor_log, doctor_services

    where = redis_url(arguments)
    told = deployment_of(arguments.data_dir, metrics=arguments.metrics, redis_url=where)
    found = asyncio.run(doctor.examine(told, (*doctor_log.CHECKS, *doctor_services.CHECKS)))
    if arguments.json:
        print_json(found)
    else:
        print(doctor.text(found))
    return doctor.exit_code(found)


class StillStarting(Exception):
    """A platform of `promontory up` is there that has not come up yet, so that nobody knows where it will be."""


def deployment_of(directory: Path, *, metrics: Sequence[str], redis_url: str) -> Deployment:
    """Return the deployment that the settings tell, and where they say nothing `promontory up` in `directory`.

    Where they name another event log than that platform's, nothing of it is taken: two platforms are not one. Raises
    `StillStarting`.
    """
    from promontory.games.registry import GAMES
    from promontory.local.doctor import Deployment
    from promontory.runtime.settings import AdminSettings, WorkerSettings, given, load, targets

    settings, admin = load(WorkerSettings), load(AdminSettings)
    home = _home(directory, redis_url)
    local = _local_endpoints(home) if home else {}
    rules = targets(settings.rules_targets) or {game.name: local[game.name] for game in GAMES if game.name in local}
    usual = {"scoring": settings.scoring_target, "matchmaking": settings.matchmaking_target}
    services = {name: given(f"{name}_target") or local.get(name, usual[name] if home else "") for name in usual}
    services["admin"] = local.get("admin", "")
    private = _file(settings.service_key_file, "service_key_file", home, "service.key.json")
    return Deployment(
        redis_url=redis_url,
        require_aof=settings.require_aof,
        broker_url=settings.broker_url,
        buckets=settings.buckets,
        archive_url=archive_url(argparse.Namespace(data_dir=directory)) if home else settings.archive_url,
        rules=rules,
        services={name: address for name, address in services.items() if address},
        metrics=dict(zip(metrics, metrics, strict=True)) or (_local_metrics(home) if home else {}),
        key_files=[private] if private and private.exists() else [],
        service_keys_file=_file(admin.service_keys_file, "service_keys_file", home, "services.jwks.json"),
        player_key_file=_present(home / "keys" / "players.key.json") if home else None,
        player_keys_file=_file(admin.player_keys_file, "player_keys_file", home, "players.jwks.json"),
        data_files=settings.data_files,
        max_attempts=admin.max_attempts,
        is_embedded=bool(home) and not given("redis_url") and redis_url.startswith("unix://"),
    )


def _home(directory: Path, redis_url: str) -> Path | None:
    """Return the directory of the platform of `promontory up` that is meant, None if another is."""
    from promontory.runtime.settings import given

    noted = directory / REDIS_URL_FILE
    if not given("redis_url"):
        if not noted.exists() and (directory / "logs").is_dir():
            text = f"`promontory up` in {directory} has not come up yet"
            raise StillStarting(f"{text}: wait until it says so, or read {directory / 'logs'}")
        return directory
    return directory if noted.exists() and noted.read_text() == redis_url else None


def _file(told: Path, setting: str, home: Path | None, usual: str) -> Path | None:
    """Return the key file that a setting tells, or that of the platform of `promontory up`; None if there is none."""
    from promontory.runtime.settings import given

    return told if given(setting) else home / "keys" / usual if home else None


def _present(file: Path) -> Path | None:
    return file if file.exists() else None


def _local_endpoints(directory: Path) -> Mapping[str, str]:
    """Return the services' addresses that `promontory up` left in `directory`, none if there are none."""
    from promontory.client.access import Access
    from promontory.client.endpoints import EndpointError

    try:
        return Access(directory).local_endpoints()
    except EndpointError:
        return {}


def _local_metrics(directory: Path) -> Mapping[str, str]:
    """Return where the processes of `promontory up` show their metrics, by their names."""
    import msgspec

    from promontory.runtime.server import Ready

    files = sorted((directory / "logs").glob("*.ready.json"))
    return {
        file.name.removesuffix(".ready.json"): msgspec.json.decode(file.read_bytes(), type=Ready).metrics
        for file in files
    }
