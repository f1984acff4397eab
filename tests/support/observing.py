"""What a test observes of a server beside its answers: log lines, metrics, and the details of its errors."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
import structlog
from google.rpc import error_details_pb2
from grpc_status import rpc_status
from prometheus_client import REGISTRY
from structlog.testing import LogCapture


@contextmanager
def captured_lines() -> Iterator[list[Any]]:
    """Give the log lines of this process as they are written, whatever logging was set up before."""
    before, capture = structlog.get_config(), LogCapture()
    wrapper = structlog.make_filtering_bound_logger(logging.DEBUG)
    structlog.configure(processors=[capture], wrapper_class=wrapper, cache_logger_on_first_use=False)
    yield capture.entries
    structlog.configure(**before)


def counted(name: str, **labels: str) -> float:
    """Return the value of a metric of this process; 0 if it has none yet."""
    return REGISTRY.get_sample_value(name, labels) or 0.0


def details_of(error: grpc.aio.AioRpcError) -> dict[str, Any]:
    """Return the details of a failed call by the names of their messages."""
    status: Any = rpc_status.from_call(error)  # type: ignore[arg-type]
    pb = error_details_pb2
    kinds = (pb.ErrorInfo, pb.BadRequest, pb.RetryInfo, pb.QuotaFailure)
    found = [(kind(), packed) for packed in status.details for kind in kinds if packed.Is(kind.DESCRIPTOR)]
    return {message.DESCRIPTOR.name: message for message, packed in found if packed.Unpack(message)}
