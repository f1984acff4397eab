"""Settings: one frozen dataclass per process, read once from `PROMONTORY_*`, validated, passed on as plain values.

A field `drain_seconds` is read from `PROMONTORY_DRAIN_SECONDS`; an empty value counts as not given. Defaults work on
one machine.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import msgspec

PREFIX = "PROMONTORY_"
OPAQUE = "opaque"
SERVICES_ISSUER = "promontory-services"
"""Who issues services' tokens, and nobody else's."""
ADMINS_AUDIENCE = "promontory-admin"
"""Whom admins' tokens are for, and no others."""

Count = Annotated[int, msgspec.Meta(ge=1)]
Seconds = Annotated[float, msgspec.Meta(gt=0, le=30 * 86_400)]
Delay = Annotated[float, msgspec.Meta(ge=0, le=86_400)]
Name = Annotated[str, msgspec.Meta(pattern=r"^\S+$")]
Address = Annotated[str, msgspec.Meta(pattern=r"^(\[[0-9a-fA-F:.]+\]|[^\s:\[\]]+):[0-9]{1,5}$")]
"""`host:port`; an IPv6 address stands in brackets, as in `[::]:7401`."""


class SettingsError(Exception):
    """A setting is unknown or has an unusable value; the message names it and says what would do."""


@dataclass(frozen=True, kw_only=True)
class ProcessSettings:
    """What every process reads."""

    redis_url: str = "redis://127.0.0.1:6379/0"
    require_aof: bool = True
    buckets: Annotated[int, msgspec.Meta(ge=1, le=4096)] = 64
    metrics_listen: Address = "127.0.0.1:0"
    ready_file: Path | None = None
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    log_format: Literal["auto", "json", "console"] = "auto"
    service_key_file: Path = Path(".promontory/keys/service.key.json")
    archive_url: str = ""
    traces_url: Annotated[str, msgspec.Meta(pattern=r"^(https?://\S+)?$")] = ""
    traces_ratio: Annotated[float, msgspec.Meta(ge=0, le=1)] = 0.1


@dataclass(frozen=True, kw_only=True)
class ServerSettings(ProcessSettings):
    """What every gRPC service reads beside that."""

    listen: Address = "127.0.0.1:0"
    player_keys_file: Path = Path(".promontory/keys/players.jwks.json")
    service_keys_file: Path = Path(".promontory/keys/services.jwks.json")
    token_issuer: Name = "promontory"  # noqa: S105 - a name, no secret
    token_audience: Name = "promontory"  # noqa: S105 - a name, no secret
    player_ids: Literal["subject", "opaque"] = "subject"
    max_token_age_seconds: Seconds = 30 * 86_400
    reflection: bool = False
    max_request_bytes: Annotated[int, msgspec.Meta(ge=1, le=64 * 1024 * 1024)] = 64 * 1024
    max_metadata_bytes: Annotated[int, msgspec.Meta(ge=1, le=1024 * 1024)] = 8 * 1024
    max_streams_per_player: Count = 100
    max_calls_per_second: Count = 500
    max_commands_per_second: Count = 200
    max_calls_per_connection: Count = 1000
    keepalive_seconds: Seconds = 30
    max_stall_seconds: Seconds = 30
    max_connection_age_seconds: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 300
    drain_seconds: Seconds = 20

    def __post_init__(self) -> None:
        """Raise `ValueError` for a name that would let players' tokens pass for others."""
        for name, taken in (("token_issuer", SERVICES_ISSUER), ("token_audience", ADMINS_AUDIENCE)):
            if getattr(self, name) == taken:
                raise ValueError(f"{PREFIX}{name.upper()}: cannot be {taken}, which is not for players")


@dataclass(frozen=True, kw_only=True)
class RulesSettings(ServerSettings):
    """What a rules service reads; `game` comes from the command line."""

    data_files: str = ""
    seal_key_file: Path = Path(".promontory/keys/seal.key")
    cached_matches: Count = 10_000
    archive_after_seconds: Seconds = 3600
    heartbeat_seconds: Seconds = 10
    max_stream_seconds: Seconds = 300
    clock_hold_seconds: Delay = 10
    survey_seconds: Seconds = 3600
    max_creations_per_minute: Count = 120


@dataclass(frozen=True, kw_only=True)
class MatchmakingSettings(ServerSettings):
    """What matchmaking reads."""

    pools_file: Path | None = None
    rules_targets: str = ""
    scoring_target: str = "127.0.0.1:7402"
    max_open_tickets: Count = 5
    max_open_matches: Count = 100
    max_open_tables: Count = 10
    max_creations_per_minute: Count = 120
    matching_interval_seconds: Seconds = 0.25
    proposal_lease_seconds: Seconds = 5
    ticket_retention_seconds: Seconds = 3600
    table_life_seconds: Seconds = 3600
    rematch_life_seconds: Seconds = 600


@dataclass(frozen=True, kw_only=True)
class ScoringSettings(ServerSettings):
    """What scoring reads."""


@dataclass(frozen=True, kw_only=True)
class RelaySettings(ProcessSettings):
    """What the relay reads."""

    broker_url: str = ""
    rules_targets: str = ""
    sweep_seconds: Seconds = 1
    lease_seconds: Seconds = 10
    max_attempts: Count = 5
    max_clock_skew_seconds: Seconds = 5
    clock_hold_seconds: Delay = 10


@dataclass(frozen=True, kw_only=True)
class AdminSettings(ServerSettings):
    """What the admin service reads."""

    rules_targets: str = ""
    matchmaking_target: str = "127.0.0.1:7401"
    scoring_target: str = "127.0.0.1:7402"
    max_attempts: Count = 5


@dataclass(frozen=True, kw_only=True)
class WorkerSettings(ProcessSettings):
    """What a Celery worker reads."""

    broker_url: str = ""
    rules_targets: str = ""
    scoring_target: str = "127.0.0.1:7402"
    matchmaking_target: str = "127.0.0.1:7401"
    queues: str = "bots,tallies,archive"
    data_files: str = ""
    concurrency: Count = 1
    overlap: Count = 4
    task_seconds: Seconds = 20


ALL = (
    *(ProcessSettings, RulesSettings, MatchmakingSettings, ScoringSettings),
    *(AdminSettings, RelaySettings, WorkerSettings),
)

Settings = TypeVar("Settings", bound=ProcessSettings)


def load(kind: type[Settings], environ: Mapping[str, str] | None = None) -> Settings:
    """Return the settings of `kind` from `environ`, the process's environment by default.

    Raises `SettingsError` for a `PROMONTORY_*` name that no process reads, and for an unusable value.
    """
    given = _given(os.environ if environ is None else environ)
    known = {field.name for each in ALL for field in fields(each)}
    if unknown := sorted(given.keys() - known):
        names = ", ".join(_unknown(name, known) for name in unknown)
        raise SettingsError(f"no process reads {names}; the settings table in the README lists the names")
    mine = {field.name: given[field.name] for field in fields(kind) if given.get(field.name)}
    try:
        return msgspec.convert(mine, kind, strict=False, dec_hook=_decode)
    except msgspec.ValidationError as error:
        raise SettingsError(f"unusable setting: {_named(error)}; the settings table in the README says more") from error


def _unknown(name: str, known: Collection[str]) -> str:
    near = get_close_matches(name, known, n=1)
    return PREFIX + name.upper() + (f" (do you mean {PREFIX}{near[0].upper()}?)" if near else "")


def given(field: str) -> str | None:
    """Return what the environment gives for `field`, or None: for commands that choose a default of their own."""
    return os.environ.get(PREFIX + field.upper()) or None


def inherited() -> dict[str, str]:
    """Return this process's environment for a child, without the addresses that only one process can have."""
    own = {PREFIX + name for name in ("LISTEN", "METRICS_LISTEN", "READY_FILE")}
    return {name: value for name, value in os.environ.items() if name not in own}


def targets(text: str) -> dict[str, str]:
    """Return the addresses in `name=host:port,name=host:port`.

    Raises `SettingsError` if it is not of that form.
    """
    pairs = _pairs(text)
    found = dict(pairs)
    if len(found) < len(pairs) or not all(found) or not all(found.values()):
        raise SettingsError(f"addresses are written name=host:port,name=host:port, each name once, not {text!r}")
    return found


def game_files(text: str) -> dict[str, list[Path]]:
    """Return the files in `game=path,game=path` by game, in their order; a game may be named more than once.

    Raises `SettingsError` if it is not of that form.
    """
    found: dict[str, list[Path]] = {}
    for game, file in _pairs(text):
        if not game or not file:
            raise SettingsError(f"files are written game=path,game=path, not {text!r}")
        found.setdefault(game, []).append(Path(file))
    return found


def _pairs(text: str) -> list[tuple[str, str]]:
    """Return the two sides of every `=` in a list that commas part, without the white space around them."""
    found = [pair.partition("=") for pair in text.split(",") if pair.strip()]
    return [(name.strip(), value.strip()) for name, _, value in found]


def _given(environ: Mapping[str, str]) -> dict[str, str]:
    return {key.removeprefix(PREFIX).lower(): value for key, value in environ.items() if key.startswith(PREFIX)}


def _named(error: msgspec.ValidationError) -> str:
    """Return what is wrong, with the name that stands in the environment."""
    problem, _, path = str(error).partition(" - at ")
    name = path.strip("`$.").upper()
    return f"{PREFIX}{name}: {problem}" if name else problem


def _decode(kind: type, value: object) -> object:
    if kind is Path:
        return Path(str(value))
    raise NotImplementedError(kind)
