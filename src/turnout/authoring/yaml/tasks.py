"""Makes the tasks of a workflow from the steps of its document: one for each, and those that evaluate arguments."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec

from turnout.authoring.child import ChildTask
from turnout.authoring.invocation import open_signature
from turnout.authoring.remote import remote
from turnout.authoring.task import Task
from turnout.authoring.workflow import Workflow
from turnout.authoring.yaml.bodies import BodyBuilder, Reporter
from turnout.authoring.yaml.document import StepDocument, WorkflowDocument
from turnout.authoring.yaml.expressions import constant, is_constant
from turnout.authoring.yaml.inputs import input_name
from turnout.authoring.yaml.scopes import Scopes
from turnout.authoring.yaml.step_task import StepTask
from turnout.errors import InvalidWorkflow
from turnout.model.names import hook_name, suggest
from turnout.model.retry import RetryPolicy
from turnout.model.spec import (
    ContinueOn,
    DictOf,
    FromParam,
    FromTask,
    Hook,
    HookedOn,
    Literally,
    Mapped,
    TaskSpec,
    Template,
)
from turnout.model.step import ITEM, OUTPUTS, PARAMS, STEPS, Evaluation, StepSpec, Value

AnyTask = Task[..., Any]
AnyWorkflow = Workflow[..., Any]

GATE = "preconditions"
"""The task that evaluates the preconditions of the whole run."""


class Node(NamedTuple):
    """A task with its spec."""

    spec: TaskSpec
    task: AnyTask


class TaskBuilder:
    """Makes the tasks of one document."""

    def __init__(
        self,
        document: WorkflowDocument,
        reporter: Reporter,
        tasks: Mapping[str, AnyTask],
        workflows: Mapping[str, AnyWorkflow],
        local: Mapping[str, AnyWorkflow],
    ) -> None:
        self._document = document
        self._reporter = reporter
        self._tasks = tasks
        self._workflows = workflows
        self._local = local
        self._scopes = Scopes(document)
        self._nodes: dict[str, Node] = {}
        self._kept: dict[str, set[str]] = {}
        """The streams that other steps refer to, by step."""
        self.gate = ""

    def build(self) -> dict[str, Node]:
        """Returns the tasks by name, hooks last."""
        document = self._document
        if document.preconditions:
            self.gate = self._free(GATE)
            body = self._body(None).spec(conditions=document.preconditions)
            self._add_step(self.gate, body, "preconditions", kwargs=self._arguments(None, set()))
        for step in document.steps:
            self._add(step, (self.gate,) if self.gate and not step.depends else step.depends)
        handlers = document.handler_on
        hooks: dict[HookedOn, StepDocument | None] = {
            "success": handlers.success,
            "failure": handlers.failure,
            "cancel": handlers.cancel,
            "exit": handlers.exit,
        }
        for on, step in hooks.items():
            if step is not None:
                self._add_hook(on, step)
        return {name: self._with_streams(name, node) for name, node in self._nodes.items()}

    def result(self) -> Template | None:
        """Returns the template of a run's result: the outputs by variable."""
        outputs = {each.output: each for each in self._document.steps if each.output is not None}
        return DictOf({name: _output_of(step) for name, step in outputs.items()}) if outputs else None

    # -- one step -----------------------------------------------------------------------------------------------------
    def _add_hook(self, on: HookedOn, step: StepDocument) -> None:
        name = hook_name(on, step.name)
        if step.call is not None or step.python is not None or step.handler is not None or step.parallel is not None:
            self._refuse(step, "bad_handler", "a step under `handler_on` has `command`, `script` or `http`")
            return
        self._add_commands(step, name, (), Hook(on, takes_outcome=True))

    def _add(self, step: StepDocument, depends: tuple[str, ...]) -> None:
        if step.call is not None:
            self._add_call(step, depends)
        elif step.handler is not None:
            self._refuse_commands_only(step, "handler")
            self._add_called(step, depends, remote(step.name, handler=step.handler), None)
        elif step.python is not None:
            self._refuse_commands_only(step, "python")
            self._add_python(step, depends)
        else:
            self._add_commands(step, step.name, depends, None)

    def _add_commands(self, step: StepDocument, name: str, depends: tuple[str, ...], hook: Hook | None) -> None:
        parallel = step.parallel
        builder = self._body(step, item=parallel is not None)
        body = builder.step_spec()
        kwargs = self._arguments(step, self._results(builder, step))
        mapped: Mapped | None = None
        if parallel is not None:
            mapped = Mapped((ITEM,), max_parallel=parallel.max_concurrent)
            items = [] if parallel.items is None else [builder.value(each, step.where) for each in parallel.items]
            if parallel.items is not None and all(map(is_constant, items)):
                kwargs[ITEM] = Literally([constant(each) for each in items])
            else:
                helper = self._add_evaluation(step, depends, "items", {}, set())
                kwargs[ITEM] = FromTask(helper, ("items",))
                depends = (*depends, helper)
        shown = step.script or (step.http.url if step.http is not None else " && ".join(map(_shown, step.command)))
        task = StepTask(name, body, shown, _marks(step))
        self._put(name, task, step, depends, kwargs=kwargs, mapped=mapped, hook=hook)

    def _add_call(self, step: StepDocument, depends: tuple[str, ...]) -> None:
        assert step.call is not None
        self._refuse_commands_only(step, "call")
        try:
            workflow = self._local.get(step.call) or self._workflows.get(step.call)
        except InvalidWorkflow as error:
            self._reporter.report("error", error.code, error.message, f"{step.where}.call")
            return
        if workflow is None:
            known = suggest(step.call, [*self._local, *self._workflows])
            why = f"{step.where}.call is {step.call!r}, which is no workflow here{known}"
            self._reporter.report("error", "unknown_workflow", why, f"{step.where}.call")
            return
        if step.worker_selector is not None:
            why = "`workerSelector` has no effect on a sub-workflow: its steps have their own"
            self._reporter.report("warning", "no_effect", why, f"{step.where}.worker_selector")
        self._add_called(step, depends, ChildTask(workflow), workflow)

    def _add_python(self, step: StepDocument, depends: tuple[str, ...]) -> None:
        assert step.python is not None
        task = self._tasks.get(step.python)
        if task is None:
            known = suggest(step.python, self._tasks) if self._tasks else ": no configured module declares tasks"
            why = f"{step.where}.python is {step.python!r}, which is no declared task{known}"
            self._reporter.report("error", "unknown_task", why, f"{step.where}.python")
            return
        if task.uses_context:
            why = f"{step.where}.python is {step.python!r}, which takes a Context: name a task that takes arguments"
            self._reporter.report("error", "unknown_task", why, f"{step.where}.python")
            return
        self._add_called(step, depends, task, None)

    def _add_called(
        self, step: StepDocument, depends: tuple[str, ...], task: AnyTask, child: AnyWorkflow | None
    ) -> None:
        """Adds a task that gets arguments by name: constant ones directly, others from a task that evaluates them."""
        named = self._named_arguments(step, task, child)
        if named is None:
            return
        parallel = step.parallel
        builder = self._body(step, item=parallel is not None)
        values = {name: builder.value(each, f"{step.where}.params") for name, each in named.items()}
        kwargs: dict[str, Template]
        mapped: Mapped | None = None
        if parallel is None and not step.preconditions and all(map(is_constant, values.values())):
            kwargs = {name: Literally(constant(value)) for name, value in values.items()}
        else:
            helper = self._add_evaluation(step, depends, "params", values, self._results(builder, step))
            kwargs = {name: FromTask(helper, (name,)) for name in values}
            depends = (*depends, helper)
            if parallel is not None:
                mapped = Mapped(tuple(values), max_parallel=parallel.max_concurrent)
        self._put(step.name, task, step, depends, kwargs=kwargs, mapped=mapped)

    def _named_arguments(self, step: StepDocument, task: AnyTask, child: AnyWorkflow | None) -> dict[str, Any] | None:
        """Returns the arguments by name; None after what is wrong with them was reported."""
        where = f"{step.where}.params"
        if child is not None:
            names = list(child.source.positional)
        else:
            names = list(open_signature(task.function).parameters) if step.python is not None else []
        given = step.params
        if len(given.positional) > len(names):
            takes = f"takes {len(names)} by position" if names else "takes its arguments by name"
            why = f"{where} has {len(given.positional)} arguments without a name, and {step.name!r} {takes}"
            self._reporter.report("error", "bad_arguments", why, where)
            return None
        found = {**dict(zip(names, given.positional, strict=False)), **given.named}
        if step.parallel is not None and not found:
            found = _from_items(step, names)
        known = [each.name for each in child.spec.params] if child is not None else names
        takes_any = step.handler is not None or (child is None and _takes_any(task))
        for name in found if not takes_any else ():
            if name not in known:
                why = f"{where} has {name!r}, which {step.call or step.python!r} does not take{suggest(name, known)}"
                self._reporter.report("error", "bad_arguments", why, where)
                return None
        return found

    # -- parts --------------------------------------------------------------------------------------------------------
    def _add_evaluation(
        self,
        step: StepDocument,
        depends: tuple[str, ...],
        suffix: str,
        arguments: Mapping[str, Value],
        results: set[str],
    ) -> str:
        """Adds the task that evaluates arguments, items and, for what has no body here, preconditions."""
        name = self._free(f"{step.name}.{suffix}")
        builder = self._body(step)
        items, variable = None, None
        if step.parallel is not None:
            where = f"{step.where}.parallel"
            if step.parallel.items is not None:
                items = tuple(builder.value(each, where) for each in step.parallel.items)
            else:
                variable = builder.text(step.parallel.variable or "", where)
        evaluation = Evaluation(dict(arguments), items, variable, mapped=step.parallel is not None)
        conditions = step.preconditions if suffix == "params" else ()
        body = builder.spec((evaluation,), conditions=conditions)
        kwargs = self._arguments(step, results | self._results(builder, step))
        self._add_step(name, body, f"{suffix} of {step.name}", depends, kwargs, step)
        return name

    def _add_step(
        self,
        name: str,
        body: StepSpec,
        shown: str,
        depends: tuple[str, ...] = (),
        kwargs: Mapping[str, Template] | None = None,
        step: StepDocument | None = None,
    ) -> None:
        task = StepTask(name, body, shown)
        spec = task.spec(name, kwargs=dict(kwargs or {}), depends_on=depends)
        if step is not None:
            spec = msgspec.structs.replace(spec, worker_selector=step.worker_selector)
        self._nodes[name] = Node(spec, task)

    def _put(
        self,
        name: str,
        task: AnyTask,
        step: StepDocument,
        depends: tuple[str, ...],
        *,
        kwargs: Mapping[str, Template],
        mapped: Mapped | None,
        hook: Hook | None = None,
    ) -> None:
        on = step.continue_on
        spec = task.spec(name, kwargs=dict(kwargs), depends_on=depends, mapped=mapped)
        retry = step.retry_policy
        changes: dict[str, Any] = {"hook": hook}
        if on is not None:
            changes["continue_on"] = ContinueOn(failure=on.failure, skipped=on.skipped)
        if retry is not None:
            changes["retry"] = RetryPolicy(
                attempts=retry.limit + 1,
                backoff="exponential" if retry.backoff > 1 else "fixed",
                delay=retry.interval_sec,
                max_delay=retry.max_interval_sec,
                factor=retry.backoff if retry.backoff > 1 else 2.0,
            )
        if step.timeout_sec:
            changes["timeout"] = step.timeout_sec
        if step.call is None and step.worker_selector is not None:
            changes["worker_selector"] = step.worker_selector
        self._nodes[name] = Node(msgspec.structs.replace(spec, **changes), task)

    def _body(self, step: StepDocument | None, *, item: bool = False) -> BodyBuilder:
        scope = self._scopes.of(step, item=item)
        return BodyBuilder(self._document, step, scope, self._reporter, set(self._scopes.outputs(step)))

    def _arguments(self, step: StepDocument | None, results: set[str]) -> dict[str, Template]:
        """Returns what a body gets of the run: parameters, outputs of the steps before, results that it refers to."""
        params = {each.name: FromParam(input_name(each)) for each in self._document.params}
        outputs = {name: _output_of(each) for name, each in self._scopes.outputs(step).items()}
        steps = {called: self._result_of(called, step) for called in sorted(results)}
        found: dict[str, dict[str, Any]] = {PARAMS: params, OUTPUTS: outputs, STEPS: steps}
        return {name: DictOf(items) for name, items in found.items() if items}

    def _results(self, builder: BodyBuilder, step: StepDocument) -> set[str]:
        """Returns the steps whose results the texts refer to, and notes the streams that those have to keep."""
        for called, field in builder.expressions.results:
            of = self._scopes.step_of(called, step)
            if of is not None and field in ("stdout", "stderr"):
                self._kept.setdefault(of.name, set()).add(field)
        return {called for called, _ in builder.expressions.results}

    def _result_of(self, called: str, step: StepDocument | None) -> Template:
        of = self._scopes.step_of(called, step)
        assert of is not None
        if of.call is None and of.handler is None and of.python is None and of.parallel is None:
            return FromTask(of.name)
        return DictOf({"output": _output_of(of)})

    def _with_streams(self, name: str, node: Node) -> Node:
        """Returns the step with the streams that others refer to in its result."""
        if name not in self._kept or not isinstance(node.task, StepTask):
            return node
        keeps = tuple(stream for stream in ("stdout", "stderr") if stream in self._kept[name])
        body = msgspec.structs.replace(node.task.step, keeps=keeps)
        task = StepTask(name, body, node.spec.body.ref, node.task.given)
        return Node(msgspec.structs.replace(node.spec, body=task.body), task)

    def _free(self, name: str) -> str:
        taken = {*self._nodes, *(each.name for each in self._document.steps)}
        while name in taken:
            name = f"{name}_"
        return name

    def _refuse(self, step: StepDocument, code: str, why: str, key: str = "") -> None:
        where = f"{step.where}.{key}" if key else step.where
        self._reporter.report("error", code, why, where)

    def _refuse_commands_only(self, step: StepDocument, kind: str) -> None:
        """Reports keys that only a step with a command can have."""
        on, retry = step.continue_on, step.retry_policy
        faults = {
            "repeat_policy": step.repeat_policy is not None,
            "select": step.select is not None,
            "stdout": step.stdout is not None,
            "stderr": step.stderr is not None,
            "signal_on_stop": step.signal_on_stop is not None,
            "script": step.script is not None,
            "continue_on": on is not None and bool(on.exit_code or on.output or on.mark_success),
            "retry_policy": retry is not None and bool(retry.exit_code),
        }
        for key, wrong in faults.items():
            if wrong:
                part = {"continue_on": ": write `failure` and `skipped` only", "retry_policy": " with `exit_code`"}
                why = f"{step.where} has `{key}`, which needs a command, and it has `{kind}`{part.get(key, '')}"
                self._refuse(step, "needs_command", why, key)


def _output_of(step: StepDocument) -> Template:
    """Returns the template of the value of the step's output variable."""
    if step.call is not None:
        return DictOf({"outputs": FromTask(step.name)})
    if step.handler is not None or step.python is not None or step.parallel is not None:
        return FromTask(step.name)
    return FromTask(step.name, ("output",))


def _from_items(step: StepDocument, names: list[str]) -> dict[str, Any]:
    """Returns the arguments of a parallel step that has none of its own: the item, or its fields."""
    assert step.parallel is not None
    items = step.parallel.items or ()
    if items and all(isinstance(each, dict) for each in items):
        keys = dict.fromkeys(key for each in items for key in each)
        return {key: f"${{ITEM.{key}}}" for key in keys}
    return {names[0] if names else "item": "${ITEM}"}


def _takes_any(task: AnyTask) -> bool:
    return any(each.kind is each.VAR_KEYWORD for each in open_signature(task.function).parameters.values())


def _shown(command: Any) -> str:
    return command if isinstance(command, str) else " ".join(command)


def _marks(step: StepDocument) -> Any:
    """Returns the options that a program's defaults for tasks must not replace."""
    found: dict[str, Any] = {}
    if step.timeout_sec is not None:
        found["timeout"] = step.timeout_sec or None
    if step.retry_policy is not None:
        found["retries"] = step.retry_policy.limit
    return found
