"""Sends the declared figures of this orchestrator, and the durations of what it ended, by OTLP over HTTP."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from threading import Lock
from typing import TypeAlias

from opentelemetry.exporter.otlp.proto.http.metric_exporter import OTLPMetricExporter
from opentelemetry.metrics import CallbackOptions, Counter, Histogram, Observation
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import PeriodicExportingMetricReader
from opentelemetry.sdk.resources import Resource
from opentelemetry.trace import NonRecordingSpan, SpanContext, TraceFlags, set_span_in_context

from turnout.model import exposition, run_figures
from turnout.model.exposition import Labels, all_samples, is_counter
from turnout.model.health import Orchestrator
from turnout.model.trace_ids import SpanIdentity
from turnout.telemetry import dropped_spans
from turnout.telemetry.dropped_spans import DroppedSpans

Status: TypeAlias = Callable[[], Orchestrator | None]
"""Returns the status of this orchestrator, from any thread; None before the first."""

MAX_AGE = 1.0
"""Seconds for which the samples of one status serve: one export asks for each metric by itself."""


class MetricExport:
    """Sends metrics at an interval. Their names, meanings and labels are those of the exposition for Prometheus."""

    def __init__(
        self,
        endpoint: str | None,
        resource: Resource,
        scope: str,
        version: str,
        interval: float,
        status: Status,
        dropped: DroppedSpans,
    ) -> None:
        exporter = OTLPMetricExporter(None if endpoint is None else f"{endpoint.rstrip('/')}/v1/metrics")
        reader = PeriodicExportingMetricReader(exporter, export_interval_millis=interval * 1000)
        self._provider = MeterProvider([reader], resource=resource, shutdown_on_exit=False)
        self._status = status
        self._samples: dict[str, list[tuple[Labels, float]]] = {}
        self._read_at = -MAX_AGE
        self._reading = Lock()
        meter = self._provider.get_meter(scope, version)
        for name, meaning in exposition.FAMILIES.items():
            observed = meter.create_observable_counter if is_counter(name) else meter.create_observable_gauge
            observed(name, [self._callback(name)], description=meaning)
        meter.create_observable_counter(dropped_spans.METRIC, [_dropped(dropped)], description=dropped_spans.MEANING)
        self._counters: dict[str, Counter] = {}
        self._histograms: dict[str, Histogram] = {}
        for name, meaning in run_figures.FAMILIES.items():
            if is_counter(name):
                self._counters[name] = meter.create_counter(name, description=meaning)
            else:
                self._histograms[name] = meter.create_histogram(
                    name, unit="s", description=meaning, explicit_bucket_boundaries_advisory=run_figures.BUCKETS
                )

    def count(self, metric: str, labels: dict[str, str], number: int) -> None:
        self._counters[metric].add(number, labels)

    def duration(self, metric: str, labels: dict[str, str], seconds: float, span: SpanIdentity) -> None:
        # The SDK keeps the span of the context as the exemplar of a bucket, if its trace is recorded.
        flags = TraceFlags(TraceFlags.SAMPLED if span.sampled else TraceFlags.DEFAULT)
        context = SpanContext(span.trace_id, span.span_id, is_remote=False, trace_flags=flags)
        self._histograms[metric].record(seconds, labels, context=set_span_in_context(NonRecordingSpan(context)))

    def stop(self) -> None:
        """Sends the last figures, and ends."""
        self._provider.shutdown()

    def _callback(self, name: str) -> Callable[[CallbackOptions], Iterable[Observation]]:
        def observe(_: CallbackOptions) -> Iterable[Observation]:
            return [Observation(value, dict(labels)) for labels, value in self._read().get(name, ())]

        return observe

    def _read(self) -> dict[str, list[tuple[Labels, float]]]:
        with self._reading:
            if time.monotonic() - self._read_at >= MAX_AGE:
                status = self._status()
                found: dict[str, list[tuple[Labels, float]]] = {}
                for name, labels, value in all_samples([] if status is None else [status]):
                    found.setdefault(name, []).append((labels, float(value)))
                self._samples, self._read_at = found, time.monotonic()
            return self._samples


def _dropped(dropped: DroppedSpans) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def observe(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(number, {"reason": reason}) for reason, number in dropped.numbers().items()]

    return observe
