"""Holds the spec of a workflow: frozen values, stored as JSON with every version."""

from __future__ import annotations

import hashlib
from typing import Any, Literal, TypeAlias

import msgspec

from turnout.model.limits import LimitSpec, queue_limit, workflow_limit
from turnout.model.resources import Resources
from turnout.model.retry import RetryPolicy
from turnout.model.rules import Rule
from turnout.model.shell import ShellSpec
from turnout.model.step import StepSpec

Labels: TypeAlias = dict[str, str]
WorkerSelector: TypeAlias = dict[str, str] | Literal["local"] | None
Affinity: TypeAlias = Literal["run"] | None
"""``"run"``: all tasks that the workflow's own labels place go to one worker. None: each to any that matches."""


class Literally(msgspec.Struct, frozen=True, tag="value"):
    """An argument that is written in the workflow itself (any JSON value)."""

    value: Any


class FromParam(msgspec.Struct, frozen=True, tag="param"):
    """An argument taken from the run's input: the parameter, then a path of keys and indexes into it."""

    name: str
    path: tuple[str | int, ...] = ()


class FromTask(msgspec.Struct, frozen=True, tag="task"):
    """An argument taken from the output of the task of that name in the same workflow."""

    name: str
    path: tuple[str | int, ...] = ()


class ListOf(msgspec.Struct, frozen=True, tag="list"):
    items: tuple[Template, ...]


class DictOf(msgspec.Struct, frozen=True, tag="dict"):
    items: dict[str, Template]


Template: TypeAlias = Literally | FromParam | FromTask | ListOf | DictOf


class Body(msgspec.Struct, frozen=True, omit_defaults=True):
    """The code that a task runs. ``ref`` names it: ``module:qualname`` of a function, a command, a handler's name, or
    the full name of the workflow that a child run executes."""

    kind: Literal["python", "shell", "handler", "workflow"]
    ref: str
    shell: ShellSpec | None = None
    step: StepSpec | None = None
    """Of a shell body that is a step of a YAML workflow, in place of ``shell``."""
    config: dict[str, Any] = {}
    """Of a handler: its configuration, sent beside the arguments."""
    conditions: tuple[str, ...] = ()
    """Of a handler: the predicates that it may wait for, as ``module:qualname``. A function's task declares its own."""
    detached: bool = False
    """Of a workflow: the task has completed once the run is durable. That run has no parent, and goes on by itself."""
    version: str = ""
    """Of a workflow that is local to the file of its caller: its version, so that a change of it changes the caller's.
    Runs keep the sub-workflows of the file that they were started from."""


HookedOn: TypeAlias = Literal["success", "failure", "cancel", "exit", "stuck"]


class Hook(msgspec.Struct, frozen=True, omit_defaults=True):
    """The end, or with ``stuck`` the missing end, that calls a task which is a hook."""

    on: HookedOn
    of: str = ""
    """The task whose end it is; empty: the run's."""
    takes_outcome: bool = False
    """True if its function has a parameter for the outcome."""
    after: float = 0.0
    """Of a hook on ``stuck``: it is called if the run has not ended so many seconds after its submission."""


class Param(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    required: bool = True
    default: Any = None
    """A JSON value."""
    type: str = ""
    """The annotation as source text; empty if there is none."""
    doc: str = ""
    schema: dict[str, Any] = {}
    """The JSON schema of the annotation."""


class Mapped(msgspec.Struct, frozen=True, omit_defaults=True):
    """The task runs once for each item of its lists: an item is a task of its own in the run."""

    over: tuple[int | str, ...]
    """The lists that are iterated in parallel, as by ``zip``: positions in ``args``, names in ``kwargs``."""
    max_parallel: int | None = None
    """Items that may run at once."""
    return_exceptions: bool = False
    """A failed item gives ``{"type": …, "message": …}`` in the collected list instead of failing the task."""
    piped: tuple[str, ...] = ()
    """Mapped tasks whose results are taken item by item: an item waits for the same item of each, not for all."""


class ContinueOn(msgspec.Struct, frozen=True, omit_defaults=True):
    """The ends of a task after which its dependents run as if it had completed. They do not fail the run."""

    failure: bool = False
    """Any failure. Others are judged where the task runs, by exit code or output: their reason is ``continue_on``."""
    skipped: bool = False


class TaskSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    body: Body
    full_name: str = ""
    """``tenant::package::workflow::task``; filled in by the workflow unless the author gave one."""
    args: tuple[Template, ...] = ()
    kwargs: dict[str, Template] = {}
    depends_on: tuple[str, ...] = ()
    """Names of all tasks that must end before this one, those whose output it takes included."""
    rule: Rule | None = None
    """The trigger rule; None is the default rule."""
    retry: RetryPolicy = RetryPolicy()
    timeout: float | None = None
    priority: int = 0
    worker_selector: WorkerSelector = None
    executor: str | None = None
    at_most_once: bool = False
    uses_context: bool = False
    """Context style: the body takes and returns a JSON object instead of taking arguments."""
    hook: Hook | None = None
    """Set for hooks, which come after all other tasks of the workflow and have no dependencies."""
    map: Mapped | None = None
    """Fan-out at run time: ``args`` and ``kwargs`` have the lists, and each item takes its values from them."""
    continue_on: ContinueOn | None = None
    """The ends other than success that the default rule of dependents accepts."""
    limits: tuple[LimitSpec, ...] = ()
    """Limits of which an attempt holds a slot each."""
    resources: Resources | None = None
    """What an attempt asks of its executor."""


class WorkflowSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    name: str
    tasks: tuple[TaskSpec, ...]
    tenant: str = "public"
    package: str = "embedded"
    params: tuple[Param, ...] = ()
    result: Template | None = None
    """The template of the result; None in Context style: the merge of all leaves."""
    context_style: bool = False
    timeout: float | None = None
    worker_selector: WorkerSelector = None
    affinity: Affinity = None
    gate: str = ""
    """The task that evaluates the preconditions of the whole run: if it is skipped, so is everything."""
    remote_only: bool = False
    """True if its tasks may run on workers only, never on the machine of an orchestrator."""
    limits: tuple[LimitSpec, ...] = ()
    """Limits of which a run holds a slot each from its admission to its end."""
    max_active_runs: int | None = None
    """The greatest number of its runs at work at once."""
    max_active_steps: int | None = None
    """The greatest number of tasks of one run at work at once."""
    queue: str = ""
    """The configured queue that its runs wait in."""
    priority: int = 0
    """The priority of runs that are submitted without one."""

    @property
    def full_name(self) -> str:
        return f"{self.tenant}::{self.package}::{self.name}"

    @property
    def run_limits(self) -> tuple[LimitSpec, ...]:
        """All limits of its runs, with those that ``queue`` and ``max_active_runs`` stand for."""
        found = self.limits
        if self.queue:
            found = (*found, queue_limit(self.queue))
        if self.max_active_runs is not None:
            found = (*found, workflow_limit(self.full_name, self.max_active_runs))
        return found

    @property
    def needs_code(self) -> bool:
        """True if only a program with its functions can drive its runs: bodies in Python, or child workflows."""
        return any(task.body.kind not in ("handler", "shell") for task in self.tasks)

    def version(self) -> str:
        """Returns a digest of the spec: a changed workflow has another version."""
        return hashlib.sha256(msgspec.json.encode(self, order="deterministic")).hexdigest()[:32]


# Built once, at import: msgspec inspects a struct when it is first decoded, and two threads that do so at the same
# moment crash the process.
decode_spec = msgspec.json.Decoder(WorkflowSpec).decode
