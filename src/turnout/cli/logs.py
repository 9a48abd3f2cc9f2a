"""``turnout logs``: prints the stored lines of a run's tasks; queues and formats lines and progress for display."""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from turnout.cli.format import short_id
from turnout.cli.options import Run
from turnout.cli.output import Line, print_line
from turnout.cli.place import HERE, Place, placed
from turnout.errors import InvalidInput
from turnout.model.info import Progress
from turnout.model.logs import Stream
from turnout.model.states import TaskState

if TYPE_CHECKING:
    from turnout.runner.views import AttemptView, TaskView


@placed
def logs(
    run: Run,
    task: Annotated[str | None, typer.Argument(metavar="TASK", help="Only of this task.")] = None,
    attempt: Annotated[int | None, typer.Option(min=1, help="Only of this attempt.")] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the run has ended.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, one object in each line.")] = False,
    place: Place = HERE,
) -> None:
    """Print what a run's tasks printed and logged.

    \b
    turnout logs last
    turnout logs last charge --attempt 1
    turnout logs last --follow
    """
    from turnout.cli.output import plain
    from turnout.cli.service import service_at
    from turnout.cli.wait_notice import with_wait_notice
    from turnout.model.texts import json_text

    with service_at(place) as service:
        lines = service.runs.logs(run, task, attempt, follow=follow)
        for line in with_wait_notice(lines, service.runs, run) if follow and not as_json else lines:
            if as_json:
                print_line(json_text(plain(line)))
            else:
                print_line(format_line(line.task, line.stream, line.text, attempt=line.attempt))


def check_attempt(run_id: str, made: Sequence[AttemptView], task: str | None, attempt: int) -> None:
    """Raises InvalidInput if no task of the run, or not the given one with its items, has such an attempt."""
    known = sorted(
        {one.attempt for one in made if task is None or one.task.partition("[")[0] == task or one.task == task}
    )
    if attempt not in known:
        owner = f"run {run_id}" if task is None else f"task {task!r} of run {run_id}"
        there = f"there are {', '.join(map(str, known))}" if known else "it has none yet"
        raise InvalidInput(f"{owner} has no attempt {attempt}: {there}", code="no_such_attempt", attempt=attempt)


_STYLES = {Stream.STDERR: "yellow", Stream.PROGRESS: "cyan"}


class LineQueue:
    """Queues lines from the thread that stores them to the one that displays them."""

    def __init__(self) -> None:
        self._lines: deque[Line] = deque()
        self._progress: dict[tuple[str, str], tuple[int, str]] = {}

    def put(self, run_id: str, task: str, attempt: int, stream: str, text: str) -> None:
        """Adds a line; called by the Runner."""
        if stream == Stream.PROGRESS:
            self._progress[run_id, task] = attempt, text
        else:
            self._lines.append(format_line(task, stream, text, attempt=attempt))

    def progress(self, run_id: str, task: str, attempt: int) -> str | None:
        """Returns the latest progress of this attempt as JSON, or None."""
        latest = self._progress.get((run_id, task))
        return latest[1] if latest is not None and latest[0] == attempt else None

    def progress_of(self, run_id: str, tasks: Sequence[TaskView]) -> dict[str, str]:
        """Returns the latest progress of those of the tasks that are running, by task."""
        running = [task for task in tasks if task.state is TaskState.RUNNING]
        latest = {task.name: self.progress(run_id, task.name, task.attempt) for task in running}
        return {name: text for name, text in latest.items() if text is not None}

    def take(self) -> list[Line]:
        """Removes and returns all lines."""
        return [self._lines.popleft() for _ in range(len(self._lines))]


def print_output(run_id: str, task: str, attempt: int, stream: str, text: str) -> None:
    """Prints a line of one of many runs: ``0199b2c4-7d5e charge │ the card was declined``."""
    if stream in (Stream.STDOUT, Stream.STDERR):
        target = sys.stderr if stream == Stream.STDERR else sys.stdout
        print_line([(f"{short_id(run_id)} ", "dim"), *format_line(task, stream, text, attempt=attempt)], to=target)


def format_line(task: str, stream: str, text: str, *, attempt: int = 1) -> Line:
    """Returns ``charge │ the card was declined``; from the second attempt on ``charge#2 │ …``."""
    source = task if attempt == 1 else f"{task}#{attempt}"
    text = format_progress(text) if stream == Stream.PROGRESS else text
    return [(f"{source} │ ", "dim"), (text, _STYLES.get(Stream(stream), ""))]


def format_progress(text: str) -> str:
    """Returns progress as ``3 of 10, three files``."""
    try:
        progress = msgspec.json.decode(text, type=Progress)
    except msgspec.MsgspecError:
        return text
    done = f"{progress.done:g}" if progress.total is None else f"{progress.done:g} of {progress.total:g}"
    return f"{done}, {progress.message}" if progress.message else done


def progress_fraction(text: str) -> float | None:
    """Returns the share that is done, from 0 to 1; None if the progress has no total."""
    try:
        progress = msgspec.json.decode(text, type=Progress)
    except msgspec.MsgspecError:
        return None
    return min(max(progress.done / progress.total, 0.0), 1.0) if progress.total else None
