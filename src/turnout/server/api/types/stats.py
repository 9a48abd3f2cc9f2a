"""Bodies of answers about what has ended lately, and how long it took."""

from __future__ import annotations

from typing import Literal

import msgspec

from turnout.model.percentiles import Spread

Window = Literal["hour", "day"]


class Latency(msgspec.Struct, frozen=True, kw_only=True):
    """Durations in seconds, of the runs of the window that ended last."""

    runs: int
    """Runs that were looked at."""
    start_delay: Spread
    """From when a task could start until its body began. Tasks with several attempts, and items, are left out."""
    task_duration: Spread
    """From when the body of the last attempt began until the task ended."""
    run_duration: Spread
    """From submission to end."""


class Series(msgspec.Struct, frozen=True, kw_only=True):
    """Counts by step: all lists have one entry for each step."""

    at: list[float]
    """When each step begins."""
    runs: dict[str, list[int]]
    """Runs that ended, by state."""
    tasks: dict[str, list[int]]
    """Tasks of these runs, by state."""


class Stats(msgspec.Struct, frozen=True, kw_only=True):
    """Figures of the runs that ended in the last hour or day."""

    window: Window
    workflow: str | None
    """The full name, if the figures are those of one workflow."""
    step: float
    """Seconds of one step. The last one is not over."""
    complete_from: float
    """Steps that begin before it are not counted yet: a server that was just asked for the first time counts them with
    the next requests."""
    series: Series
    latency: Latency
    open_runs: dict[str, int]
    """Runs that have not ended, by state."""
    not_driven: int
    """Those of them that no live orchestrator drives."""
