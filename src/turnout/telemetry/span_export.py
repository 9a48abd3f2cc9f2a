"""Sends spans by OTLP over HTTP, in batches, from a thread of the SDK."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.environment_variables import OTEL_BSP_MAX_EXPORT_BATCH_SIZE, OTEL_BSP_MAX_QUEUE_SIZE
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags

from turnout.model.spans import ATTEMPT, RUN, Span
from turnout.model.trace_ids import run_span_id, trace_id_of
from turnout.telemetry.dropped_spans import NOT_TAKEN, QUEUE_FULL, STOPPED, DroppedSpans

MAX_DESCRIPTION = 1_000
"""Characters of the description of a failure."""
MAX_QUEUE, MAX_BATCH = 2_048, 512
"""Spans that wait for the collector, and spans in one request, unless the standard variables say otherwise."""
_SAMPLED = TraceFlags(TraceFlags.SAMPLED)
_KINDS = {ATTEMPT: SpanKind.CONSUMER, RUN: SpanKind.SERVER}


class SpanExport:
    """Sends spans to a collector. What the collector does not take in time is dropped: runs never wait for it. Used
    from any thread."""

    def __init__(
        self,
        endpoint: str | None,
        resource: Resource,
        scope: InstrumentationScope,
        interval: float,
        dropped: DroppedSpans,
    ) -> None:
        exporter = OTLPSpanExporter(None if endpoint is None else f"{endpoint.rstrip('/')}/v1/traces")
        self._max_queue = _positive(OTEL_BSP_MAX_QUEUE_SIZE, MAX_QUEUE)
        self._processor = BatchSpanProcessor(
            _Counted(exporter, self._taken, dropped),
            max_queue_size=self._max_queue,
            max_export_batch_size=min(self._max_queue, _positive(OTEL_BSP_MAX_EXPORT_BATCH_SIZE, MAX_BATCH)),
            schedule_delay_millis=interval * 1000,
        )
        self._resource = resource
        self._scope = scope
        self._dropped = dropped
        self._lock = threading.Lock()
        self._waiting = 0
        """Spans in the queue of the SDK, which drops without a count what is beyond its size."""
        self._stopped = False

    def add(self, trace_id: int, spans: Sequence[Span]) -> None:
        with self._lock:
            free = 0 if self._stopped else min(len(spans), self._max_queue - self._waiting)
            self._waiting += free
        self._dropped.add(STOPPED if self._stopped else QUEUE_FULL, len(spans) - free)
        for span in spans[:free]:
            self._processor.on_end(self._readable(trace_id, span))

    def stop(self) -> None:
        """Sends what has not been sent, and ends."""
        with self._lock:
            self._stopped = True
        self._processor.shutdown()

    def _taken(self, number: int) -> None:
        with self._lock:
            self._waiting -= number

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


class _Counted(SpanExporter):
    """Counts what an exporter is given, and what it could not send."""

    def __init__(self, exporter: SpanExporter, taken: Callable[[int], None], dropped: DroppedSpans) -> None:
        self._exporter = exporter
        self._taken = taken
        self._dropped = dropped

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self._taken(len(spans))
        result = self._exporter.export(spans)
        if result is not SpanExportResult.SUCCESS:
            self._dropped.add(NOT_TAKEN, len(spans))
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


def _positive(variable: str, default: int) -> int:
    text = os.environ.get(variable, "")
    return int(text) if text.isdecimal() and int(text) > 0 else default


def _context(trace_id: int, span_id: int) -> SpanContext:
    return SpanContext(trace_id, span_id, is_remote=False, trace_flags=_SAMPLED)


def _nanoseconds(seconds: float) -> int:
    # Microseconds first: a float has no more digits of the present time.
    return round(seconds * 1_000_000) * 1_000
