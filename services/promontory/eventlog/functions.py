"""Libraries of server-side functions: their content-addressed names, and loading them.

A library's source names itself and its functions with the token `SHA8`, which becomes the first 8 hex digits of the
source's SHA-256. So each process calls exactly the code it was written for, whatever else is loaded. Only
`promontory load-functions` loads; services verify that theirs is there, and need no right to load code.
"""

from __future__ import annotations

import hashlib
from functools import cache, cached_property
from importlib import resources

import msgspec
from redis.asyncio import Redis
from redis.exceptions import ResponseError

from promontory.eventlog.redis_cluster import address_of, primaries

PLACEHOLDER = "SHA8"

# FUNCTION is closed to services by access control; calling a function is not. So each library can be asked for itself.
_PRESENCE = """
redis.register_function{function_name = 'present_SHA8', callback = function() return 'SHA8' end, flags = {'no-writes'}}
"""


class LibraryMissing(Exception):
    """The server does not have a library of functions this process needs."""

    def __init__(self, library: str, server: str = "") -> None:
        who = f"the server {server}" if server else "the server"
        super().__init__(f"{who} lacks the function library {library}: run `promontory load-functions` against it")
        self.library = library


class Library(msgspec.Struct, frozen=True, dict=True):
    """A library of functions: a short name for people, and its Lua source with the token `SHA8` in all names."""

    name: str
    source: str

    @cached_property
    def digest(self) -> str:
        """The first 8 hex digits of the source's SHA-256."""
        return hashlib.sha256(self.source.encode()).hexdigest()[:8]

    @property
    def code(self) -> str:
        """The source as it is loaded."""
        return (self.source + _PRESENCE).replace(PLACEHOLDER, self.digest)

    @property
    def title(self) -> str:
        """The name with the digest, as errors and listings show it."""
        return f"{self.name}_{self.digest}"

    def function(self, name: str) -> str:
        """Return what to call for the source's function `name`: `append_1a2b3c4d`."""
        return f"{name}_{self.digest}"


@cache
def packaged_library(name: str, package: str, filename: str) -> Library:
    """Return the library whose source is the file `filename` of `package`, both part of this distribution."""
    return Library(name, resources.files(package).joinpath(filename).read_text(encoding="utf-8"))


def event_log_library() -> Library:
    """Return the event log's own library: `append`, `claim`, `settle`, `owe`, `prune` and `news`."""
    return packaged_library("eventlog", "promontory.eventlog", "eventlog.lua")


async def load_library(client: Redis, library: Library) -> bool:
    """Load `library` into the server unless it is there; return whether it was loaded now.

    In a cluster that is every primary: replicas get functions from theirs, other nodes do not.
    """
    return any([await _load(server, library) for server in await primaries(client)])


async def _load(server: Redis, library: Library) -> bool:
    try:
        await server.execute_command("FUNCTION", "LOAD", library.code)
    except ResponseError as error:
        if "already exists" not in str(error):
            raise
        return False
    return True


async def verify_library(client: Redis, library: Library) -> None:
    """Return if the server, or every primary of a cluster, has `library`, else raise `LibraryMissing`.

    Needs no right but to call functions.
    """
    for server in await primaries(client):
        try:
            await server.execute_command("FCALL", library.function("present"), 0)
        except ResponseError as error:
            if not is_missing_function(error):
                raise
            raise LibraryMissing(library.title, address_of(server)) from error


def is_missing_function(error: ResponseError) -> bool:
    """Tell whether `error` says that a called function is not loaded."""
    return "function not found" in str(error).lower()
