"""Puts the parts of telemetry together, and ends them."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from importlib.metadata import version
from threading import Thread

from opentelemetry.sdk.resources import OTELResourceDetector, Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from turnout.model.health import Orchestrator
from turnout.telemetry.dropped_spans import DroppedSpans
from turnout.telemetry.exemplars import Exemplars
from turnout.telemetry.metric_export import MetricExport
from turnout.telemetry.observer import TelemetryObserver
from turnout.telemetry.root_runs import FindRun, RootRuns
from turnout.telemetry.run_traces import RunTraces
from turnout.telemetry.settings import TelemetrySettings
from turnout.telemetry.span_export import SpanExport

log = logging.getLogger("turnout.telemetry")

SCOPE = "turnout"
STOP_TIMEOUT = 5.0
"""Seconds that the last look-ups and the last export may take."""
LOOK_UP_SHARE = 0.4
"""The part of it that look-ups may take: a database that does not answer leaves time for the export."""


class Telemetry:
    """The telemetry of one orchestrator."""

    def __init__(
        self,
        settings: TelemetrySettings,
        *,
        in_memory: FindRun,
        stored: FindRun,
        status: Callable[[], Orchestrator | None],
    ) -> None:
        release = version("turnout")
        given = {} if settings.service_name is None else {"service.name": settings.service_name}
        resource = Resource({"service.name": SCOPE, "service.version": release, "process.pid": os.getpid()})
        resource = resource.merge(OTELResourceDetector().detect()).merge(Resource(given))
        scope = InstrumentationScope(SCOPE, release)
        endpoint, dropped = settings.endpoint, DroppedSpans()
        self._spans = SpanExport(endpoint, resource, scope, settings.export_interval, dropped)
        self._metrics = MetricExport(endpoint, resource, SCOPE, release, settings.metrics_interval, status, dropped)
        self.exemplars = Exemplars()
        self.traces = RunTraces(RootRuns(in_memory, stored), settings.sample)
        self.observer = TelemetryObserver(self.traces, self._spans, self._metrics, self.exemplars, dropped)

    def stop(self, timeout: float = STOP_TIMEOUT) -> None:
        """Sends what has not been sent, and ends. Blocks for at most the timeout, whatever happens."""
        until = time.monotonic() + timeout
        self.observer.stop(timeout * LOOK_UP_SHARE)
        stopping = [Thread(target=each.stop, daemon=True) for each in (self._spans, self._metrics)]
        for each in stopping:
            each.start()
        for each in stopping:
            each.join(max(0.0, until - time.monotonic()))
        if any(each.is_alive() for each in stopping):
            log.warning("the collector did not take the last spans and metrics within %g s", timeout)
