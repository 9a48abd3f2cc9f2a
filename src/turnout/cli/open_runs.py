"""Runs that have not ended as lines of a picture: those that work first, then those that wait, and for what."""

from __future__ import annotations

from turnout.cli.output import Line, Span
from turnout.cli.tables import Column, cut, table
from turnout.cli.tree import counts
from turnout.cli.waits import waits
from turnout.cli.wording import MARKS, last_name, lasting, one_line, short
from turnout.model.driver import NOT_DRIVEN, Driver
from turnout.model.states import RunState, TaskState
from turnout.runner.open_runs import OpenRun, OpenRuns
from turnout.runner.views import TaskView


def run_lines(runs: OpenRuns, now: float, width: int, most: int) -> list[Line]:
    """A line with the counts and one for each run, as far as there is room; nothing if all runs have ended."""
    total = sum(runs.counts.values())
    if not total:
        return []
    ranked = sorted(runs.latest, key=lambda run: (not run.working, run.view.created_at))
    shown = ranked[:most]
    lines = [cut(_head(runs), width)]
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


def _head(runs: OpenRuns) -> Line:
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
