"""Where `promontory up` leaves what a client on the same machine needs."""

from pathlib import Path

DATA_DIRECTORY = Path(".promontory")
"""The directory of the platform unless another is named; the files below are in it."""

ENDPOINTS_FILE = "endpoints.json"
TOKEN_FILE = "token"  # noqa: S105 - a file's name
REDIS_URL_FILE = "redis-url"
