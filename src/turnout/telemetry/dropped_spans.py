"""Counts the spans that were not sent, by the reason, and logs them at intervals."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from turnout.rate_limited_log import RateLimitedLog

log = logging.getLogger("turnout.telemetry")

METRIC = "turnout_spans_dropped_total"
MEANING = "Spans that were not sent, by reason."

QUEUE_FULL, NOT_TAKEN, TRACE_UNKNOWN, STOPPED = "queue_full", "not_taken", "trace_unknown", "stopped"
"""More came than the collector took; the collector did not take a batch; an ancestor of the run could not be read; the
export has ended."""


class DroppedSpans:
    """The numbers of dropped spans. Used from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers: dict[str, int] = dict.fromkeys((QUEUE_FULL, NOT_TAKEN, TRACE_UNKNOWN, STOPPED), 0)
        self._rate_limited_log = RateLimitedLog(log)

    def add(self, reason: str, number: int) -> None:
        if not number:
            return
        with self._lock:
            self._numbers[reason] += number
            total = sum(self._numbers.values())
        self._rate_limited_log.failure("spans are dropped: %s; %d in all", reason, total)

    def numbers(self) -> Mapping[str, int]:
        with self._lock:
            return dict(self._numbers)
