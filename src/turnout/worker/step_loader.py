"""Turns a step into work: finds its handler and binds its arguments. ``run_step`` runs one step without sockets."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, TypeAlias

import msgspec

from turnout.authoring.invocation import caller
from turnout.authoring.task import Task
from turnout.contracts.executor import Work
from turnout.errors import ExecutionFailed
from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.info import Output
from turnout.runtime.attempt import Key
from turnout.runtime.conditions import once_met
from turnout.runtime.execution import info_for, is_async, run_body
from turnout.runtime.outcome import describe
from turnout.runtime.trace_context import traced
from turnout.wire.documents import Step, StepResult
from turnout.wire.held_steps import unable
from turnout.wire.result_codec import answer_of
from turnout.wire.step_codec import SHELL_HANDLER, STEP_HANDLER, event_of, work_of
from turnout.worker.handlers import Handlers

Fence: TypeAlias = Callable[[], float]
"""Returns the time by ``boot_time`` until which a step may begin."""


def always() -> float:
    return inf


class HandlerMissing(Exception):
    """Raised for a step whose handler this worker does not have."""


def refused(step: Step, error: Exception) -> StepResult:
    """Returns the result of a step that could not be loaded."""
    if isinstance(error, HandlerMissing):
        return unable(step, "handler_missing", f"there is no handler {step.handler_class!r} here")
    return answer_of(step, ExecutionResult.failed(event_of(step), describe(error), retryable=False))


class StepLoader:
    """The loader of executors whose attempts are steps; every step is put in before its attempt is executed."""

    def __init__(self, handlers: Handlers, output: Output | None) -> None:
        self._handlers = handlers
        self._output = output
        self._works: dict[Key, Work] = {}

    def put(self, step: Step, fence: Fence = always) -> Work:
        """Loads a step that begins within its fence or not at all. Raises HandlerMissing, or what is wrong."""
        work = self._work(step, fence)
        event = work.event
        self._works[(event.task_id, event.attempt, event.shadow)] = work
        return work

    def drop(self, key: Key) -> None:
        self._works.pop(key, None)

    async def load(self, event: TaskReadyEvent) -> Work:
        return self.load_blocking(event)

    def load_now(self, event: TaskReadyEvent) -> Work | None:
        return self._works.get((event.task_id, event.attempt, event.shadow))

    def load_blocking(self, event: TaskReadyEvent) -> Work:
        work = self.load_now(event)
        if work is None:
            raise ExecutionFailed(f"{event.task_id} has ended")
        return work

    def _work(self, step: Step, fence: Fence) -> Work:
        name = step.handler_class
        found = self._handlers.find(name)
        if found is None:
            if name in (SHELL_HANDLER, STEP_HANDLER) and self._handlers.shell:
                work = work_of(step, None, fence=fence, output=self._output)
                return traced(work, step.metadata.traceparent) if step.metadata.traceparent else work
            raise HandlerMissing(name)
        body, arguments = found.function, found.arguments(step)
        bind_body = caller(body, *arguments, step.metadata.context)
        work = work_of(
            step,
            body,
            arguments=arguments,
            bind_body=bind_body,
            retry_predicate=found.retry_if,
            fence=fence,
            output=self._output,
        )
        if work.condition is not None:
            predicate = found.conditions.get(work.condition.ref)
            call = once_met(work.condition, predicate, work.invoke, is_async=is_async(work))
            work = msgspec.structs.replace(work, predicate=predicate, call=call)
        return traced(work, step.metadata.traceparent) if step.metadata.traceparent else work


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
