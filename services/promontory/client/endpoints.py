"""Where the services are: one address for all of them, or an address each."""

from __future__ import annotations

from collections.abc import Mapping

import grpc

_SAME_PROCESS = {"lobby": "matchmaking", "players": "matchmaking", "matchmaking": "lobby"}

_OPTIONS = (
    ("grpc.lb_policy_name", "round_robin"),
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.keepalive_time_ms", 30_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.min_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 2000),
)


class EndpointError(ValueError):
    """An endpoint is missing or malformed; the message names it."""


class Endpoints:
    """The address of each service.

    Given as `"host:port"` (an edge that routes by service, or everything in one place), as
    `"matchmaking=host:port,scoring=host:port,transcontinental=host:port"`, or as a mapping of the same names. An
    address `https://host:port` is called over TLS. `lobby` and `players` are where `matchmaking` is unless they are
    named.
    """

    def __init__(self, endpoints: str | Mapping[str, str]) -> None:
        """Raise `EndpointError` if `endpoints` names no address."""
        self._all, self._each = _parsed(endpoints)

    def address(self, service: str) -> str:
        """Return the address of the service with the full name `service`. Raises `EndpointError` if none is known."""
        name = name_of(service)
        found = self._each.get(name) or self._each.get(_SAME_PROCESS.get(name, "")) or self._all
        if not found:
            raise EndpointError(f"no endpoint for {name!r}; there are: {', '.join(sorted(self._each))}")
        return found


def name_of(service: str) -> str:
    """Return the name by which endpoints call the service with the full name `service`."""
    return service.split(".")[2]


def open_channel(address: str, user_agent: str) -> grpc.aio.Channel:
    """Return a channel to `address`, over TLS if it begins with `https://`. Needs a running event loop."""
    scheme, _, target = address.rpartition("://")
    options = [*_OPTIONS, ("grpc.primary_user_agent", user_agent)]
    if scheme == "https":
        return grpc.aio.secure_channel(target, grpc.ssl_channel_credentials(), options=options)
    return grpc.aio.insecure_channel(target, options=options)


def _parsed(endpoints: str | Mapping[str, str]) -> tuple[str, dict[str, str]]:
    if not isinstance(endpoints, str):
        return "", _checked(dict(endpoints))
    if "=" not in endpoints:
        return _address(endpoints.strip()), {}
    pairs = [piece.strip().partition("=") for piece in endpoints.split(",") if piece.strip()]
    return "", _checked({name.strip(): address.strip() for name, _, address in pairs})


def _checked(each: dict[str, str]) -> dict[str, str]:
    if not each:
        raise EndpointError("no endpoint is given")
    return {name: _address(address) for name, address in each.items()}


def _address(address: str) -> str:
    scheme, separator, target = address.rpartition("://")
    if separator and scheme not in {"http", "https"}:
        raise EndpointError(f"{address!r} must be host:port, http://host:port or https://host:port")
    if not target or ("/" in target and separator):
        raise EndpointError(f"{address!r} is no host:port")
    return address
