"""What does ``turnout top`` show? A frame is a pure function of what was seen of the orchestrators."""

from __future__ import annotations

from collections.abc import Sequence

from turnout.cli.format import MARKS, last_name, lasting, one_line, short, time_of_day
from turnout.cli.health_tables import (
    database_lines,
    event_lines,
    executor_lines,
    orchestrator_lines,
    pool_lines,
    trouble_lines,
    worker_lines,
    worst,
)
from turnout.cli.output import UNBOUNDED, Line, Span
from turnout.cli.tables import Column, cut, table
from turnout.cli.tree import counts
from turnout.cli.wait_reasons import waits
from turnout.model.driver import NOT_DRIVEN, Driver
from turnout.model.health import Orchestrator
from turnout.model.states import RunState, TaskState
from turnout.runner.open_runs import NO_RUNS, OpenRun, OpenRuns
from turnout.runner.views import TaskView

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


def run_lines(runs: OpenRuns, now: float, width: int, most: int) -> list[Line]:
    """A line with the counts and one for each run, as far as there is room; nothing if all runs have ended."""
    total = sum(runs.counts.values())
    if not total:
        return []
    ranked = sorted(runs.latest, key=lambda run: (not run.working, run.view.created_at))
    shown = ranked[:most]
    lines = [cut(_run_counts(runs), width)]
    if shown:
        lines += table(
            [
                Column("run", [(short(run.view.id), "") for run in shown]),
                Column("workflow", [(one_line(last_name(run.view.workflow), 24), "") for run in shown]),
                Column("state", [_state(run) for run in shown]),
                Column("for", [(lasting(now - run.view.created_at), "") for run in shown], right=True, rank=2),
                Column("tasks", [(_tasks(run), "") for run in shown], rank=1),
                Column("", [(_waits(run, max(24, width - 72)), "yellow") for run in shown]),
            ],
            width,
        )
    if total > len(shown):
        lines.append(cut([(f"… and {total - len(shown):,} more runs", "dim")], width))
    return lines


def _run_counts(runs: OpenRuns) -> Line:
    line: Line = [("runs  ", "dim")]
    for state in (RunState.RUNNING, RunState.PENDING, RunState.PAUSED, RunState.CANCELLING):
        if runs.counts.get(state):
            mark, style = MARKS[state]
            line.append((f"{mark} {runs.counts[state]:,} {state}  ", style))
    if runs.not_driven:
        line.append((f"! {runs.not_driven:,} {NOT_DRIVEN}", "yellow"))
    return line


def _state(run: OpenRun) -> Span:
    """A run of which no task runs waits, whatever it is called."""
    if run.driver is Driver.NOT_DRIVEN:
        return "! not driven", "yellow"
    if run.view.state is RunState.RUNNING and not run.working:
        return "… waiting", "yellow"
    mark, style = MARKS[run.view.state]
    return f"{mark} {run.view.state}", style


def _tasks(run: OpenRun) -> str:
    return "".join(text for text, _ in counts(run.tasks)).rstrip()


def _waits(run: OpenRun, width: int) -> str:
    if run.reason is None or run.working:
        return ""
    return one_line(waits(TaskView(name="", state=TaskState.READY, reason=run.reason)), width)
