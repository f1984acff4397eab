"""Spans: off, they are nothing; on, they are OpenTelemetry's, and say no more than they should."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from promontory.runtime import tracing
from promontory.runtime.process import trace
from promontory.runtime.settings import SettingsError, WorkerSettings, load
from promontory.runtime.tracing import Cause, Kind
from tests.support.tracing import SAMPLED, TRACE, UNSAMPLED, Traced, trace_of


@pytest.fixture(autouse=True)
def _off_again() -> Iterator[None]:
    yield
    tracing.use(None)


def test_without_a_collector_nothing_is_traced() -> None:
    trace("worker", load(WorkerSettings, {}))
    assert not tracing.is_on()
    with tracing.span("append", cause=Cause(parent=SAMPLED)) as span:
        span.tell({"promontory.version": 1})
        assert (tracing.current(), tracing.headers()) == ("", ())


@pytest.mark.parametrize("url", ["collector:4317", "http://", "grpc://collector:4317"])
def test_a_collector_s_address_is_a_url(url: str) -> None:
    with pytest.raises(SettingsError, match="PROMONTORY_TRACES_URL"):
        load(WorkerSettings, {"PROMONTORY_TRACES_URL": url})


def test_a_span_in_another_is_its_child() -> None:
    traced = Traced(ratio=1)
    with (
        tracing.span("Pacific/SubmitCommand", Kind.SERVER),
        tracing.span("append", attributes=tracing.about("pc-000-a")),
    ):
        context = tracing.current()
    inner, outer = traced.spans()
    assert inner.parent is not None
    assert inner.parent.span_id == outer.context.span_id
    assert context.startswith(f"00-{outer.context.trace_id:032x}-{inner.context.span_id:016x}-")
    assert dict(inner.attributes or {}) == {"promontory.match_id": "pc-000-a"}
    assert inner.resource.attributes["service.name"] == "rules.pacific"


@pytest.mark.parametrize(("parent", "ratio", "seen"), [(SAMPLED, 0.0, 1), (UNSAMPLED, 1.0, 0)])
def test_what_began_elsewhere_is_sampled_as_it_was_there(parent: str, ratio: float, seen: int) -> None:
    traced = Traced(ratio=ratio)
    with tracing.span("task", Kind.CONSUMER, cause=Cause(parent=parent)):
        assert tracing.headers() == ((("traceparent", tracing.current()),) if seen else ())
    spans = traced.spans()
    assert [trace_of(span) for span in spans] == [TRACE] * seen


def test_a_link_begins_a_trace_that_refers_to_another() -> None:
    traced = Traced(ratio=1)
    with tracing.span("call", Kind.SERVER, cause=Cause(link=SAMPLED)):
        pass
    (span,) = traced.spans()
    assert span.parent is None
    assert trace_of(span) != TRACE
    assert [f"{link.context.trace_id:032x}" for link in span.links] == [TRACE]


@pytest.mark.parametrize("told", ["", "garbage", "00-0-0-01", "x" * 9000])
@pytest.mark.parametrize("as_parent", [True, False])
def test_a_context_that_makes_no_sense_is_none(told: str, as_parent: bool) -> None:
    traced = Traced(ratio=1)
    with tracing.span("call", cause=Cause(parent=told) if as_parent else Cause(link=told)):
        pass
    (span,) = traced.spans()
    assert (span.parent, span.links) == (None, ())


def test_what_an_error_says_is_not_in_its_span() -> None:
    def fail() -> None:
        with tracing.span("call") as span:
            span.fail("INTERNAL")
            raise ValueError("the deck is L3 L4")

    traced = Traced(ratio=1)
    with pytest.raises(ValueError, match="the deck"):
        fail()
    (seen,) = traced.spans()
    assert "deck" not in seen.to_json()
    assert (seen.status.is_ok, dict(seen.attributes or {})) == (False, {"error.type": "INTERNAL"})


def test_only_so_much_of_a_given_id_is_told() -> None:
    assert tracing.about("x" * 65_000) == {"promontory.match_id": "x" * 64}
    assert tracing.about("") == {}
