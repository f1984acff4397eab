"""Servers that stand in for one another: three with three Sentinels, and a cluster of six; and some that do not."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
from redis import Redis
from redis.crc import key_slot

from promontory.runtime import clock, tied
from promontory.runtime.embedded import EmbeddedServer, find_binary

PRIMARY = "promontory"
DOWN_AFTER_MS = 1000
NODE_TIMEOUT_MS = 2000
STARTED_SECONDS = 20.0
POLL_SECONDS = 0.02
SLOTS = 16_384
GUARDED = {"min-replicas-to-write": "1", "min-replicas-max-lag": "2"}
"""What keeps a primary that nobody follows any more from acknowledging."""
REPLICATED = {"repl-diskless-sync-delay": "0", "repl-ping-replica-period": "1"}


class Group(msgspec.Struct, frozen=True):
    """Servers that stand in for one another, at `url`, and the ports they are reached by."""

    url: str
    servers: dict[int, EmbeddedServer]
    sentinels: tuple[int, ...] = ()

    def owner(self, key: str) -> int:
        """Return the port of the primary that holds `key`."""
        if self.sentinels:
            return int(_ask(self.sentinels[0], "SENTINEL", "GET-MASTER-ADDR-BY-NAME", PRIMARY)[1])
        slot = key_slot(key.encode())
        return next(row[2][1] for row in self._map() if row[0] <= slot <= row[1])

    def owners(self) -> Sequence[int]:
        """Return the ports of all primaries that hold something."""
        return [self.owner("")] if self.sentinels else [row[2][1] for row in self._map()]

    def replicas(self, port: int) -> Sequence[int]:
        """Return the ports of the servers that follow the primary at `port`."""
        facts = _section(port, "INFO", "replication")
        lines = [facts[name] for name in ("slave0", "slave1") if name in facts]
        return [int(line.partition("port=")[2].partition(",")[0]) for line in lines]

    def hand_over(self, port: int) -> None:
        """Have a replica take the place of the primary at `port` in an orderly way, which loses nothing."""
        if self.sentinels:
            _ask(self.sentinels[0], "SENTINEL", "FAILOVER", PRIMARY, "COORDINATED")
        else:
            _ask(self.replicas(port)[0], "CLUSTER", "FAILOVER")

    @contextmanager
    def cut_off(self, port: int) -> Iterator[None]:
        """Have what the primary at `port` is told meanwhile reach none of its replicas."""
        replicas = [self.servers[each].pid for each in self.replicas(port)]
        for pid in replicas:
            os.kill(pid, signal.SIGSTOP)
        _ask(port, "CLIENT", "KILL", "TYPE", "REPLICA")
        try:
            yield
        finally:
            for pid in replicas:
                os.kill(pid, signal.SIGCONT)

    def move_slot(self, key: str, *, to: int) -> None:
        """Move the slot of `key` to another primary of the cluster at once, as Valkey 9 can."""
        slot = key_slot(key.encode())
        target = _ask(to, "CLUSTER", "MYID")
        _ask(self.owner(key), "CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", slot, slot, "NODE", target)

    def _map(self) -> Sequence[Any]:
        living = next(port for port, server in self.servers.items() if server.is_running)
        return _ask(living, "CLUSTER", "SLOTS")

    def kill(self, port: int) -> None:
        """End a server as a crash would."""
        self.servers[port].kill()

    def restart(self, port: int) -> None:
        """Start a server again. Call it from the main thread."""
        self.servers[port].start()


@contextmanager
def sentinel_group(directory: Path, *, guarded: bool = True) -> Iterator[Group]:
    """Give a primary with two replicas, watched by three Sentinels."""
    with ExitStack() as stack:
        ports = _free_ports(6)
        servers = {
            port: _server(directory, port, _role_settings(ports[0], port, guarded=guarded)) for port in ports[:3]
        }
        for server in servers.values():
            stack.enter_context(server)
        for port in ports[3:]:
            stack.enter_context(_sentinel(directory / f"sentinel-{port}", port, watched=ports[0]))
        _until(lambda: all(_sees_all(port) for port in ports[3:]) and _replicas(ports[0]) == 2)
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports[3:])
        yield Group(f"sentinel://{hosts}/{PRIMARY}", servers, tuple(ports[3:]))


@contextmanager
def cluster(directory: Path, *, guarded: bool = True) -> Iterator[Group]:
    """Give a cluster of three primaries, each with a replica."""
    with ExitStack() as stack:
        ports = _free_ports(6)
        buses = dict(zip(ports, _free_ports(6), strict=True))
        servers = {port: _server(directory, port, _node_settings(buses[port], guarded=guarded)) for port in ports}
        for server in servers.values():
            stack.enter_context(server)
        _join(ports, buses)
        hosts = ",".join(f"127.0.0.1:{port}" for port in ports[:3])
        yield Group(f"cluster://{hosts}", servers)


@contextmanager
def one_server(directory: Path) -> Iterator[Group]:
    """Give one server that nobody follows, reached by TCP as those of a cluster are."""
    (port,) = _free_ports(1)
    with _server(directory, port, {}) as server:
        yield Group(f"redis://127.0.0.1:{port}", {port: server})


@contextmanager
def primaries_only(directory: Path, *, count: int) -> Iterator[Group]:
    """Give a cluster of so many primaries that nobody follows, for what is only measured."""
    with ExitStack() as stack:
        ports = _free_ports(2 * count)
        buses = dict(zip(ports[:count], ports[count:], strict=True))
        servers = {port: _server(directory, port, _node_settings(buses[port], guarded=False)) for port in buses}
        for server in servers.values():
            stack.enter_context(server)
        _share(ports[:count], buses, primaries=count)
        _until(lambda: all(_is_whole(port) for port in buses))
        yield Group("cluster://" + ",".join(f"127.0.0.1:{port}" for port in buses), servers)


def _server(directory: Path, port: int, settings: dict[str, str]) -> EmbeddedServer:
    return EmbeddedServer(directory / f"server-{port}", fsync="everysec", port=port, settings=settings)


def _role_settings(primary: int, port: int, *, guarded: bool) -> dict[str, str]:
    follows = {} if port == primary else {"replicaof": f"127.0.0.1 {primary}"}
    return {**REPLICATED, **(GUARDED if guarded else {}), **follows}


def _node_settings(bus: int, *, guarded: bool) -> dict[str, str]:
    own = {"cluster-enabled": "yes", "cluster-port": str(bus), "cluster-node-timeout": str(NODE_TIMEOUT_MS)}
    return {**REPLICATED, **(GUARDED if guarded else {}), **own}


@contextmanager
def _sentinel(directory: Path, port: int, *, watched: int) -> Iterator[None]:
    directory.mkdir(parents=True)
    configuration = directory / "sentinel.conf"
    lines = (
        *(f"port {port}", "bind 127.0.0.1", f"dir {directory}", f"logfile {directory / 'sentinel.log'}"),
        f"sentinel monitor {PRIMARY} 127.0.0.1 {watched} 2",
        f"sentinel down-after-milliseconds {PRIMARY} {DOWN_AFTER_MS}",
        f"sentinel failover-timeout {PRIMARY} 6000",
        f"sentinel parallel-syncs {PRIMARY} 2",
    )
    configuration.write_text("".join(f"{line}\n" for line in lines))
    tie = (sys.executable, "-I", "-S", tied.__file__, str(os.getpid()))
    process = subprocess.Popen([*tie, find_binary(), configuration, "--sentinel"], process_group=0)
    try:
        yield
    finally:
        process.terminate()
        process.wait(10)


def _join(ports: Sequence[int], buses: dict[int, int]) -> None:
    """Make one cluster of servers: the first three share the slots, the others follow them."""
    _share(ports, buses, primaries=3)
    names = {port: _ask(port, "CLUSTER", "MYID") for port in ports[:3]}
    for primary, replica in zip(ports[:3], ports[3:], strict=True):
        _ask(replica, "CLUSTER", "REPLICATE", names[primary])
    _until(lambda: all(_replicas(port) == 1 for port in ports[:3]) and all(_is_whole(port) for port in ports))


def _share(ports: Sequence[int], buses: dict[int, int], *, primaries: int) -> None:
    """Have servers know one another, and the first `primaries` of them share the slots."""
    for port in ports[1:]:
        _ask(ports[0], "CLUSTER", "MEET", "127.0.0.1", port, buses[port])
    bounds = [SLOTS * number // primaries for number in range(primaries + 1)]
    for port, (first, end) in zip(ports, pairwise(bounds), strict=False):
        _ask(port, "CLUSTER", "ADDSLOTSRANGE", first, end - 1)
    _until(lambda: all(_knows(port, len(ports)) for port in ports))


def _client(port: int) -> Redis:
    return Redis(port=port, protocol=2, socket_timeout=2, socket_connect_timeout=2)


def _ask(port: int, *command: object) -> Any:
    """Return what a server answers, as it stands."""
    with _client(port) as client:
        client.response_callbacks.clear()
        return client.execute_command(*command)


def _section(port: int, *command: str) -> dict[str, str]:
    """Return the lines `name:value` that a command answers with."""
    answer = _ask(port, *command).decode()
    return dict(line.split(":", 1) for line in answer.splitlines() if ":" in line)


def _replicas(port: int) -> int:
    facts = _section(port, "INFO", "replication")
    return sum(1 for number in range(2) if "state=online" in facts.get(f"slave{number}", ""))


def _sees_all(sentinel: int) -> bool:
    seen = _section(sentinel, "INFO", "sentinel").get("master0", "")
    return "slaves=2,sentinels=3" in seen and "status=ok" in seen


def _knows(port: int, count: int) -> bool:
    return _section(port, "CLUSTER", "INFO")["cluster_known_nodes"] == str(count)


def _is_whole(port: int) -> bool:
    return _section(port, "CLUSTER", "INFO")["cluster_state"] == "ok"


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(closing(socket.socket())) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def _until(condition: Callable[[], bool]) -> None:
    deadline = clock.monotonic() + STARTED_SECONDS
    while not condition():
        assert clock.monotonic() < deadline, f"the servers did not find one another in {STARTED_SECONDS} s"
        clock.pause(POLL_SECONDS)
