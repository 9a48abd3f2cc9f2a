"""Runs one step document in this thread, without sockets, for tests."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from turnout.authoring.task import Task
from turnout.runtime.execution import info_for, run_body
from turnout.wire.documents import Step, StepResult
from turnout.wire.held_steps import unable
from turnout.wire.result_codec import answer_of
from turnout.worker.handlers import Handlers
from turnout.worker.loading import StepLoader, refused


def run_step(
    handler: Handlers | Callable[..., Any] | Task[..., Any], document: Step | Mapping[str, Any] | None = None
) -> StepResult:
    """Runs one step document with a handler in this thread and returns the result document.

    >>> run_step(len, {"metadata": {"positional": ["four"]}}).output
    4

    What the document leaves out is filled in. The handler is a function, a task, or all ``Handlers`` of a worker, of
    which the document's ``handler_class`` names one. Timeouts are not applied: nothing here could end a function.
    """
    given = document if isinstance(document, Step) else _complete(document or {})
    handlers = handler if isinstance(handler, Handlers) else _only(handler, given.handler_class)
    try:
        work = StepLoader(handlers, None).put(given)
    except Exception as error:
        return refused(given, error)
    if work.body is None:
        return unable(given, "handler_missing", "a command needs a worker: only Python handlers are run here")
    result = run_body(work, info_for(work, time.time()))
    found = handlers.find(given.handler_class)
    return answer_of(given, result, "" if found is None else found.version)


def _only(function: Callable[..., Any] | Task[..., Any], name: str) -> Handlers:
    handlers = Handlers(shell=False)
    handlers.add(name, function)
    return handlers


def _complete(document: Mapping[str, Any]) -> Step:
    usual = {"step_id": "1", "task_id": "1", "step_name": "step", "handler_class": "handler"}
    metadata = {"token": "1.1", **document.get("metadata", {})}
    return msgspec.convert({**usual, **document, "metadata": metadata}, Step)
