"""Which Python function is the body of a stored task?

A restarted program, or another one with the same code, finds it by workflow and task name first: that is what people
mean when they change a function and start again. The body's own reference is the second way, for tasks that the
workflow of today no longer has under that name.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from types import MappingProxyType
from typing import Any

from turnout.authoring.child import ChildTask
from turnout.authoring.options import RetryPredicate
from turnout.authoring.task import Task
from turnout.authoring.workflow import DEFAULT_TENANT, Workflow
from turnout.errors import DefinitionError
from turnout.model.spec import TaskSpec, WorkflowSpec

AnyWorkflow = Workflow[..., Any]
AnyTask = Task[..., Any]


class Registry:
    """The workflows that this program has the code for. May be asked and added to from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._workflows: dict[str, AnyWorkflow] = {}
        self._specs: dict[str, WorkflowSpec] = {}
        self._by_name: dict[tuple[str, str], AnyTask] = {}
        self._by_ref: dict[str, AnyTask] = {}

    def add(self, workflow: AnyWorkflow, tenant: str = DEFAULT_TENANT) -> WorkflowSpec:
        """Register the workflow with its tasks and children, and return its spec. Adding it again changes nothing."""
        spec = workflow.spec_for(tenant)
        full_name = spec.full_name
        known = self._workflows.get(full_name)
        if known is workflow:
            return self._specs[full_name]
        # The same function defined anew (a notebook cell, a reload) replaces what was there.
        if known is not None and known.source.ref != workflow.source.ref:
            raise DefinitionError(
                f"two workflows are named {full_name!r}, {known.source.ref} and {workflow.source.ref}: "
                "give one another name or package",
                code="duplicate_workflow",
                workflow=full_name,
            )
        for child in children_of(workflow):
            self.add(child, tenant)
        with self._lock:
            for name, task in workflow.tasks.items():
                self._by_name[full_name, name] = task
                self._by_ref[task.ref] = task
            self._specs[full_name] = spec
            self._workflows[full_name] = workflow
        return spec

    def add_task(self, task: AnyTask) -> None:
        """Register a task of no workflow here, to be found by its reference."""
        with self._lock:
            self._by_ref[task.ref] = task

    @property
    def workflows(self) -> Mapping[str, AnyWorkflow]:
        """Workflows by full name."""
        return MappingProxyType(self._workflows)

    def family_of(self, workflow: AnyWorkflow, tenant: str = DEFAULT_TENANT) -> list[WorkflowSpec]:
        """The specs of the workflow and of all that it calls, however deep."""
        found: dict[str, WorkflowSpec] = {}
        open_ = [workflow]
        while open_:
            each = open_.pop()
            spec = self.add(each, tenant)
            if spec.full_name not in found:
                found[spec.full_name] = spec
                open_.extend(children_of(each))
        return list(found.values())

    def spec_of(self, workflow_full_name: str) -> WorkflowSpec | None:
        """The spec that today's code draws."""
        return self._specs.get(workflow_full_name)

    def body_of(self, workflow_full_name: str, task: TaskSpec) -> Callable[..., Any] | None:
        """The function that is this task's body; None if this program does not have it."""
        found = self.find(workflow_full_name, task)
        return None if found is None else found.function

    def predicate_of(self, workflow_full_name: str, task: TaskSpec) -> RetryPredicate | None:
        """The task's ``retry_if``, if it has one."""
        found = self.find(workflow_full_name, task)
        return None if found is None else found.retry_if

    def conditions_of(self, workflow_full_name: str, task: TaskSpec) -> Collection[str]:
        """The predicates that this task may wait for, as its own code names them."""
        if task.body.kind == "handler":
            return task.body.conditions
        found = self.find(workflow_full_name, task)
        return () if found is None else found.conditions

    def find(self, workflow_full_name: str, task: TaskSpec) -> AnyTask | None:
        """The task as it was written; None if this program does not have it, or it is no Python function."""
        if task.body.kind != "python":
            return None
        return self._by_name.get((workflow_full_name, task.name)) or self._by_ref.get(task.body.ref)


def children_of(workflow: AnyWorkflow) -> list[AnyWorkflow]:
    """The workflows that this one calls."""
    found = {id(task.workflow): task.workflow for task in workflow.tasks.values() if isinstance(task, ChildTask)}
    return list(found.values())
