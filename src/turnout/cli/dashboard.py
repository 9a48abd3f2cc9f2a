"""What does ``turnout top`` show? A frame is a pure function of what was seen of the orchestrators."""

from __future__ import annotations

from collections.abc import Sequence

from turnout.cli.conditions import (
    MARKS,
    database_lines,
    event_lines,
    executor_lines,
    orchestrator_lines,
    pool_lines,
    trouble_lines,
    worker_lines,
    worst,
)
from turnout.cli.open_runs import run_lines
from turnout.cli.output import UNBOUNDED, Line
from turnout.cli.tables import cut
from turnout.cli.wording import time_of_day
from turnout.model.health import Orchestrator
from turnout.runner.open_runs import NO_RUNS, OpenRuns

EVENTS = 8
RUNS = 10
"""Runs that a picture names; fewer on a low screen, which the pools need too."""


def frame(
    found: Sequence[Orchestrator],
    now: float,
    runs: OpenRuns = NO_RUNS,
    *,
    width: int = UNBOUNDED,
    height: int | None = None,
    note: str | None = None,
) -> list[Line]:
    """All in one picture: the runs that have not ended, a line for each orchestrator, and their pools, executors and
    database together.

    Events get the lines of the screen that are left over; what is wrong goes before them. Without a height it is a
    picture on paper. ``note`` says why it may be old."""
    lines = [_head(found, now, width)]
    if note is not None:
        lines.append(cut([(note, "red")], width))
    shown = run_lines(runs, now, width, RUNS if height is None else max(3, min(RUNS, height // 6)))
    lines += [[], *shown] if shown else []
    if not found:
        waiting = "" if height is None else ": waiting for one"
        return [*lines, [], cut([(f"no orchestrator is alive{waiting}", "yellow")], width)]
    sections = [
        orchestrator_lines(found, width),
        pool_lines(found, width),
        executor_lines(found, width),
        worker_lines(found, width),
        database_lines(found, width),
        trouble_lines(found, width),
    ]
    for section in sections:
        lines += [[], *section] if section else []
    room = EVENTS if height is None else min(EVENTS, height - len(lines) - 1)
    events = event_lines(found, width, room) if room > 0 else []
    return [*lines, [], *events] if events else lines


def _head(found: Sequence[Orchestrator], now: float, width: int) -> Line:
    condition = worst(found)
    mark, style = MARKS[condition]
    count = f"{len(found)} orchestrator{'' if len(found) == 1 else 's'}"
    return cut(
        [("turnout top", "bold"), (f"  {time_of_day(now)}  {count}  ", "dim"), (f"{mark} {condition}", style)], width
    )
