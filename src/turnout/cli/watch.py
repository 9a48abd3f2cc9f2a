"""Display of a run until it ends: a live tree on a terminal, a line for each ended task elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from math import inf
from typing import TYPE_CHECKING, Protocol

from turnout.cli.format import MARKS, format_duration, short_id, workflow_name
from turnout.cli.interrupt import CANCELLING
from turnout.cli.output import Line, coloured, is_terminal, print_line
from turnout.cli.tree import Node, count_spans, fitting, lines, nodes, remedies
from turnout.model.driver import NOT_DRIVEN, Driver
from turnout.model.spec import WorkflowSpec
from turnout.model.states import RunState, TaskState
from turnout.model.texts import printable
from turnout.runner.views import RunView, TaskView

if TYPE_CHECKING:
    from rich.text import Text

REFRESH_INTERVAL = 0.1
EXTERNAL_WAITS = (
    "no_worker_matches",
    "waiting_for_its_worker",
    "hub_unavailable",
    "waiting_for_poller",
    "code_missing",
)
"""Reasons that lie in another process."""
NOTICE_DELAY = 1.5
"""Seconds until such a reason, or why nothing starts, is printed: workers need time to find a new hub."""
MAX_WAITS = 10
"""Waiting tasks that are listed for a run that does not start."""


class Watched(Protocol):
    """A run on display."""

    @property
    def run_id(self) -> str: ...

    @property
    def spec(self) -> WorkflowSpec: ...

    @property
    def began(self) -> float:
        """The time at which the display began."""
        ...

    @property
    def interrupted(self) -> bool:
        """True once the run is to be cancelled."""
        ...

    def display(self) -> AbstractContextManager[None]:
        """Marks that a display has the screen."""
        ...

    def tasks(self) -> list[TaskView]: ...

    def progress(self, tasks: Sequence[TaskView]) -> dict[str, str]:
        """Returns the latest progress of running tasks, by task."""
        ...

    def status(self) -> tuple[RunView, Driver]: ...

    def new_lines(self) -> list[Line]:
        """Removes and returns the lines not shown yet."""
        ...

    def remaining_lines(self) -> list[Line]:
        """Returns the lines not shown yet, once the run has ended."""
        ...

    def ended(self, within: float) -> bool:
        """Returns True if the run ends within this time."""
        ...


class Stall:
    """Knows for what reason a run on display does not go on, and what ends that, after a delay."""

    def __init__(self, run: Watched) -> None:
        self._run = run
        self._started = False

    def reason(self, tasks: Sequence[TaskView]) -> str | None:
        """Returns why no task has begun, if no task has a reason of its own."""
        self._started = self._started or any(task.attempt > 0 or task.state.terminal for task in tasks)
        if self._started or time.time() - self._run.began < NOTICE_DELAY or any(task.reason for task in tasks):
            return None
        return stall_reason(*self._run.status())

    def remedy(self, tasks: Sequence[TaskView]) -> str | None:
        """Returns what ends the waits that only another process can end."""
        waits = [task for task in tasks if (task.reason or "").startswith(EXTERNAL_WAITS)]
        if not waits or time.time() - self._run.began < NOTICE_DELAY:
            return None
        return next(iter(remedies(waits)), None)


def follow(run: Watched, *, quiet: bool = False) -> None:
    """Displays the run until it ends."""
    if quiet:
        while not run.ended(REFRESH_INTERVAL):
            pass
    elif is_terminal():
        _live(run)
    else:
        _plain(run)


# -- on a terminal ----------------------------------------------------------------------------------------------------
def _live(run: Watched) -> None:
    from rich.console import Console
    from rich.live import Live

    console = Console(no_color=not coloured(), highlight=False)
    stall = Stall(run)

    def frame(*, ended: bool = False) -> Text:
        tasks, note = run.tasks(), None
        if not ended:
            note = CANCELLING if run.interrupted else stall.reason(tasks) or stall.remedy(tasks)
        room = max(console.size.height - 2 - (note is not None), 4)
        tree = tree_lines(run.spec, run.run_id, tasks, time.time(), run.began, room, run.progress(tasks))
        return as_text([*tree, [(note, "yellow")]] if note is not None else tree)

    with (
        run.display(),
        Live(frame(), console=console, auto_refresh=False, transient=False, vertical_overflow="crop") as live,
    ):
        while not run.ended(REFRESH_INTERVAL):
            for line in run.new_lines():
                live.console.print(as_text([line]), soft_wrap=True)
            live.update(frame(), refresh=True)
        if run.interrupted:  # shown even if the run has ended at once
            live.update(frame(), refresh=True)
        for line in run.remaining_lines():
            live.console.print(as_text([line]), soft_wrap=True)
        live.update(frame(ended=True), refresh=True)


def as_text(lines: Sequence[Line]) -> Text:
    """Returns the lines as a Rich text that is never wrapped."""
    from rich.text import Text

    text = Text(no_wrap=True, overflow="ellipsis")
    for number, line in enumerate(lines):
        if number:
            text.append("\n")
        for part, style in line:
            text.append(printable(part), style=style or None)
    return text


def tree_lines(
    spec: WorkflowSpec,
    run_id: str,
    tasks: Sequence[TaskView],
    now: float,
    began: float,
    room: int,
    progress: Mapping[str, str] | None = None,
) -> list[Line]:
    """Returns the tree with its head and, where it exceeds ``room``, a line that counts the other tasks."""
    found = nodes(spec, tasks, progress or {})
    kept, hidden = fitting(found, room - 1)
    head: Line = [(spec.name, "bold"), (f"  run {run_id}  {format_duration(now - began)}  ", "dim")]
    return [head, *lines(kept, now), *([[("  and ", "dim"), *count_spans(_states(hidden))]] if hidden else [])]


def _states(found: Sequence[Node]) -> dict[TaskState, int]:
    states: dict[TaskState, int] = {}
    for node in found:
        states[node.task.state] = states.get(node.task.state, 0) + 1
    return states


# -- in a pipe --------------------------------------------------------------------------------------------------------
def _plain(run: Watched) -> None:
    print_line(f"run {run.run_id} of {workflow_name(run.spec.full_name)}")
    seen: set[str] = set()
    waits: dict[str, float] = {}
    printed: str | None = None
    stall = Stall(run)
    remedies_printed: set[str] = set()
    while not run.ended(REFRESH_INTERVAL):
        _print_all(run.new_lines())
        _print_ended(run, seen)
        if (reason := stall.reason(run.tasks())) is not None and reason != printed:
            print_line([(reason, "yellow")])
            printed = reason
        _print_waiting(run, waits, remedies_printed)
    _print_all(run.remaining_lines())
    _print_ended(run, seen)


def _print_all(lines: Sequence[Line]) -> None:
    for line in lines:
        print_line(line)


def _print_ended(run: Watched, seen: set[str]) -> None:
    """Prints a line for each task that has ended since; of the items of mapped tasks only for those that failed."""
    for node in nodes(run.spec, run.tasks()):
        if node.task.state.terminal and node.task.name not in seen:
            seen.add(node.task.name)
            node.guide = ""
            for line in lines([node], time.time()):
                print_line(line)


def _print_waiting(run: Watched, waits: dict[str, float], printed: set[str]) -> None:
    """Prints a line for each task that waits for another process, and for the first tasks of a run of which none has
    begun, with the remedies that are not in ``printed``. ``waits`` has the start of each wait, by task."""
    now, found = time.monotonic(), nodes(run.spec, run.tasks())
    begun = any(node.task.attempt > 0 or node.task.state.terminal for node in found)
    for node in found:
        task = node.task
        reason = task.reason or ""
        if task.state is not TaskState.READY or not (reason.startswith(EXTERNAL_WAITS) or (reason and not begun)):
            waits.pop(task.name, None)
        elif not reason.startswith(EXTERNAL_WAITS) and task.name not in waits and len(waits) >= MAX_WAITS:
            continue
        elif now - waits.setdefault(task.name, now) >= NOTICE_DELAY:
            waits[task.name] = inf
            node.guide = ""
            for line in lines([node], time.time()):
                print_line(line)
            for remedy in remedies([task]):
                if remedy not in printed:
                    printed.add(remedy)
                    print_line([(f"  {remedy}", "yellow")])


def stall_reason(run: RunView, driver: Driver) -> str:
    """Returns why no task of this run begins."""
    if run.state is RunState.PAUSED:
        return f"nothing starts: the run is paused; `turnout runs resume {short_id(run.id)}` lets it go on"
    if driver is Driver.QUEUED:
        return (
            f"nothing starts yet: the run waits for its limits; `turnout runs show {short_id(run.id)}` has its position"
        )
    if driver is Driver.NOT_DRIVEN:
        return f"nothing starts yet: the run is {NOT_DRIVEN}"
    return f"nothing has started yet: the run is {run.state}, driven by orchestrator {run.owner}"


def summary(run_id: str, workflow: str, state: RunState, took: float | None) -> Line:
    """Returns the outcome of a run in one line."""
    mark, style = MARKS[state]
    spent = "" if took is None else f" in {format_duration(took)}"
    return [(f"{mark} {workflow_name(workflow)} {state}{spent}", style), (f"  run {run_id}", "dim")]
