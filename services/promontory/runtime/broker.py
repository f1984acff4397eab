"""What the relay and the workers agree on: the broker's address and settings, and the tasks' names and queues.

The broker is only a hint: every task stands for an obligation in the event log, and is sent again until that is met.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, parse_qsl, quote, urlencode, urlsplit

from promontory.eventlog.server_groups import Kind, ServerGroup, is_group, server_group
from promontory.runtime.settings import SettingsError

PLAY_BOT_TURN = "promontory.play_bot_turn"
TALLY_MATCH = "promontory.tally_match"
LIST_MATCH = "promontory.list_match"
ARCHIVE_MATCH = "promontory.archive_match"
TASKS = (PLAY_BOT_TURN, TALLY_MATCH, LIST_MATCH, ARCHIVE_MATCH)

BOTS = "bots"
TALLIES = "tallies"
ARCHIVE = "archive"
QUEUES = (BOTS, TALLIES, ARCHIVE)

BROKER_DATABASE = 1
"""Where the broker's queues are kept in the event log's server, unless it has one of its own."""

ANSWER_SECONDS, CONNECT_SECONDS = 5, 2
SENTINEL_SECONDS = 1
VERIFIED = {"ssl_cert_reqs": "required"}

VISIBILITY_SECONDS = 60
"""After so long a message that a dead worker held is offered again; the shortest of all processes' values wins."""


def broker_url(configured: str, redis_url: str) -> str:
    """Return the broker's URL: `configured`, or database 1 of the server, or of the Sentinels' primary, at `redis_url`.

    A UNIX socket, `unix:///path?db=0`, becomes `redis+socket:///path?virtual_host=1`, as Celery takes it. Raises
    `SettingsError` for a cluster, which cannot be a broker, and `ServerUrlError`.
    """
    url = configured or redis_url
    if is_group(url):
        return _of_sentinels(url, None if configured else BROKER_DATABASE)
    if configured:
        return _with_socket(configured)
    if urlsplit(redis_url).scheme == "unix":
        return _with_socket(redis_url, BROKER_DATABASE)
    return urlsplit(redis_url)._replace(path=f"/{BROKER_DATABASE}", query="").geturl()


def celery_settings(url: str) -> dict[str, Any]:
    """Return the settings that whoever sends and whoever takes tasks must share; `url` is a `broker_url`.

    No results, JSON only, and no wait without an end: not for a connection, not for an answer.
    """
    from promontory.runtime.redis_broker import replace_transports  # noqa: PLC0415 - nobody else needs Celery here

    replace_transports()
    found = _settings(url)
    if is_group(url):
        group = server_group(url)
        found["broker_url"] = ";".join(_sentinel_url(group, host, port) for host, port in group.hosts)
        found["broker_transport_options"] |= {"master_name": group.primary, "sentinel_kwargs": _to_sentinels(group)}
        if group.tls is not None:
            found["broker_use_ssl"] = {**VERIFIED, **group.tls}
    return found


def _settings(url: str) -> dict[str, Any]:
    return {
        "broker_url": url,
        "broker_connection_timeout": 2,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_transport_options": {
            "visibility_timeout": VISIBILITY_SECONDS,
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "socket_timeout": ANSWER_SECONDS,
            "socket_connect_timeout": CONNECT_SECONDS,
            "socket_keepalive": True,
            "health_check_interval": 10,
        },
        "task_serializer": "json",
        "accept_content": ["json"],
        "result_backend": None,
        "task_ignore_result": True,
        "task_default_queue": BOTS,
    }


def _with_socket(url: str, database: int | None = None) -> str:
    parts = urlsplit(url)
    if parts.scheme != "unix":
        return url
    number = parse_qs(parts.query).get("db", ["0"])[0] if database is None else database
    return f"redis+socket://{parts.path}?virtual_host={number}"


def _of_sentinels(url: str, database: int | None) -> str:
    """Return the URL of Sentinels, with another database if one is given."""
    if server_group(url).kind is Kind.CLUSTER:
        raise SettingsError(
            "a cluster cannot be the workers' broker: name a server of its own in PROMONTORY_BROKER_URL"
        )
    if database is None:
        return url
    parts = urlsplit(url)
    options = {**dict(parse_qsl(parts.query, keep_blank_values=True)), "db": str(database)}
    return parts._replace(query=urlencode(options)).geturl()


def _sentinel_url(group: ServerGroup, host: str, port: int) -> str:
    """Return one Sentinel as Celery takes it, which wants the primary's account and database there."""
    account = group.account
    credentials = f"{quote(account.username, safe='')}:{quote(account.password, safe='')}@" if account.options else ""
    named = f"[{host}]" if ":" in host else host
    return f"sentinel://{credentials}{named}:{port}/{group.database}"


def _to_sentinels(group: ServerGroup) -> dict[str, Any]:
    """Return the options of connections to the Sentinels themselves."""
    tls = {} if group.tls is None else {"ssl": True, **VERIFIED, **group.tls}
    waits = {"socket_timeout": SENTINEL_SECONDS, "socket_connect_timeout": SENTINEL_SECONDS}
    return {**waits, **group.sentinel_account.options, **tls}
