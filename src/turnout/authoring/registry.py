"""Holds the workflows that a program has the code for, and finds the function of a stored task.

A restarted program, or another one with the same code, finds a body by the names of workflow and task, so a changed
function applies to stored runs. If the workflow no longer has a task of that name, the body is found by its reference.

Within one program a workflow may be redefined (a notebook cell is run again, a module is reloaded, a stored definition
has a new version). Runs that were submitted before keep the definition of their start. Two definitions of one name that
are both live are refused, unless one replaces the other explicitly.
"""

from __future__ import annotations

import math
import threading
import time
from bisect import bisect_right
from collections.abc import Collection, Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from turnout.authoring.child import ChildTask
from turnout.authoring.definition import NO_DEFAULTS, Definition, TaskDefaults
from turnout.authoring.task import Task
from turnout.authoring.workflow import DEFAULT_TENANT, Workflow
from turnout.errors import DefinitionError
from turnout.model.rows import NewRun
from turnout.model.spec import TaskSpec, WorkflowSpec

AnyWorkflow = Workflow[..., Any]
AnyTask = Task[..., Any]

MAX_EARLIER = 1_000
"""Earlier definitions by version that are kept for open runs; above it the oldest are dropped."""
MAX_PERIODS = 100
"""Former definitions of one workflow that are kept for its open runs; runs that are older take the oldest of them."""


class Registry:
    """The workflows of a program by full name. Thread-safe."""

    def __init__(self, defaults: TaskDefaults = NO_DEFAULTS) -> None:
        self._defaults = defaults
        self._lock = threading.RLock()
        self._today: dict[str, Definition] = {}
        self._periods: dict[str, list[tuple[float, Definition]]] = {}
        """Of redefined workflows: the start of each definition, oldest first. A run belongs to that of its creation."""
        self._kept: dict[str, Definition] = {}
        """Of open runs that belong to another definition than that of their creation, by run."""
        self._earlier: dict[str, Definition] = {}
        """Of definitions that are not current: by the version of their spec, which their runs store."""
        self._by_ref: dict[str, AnyTask | None] = {}
        """None if several functions have the same reference."""
        self._latest = -math.inf
        """The creation time of the newest run of this program."""

    # -- adding -------------------------------------------------------------------------------------------------
    def add(self, workflow: AnyWorkflow, tenant: str = DEFAULT_TENANT) -> WorkflowSpec:
        """Registers the workflow with its tasks and children, and returns its spec. Adding it again changes nothing."""
        return self.define(workflow, tenant).spec

    def define(self, workflow: AnyWorkflow, tenant: str = DEFAULT_TENANT) -> Definition:
        """Registers the workflow with its tasks and children, and returns its definition."""
        full_name = f"{tenant}::{workflow.package}::{workflow.name}"
        known = self._today.get(full_name)
        if known is not None and known.is_of(workflow):
            return known
        with self._lock:
            made = workflow.define(tenant, self._defaults)
            known = self._today.get(full_name)
            if known is not None:
                if known.is_of(workflow) or known.same_as(made):
                    return known
                if not known.superseded_by(workflow.source):
                    raise _duplicate(full_name, known, made)
            self._put(full_name, made, tenant, former=known)
        return made

    def replace(self, workflow: AnyWorkflow, tenant: str = DEFAULT_TENANT, *, remote_only: bool = False) -> Definition:
        """Registers the workflow in place of the one that has its name: new runs take it, open runs keep theirs."""
        full_name = f"{tenant}::{workflow.package}::{workflow.name}"
        with self._lock:
            known = self._today.get(full_name)
            if known is not None and known.is_of(workflow) and known.spec.remote_only == remote_only:
                return known
            made = workflow.define(tenant, self._defaults, remote_only=remote_only)
            if known is not None:
                self._keep_earlier(known)
            # Runs of a workflow without functions need nothing but their stored spec.
            self._put(full_name, made, tenant, former=known if known is not None and known.spec.needs_code else None)
        return made

    def specified(
        self, workflow: AnyWorkflow, tenant: str = DEFAULT_TENANT, *, remote_only: bool = False
    ) -> WorkflowSpec:
        """Returns the spec that the workflow would have here. Nothing is registered."""
        return workflow.define(tenant, self._defaults, remote_only=remote_only).spec

    def remove(self, workflow_full_name: str) -> None:
        """Forgets the workflow: there are no new runs of it here. Open runs go on."""
        with self._lock:
            known = self._today.get(workflow_full_name)
            if known is not None:
                self._keep_earlier(known)
            self._today = {name: each for name, each in self._today.items() if name != workflow_full_name}

    def add_earlier(
        self, workflows: Sequence[AnyWorkflow], tenant: str = DEFAULT_TENANT, *, remote_only: bool = False
    ) -> None:
        """Adds workflows of an earlier version of a text, for its open runs: these call one another as that text says,
        and other workflows as they are now."""
        with self._lock:
            made = {id(each): each.define(tenant, self._defaults, remote_only=remote_only) for each in workflows}
            for definition in made.values():
                for task in definition.tasks.values():
                    if isinstance(task, ChildTask):
                        called = cast("AnyWorkflow", task.workflow)
                        child = made.get(id(called)) or self.define(called, tenant)
                        definition.children[child.spec.full_name] = child
                self._keep_earlier(definition)

    def _keep_earlier(self, definition: Definition) -> None:
        """Keeps a definition that only code can drive: others need nothing but their stored spec."""
        if definition.spec.needs_code:
            self._earlier = {**self._earlier, definition.graph.version: definition}
            for version in list(self._earlier)[:-MAX_EARLIER]:
                del self._earlier[version]

    def has_earlier(self, version: str) -> bool:
        """True if the version of a spec belongs to a definition that is kept for open runs."""
        return version in self._earlier

    def _put(self, full_name: str, made: Definition, tenant: str, *, former: Definition | None) -> None:
        for task in made.tasks.values():
            if isinstance(task, ChildTask):
                child = self.define(cast("AnyWorkflow", task.workflow), tenant)
                made.children[child.spec.full_name] = child
        for task in made.tasks.values():
            self._add_ref(task)
        if former is not None and full_name not in self._periods:
            self._periods[full_name] = [(-math.inf, former)]
        if full_name in self._periods:
            periods = self._periods[full_name]
            # After every run so far, also if the clock was set back: a run belongs to the definition at its creation.
            periods.append((math.nextafter(max(time.time(), self._latest), math.inf), made))
            del periods[:-MAX_PERIODS]
        # A new dict: other threads may be iterating over the old one.
        self._today = {**self._today, full_name: made}

    def _add_ref(self, task: AnyTask) -> None:
        known = self._by_ref.setdefault(task.ref, task)
        # The newest function of a module-level name counts. Functions defined in a function all have one name.
        if known is None or known.function is not task.function:
            self._by_ref[task.ref] = None if "<locals>" in task.ref else task

    # -- current definitions --------------------------------------------------------------------------------------
    @property
    def workflows(self) -> Mapping[str, Definition]:
        """The current definitions by full name."""
        return MappingProxyType(self._today)

    def family_of(self, workflow: AnyWorkflow, tenant: str = DEFAULT_TENANT) -> list[WorkflowSpec]:
        """Returns the specs of the workflow and of all workflows that it calls, at any depth."""
        return list(self.define(workflow, tenant).family)

    def spec_of(self, workflow_full_name: str) -> WorkflowSpec | None:
        """Returns the spec that the current code builds."""
        known = self._today.get(workflow_full_name)
        return None if known is None else known.spec

    # -- runs ---------------------------------------------------------------------------------------------------
    def keep(self, run: NewRun, definition: Definition) -> None:
        """Assigns a run that is about to be stored to this definition."""
        with self._lock:
            self._latest = max(self._latest, run.created_at)
            if self.definition_of(run) is not definition:
                self._kept[run.run_id] = definition

    def forget(self, run_id: str) -> None:
        """Drops the definition of a run that has ended."""
        self._kept.pop(run_id, None)

    def definition_of(self, run: NewRun) -> Definition | None:
        """Returns the definition that the run belongs to; None if this program does not have its workflow."""
        kept = self._kept.get(run.run_id)
        if kept is not None:
            return kept
        today = self._today.get(run.workflow)
        if self._earlier and (today is None or today.graph.version != run.version):
            earlier = self._earlier.get(run.version)
            if earlier is not None:
                return earlier
        periods = self._periods.get(run.workflow)
        if periods is None:
            return today
        return periods[max(0, bisect_right(periods, run.created_at, key=lambda period: period[0]) - 1)][1]

    def is_superseded(self, run: NewRun) -> bool:
        """True if the run belongs to an earlier definition, whose bodies other programs do not have."""
        return self.definition_of(run) is not self._today.get(run.workflow)

    def child_of(self, run: NewRun, workflow_full_name: str) -> Definition | None:
        """Returns the workflow that a task of this run calls, as it was when the run's workflow was defined."""
        parent = self.definition_of(run)
        drawn = None if parent is None else parent.children.get(workflow_full_name)
        return drawn or self._today.get(workflow_full_name)

    def find(self, run: NewRun, task: TaskSpec) -> AnyTask | None:
        """Returns the task object; None if this program does not have it, or its body is no Python function."""
        if task.body.kind != "python":
            return None
        # Most programs redefine nothing, and every attempt passes here.
        plain = not self._kept and not self._periods and not self._earlier
        definition = self._today.get(run.workflow) if plain else self.definition_of(run)
        found = None if definition is None else definition.tasks.get(task.name)
        return found or self._by_ref.get(task.body.ref)

    def conditions_of(self, run: NewRun, task: TaskSpec) -> Collection[str]:
        """Returns the predicates that this task may wait for, as its code declares them."""
        if task.body.kind == "handler":
            return task.body.conditions
        found = self.find(run, task)
        return () if found is None else found.conditions


def _duplicate(full_name: str, known: Definition, made: Definition) -> DefinitionError:
    one, other = known.source.where, made.source.where
    why = (
        "both are still in use: give each a name of its own, or use the one that is defined now"
        if one == other
        else "give one another name or package"
    )
    return DefinitionError(
        f"two workflows are named {full_name!r}, {one} and {other}: {why}",
        code="duplicate_workflow",
        workflow=full_name,
    )


def children_of(workflow: AnyWorkflow) -> list[AnyWorkflow]:
    """Returns the workflows that this one calls."""
    called = [task.workflow for task in workflow.tasks.values() if isinstance(task, ChildTask)]
    return list({id(each): cast("AnyWorkflow", each) for each in called}.values())
