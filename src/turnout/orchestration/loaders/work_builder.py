"""Builds the work of an attempt: its body, its arguments, and what it carries over from earlier attempts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from turnout.authoring.invocation import caller
from turnout.authoring.registry import Registry
from turnout.contracts.executor import RunWork, Work
from turnout.model.bindings import ABSENT, context_for, resolve
from turnout.model.deferral import Memo, read_memo
from turnout.model.events import TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.hooks import hook_arguments
from turnout.model.info import Output
from turnout.model.mapping import failed_result
from turnout.model.rows import NewRun, RunRow
from turnout.model.run_outcome import RowOf
from turnout.model.spec import TaskSpec
from turnout.orchestration.loaders.arguments import Call
from turnout.runtime.conditions import once_met
from turnout.runtime.execution import is_async

HANDLER = "handler"

_decode = msgspec.json.Decoder().decode


class RunView(msgspec.Struct, frozen=True, gc=False):
    """A run as a loader has read it, from memory or from the store."""

    graph: Graph
    new: NewRun
    row: RunRow
    row_of: RowOf


class Arguments(msgspec.Struct, frozen=True, gc=False):
    """The values that a body is called with."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = {}
    context: dict[str, Any] | None = None
    run_input: Mapping[str, Any] = {}
    """For handlers: what the run was started with."""
    previous: dict[str, Any] | None = None
    """For handlers: the outputs of the dependencies, by name."""


class WorkBuilder:
    """Builds works for the attempts of one orchestrator or poller."""

    def __init__(self, registry: Registry, output: Output | None = None, runner: RunWork | None = None) -> None:
        self._registry = registry
        self._output = output
        self._runner = runner

    def build(
        self,
        event: TaskReadyEvent,
        pos: int,
        run: RunView,
        texts: Mapping[int, str],
        *,
        call: Call | None = None,
        fence: Callable[[], float] | None = None,
    ) -> Work:
        """Returns the attempt's work. Values are decoded for it alone, so a body may change what it is given.

        ``texts`` has the outputs that the task needs; ``call`` is for workflows with mapped tasks."""
        graph = run.graph
        task = graph.tasks[pos] if call is None else call.task
        found = self._registry.find(run.new, task)
        body = None if found is None else found.function
        outputs = graph.output_arguments[pos] if call is None else None
        if outputs is not None and len(texts) == len(outputs):
            given = Arguments(tuple([_decode(texts[at]) for at in outputs]))
        else:
            given = _arguments(event, pos, task, run, texts, call)
        args, kwargs, context = given.args, given.kwargs, given.context
        row = run.row_of(pos)
        key = f"{event.task_id}.shadow" if event.shadow else event.task_id
        # Not more than 15 by name, as in ``info_of``.
        work = Work(
            event=event,
            task=task,
            body=body,
            workflow=graph.full_name,
            args=args,
            kwargs=kwargs,
            timeout=task.timeout,
            labels=row.labels or {},
            idempotency_key=key,
            token=f"{key}:{event.attempt}",
            retry_predicate=None if found is None else found.retry_if,
            bind_body=caller(body, args, kwargs, context) if body is not None else None,
            fence=fence,
            output=self._output,
            runner=self._runner,
        )
        if call is not None or context is not None:
            work = msgspec.structs.replace(work, index=None if call is None else call.index, context=context)
        if given.previous is not None:
            work = msgspec.structs.replace(work, run_input=given.run_input, previous=given.previous)
        memo = row.memo
        return work if memo is None else _resumed(work, read_memo(memo), {} if found is None else found.conditions)


def _arguments(
    event: TaskReadyEvent, pos: int, task: TaskSpec, run: RunView, texts: Mapping[int, str], call: Call | None
) -> Arguments:
    """Returns what the task is called with, whatever its arguments are made from."""
    graph, input = run.graph, run.new.input

    def output_of(name: str) -> Any:
        if call is not None:
            return call.value(name, texts)
        at = graph.position[name]
        text = texts.get(at)
        return failed_result(graph.tasks[at], run.row_of(at)) if text is None else _decode(text)

    params: dict[str, Any] = _decode(input) if input != "{}" and call is None else {}
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    context = None
    if task.hook is not None:
        args = hook_arguments(graph, pos, event.run_id, run.row, run.row_of, output_of)
        if task.kwargs:
            given: dict[str, Any] = params or _decode(input)
            kwargs = {name: resolve(template, given, output_of) for name, template in task.kwargs.items()}
    elif task.uses_context:
        context = context_for(graph.spec, task, params, output_of)
    elif call is not None:
        args, kwargs = call.arguments(texts)
    else:
        args = tuple([resolve(template, params, output_of) for template in task.args])
        if task.kwargs:
            kwargs = {name: resolve(template, params, output_of) for name, template in task.kwargs.items()}
    if task.body.kind != HANDLER:
        return Arguments(args, kwargs, context)
    values = {name: output_of(name) for name in task.depends_on}
    previous = {name: value for name, value in values.items() if value is not ABSENT}
    return Arguments(args, kwargs, context, params or _decode(input), previous)


def _resumed(work: Work, memo: Memo, declared: Mapping[str, Callable[..., Any]]) -> Work:
    """Returns the work of a task that was deferred: with what it saved, and behind the condition that it waits for."""
    saved = None if memo.saved is None else _decode(memo.saved)
    if memo.condition is None or work.body is None:
        # A handler's condition is evaluated where the handler runs.
        return msgspec.structs.replace(work, saved=saved, condition=memo.condition)
    predicate = declared.get(memo.condition.ref)
    call = once_met(memo.condition, predicate, work.invoke, is_async=is_async(work))
    return msgspec.structs.replace(work, saved=saved, condition=memo.condition, predicate=predicate, call=call)
