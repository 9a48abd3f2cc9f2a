"""Turns a step into work: finds its handler and binds the arguments that came with it."""

from __future__ import annotations

from math import inf

import msgspec

from turnout.authoring.invocation import caller
from turnout.contracts.executor import Work
from turnout.errors import ExecutionFailed
from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.info import Output
from turnout.runtime.attempt import Key, key_of
from turnout.runtime.conditions import once_met
from turnout.runtime.execution import is_async
from turnout.runtime.outcome import describe
from turnout.wire.documents import Step, StepResult
from turnout.wire.held_steps import unable
from turnout.wire.result_codec import answer_of
from turnout.wire.step_codec import SHELL_HANDLER, event_of, work_of
from turnout.worker.handlers import Handlers


class HandlerMissing(Exception):
    """Nothing here has that name."""


def refused(step: Step, error: Exception) -> StepResult:
    """The result of a step that could not be taken in."""
    if isinstance(error, HandlerMissing):
        return unable(step, "handler_missing", f"there is no handler {step.handler_class!r} here")
    return answer_of(step, ExecutionResult.failed(event_of(step), describe(error), retryable=False))


class StepLoader:
    """The loader of executors whose attempts are steps: what was put in is there at once."""

    def __init__(self, handlers: Handlers, output: Output | None) -> None:
        self._handlers = handlers
        self._output = output
        self._works: dict[Key, Work] = {}

    def put(self, step: Step, begin_by: float = inf) -> Work:
        """Take in a step, to begin until then. Raises HandlerMissing, or what is wrong with it."""
        work = self._work(step, begin_by)
        self._works[key_of(work.event)] = work
        return work

    def drop(self, key: Key) -> None:
        self._works.pop(key, None)

    async def load(self, event: TaskReadyEvent) -> Work:
        return self.load_blocking(event)

    def load_now(self, event: TaskReadyEvent) -> Work | None:
        return self._works.get(key_of(event))

    def load_blocking(self, event: TaskReadyEvent) -> Work:
        work = self.load_now(event)
        if work is None:
            raise ExecutionFailed(f"{event.task_id} has ended")
        return work

    def _work(self, step: Step, begin_by: float) -> Work:
        name = step.handler_class
        found = self._handlers.find(name)
        if found is None:
            if name == SHELL_HANDLER and self._handlers.shell:
                return msgspec.structs.replace(work_of(step, None, output=self._output), fence=lambda: begin_by)
            raise HandlerMissing(name)
        body, arguments = found.function, found.arguments(step)
        bind_body = caller(body, *arguments, step.metadata.context)
        work = work_of(
            step, body, arguments=arguments, bind_body=bind_body, retry_predicate=found.retry_if, output=self._output
        )
        work = msgspec.structs.replace(work, fence=lambda: begin_by)
        if work.condition is None:
            return work
        predicate = found.conditions.get(work.condition.ref)
        call = once_met(work.condition, predicate, work.invoke, is_async=is_async(work))
        return msgspec.structs.replace(work, predicate=predicate, call=call)
