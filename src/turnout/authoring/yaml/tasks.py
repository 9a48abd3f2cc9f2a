"""Makes the tasks of a workflow from the steps of its document: one for each, and those that evaluate arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

import msgspec

from turnout.authoring.child import ChildTask
from turnout.authoring.options import TaskOptions
from turnout.authoring.remote import remote
from turnout.authoring.task import Task
from turnout.authoring.workflow import Workflow
from turnout.authoring.yaml.argument_types import ArgumentTypes
from turnout.authoring.yaml.bodies import BodyBuilder, Reporter
from turnout.authoring.yaml.calls import named_arguments, refuse_commands_only
from turnout.authoring.yaml.document import RetryPolicy as StepRetryPolicy
from turnout.authoring.yaml.document import RunRetryPolicy, StepDocument, WorkflowDocument
from turnout.authoring.yaml.scopes import Scopes
from turnout.authoring.yaml.step_task import StepTask
from turnout.authoring.yaml.task_inputs import TaskInputs, output_of
from turnout.errors import InvalidWorkflow
from turnout.model.names import hook_name, suggest
from turnout.model.retry import RetryPolicy
from turnout.model.spec import (
    ContinueOn,
    DictOf,
    FromTask,
    Hook,
    HookedOn,
    Literally,
    Mapped,
    TaskSpec,
    Template,
)
from turnout.model.step import ITEM, Evaluation, StepSpec, Value
from turnout.model.step_values import constant, is_constant

AnyTask = Task[..., Any]
AnyWorkflow = Workflow[..., Any]

GATE = "preconditions"
"""The task that evaluates the preconditions of the whole run."""


NO_TASKS = (
    ": no configured module declares tasks. Name the file, the module or the folder that declares it in `workflows` of "
    "the configuration"
)


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
        unchecked: Collection[str] = (),
    ) -> None:
        self._document = document
        self._reporter = reporter
        self._tasks = tasks
        self._workflows = workflows
        self._local = local
        self._unchecked = unchecked
        """Names of local sub-workflows with errors of their own: calls of them are not checked."""
        self._scopes = Scopes(document)
        self._nodes: dict[str, Node] = {}
        self._inputs = TaskInputs(document, self._scopes, reporter)
        self.gate = ""
        self.complete = True
        """False if a task was left out, since what it calls has errors."""

    def build(self) -> dict[str, Node]:
        """Returns the tasks by name, hooks last."""
        document = self._document
        if document.preconditions:
            self.gate = self._free(GATE)
            body = self._body(None).spec(conditions=document.preconditions)
            self._add_step(self.gate, body, "preconditions", kwargs=self._inputs.arguments(None, set()))
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
        return DictOf({name: output_of(step) for name, step in outputs.items()}) if outputs else None

    # -- one step -----------------------------------------------------------------------------------------------------
    def _add_hook(self, on: HookedOn, step: StepDocument) -> None:
        name = hook_name(on, step.name)
        if step.call is not None or step.python is not None or step.handler is not None or step.parallel is not None:
            why = "a step under `handler_on` has `command`, `script` or `http`"
            self._reporter.report("error", "bad_handler", why, step.where)
            return
        self._add_commands(step, name, (), Hook(on, takes_outcome=True))

    def _add(self, step: StepDocument, depends: tuple[str, ...]) -> None:
        if step.call is not None:
            self._add_call(step, depends)
        elif step.handler is not None:
            refuse_commands_only(step, "handler", self._reporter)
            self._add_called(step, depends, remote(step.name, handler=step.handler), None)
        elif step.python is not None:
            refuse_commands_only(step, "python", self._reporter)
            self._add_python(step, depends)
        else:
            self._add_commands(step, step.name, depends, None)

    def _add_commands(self, step: StepDocument, name: str, depends: tuple[str, ...], hook: Hook | None) -> None:
        parallel = step.parallel
        builder = self._body(step, item=parallel is not None)
        body = builder.step_spec()
        kwargs = self._inputs.arguments(step, self._inputs.results(builder, step))
        mapped: Mapped | None = None
        if parallel is not None:
            mapped = Mapped((ITEM,), max_parallel=parallel.max_concurrent)
            items = (
                []
                if parallel.items is None
                else [builder.value(each, f"{step.where}.parallel", stored=True) for each in parallel.items]
            )
            if parallel.items is not None and all(map(is_constant, items)):
                kwargs[ITEM] = Literally([constant(each) for each in items])
            else:
                helper = self._add_evaluation(step, depends, "items", {}, set())
                kwargs[ITEM] = FromTask(helper, ("items",))
                depends = (*depends, helper)
        shown = step.script or (step.http.url if step.http is not None else " && ".join(map(_shown, step.command)))
        task = StepTask(name, body, shown)
        self._put(name, task, step, depends, kwargs=kwargs, mapped=mapped, hook=hook)

    def _add_call(self, step: StepDocument, depends: tuple[str, ...]) -> None:
        assert step.call is not None
        refuse_commands_only(step, "call", self._reporter)
        if step.call in self._unchecked:
            self.complete = False
            return
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
        if step.resources is not None:
            why = "`resources` has no effect on a sub-workflow: its steps have their own"
            self._reporter.report("warning", "no_effect", why, f"{step.where}.resources")
        self._add_called(step, depends, ChildTask(workflow, local=step.call in self._local), workflow)

    def _add_python(self, step: StepDocument, depends: tuple[str, ...]) -> None:
        assert step.python is not None
        task = self._tasks.get(step.python)
        if task is None:
            known = suggest(step.python, self._tasks) if self._tasks else NO_TASKS
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
        named = named_arguments(step, task, child, self._reporter)
        if named is None:
            return
        parallel = step.parallel
        builder = self._body(step, item=parallel is not None)
        types = ArgumentTypes(step, task, child, self._reporter)
        values = {
            name: types.checked(name, builder.value(each, f"{step.where}.params", stored=True))
            for name, each in named.items()
        }
        kwargs: dict[str, Template]
        mapped: Mapped | None = None
        if parallel is None and not step.preconditions and all(map(is_constant, values.values())):
            kwargs = {name: Literally(constant(value)) for name, value in values.items()}
        else:
            results = self._inputs.results(builder, step)
            helper = self._add_evaluation(step, depends, "params", values, results, types.schemas(values))
            kwargs = {name: FromTask(helper, (name,)) for name in values}
            depends = (*depends, helper)
            if parallel is not None:
                mapped = Mapped(tuple(values), max_parallel=parallel.max_concurrent)
        self._put(step.name, task, step, depends, kwargs=kwargs, mapped=mapped)

    # -- parts --------------------------------------------------------------------------------------------------------
    def _add_evaluation(
        self,
        step: StepDocument,
        depends: tuple[str, ...],
        suffix: str,
        arguments: Mapping[str, Value],
        results: set[str],
        types: Mapping[str, Any] | None = None,
    ) -> str:
        """Adds the task that evaluates arguments, items and, for what has no body here, preconditions."""
        name = self._free(f"{step.name}.{suffix}")
        builder = self._body(step)
        items, variable = None, None
        if step.parallel is not None:
            where = f"{step.where}.parallel"
            if step.parallel.items is not None:
                items = tuple(builder.value(each, where, stored=True) for each in step.parallel.items)
            else:
                variable = builder.text(step.parallel.variable or "", where)
        mapped = step.parallel is not None
        evaluation = Evaluation(dict(arguments), items, variable, mapped, dict(types or {}), step.name)
        conditions = step.preconditions if suffix == "params" else ()
        body = builder.spec((evaluation,), conditions=conditions)
        kwargs = self._inputs.arguments(step, results | self._inputs.results(builder, step))
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
        task, on = task.options(**_given(step)), step.continue_on
        spec = task.spec(name, kwargs=dict(kwargs), depends_on=depends, mapped=mapped)
        retry = step.retry_policy
        changes: dict[str, Any] = {"hook": hook}
        if on is not None:
            changes["continue_on"] = ContinueOn(failure=on.failure, skipped=on.skipped)
        if retry is not None:
            changes["retry"] = retry_of(retry)
        if step.limits:
            changes["limits"] = tuple(each.spec() for each in step.limits)
        if step.timeout_sec:
            changes["timeout"] = step.timeout_sec
        if step.call is None and step.worker_selector is not None:
            changes["worker_selector"] = step.worker_selector
        if step.call is None and step.resources is not None:
            changes["resources"] = step.resources
        self._nodes[name] = Node(msgspec.structs.replace(spec, **changes), task)

    def _body(self, step: StepDocument | None, *, item: bool = False) -> BodyBuilder:
        scope = self._scopes.of(step, item=item)
        return BodyBuilder(self._document, step, scope, self._reporter, set(self._scopes.outputs(step)))

    def _with_streams(self, name: str, node: Node) -> Node:
        """Returns the step with the streams that others refer to in its result."""
        keeps = self._inputs.kept_streams(name)
        if not keeps or not isinstance(node.task, StepTask):
            return node
        body = msgspec.structs.replace(node.task.step, keeps=keeps)
        task = StepTask(name, body, node.spec.body.ref, node.task.given)
        return Node(msgspec.structs.replace(node.spec, body=task.body), task)

    def _free(self, name: str) -> str:
        taken = {*self._nodes, *(each.name for each in self._document.steps)}
        while name in taken:
            name = f"{name}_"
        return name


def retry_of(policy: StepRetryPolicy | RunRetryPolicy) -> RetryPolicy:
    """Returns the policy of a task for that of a step or a run."""
    return RetryPolicy(
        attempts=policy.limit + 1,
        backoff="exponential" if policy.backoff > 1 else "fixed",
        delay=policy.interval_sec,
        max_delay=policy.max_interval_sec,
        factor=policy.backoff if policy.backoff > 1 else 2.0,
    )


def _shown(command: Any) -> str:
    return command if isinstance(command, str) else " ".join(command)


def _given(step: StepDocument) -> TaskOptions:
    """Returns the options that a program's defaults for tasks must not replace."""
    found: TaskOptions = {}
    if step.timeout_sec is not None:
        found["timeout"] = step.timeout_sec or None
    if step.retry_policy is not None:
        found["retries"] = step.retry_policy.limit
    return found
