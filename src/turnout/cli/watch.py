"""How does a person follow a run? A live tree on a terminal, a line for each ended task elsewhere."""

from __future__ import annotations

import time
from collections.abc import Sequence
from math import inf
from typing import TYPE_CHECKING, Any

from turnout.cli.interrupt import Interrupt
from turnout.cli.output import Line, coloured, is_terminal, say
from turnout.cli.saying import Heard
from turnout.cli.tree import Node, counts, fitting, lines, nodes
from turnout.cli.wording import MARKS, last_name, lasting
from turnout.errors import WaitTimedOut
from turnout.model.printable import printable
from turnout.model.spec import WorkflowSpec
from turnout.model.states import RunState, TaskState
from turnout.runner import RunHandle
from turnout.runner.core import Core
from turnout.runner.views import TaskView, task_view

if TYPE_CHECKING:
    from rich.text import Text

REFRESH = 0.1
MISSED = ("no_worker_matches", "waiting_for_poller", "code_missing")
"""Reasons to wait for somebody else."""
PATIENCE = 2.0
"""Seconds until that is said: workers need a moment to find a hub that has just opened."""


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
        self._interrupt = interrupt

    def tasks(self) -> list[TaskView]:
        return [task_view(row) for row in self.core.look(self.handle.id)]

    def last_words(self) -> list[Line]:
        """What bodies have said and nobody has shown, once the run has ended."""
        if self.core.log_writer is not None:
            self.core.log_writer.flush(ended=self.handle.id)
        return self.heard.take()

    def ended(self, within: float) -> bool:
        """Whether it ends in this time; an interruption cancels it."""
        self._interrupt.cancel(self.handle)
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

    def frame(*, whole: bool = False) -> Text:
        room = 10_000 if whole else max(console.size.height - 2, 4)
        shown = picture(run.spec, run.handle.id, run.tasks(), time.time(), run.began, room)
        return as_text(shown)

    with Live(frame(), console=console, auto_refresh=False, transient=False, vertical_overflow="crop") as live:
        while not run.ended(REFRESH):
            for line in run.heard.take():
                live.console.print(as_text([line]), soft_wrap=True)
            live.update(frame(), refresh=True)
        for line in run.last_words():
            live.console.print(as_text([line]), soft_wrap=True)
        live.update(frame(), refresh=True)


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
    spec: WorkflowSpec, run_id: str, tasks: Sequence[TaskView], now: float, began: float, room: int
) -> list[Line]:
    """The tree with its head and, where there are more tasks than room, a line that counts the rest."""
    found = nodes(spec, tasks)
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
    while not run.ended(REFRESH):
        _say_all(run.heard.take())
        _say_ended(run, seen)
        _say_waiting(run, waits)
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
    """A line for each task that waits for somebody who may never come; ``waits`` has since when, by task."""
    now = time.monotonic()
    for node in nodes(run.spec, run.tasks()):
        task = node.task
        if task.state is not TaskState.READY or not (task.reason or "").startswith(MISSED):
            waits.pop(task.name, None)
        elif now - waits.setdefault(task.name, now) >= PATIENCE:
            waits[task.name] = inf
            node.guide = ""
            for line in lines([node], time.time()):
                say(line)


def summary(run_id: str, workflow: str, state: RunState, took: float | None) -> Line:
    """How a run ended, in one line."""
    mark, style = MARKS[state]
    spent = "" if took is None else f" in {lasting(took)}"
    return [(f"{mark} {last_name(workflow)} {state}{spent}", style), (f"  run {run_id}", "dim")]
