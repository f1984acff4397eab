"""Spans by OpenTelemetry, sent to a collector. Import this only where tracing is on: it needs the extra `tracing`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from promontory import __version__
from promontory.runtime.tracing import TRACEPARENT, Attributes, Cause, Kind, Span

_KINDS = {
    Kind.SERVER: trace.SpanKind.SERVER,
    Kind.PRODUCER: trace.SpanKind.PRODUCER,
    Kind.CONSUMER: trace.SpanKind.CONSUMER,
    Kind.STEP: trace.SpanKind.INTERNAL,
}
_PROPAGATOR = TraceContextTextMapPropagator()


def exporter(url: str) -> SpanExporter:
    """Return what sends spans to the collector at `http://host:port` or `https://host:port`, by OTLP over gRPC."""
    return OTLPSpanExporter(endpoint=url, insecure=not url.startswith("https://"))


class OpenTelemetryTracer:
    """A `Tracer` of the process called `process`, which samples `ratio` (0..1) of the traces that begin in it.

    A trace that began elsewhere is sampled as it was there. A thread of its own sends spans in batches, the last at the
    process's orderly end; what a collector does not take in time is dropped.
    """

    def __init__(self, process: str, exporter: SpanExporter, *, ratio: float) -> None:
        facts = {"service.namespace": "promontory", "service.name": process, "service.version": __version__}
        sampler = ParentBased(TraceIdRatioBased(ratio))
        self._provider = TracerProvider(sampler=sampler, resource=Resource.create(facts))
        self._provider.add_span_processor(BatchSpanProcessor(exporter, schedule_delay_millis=1000))
        self._tracer = self._provider.get_tracer("promontory", __version__)

    @contextmanager
    def span(self, name: str, kind: Kind, *, cause: Cause, attributes: Attributes) -> Iterator[Span]:
        """Return a span that lasts as long as the body; see `Tracer.span`."""
        links = [trace.Link(linked)] if (linked := _context(cause.link)).is_valid else []
        parent = _parent(cause) if cause.parent or cause.link else None
        with self._tracer.start_as_current_span(
            name,
            context=parent,
            kind=_KINDS[kind],
            attributes=attributes,
            links=links,
            record_exception=False,  # what errors say may hold what players must not see
            set_status_on_exception=False,
        ) as span:
            yield _Span(span)

    def current(self) -> str:
        """Return the trace context of the span that is under way; see `Tracer.current`."""
        if not trace.get_current_span().get_span_context().trace_flags.sampled:
            return ""
        carrier: dict[str, str] = {}
        _PROPAGATOR.inject(carrier)
        return carrier.get(TRACEPARENT, "")

    def close(self) -> None:
        """Send what has not been sent, and end the thread."""
        self._provider.shutdown()


class _Span:
    """A span of OpenTelemetry's as a `Span`."""

    def __init__(self, span: trace.Span) -> None:
        self._span = span

    def tell(self, attributes: Attributes) -> None:
        self._span.set_attributes(attributes)

    def fail(self, reason: str) -> None:
        self._span.set_attribute("error.type", reason)
        self._span.set_status(trace.StatusCode.ERROR)


def _parent(cause: Cause) -> Context:
    """Return the context a span begins in: that of its parent, or none, for the first of a trace."""
    return _PROPAGATOR.extract({TRACEPARENT: cause.parent}, context=Context())


def _context(traceparent: str) -> trace.SpanContext:
    found = _PROPAGATOR.extract({TRACEPARENT: traceparent}, context=Context())
    return trace.get_current_span(found).get_span_context()
