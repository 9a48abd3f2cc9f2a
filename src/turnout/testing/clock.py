"""What time is it in a test? The time that the test says."""

from __future__ import annotations

from datetime import datetime

from turnout.model.durations import Duration, seconds


class ManualClock:
    """Stands still until somebody moves it.

    >>> clock = ManualClock()
    >>> clock.advance("5m")
    >>> clock.passed
    300.0
    """

    def __init__(self, start: float | datetime = 1_700_000_000.0) -> None:
        self._start = start.timestamp() if isinstance(start, datetime) else float(start)
        self.passed = 0.0
        """Seconds since the start."""

    def now(self) -> float:
        """Unix time."""
        return self._start + self.passed

    def advance(self, duration: Duration) -> None:
        """Let time pass: ``advance("5m")``, ``advance(0.5)``, ``advance(timedelta(hours=1))``."""
        self.passed += seconds(duration, "advance")

    def __repr__(self) -> str:
        return f"<ManualClock, {self.passed:g} s passed>"
