"""A collector of traces: an OTLP server in this process that keeps what it is sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as service


class Seen(NamedTuple):
    """A span as it arrived; ids in hex, `parent` empty for the first of a trace."""

    process: str
    name: str
    trace: str
    id: str
    parent: str
    links: tuple[str, ...]
    attributes: Mapping[str, str]
    failed: bool


class Collector(service.TraceServiceServicer):
    """Keeps spans in `spans`."""

    def __init__(self) -> None:
        self.spans: list[Seen] = []

    def Export(self, request: pb.ExportTraceServiceRequest, context: Any) -> pb.ExportTraceServiceResponse:  # noqa: N802
        """Keep the spans of one export."""
        for resource in request.resource_spans:
            process = _texts(resource.resource.attributes)["service.name"]
            self.spans += [_seen(process, span) for scope in resource.scope_spans for span in scope.spans]
        return pb.ExportTraceServiceResponse()


@contextmanager
def collecting() -> Iterator[tuple[Collector, str]]:
    """Run a collector on loopback; yield it with its URL."""
    collector, server = Collector(), grpc.server(ThreadPoolExecutor(2))
    service.add_TraceServiceServicer_to_server(collector, server)
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        yield collector, f"http://127.0.0.1:{port}"
    finally:
        server.stop(1).wait()


def _seen(process: str, span: Any) -> Seen:
    return Seen(
        process=process,
        name=span.name,
        trace=span.trace_id.hex(),
        id=span.span_id.hex(),
        parent=span.parent_span_id.hex(),
        links=tuple(link.trace_id.hex() for link in span.links),
        attributes=_texts(span.attributes),
        failed=span.status.code == span.status.STATUS_CODE_ERROR,
    )


def _texts(attributes: Any) -> dict[str, str]:
    return {each.key: str(getattr(each.value, each.value.WhichOneof("value"))) for each in attributes}
