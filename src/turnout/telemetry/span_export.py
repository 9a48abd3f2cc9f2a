"""Sends spans by OTLP over HTTP, in batches, from a thread of the SDK."""

from __future__ import annotations

from collections.abc import Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from turnout.model.spans import ATTEMPT, RUN, Span
from turnout.model.trace_ids import run_span_id, trace_id_of

MAX_DESCRIPTION = 1_000
"""Characters of the description of a failure."""
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_KINDS = {ATTEMPT: SpanKind.CONSUMER, RUN: SpanKind.SERVER}


class SpanExport:
    """Sends spans to a collector. What the collector does not take in time is dropped: runs never wait for it."""

    def __init__(self, endpoint: str | None, resource: Resource, scope: InstrumentationScope, interval: float) -> None:
        exporter = OTLPSpanExporter(None if endpoint is None else f"{endpoint.rstrip('/')}/v1/traces")
        self._processor = BatchSpanProcessor(exporter, schedule_delay_millis=interval * 1000)
        self._resource = resource
        self._scope = scope

    def add(self, trace_id: int, spans: Sequence[Span]) -> None:
        for span in spans:
            self._processor.on_end(self._readable(trace_id, span))

    def stop(self) -> None:
        """Sends what has not been sent, and ends."""
        self._processor.shutdown()

    def _readable(self, trace_id: int, span: Span) -> ReadableSpan:
        parent = None if span.parent_id is None else _context(trace_id, span.parent_id)
        links: list[Link] = []
        if span.rerun_of is not None:
            links.append(Link(_context(trace_id_of(span.rerun_of), run_span_id(span.rerun_of))))
        status = Status() if span.error is None else Status(StatusCode.ERROR, span.error[:MAX_DESCRIPTION])
        return ReadableSpan(
            span.name,
            context=_context(trace_id, span.span_id),
            parent=parent,
            resource=self._resource,
            attributes=span.attributes,
            links=links,
            kind=_KINDS.get(span.part, SpanKind.INTERNAL),
            status=status,
            start_time=_nanoseconds(span.start),
            end_time=_nanoseconds(span.end),
            instrumentation_scope=self._scope,
        )


def _context(trace_id: int, span_id: int) -> SpanContext:
    return SpanContext(trace_id, span_id, is_remote=False, trace_flags=_SAMPLED)


def _nanoseconds(seconds: float) -> int:
    # Microseconds first: a float has no more digits of the present time.
    return round(seconds * 1_000_000) * 1_000
