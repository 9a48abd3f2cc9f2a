"""Waiting reasons of tasks in words, followed by the code."""

from __future__ import annotations

import re

from turnout.cli.format import format_duration
from turnout.model.reasons import (
    BREAKER_OPEN,
    CODE_MISSING,
    DEFERRED,
    LIMIT,
    NO_CAPACITY,
    NO_WORKER_MATCHES,
    WAITING_FOR_POLLER,
    WAITING_TO_RUN_ALONE,
    WAITING_TO_RUN_ALONE_ON_A_WORKER,
)
from turnout.runner.views import TaskView

RETRY_AT = "retry_at"
_REASON = re.compile(r"(?P<code>\w+)(?:\{(?P<what>.*)\})?(?: handler (?P<handler>.+))?", re.DOTALL)


def format_wait(task: TaskView) -> str:
    """Returns what the task waits for; empty without a reason."""
    if task.reason in (RETRY_AT, DEFERRED):
        return _until_then(task)
    found = _REASON.fullmatch(task.reason or "")
    words = None if found is None else _words(task, found["code"], found["what"] or "", found["handler"])
    return f"{words} ({found['code']})" if found is not None and words else task.reason or ""


def _until_then(task: TaskView) -> str:
    what, until = ("deferred", "for") if task.reason == DEFERRED else ("will be retried", "in")
    when = "" if task.retry_in is None else f" {until} {format_duration(task.retry_in)}"
    why = f": {task.error.type}: {task.error.message}" if task.error and task.reason == RETRY_AT else ""
    return f"{what}{when}{why}"


def _words(task: TaskView, code: str, what: str, handler: str | None) -> str | None:
    executor = f" {task.executor}" if task.executor else ""
    match code:
        case c if c == NO_CAPACITY:
            return f"waits for a free slot in executor{executor}" if executor else "waits for a free slot"
        case c if c == WAITING_FOR_POLLER:
            return f"waits for a poller of{executor}" if executor else "waits for a poller"
        case c if c == NO_WORKER_MATCHES:
            wanted = [each for each in (what, f"handler {handler}" if handler else "") if each]
            return f"waits for a worker with {' and '.join(wanted)}" if wanted else "waits for a worker"
        case c if c == BREAKER_OPEN:
            return f"waits for {what or f'executor{executor}'} to recover"
        case c if c == LIMIT:
            return "waits for other items, by max_parallel"
        case c if c == WAITING_TO_RUN_ALONE:
            return "waits until it can run alone"
        case c if c == WAITING_TO_RUN_ALONE_ON_A_WORKER:
            return "waits for a worker of its own"
        case c if c == CODE_MISSING:
            return "waits for a process that has its code"
        case _:
            return None
