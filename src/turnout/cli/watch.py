"""How does a person follow a run? A live tree on a terminal, a line for each ended task elsewhere."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from math import inf
from typing import TYPE_CHECKING, Any

import msgspec

from turnout.cli.format import MARKS, last_name, lasting, short
from turnout.cli.interrupt import CANCELLING, Interrupt
from turnout.cli.log_lines import Heard
from turnout.cli.output import Line, coloured, is_terminal, say
from turnout.cli.tree import Node, counts, fitting, lines, nodes
from turnout.errors import WaitTimedOut
from turnout.model.driver import NOT_DRIVEN, Driver
from turnout.model.printable import printable
from turnout.model.rows import TaskRow
from turnout.model.spec import WorkflowSpec
from turnout.model.states import RunState, TaskState
from turnout.runner import RunHandle
from turnout.runner.core import Core
from turnout.runner.views import RunView, TaskView, task_view

if TYPE_CHECKING:
    from rich.text import Text

REFRESH = 0.1
MISSED = ("no_worker_matches", "waiting_for_poller", "code_missing")
"""Reasons to wait for somebody else."""
PATIENCE = 1.5
"""Seconds until that is said, or why nothing starts: workers need a moment to find a hub that has just opened."""
SHOWN_WAITS = 10
"""Tasks of a run that does not start that are named."""


class Watched:
    """A run, since when it is watched, and whether somebody has had enough of it."""

    def __init__(
        self, core: Core, handle: RunHandle[Any], spec: WorkflowSpec, heard: Heard, interrupt: Interrupt
    ) -> None:
        self.core = core
        self.handle = handle
        self.spec = spec
        self.began = time.time()
        self.heard = heard
        self.interrupt = interrupt
        self._due: dict[str, tuple[TaskRow, float]] = {}
        """Tasks that wait for a time, with the row that said for how long."""
        self._begun: dict[str, int] = {}
        """How many attempts of tasks that have not ended had begun: afterwards, rows tell less."""
        self._started = False

    def tasks(self) -> list[TaskView]:
        return [self._view(row) for row in self.core.reader.look(self.handle.id)]

    def _view(self, row: TaskRow) -> TaskView:
        """The task as it is now. A row in memory says how long the wait was when it began, and stays as it is."""
        view = task_view(row)
        if row.memo is not None and not row.state.terminal:
            self._begun[row.name] = view.begun
        elif row.name in self._begun:
            view = msgspec.structs.replace(view, begun=max(view.begun, self._begun[row.name]))
        if row.retry_in is None or row.state is not TaskState.READY:
            return view
        now, known = time.monotonic(), self._due.get(row.name)
        if known is None or known[0] is not row:
            known = self._due[row.name] = row, now + row.retry_in
        return msgspec.structs.replace(view, retry_in=max(0.0, known[1] - now))

    def progress(self, tasks: Sequence[TaskView]) -> dict[str, str]:
        """What running tasks have said of how far they are, by task."""
        running = [task for task in tasks if task.state is TaskState.RUNNING]
        said = {task.name: self.heard.progress(self.handle.id, task.name, task.attempt) for task in running}
        return {name: text for name, text in said.items() if text is not None}

    def standstill(self, tasks: Sequence[TaskView]) -> str | None:
        """Why none of its tasks has begun, if that has lasted for a while and no task says it."""
        self._started = self._started or any(task.attempt > 0 or task.state.terminal for task in tasks)
        if self._started or time.time() - self.began < PATIENCE or any(task.reason for task in tasks):
            return None
        return standstill(self.handle.status(), self.handle.driver())

    def last_words(self) -> list[Line]:
        """What bodies have said and nobody has shown, once the run has ended."""
        if self.core.log_writer is not None:
            self.core.log_writer.flush(ended=self.handle.id)
        return self.heard.take()

    def ended(self, within: float) -> bool:
        """Whether it ends in this time; an interruption cancels it."""
        self.interrupt.cancel(self.handle)
        try:
            self.handle.wait(within)
        except WaitTimedOut:
            return False
        return True


def follow(run: Watched, *, quiet: bool = False) -> RunState:
    """Show the run until it ends."""
    if quiet:
        while not run.ended(REFRESH):
            pass
    elif is_terminal():
        _live(run)
    else:
        _plain(run)
    return run.handle.wait()


# -- on a terminal ----------------------------------------------------------------------------------------------------
def _live(run: Watched) -> None:
    from rich.console import Console
    from rich.live import Live

    console = Console(no_color=not coloured(), highlight=False)

    def frame(*, ended: bool = False) -> Text:
        tasks, note = run.tasks(), None
        if not ended:
            note = CANCELLING if run.interrupt.asked else run.standstill(tasks)
        room = max(console.size.height - 2 - (note is not None), 4)
        shown = picture(run.spec, run.handle.id, tasks, time.time(), run.began, room, run.progress(tasks))
        return as_text([*shown, [(note, "yellow")]] if note is not None else shown)

    with (
        run.interrupt.drawn(),
        Live(frame(), console=console, auto_refresh=False, transient=False, vertical_overflow="crop") as live,
    ):
        while not run.ended(REFRESH):
            for line in run.heard.take():
                live.console.print(as_text([line]), soft_wrap=True)
            live.update(frame(), refresh=True)
        if run.interrupt.asked:  # however soon the run has ended, it was said
            live.update(frame(), refresh=True)
        for line in run.last_words():
            live.console.print(as_text([line]), soft_wrap=True)
        live.update(frame(ended=True), refresh=True)


def as_text(shown: Sequence[Line]) -> Text:
    """The lines as Rich wants them, never wrapped."""
    from rich.text import Text

    text = Text(no_wrap=True, overflow="ellipsis")
    for number, line in enumerate(shown):
        if number:
            text.append("\n")
        for part, style in line:
            text.append(printable(part), style=style or None)
    return text


def picture(
    spec: WorkflowSpec,
    run_id: str,
    tasks: Sequence[TaskView],
    now: float,
    began: float,
    room: int,
    progress: Mapping[str, str] | None = None,
) -> list[Line]:
    """The tree with its head and, where there are more tasks than room, a line that counts the rest."""
    found = nodes(spec, tasks, progress or {})
    kept, hidden = fitting(found, room - 1)
    head: Line = [(spec.name, "bold"), (f"  run {run_id}  {lasting(now - began)}  ", "dim")]
    return [head, *lines(kept, now), *([[("  and ", "dim"), *counts(_states(hidden))]] if hidden else [])]


def _states(found: Sequence[Node]) -> dict[TaskState, int]:
    states: dict[TaskState, int] = {}
    for node in found:
        states[node.task.state] = states.get(node.task.state, 0) + 1
    return states


# -- in a pipe --------------------------------------------------------------------------------------------------------
def _plain(run: Watched) -> None:
    say(f"run {run.handle.id} of {last_name(run.spec.full_name)}")
    seen: set[str] = set()
    waits: dict[str, float] = {}
    said_still: str | None = None
    while not run.ended(REFRESH):
        _say_all(run.heard.take())
        _say_ended(run, seen)
        _say_waiting(run, waits)
        if (still := run.standstill(run.tasks())) is not None and still != said_still:
            say([(still, "yellow")])
            said_still = still
    _say_all(run.last_words())
    _say_ended(run, seen)


def _say_all(spoken: Sequence[Line]) -> None:
    for line in spoken:
        say(line)


def _say_ended(run: Watched, seen: set[str]) -> None:
    """A line for each task that has ended since; of mapped tasks' items only those that failed get one."""
    for node in nodes(run.spec, run.tasks()):
        if node.task.state.terminal and node.task.name not in seen:
            seen.add(node.task.name)
            node.guide = ""
            for line in lines([node], time.time()):
                say(line)


def _say_waiting(run: Watched, waits: dict[str, float]) -> None:
    """A line for each task that waits for somebody who may never come, and for the first ones of a run of which nothing
    has begun; ``waits`` has since when, by task."""
    now, found = time.monotonic(), nodes(run.spec, run.tasks())
    begun = any(node.task.attempt > 0 or node.task.state.terminal for node in found)
    for node in found:
        task = node.task
        reason = task.reason or ""
        if task.state is not TaskState.READY or not (reason.startswith(MISSED) or (reason and not begun)):
            waits.pop(task.name, None)
        elif not reason.startswith(MISSED) and task.name not in waits and len(waits) >= SHOWN_WAITS:
            continue
        elif now - waits.setdefault(task.name, now) >= PATIENCE:
            waits[task.name] = inf
            node.guide = ""
            for line in lines([node], time.time()):
                say(line)


def standstill(run: RunView, driver: Driver) -> str:
    """Why no task of this run begins."""
    if run.state is RunState.PAUSED:
        return f"nothing starts: the run is paused; `turnout runs resume {short(run.id)}` lets it go on"
    if driver is Driver.NOT_DRIVEN:
        return f"nothing starts yet: the run is {NOT_DRIVEN}"
    return f"nothing has started yet: the run is {run.state}, driven by orchestrator {run.owner}"


def summary(run_id: str, workflow: str, state: RunState, took: float | None) -> Line:
    """How a run ended, in one line."""
    mark, style = MARKS[state]
    spent = "" if took is None else f" in {lasting(took)}"
    return [(f"{mark} {last_name(workflow)} {state}{spent}", style), (f"  run {run_id}", "dim")]
