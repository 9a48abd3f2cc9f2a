"""Holds the definition of a workflow: its spec, and its tasks by name. A run keeps the definition of its start."""

from __future__ import annotations

import gc
import re
import sys
import weakref
from collections.abc import Mapping
from functools import cached_property
from typing import Any

import msgspec

from turnout.authoring.annotations import RETURN
from turnout.authoring.task import Task
from turnout.authoring.workflow_sources import Source
from turnout.errors import InputError, InvalidInput, InvalidWorkflow, WrongType
from turnout.model.annotations import ConversionError
from turnout.model.graph import Graph
from turnout.model.inputs import check_input
from turnout.model.mail import SmtpSettings
from turnout.model.notifications import Notify
from turnout.model.retention import KeepRule
from turnout.model.schedules import ScheduleSpec, params_at
from turnout.model.spec import TaskSpec, WorkflowSpec

_HISTORY = re.compile(r"_+|_+\d+")
"""Names under which an interactive session keeps its last results; no workflow is defined by them."""


class Definition:
    """The spec and the functions of a workflow, for its runs. It does not keep the workflow's object alive."""

    def __init__(
        self,
        workflow: object,
        spec: WorkflowSpec,
        tasks: Mapping[str, Task[..., Any]],
        source: Source,
        schedules: tuple[ScheduleSpec, ...] = (),
        keep: KeepRule | None = None,
    ) -> None:
        self.spec = spec
        self.schedules = schedules
        self.keep = keep
        self.tasks = tasks
        self.source = source
        self.children: dict[str, Definition] = {}
        """The definitions of the workflows that it calls, by full name."""
        self._origin = weakref.ref(workflow)
        self._named = bool(names_of(workflow, source.home))
        for schedule in schedules:
            self._check(schedule)

    @cached_property
    def graph(self) -> Graph:
        """The graph that all runs of this definition share."""
        return Graph(self.spec)

    @cached_property
    def family(self) -> tuple[WorkflowSpec, ...]:
        """The specs of the workflow and of all workflows that it calls, at any depth; its own comes first."""
        found: dict[str, WorkflowSpec] = {}
        open_: list[Definition] = [self]
        while open_:
            each = open_.pop()
            if each.spec.full_name not in found:
                found[each.spec.full_name] = each.spec
                open_.extend(each.children.values())
        return tuple(found.values())

    # -- values -------------------------------------------------------------------------------------------------
    def bind(self, /, *args: Any, **kwargs: Any) -> dict[str, Any]:
        """Returns the arguments of a call as a run's input: by name, checked, with defaults."""
        spec, name = self.spec, self.spec.name
        if spec.context_style:
            return self._bind_context(args, kwargs)
        names = self.source.positional
        if len(args) > len(names):
            raise InvalidInput(
                f"workflow {name!r} takes {len(names)} positional arguments but {len(args)} were given",
                code="unknown_parameter",
            )
        given = dict(zip(names, args, strict=False))
        for each in kwargs:
            if each in given:
                raise InvalidInput(
                    f"workflow {name!r} got two values for the parameter {each!r}", code="duplicate_parameter"
                )
        return check_input(spec, {**given, **kwargs}, self.source.types)

    def _bind_context(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        if len(args) > 1 or not all(isinstance(each, Mapping) for each in args):
            raise InvalidInput(
                f"workflow {self.spec.name!r} takes one dict as its context, and keywords that are set in it",
                code="invalid_input",
            )
        return check_input(self.spec, {**(args[0] if args else {}), **kwargs})

    def returned(self, value: Any) -> Any:
        """Returns the JSON result of a run, converted to the return annotation of the workflow function. None stays
        None: the task that returns it may have been skipped."""
        known = self.source.types.get(RETURN)
        if value is None or known is None or known.is_json or known.convert is None:
            return value
        try:
            return known.convert(value)
        except ConversionError as error:
            name = self.spec.name
            raise WrongType(
                f"the run completed, but its result does not fit the annotation of workflow {name!r}: "
                f"{known.text} is expected, but a value of type {type(value).__name__} was returned: {error}",
                workflow=name,
                type=type(value).__name__,
                value=value,
            ) from error

    def _check(self, schedule: ScheduleSpec) -> None:
        """Raises InvalidWorkflow if the runs of the schedule would be refused."""
        if schedule.action == "stop":
            return
        try:
            self.bind(**params_at(schedule, 0.0))
        except InputError as error:
            raise InvalidWorkflow(
                f"params of schedule {schedule.name!r} do not fit workflow {self.spec.name!r}: {error.message}",
                code="bad_schedule_params",
                field="params",
                schedule=schedule.name,
            ) from error

    # -- comparison -----------------------------------------------------------------------------------------------
    def is_of(self, workflow: object) -> bool:
        """True if this is the definition of that object."""
        return self._origin() is workflow

    def same_as(self, other: Definition) -> bool:
        """True if both have the same graph and the same functions."""
        return (
            self.spec == other.spec
            and self.schedules == other.schedules
            and _returns(self.source) == _returns(other.source)
            and all(_alike(task, other.tasks[name]) for name, task in self.tasks.items())
        )

    def superseded_by(self, source: Source) -> bool:
        """True if a workflow from that source replaces this one, which its module no longer refers to. Otherwise both
        are live."""
        if self.source.replaceable and source.replaceable:
            return True
        home = self.source.home
        if home is not source.home and home.get("__name__") == source.home.get("__name__"):
            module = sys.modules.get(str(home.get("__name__")))
            if module is not None and vars(module) is source.home:
                return True  # its module was reloaded
        if self._gone_or_renamed():
            return True
        gc.collect()  # a workflow in a reference cycle of its own is not live
        return self._origin() is None

    def _gone_or_renamed(self) -> bool:
        workflow = self._origin()
        return workflow is None or (self._named and not names_of(workflow, self.source.home))


def names_of(workflow: object, home: Mapping[str, Any]) -> list[str]:
    """Returns the names of this workflow in the module that defines it."""
    return [name for name, value in list(home.items()) if value is workflow and not _HISTORY.fullmatch(name)]


def _returns(source: Source) -> Any:
    known = source.types.get(RETURN)
    return None if known is None else known.annotation


def _alike(task: Task[..., Any], other: Task[..., Any]) -> bool:
    return task.function is other.function and task.retry_if is other.retry_if and task.conditions == other.conditions


class TaskDefaults(msgspec.Struct, frozen=True):
    """Options for tasks that do not set them. They apply to the tasks of a child run, not to the child run itself."""

    timeout: float | None = None
    retries: int = 0
    notify: tuple[Notify, ...] = ()
    """Notifications of every workflow, beside its own."""
    private_hosts: tuple[str, ...] = ()
    """Hosts of notifications that may be at private addresses."""
    smtp: SmtpSettings | None = None
    """The server that takes the mail of notifications."""

    def applied(self, spec: WorkflowSpec, tasks: Mapping[str, Task[..., Any]]) -> WorkflowSpec:
        """Returns the workflow with these defaults."""
        if self == NO_DEFAULTS:
            return spec
        filled = tuple(self._applied(each, tasks[each.name].given) for each in spec.tasks)
        return msgspec.structs.replace(spec, tasks=filled)

    def _applied(self, task: TaskSpec, given: Mapping[str, Any]) -> TaskSpec:
        if task.body.kind == "workflow":
            return task
        if "timeout" not in given and self.timeout is not None:
            task = msgspec.structs.replace(task, timeout=self.timeout)
        # An at_most_once task is never started twice.
        if "retries" not in given and self.retries and not task.at_most_once:
            policy = msgspec.structs.replace(task.retry, attempts=self.retries + 1)
            task = msgspec.structs.replace(task, retry=policy)
        return task


NO_DEFAULTS = TaskDefaults()
