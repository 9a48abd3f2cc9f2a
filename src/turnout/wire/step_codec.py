"""Translates attempts into step documents for the hub, and step documents into work for the worker."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from turnout.contracts.executor import Work
from turnout.model.deferral import Condition
from turnout.model.events import TaskReadyEvent
from turnout.model.info import Output, TaskInfo
from turnout.model.shell import ShellSpec
from turnout.model.spec import Body, TaskSpec
from turnout.model.step import StepSpec
from turnout.wire.documents import Step, StepMetadata

SHELL_HANDLER = "turnout.shell"
"""The handler of command tasks: its configuration is the command."""
STEP_HANDLER = "turnout.step"
"""The handler of steps of YAML workflows: its configuration is the step."""

MAX_ORDINAL_LENGTH = 9
"""Digits of an attempt's number, at most."""

# At import, for the reason that ``decode_spec`` has.
msgspec.convert({"command": ""}, ShellSpec)


# -- the hub's side --------------------------------------------------------------------------------------------------
def step_of(work: Work, *, token: str) -> Step:
    """The attempt as a step."""
    event, task, kwargs = work.event, work.task, work.kwargs
    handler, config = _handler_of(task.body)
    retries = task.retry.attempts - 1
    # Not more than 15 by name: CPython makes a dict of more, which takes five times as long.
    metadata = StepMetadata(
        token=token,
        attempt=event.begun,
        retry_limit=retries,
        failures=max(0, retries - (event.max_attempts - event.attempt)),
        timeout_ms=None if work.timeout is None else milliseconds(work.timeout),
        deadline_ms=None if work.time_left is None else milliseconds(work.time_left),
        idempotency_key=work.idempotency_key,
        args=kwargs if isinstance(kwargs, dict) else dict(kwargs),
        positional=work.args,
        confirm_start=task.at_most_once,
        task_name=event.task_name,
        workflow=work.workflow,
        labels=work.labels,
    )
    if event.shadow or work.index is not None or work.context is not None or work.saved is not None or work.condition:
        metadata = msgspec.structs.replace(
            metadata,
            shadow=event.shadow,
            index=work.index,
            saved=work.saved,
            condition=None if work.condition is None else msgspec.to_builtins(work.condition),
            context=work.context,
        )
    if work.traceparent:
        metadata = msgspec.structs.replace(metadata, traceparent=work.traceparent)
    return Step(
        step_id=event.task_id,
        task_id=event.run_id,
        step_name=task.name,
        handler_class=handler,
        handler_config=config,
        task_context=work.run_input,
        previous_results=work.previous,
        metadata=metadata,
    )


def handler_of(body: Body) -> str:
    """The handler that a worker must have to run this body."""
    if body.kind != "shell":
        return body.ref
    return SHELL_HANDLER if body.step is None else STEP_HANDLER


def _handler_of(body: Body) -> tuple[str, dict[str, Any]]:
    if body.step is not None:
        return STEP_HANDLER, msgspec.to_builtins(body.step)
    if body.kind == "shell":
        assert body.shell is not None, "a shell body has its command"
        return SHELL_HANDLER, msgspec.to_builtins(body.shell)
    return body.ref, body.config


def milliseconds(seconds: float) -> int:
    # Rounded first: 32.267 s are not 32268 ms because 32.267 * 1000 is a little more than 32267.
    return math.ceil(round(seconds * 1000, 6))


# -- the worker's side -----------------------------------------------------------------------------------------------
def event_of(step: Step) -> TaskReadyEvent:
    """The attempt that the step is."""
    metadata = step.metadata
    attempt = _ordinal(step)
    return TaskReadyEvent(
        run_id=step.task_id,
        task_id=step.step_id,
        task_name=metadata.task_name or step.step_name,
        attempt=attempt,
        max_attempts=attempt + max(0, metadata.retry_limit - metadata.failures),
        begun=metadata.attempt,
        shadow=metadata.shadow,
    )


def _ordinal(step: Step) -> int:
    """The attempt's number in the store. The hub's token has it; of a token that is none of our hubs', what began
    before has to do."""
    metadata = step.metadata
    usual = metadata.attempt + 1
    # What the general case comes to, for nearly every step.
    if metadata.token == f"{step.step_id}:{usual}":
        return usual
    task_id, _, number = metadata.token.removesuffix(":shadow").rpartition(":")
    known = task_id == step.step_id and number.isascii() and number.isdigit() and len(number) <= MAX_ORDINAL_LENGTH
    return int(number) if known else usual


def work_of(
    step: Step,
    body: Callable[..., Any] | None,
    *,
    arguments: tuple[tuple[Any, ...], Mapping[str, Any]] | None = None,
    bind_body: Callable[[TaskInfo], Callable[[], Any]] | None = None,
    retry_predicate: Callable[[BaseException], bool] | None = None,
    fence: Callable[[], float] | None = None,
    output: Output | None = None,
) -> Work:
    """The attempt as whatever runs bodies wants it; ``body`` is None for a command, ``arguments`` are given if they are
    not the step's own. Raises ``msgspec.ValidationError`` for a command or a condition that is none."""
    metadata = step.metadata
    args, kwargs = (metadata.positional, metadata.args) if arguments is None else arguments
    # Not more than 15 by name, as in ``step_of``.
    work = Work(
        event=event_of(step),
        task=_python_task(step.step_name, step.handler_class) if body is not None else _other_task(step),
        body=body,
        workflow=metadata.workflow,
        args=args,
        kwargs=kwargs,
        labels=metadata.labels,
        timeout=None if metadata.timeout_ms is None else metadata.timeout_ms / 1000,
        idempotency_key=metadata.idempotency_key,
        token=metadata.token,
        retry_predicate=retry_predicate,
        bind_body=bind_body,
        fence=fence,
        output=output,
    )
    context, index, saved, condition = metadata.context, metadata.index, metadata.saved, metadata.condition
    if context is None and index is None and saved is None and condition is None:
        return work
    waits_for = None if condition is None else msgspec.convert(condition, Condition)
    return msgspec.structs.replace(work, context=context, index=index, saved=saved, condition=waits_for)


@lru_cache(maxsize=1024)
def _python_task(name: str, handler: str) -> TaskSpec:
    return TaskSpec(name=name, body=Body("python", handler))


def _other_task(step: Step) -> TaskSpec:
    if step.handler_class == STEP_HANDLER:
        spec = msgspec.convert(step.handler_config, StepSpec)
        return TaskSpec(name=step.step_name, body=Body("shell", step.handler_class, step=spec))
    if step.handler_class != SHELL_HANDLER:
        return TaskSpec(name=step.step_name, body=Body("handler", step.handler_class))
    shell = msgspec.convert(step.handler_config, ShellSpec)
    return TaskSpec(name=step.step_name, body=Body("shell", step.handler_class, shell))
