"""Asking a process of the platform whether it serves, as those do who look after its container."""

from __future__ import annotations

import json
import urllib.request
from pathlib import Path

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

ANSWER_SECONDS = 3
ANYWHERE = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  # noqa: S104 - what processes listen on, not what we do
"""By which address somebody is reached from the same machine who listens on all of them."""


class NotServing(Exception):
    """The process does not serve, or not what was asked for; the message says what was found."""


def check_ready(ready_file: Path, service: str = "") -> str:
    """Ask the process that wrote `ready_file`, and return the address at which it answered.

    A process with a gRPC server is asked for `service`, or for itself if that is empty; another for its metrics.
    Raises `NotServing`, also when the file is not there yet.
    """
    try:
        addresses = json.loads(ready_file.read_bytes())
    except FileNotFoundError as error:
        raise NotServing(f"not ready: {ready_file} is not there") from error
    if addresses["grpc"]:
        return check_service(_reached(addresses["grpc"]), service)
    return check_metrics(_reached(addresses["metrics"]))


def check_service(address: str, service: str = "") -> str:
    """Ask the gRPC server at `address` for the health of `service`, and return the address; raise `NotServing`."""
    request = health_pb2.HealthCheckRequest(service=service)
    try:
        with grpc.insecure_channel(address) as channel:
            answer = health_pb2_grpc.HealthStub(channel).Check(request, timeout=ANSWER_SECONDS, wait_for_ready=True)
    except grpc.RpcError as error:
        raise NotServing(f"{address} does not answer for {service or 'itself'}: {error.code().name}") from error
    if answer.status != health_pb2.HealthCheckResponse.SERVING:
        raise NotServing(f"{address} does not serve {service or 'at all'}")
    return address


def check_metrics(address: str) -> str:
    """Fetch the metrics at `address`, and return the address; raise `NotServing`."""
    try:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=ANSWER_SECONDS) as answer:
            answer.read()
    except OSError as error:
        raise NotServing(f"{address} shows no metrics: {error}") from error
    return address


def _reached(listen: str) -> str:
    host, _, port = listen.rpartition(":")
    return f"{ANYWHERE.get(host, host)}:{port}"
