"""A process that traces, and the trace contexts that others send it."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from promontory.runtime import tracing
from promontory.runtime.spans import OpenTelemetryTracer

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED, UNSAMPLED = f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-00"


class Traced:
    """Tracing from now on, of `ratio` of the traces that begin here."""

    def __init__(self, *, ratio: float) -> None:
        self._exporter = InMemorySpanExporter()
        self._tracer = OpenTelemetryTracer("rules.pacific", self._exporter, ratio=ratio)
        tracing.use(self._tracer)

    def spans(self) -> Sequence[ReadableSpan]:
        """End it, and return what spans there were, in the order of their ends."""
        tracing.use(None)
        self._tracer.close()
        return self._exporter.get_finished_spans()


def trace_of(span: ReadableSpan) -> str:
    """Return the id of the trace of `span`, in hex."""
    return f"{span.context.trace_id:032x}"
