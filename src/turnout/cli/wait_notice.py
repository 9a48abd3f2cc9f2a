"""Says why a run prints nothing: what its tasks wait for, and what ends that."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from turnout.cli.output import Line, print_line
from turnout.cli.run_report import RunFacts
from turnout.cli.service import Runs
from turnout.cli.tree import lines, nodes, remedies
from turnout.cli.watch import MAX_WAITS, NOTICE_DELAY, stall_reason
from turnout.errors import TurnoutError
from turnout.model.states import TaskState

T = TypeVar("T")


def with_wait_notice(found: Iterable[T], runs: Runs, run: str) -> Iterator[T]:
    """Yields what is found; before the first, if there is none for NOTICE_DELAY seconds, prints to stderr what the
    tasks of the run wait for."""
    timer = threading.Timer(NOTICE_DELAY, _print_waits, (runs, run))
    timer.daemon = True
    timer.start()
    try:
        for each in found:
            timer.cancel()
            yield each
    finally:
        timer.cancel()


def _print_waits(runs: Runs, run: str) -> None:
    try:
        found = wait_lines(runs.facts(run, lines=False))
    except TurnoutError:
        return  # the lines are followed all the same, and say what is wrong if it lasts
    for line in found:
        print_line(line, to=sys.stderr)


def wait_lines(run: RunFacts) -> list[Line]:
    """Returns a line for each task that waits, with the remedies, or why nothing has begun; none while a task runs."""
    if run.view.state.terminal or any(task.state is TaskState.RUNNING for task in run.tasks):
        return []
    waiting = [node for node in nodes(run.spec, run.tasks) if node.task.state is TaskState.READY and node.task.reason]
    if not waiting:
        begun = any(task.attempt > 0 or task.state.terminal for task in run.tasks)
        return [] if begun else [[(stall_reason(run.view, run.driver), "yellow")]]
    for node in waiting:
        node.guide = ""
    found = lines(waiting[:MAX_WAITS], time.time())
    return found + [[(f"  {remedy}", "yellow")] for remedy in remedies([node.task for node in waiting])]
