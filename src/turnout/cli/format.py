"""Durations, times, sizes, ids and states as short text, and the marks and colours of states."""

from __future__ import annotations

from datetime import datetime

from turnout.model.names import DELIVERY
from turnout.model.texts import printable_line

SHORT_ID = 23
"""Characters of an id in tables: its milliseconds and 26 random bits, enough to select a run of those that start at the
same moment."""

MARKS: dict[str, tuple[str, str]] = {
    "completed": ("✓", "green"),
    "failed": ("✗", "red"),
    "running": ("▶", "cyan"),
    "pending": ("…", "dim"),
    "ready": ("…", "yellow"),
    "skipped": ("∅", "dim"),
    "cancelled": ("■", "magenta"),
    "cancelling": ("■", "magenta"),
    "paused": ("‖", "yellow"),
    "healthy": ("✓", "green"),
    "degraded": ("!", "yellow"),
    "unhealthy": ("✗", "red"),
    "down": ("✗", "red"),
    "good": ("✓", "green"),
    "fair": ("!", "yellow"),
    "bad": ("✗", "red"),
}
"""The mark and the style of each state of a task or run, condition of an orchestrator and grade of a check."""

BREAKER_STYLES = {"closed": "dim", "half_open": "yellow", "open": "red"}


def format_duration(seconds: float) -> str:
    """Returns a duration in few characters.

    >>> [format_duration(each) for each in (0.0042, 1.234, 75, 7384, 200000)]
    ['4 ms', '1.2 s', '1m15s', '2h03m', '2d07h']
    """
    seconds = max(seconds, 0.0)
    if seconds < 0.9995:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    rounded = round(seconds)
    if rounded < 3600:
        return f"{rounded // 60}m{rounded % 60:02}s"
    if rounded < 86400:
        return f"{rounded // 3600}h{rounded % 3600 // 60:02}m"
    return f"{rounded // 86400}d{rounded % 86400 // 3600:02}h"


def format_time(at: float | None) -> str:
    """Returns a point in time, in the local time zone."""
    return "" if at is None else datetime.fromtimestamp(at).astimezone().strftime("%Y-%m-%d %H:%M:%S")


def format_time_of_day(at: float) -> str:
    return datetime.fromtimestamp(at).astimezone().strftime("%H:%M:%S")


def format_size(count: int) -> str:
    """Returns an amount of memory in few characters.

    >>> [format_size(each) for each in (0, 900_000, 88_000_000, 2_340_000_000)]
    ['0 MB', '1 MB', '88 MB', '2.3 GB']
    """
    return f"{count / 1e6:.0f} MB" if count < 1e9 else f"{count / 1e9:.1f} GB"


def format_count(count: int, noun: str) -> str:
    """Returns a number with its noun.

    >>> [format_count(each, "run") for each in (0, 1, 1200)]
    ['0 runs', '1 run', '1,200 runs']
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def short_id(run_id: str) -> str:
    return run_id[:SHORT_ID]


def workflow_name(workflow: str) -> str:
    """Returns the workflow's name without tenant and package; that of a delivery with the package, which names the
    workflow that notifies.

    >>> workflow_name("public::embedded::etl"), workflow_name("public::embedded.etl.2::notify")
    ('etl', 'embedded.etl.2::notify')
    """
    rest, _, name = workflow.rpartition("::")
    package = rest.rpartition("::")[2]
    return f"{package}::{name}" if name == DELIVERY and "." in package else name


def one_line(text: str, width: int = 120) -> str:
    first = printable_line(text.strip().splitlines()[0]) if text.strip() else ""
    return first if len(first) <= width else f"{first[: width - 1]}…"
