"""Addresses of servers that stand in for one another, as settings write them.

    sentinel://[user:password@]host:port,host:port/primary-name?db=0&sentinel_username=...&sentinel_password=...
    cluster://[user:password@]host:port,host:port

`sentinels://` and `clusters://` speak TLS, with the options of a `rediss://` URL: `ssl_ca_certs`, `ssl_certfile`,
`ssl_keyfile`, `ssl_cert_reqs`, `ssl_check_hostname`. The hosts are Sentinels, or any nodes of the cluster: some of them
are enough, as long as one answers at the start. Names and passwords are percent-encoded.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit

import msgspec

SENTINEL_PORT, SERVER_PORT = 26379, 6379
FORMS = "sentinel://host:port,host:port/primary-name?db=0, or cluster://host:port,host:port"

_TLS_OPTIONS = frozenset({"ssl_ca_certs", "ssl_certfile", "ssl_keyfile", "ssl_cert_reqs", "ssl_check_hostname"})
_SENTINEL_OPTIONS = frozenset({"db", "sentinel_username", "sentinel_password"})
_TRUTHS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}

Host = tuple[str, int]
"""A name or an address, and a port."""


class ServerUrlError(ValueError):
    """The URL of servers is malformed; the message says what would do, and holds no password."""

    def __init__(self, problem: str) -> None:
        super().__init__(f"the address of the servers {problem}: write {FORMS}")


class Kind(StrEnum):
    """What keeps the servers together."""

    SENTINEL = "sentinel"
    CLUSTER = "cluster"


class Account(msgspec.Struct, frozen=True):
    """Who to be; empty where nobody is asked."""

    username: str = ""
    password: str = ""

    @property
    def options(self) -> dict[str, str]:
        """What is given, by the names that clients have for it."""
        return {name: value for name, value in msgspec.structs.asdict(self).items() if value}


class ServerGroup(msgspec.Struct, frozen=True):
    """Servers that stand in for one another, and how to reach them.

    `hosts` are Sentinels that watch the primary called `primary`, or nodes of a cluster. `tls` holds the options of a
    `rediss://` URL, or is None where TLS is not spoken.
    """

    kind: Kind
    hosts: tuple[Host, ...]
    account: Account
    primary: str = ""
    database: int = 0
    sentinel_account: Account = Account()
    tls: Mapping[str, str | bool] | None = None


def is_group(url: str) -> bool:
    """Tell whether `url` names servers that stand in for one another."""
    return _kind(urlsplit(url)) is not None


def server_group(url: str) -> ServerGroup:
    """Return what `url` says. Raises `ServerUrlError`."""
    parts = urlsplit(url)
    kind = _kind(parts)
    if kind is None:
        raise ServerUrlError(f"begins with {parts.scheme}://")
    credentials, _, hosts = parts.netloc.rpartition("@")
    username, _, password = credentials.partition(":")
    options = _options(parts, kind)
    return ServerGroup(
        kind,
        _hosts(hosts, SENTINEL_PORT if kind is Kind.SENTINEL else SERVER_PORT),
        Account(unquote(username), unquote(password)),
        _primary(parts, kind),
        _number(options.get("db", "0"), "the database"),
        Account(options.get("sentinel_username", ""), options.get("sentinel_password", "")),
        _tls(options) if parts.scheme.endswith("s") else None,
    )


def _kind(parts: SplitResult) -> Kind | None:
    return {
        "sentinel": Kind.SENTINEL,
        "sentinels": Kind.SENTINEL,
        "cluster": Kind.CLUSTER,
        "clusters": Kind.CLUSTER,
    }.get(parts.scheme)


def _options(parts: SplitResult, kind: Kind) -> dict[str, str]:
    found = dict(parse_qsl(parts.query, keep_blank_values=True))
    known = (_SENTINEL_OPTIONS if kind is Kind.SENTINEL else frozenset()) | (
        _TLS_OPTIONS if parts.scheme.endswith("s") else frozenset()
    )
    if strange := found.keys() - known:
        raise ServerUrlError(f"has the option {min(strange)}, which {parts.scheme}:// does not take")
    return found


def _primary(parts: SplitResult, kind: Kind) -> str:
    name = unquote(parts.path.strip("/"))
    if kind is Kind.SENTINEL and not name:
        raise ServerUrlError("does not say what Sentinel calls the primary")
    if kind is Kind.CLUSTER and name not in ("", "0"):
        raise ServerUrlError("names a database, and a cluster has none but 0")
    return name if kind is Kind.SENTINEL else ""


def _hosts(text: str, port: int) -> tuple[Host, ...]:
    hosts = tuple(_host(each.strip(), port) for each in text.split(","))
    if not all(host for host, _ in hosts):
        raise ServerUrlError("names no host, or an empty one")
    return hosts


def _host(text: str, port: int) -> Host:
    if text.endswith("]") or ":" not in text:
        return text.strip("[]"), port
    host, _, number = text.rpartition(":")
    return host.strip("[]"), _number(number, "a port")


def _number(text: str, what: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise ServerUrlError(f"has {text!r} for {what}")
    return int(text)


def _tls(options: Mapping[str, str]) -> dict[str, str | bool]:
    found: dict[str, str | bool] = {name: options[name] for name in _TLS_OPTIONS & options.keys()}
    checks = options.get("ssl_check_hostname")
    if checks is not None:
        if checks.lower() not in _TRUTHS:
            raise ServerUrlError(f"has {checks!r} for ssl_check_hostname")
        found["ssl_check_hostname"] = _TRUTHS[checks.lower()]
    return found
