"""Builds the work of an attempt: its body, its arguments, and what it carries over from earlier attempts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

import msgspec

from turnout.authoring.invocation import caller, needs_of
from turnout.authoring.registry import AnyTask, Registry
from turnout.contracts.executor import RunWork, Work
from turnout.model.bindings import ABSENT, context_for, resolve
from turnout.model.deferral import Memo, read_memo
from turnout.model.events import TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.hooks import hook_arguments
from turnout.model.info import Output
from turnout.model.mapping import failed_result
from turnout.model.rows import NewRun, RunRow, TaskRow
from turnout.model.run_outcome import RowOf
from turnout.model.spec import TaskSpec
from turnout.orchestration.loaders.arguments import Call
from turnout.runtime.conditions import once_met
from turnout.runtime.execution import is_async
from turnout.runtime.trace_context import traced

HANDLER = "handler"

_decode = msgspec.json.Decoder().decode
_replace = msgspec.structs.replace


MAX_TEMPLATES = 4096
"""Tasks for which a builder keeps what their works have in common."""


class RunView(Protocol):
    """A run as a loader has read it: its ``RunMachine``, or what the store has of it."""

    @property
    def graph(self) -> Graph: ...

    @property
    def new(self) -> NewRun: ...

    @property
    def row(self) -> RunRow: ...

    @property
    def row_of(self) -> RowOf: ...


class RunRead(msgspec.Struct, frozen=True, gc=False):
    """A run as it was read from the store."""

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


class Template(msgspec.Struct, frozen=True):
    """The common part of all works of a task."""

    task: TaskSpec
    """Held, so that no other task gets its identity."""
    found: AnyTask | None
    """The function that was found for it."""
    work: Work
    needs_more: bool
    """True if the body takes more than its arguments as they are."""


class WorkBuilder:
    """Builds works for the attempts of one orchestrator or poller."""

    def __init__(
        self,
        registry: Registry,
        output: Output | None = None,
        runner: RunWork | None = None,
    ) -> None:
        self._registry = registry
        self._output = output
        self._runner = runner
        self._templates: dict[int, Template] = {}
        """By the identity of a task."""

    def build(
        self,
        event: TaskReadyEvent,
        pos: int,
        run: RunView,
        texts: Mapping[int, str],
        *,
        call: Call | None = None,
        fence: Callable[[], float] | None = None,
        traceparent: str | None = None,
    ) -> Work:
        """Returns the attempt's work. Values are decoded for it alone, so a body may change what it is given.

        ``texts`` has the outputs that the task needs; ``call`` is for workflows with mapped tasks; ``traceparent`` is
        the trace that the body continues."""
        task = run.graph.tasks[pos] if call is None else call.task
        given = arguments_for(event.run_id, pos, task, run, texts, call)
        index = None if call is None else call.index
        work = self._work(event, task, run, run.row_of(pos), fence, given, index)
        return work if traceparent is None else traced(work, traceparent)

    def build_from_outputs(
        self,
        event: TaskReadyEvent,
        pos: int,
        run: RunView,
        row: TaskRow,
        texts: Iterable[str],
        fence: Callable[[], float],
        traceparent: str | None = None,
    ) -> Work:
        """Returns the work of a task whose arguments are these outputs, and nothing else: as ``build`` does."""
        given = Arguments(tuple(map(_decode, texts)))
        work = self._work(event, run.graph.tasks[pos], run, row, fence, given)
        return work if traceparent is None else traced(work, traceparent)

    def _work(
        self,
        event: TaskReadyEvent,
        task: TaskSpec,
        run: RunView,
        row: TaskRow,
        fence: Callable[[], float] | None,
        given: Arguments,
        index: int | None = None,
    ) -> Work:
        found = self._registry.find(run.new, task)
        known = self._templates.get(id(task))
        if known is None or known.found is not found:
            known = self._template(event, task, run, found)
        template, args, kwargs = known.work, given.args, given.kwargs
        body = template.body
        key = f"{event.task_id}.shadow" if event.shadow else event.task_id
        work = _replace(
            template,
            event=event,
            args=args,
            kwargs=kwargs,
            labels=row.labels or {},
            idempotency_key=key,
            token=f"{key}:{event.attempt}",
            bind_body=caller(body, args, kwargs, given.context)
            if body is not None and (known.needs_more or given.context is not None)
            else None,
            fence=fence,
        )
        if index is not None or given.context is not None:
            work = _replace(work, index=index, context=given.context)
        if given.previous is not None:
            work = _replace(work, run_input=given.run_input, previous=given.previous)
        if row.resources is not None:
            work = _replace(work, resources=row.resources)
        if row.memo is not None:
            work = _resumed(work, read_memo(row.memo), {} if found is None else found.conditions)
        return work

    def _template(self, event: TaskReadyEvent, task: TaskSpec, run: RunView, found: AnyTask | None) -> Template:
        """Makes and keeps what all works of the task have in common."""
        if len(self._templates) >= MAX_TEMPLATES:
            self._templates.clear()
        made = Work(
            event=event,
            task=task,
            body=None if found is None else found.function,
            workflow=run.graph.full_name,
            timeout=task.timeout,
            retry_predicate=None if found is None else found.retry_if,
            output=self._output,
            runner=self._runner,
        )
        needs_more = made.body is not None and needs_of(made.body) is not None
        template = self._templates[id(task)] = Template(task, found, made, needs_more)
        return template


def arguments_for(
    run_id: str, pos: int, task: TaskSpec, run: RunView, texts: Mapping[int, str], call: Call | None
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
        args = hook_arguments(graph, pos, run_id, run.row, run.row_of, output_of)
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
        return _replace(work, saved=saved, condition=memo.condition)
    predicate = declared.get(memo.condition.ref)
    call = once_met(memo.condition, predicate, work.invoke, is_async=is_async(work))
    return _replace(work, saved=saved, condition=memo.condition, predicate=predicate, call=call)
