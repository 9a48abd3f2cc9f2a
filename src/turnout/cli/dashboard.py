"""The screen of ``turnout top``: a pure function of the statuses of orchestrators and of the open runs."""

from __future__ import annotations

from collections.abc import Sequence

from turnout.cli.format import (
    MARKS,
    format_count,
    format_duration,
    format_time_of_day,
    one_line,
    short_id,
    workflow_name,
)
from turnout.cli.health_tables import (
    database_lines,
    event_lines,
    executor_lines,
    orchestrator_lines,
    pool_lines,
    trouble_lines,
    worker_lines,
    worst_condition,
)
from turnout.cli.output import UNBOUNDED, Column, Line, Span, cut, table
from turnout.cli.tree import count_spans, format_wait
from turnout.model.driver import NOT_DRIVEN, Driver
from turnout.model.health import Orchestrator
from turnout.model.states import RunState, TaskState
from turnout.runner.open_runs import NO_RUNS, OpenRun, OpenRuns
from turnout.runner.views import TaskView

MAX_EVENTS = 8
MAX_RUNS = 10
"""Runs that a frame lists; fewer on a low screen, so that the pools fit."""


def frame(
    found: Sequence[Orchestrator],
    now: float,
    runs: OpenRuns = NO_RUNS,
    *,
    width: int = UNBOUNDED,
    height: int | None = None,
    note: str | None = None,
) -> list[Line]:
    """Returns the lines of one frame: open runs, a line for each orchestrator, and their pools, executors, workers and
    database summed up.

    Troubles go before events, which get the remaining lines of the screen. Without a height nothing is left out.
    ``note`` says why the frame may be out of date.
    """
    lines = [_head(found, now, width)]
    if note is not None:
        lines.append(cut([(note, "red")], width))
    open_runs = run_lines(runs, now, width, MAX_RUNS if height is None else max(3, min(MAX_RUNS, height // 6)))
    lines += [[], *open_runs] if open_runs else []
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
    room = MAX_EVENTS if height is None else min(MAX_EVENTS, height - len(lines) - 1)
    events = event_lines(found, width, room) if room > 0 else []
    return [*lines, [], *events] if events else lines


def _head(found: Sequence[Orchestrator], now: float, width: int) -> Line:
    condition = worst_condition(found)
    mark, style = MARKS[condition]
    count = format_count(len(found), "orchestrator")
    return cut(
        [("turnout top", "bold"), (f"  {format_time_of_day(now)}  {count}  ", "dim"), (f"{mark} {condition}", style)],
        width,
    )


def run_lines(runs: OpenRuns, now: float, width: int, most: int) -> list[Line]:
    """Returns a line with the counts and one for each of the first ``most`` runs; empty if all runs have ended."""
    total = sum(runs.counts.values())
    if not total:
        return []
    ranked = sorted(runs.latest, key=lambda run: (not run.working, run.view.created_at))
    listed = ranked[:most]
    lines = [cut(_run_counts(runs), width)]
    if listed:
        lines += table(
            [
                Column("run", [(short_id(run.view.id), "") for run in listed]),
                Column("workflow", [(one_line(workflow_name(run.view.workflow), 24), "") for run in listed]),
                Column("state", [_state(run) for run in listed]),
                Column("for", [(format_duration(now - run.view.created_at), "") for run in listed], right=True, rank=2),
                Column("tasks", [(_tasks(run), "") for run in listed], rank=1),
                Column("", [(_waits(run, max(24, width - 72)), "yellow") for run in listed]),
            ],
            width,
        )
    if total > len(listed):
        lines.append(cut([(f"… and {format_count(total - len(listed), 'more run')}", "dim")], width))
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
    """Returns the state; a running run without a running task is listed as waiting."""
    if run.driver is Driver.NOT_DRIVEN:
        return "! not driven", "yellow"
    if run.driver is Driver.QUEUED:
        return "… queued", "yellow"
    if run.view.state is RunState.RUNNING and not run.working:
        return "… waiting", "yellow"
    mark, style = MARKS[run.view.state]
    return f"{mark} {run.view.state}", style


def _tasks(run: OpenRun) -> str:
    return "".join(text for text, _ in count_spans(run.tasks)).rstrip()


def _waits(run: OpenRun, width: int) -> str:
    if run.reason is None or run.working:
        return ""
    return one_line(format_wait(TaskView(name="", state=TaskState.READY, reason=run.reason)), width)
