"""What the relay and the workers agree on: the broker's address and settings, and the tasks' names and queues.

The broker is only a hint: every task stands for an obligation in the event log, and is sent again until that is met.
"""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

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

VISIBILITY_SECONDS = 60
"""After so long a message that a dead worker held is offered again; the shortest of all processes' values wins."""


def broker_url(configured: str, redis_url: str) -> str:
    """Return the broker's URL as Celery takes it: `configured`, or database 1 of the server at `redis_url`.

    A UNIX socket, `unix:///path?db=0`, becomes `redis+socket:///path?virtual_host=1`.
    """
    if configured:
        return _with_socket(configured)
    if urlsplit(redis_url).scheme == "unix":
        return _with_socket(redis_url, BROKER_DATABASE)
    return urlsplit(redis_url)._replace(path=f"/{BROKER_DATABASE}", query="").geturl()


def celery_settings(url: str) -> dict[str, Any]:
    """Return the settings that whoever sends and whoever takes tasks must share.

    No results, JSON only, and no wait without an end: not for a connection, not for an answer.
    """
    return {
        "broker_url": url,
        "broker_connection_timeout": 2,
        "broker_connection_retry_on_startup": True,
        "broker_connection_max_retries": None,
        "broker_transport_options": {
            "visibility_timeout": VISIBILITY_SECONDS,
            "unacked_restore_interval": 5,
            "unacked_restore_throttle": 1,
            "socket_timeout": 5,
            "socket_connect_timeout": 2,
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
