"""Bodies of requests and answers about runs."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

from turnout.model.driver import Driver
from turnout.model.events import ErrorInfo
from turnout.model.rerun import AgainReason, RerunPlan, RunsAgain
from turnout.model.rerun_items import ItemCount
from turnout.model.rows import StoredRun
from turnout.model.run_triggers import RunTrigger
from turnout.model.states import RunState, TaskState
from turnout.model.task_lists import WaitingTask
from turnout.model.validation import MAX_PRIORITY

MAX_TIMEOUT = 10 * 365 * 86_400.0
MAX_BULK_RUNS = 1_000
"""Runs that one bulk request changes at most; the answer says whether there are more."""

Priority = Annotated[int, Meta(ge=-MAX_PRIORITY, le=MAX_PRIORITY)]
Timeout = Annotated[float, Meta(gt=0, le=MAX_TIMEOUT)]
Name = Annotated[str, Meta(min_length=1, max_length=400)]
Time = Annotated[float, Meta(ge=0, le=1e11)]
RunIds = Annotated[tuple[Annotated[str, Meta(max_length=64)], ...], Meta(max_length=MAX_BULK_RUNS)]


class Run(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A run at one moment. Times are seconds since 1970."""

    id: str
    workflow: str
    """The full name, ``tenant::package::workflow``."""
    name: str
    """Its last segment."""
    version: str
    """The version of the workflow that the run keeps."""
    state: RunState
    driver: Driver | None = None
    """Whether an orchestrator drives it: ``not_driven`` runs wait for one. Events do not have it."""
    reason: str | None = None
    error: ErrorInfo | None = None
    key: str | None = None
    """The idempotency key."""
    priority: int = 0
    timeout: float | None = None
    rerun_of: str | None = None
    parent_run: str | None = None
    owner: str | None = None
    created_at: float
    started_at: float | None = None
    finished_at: float | None = None
    trigger: RunTrigger | None = None
    """How it was started. Events and answers to changes do not have it."""
    waiting: WaitingTask | None = None
    """A task of it that waits, of a run that goes on. Lists of runs have it."""


class RunDetail(Run, frozen=True, kw_only=True, omit_defaults=True):
    """A run with the number of its tasks in each state."""

    tasks: dict[TaskState, int] = {}
    input_bytes: int = 0
    """The size of its input as JSON."""
    output_bytes: int | None = None
    """The size of its result as JSON, at most: exactly, if it is the output of one task. Absent: it has none, or its
    size is not known without reading it."""
    position: str = ""
    """The events of the run behind it are newer than this answer: ``after`` of the stream."""


class RunPage(msgspec.Struct, frozen=True, kw_only=True):
    """Runs, newest first. ``next`` is the cursor of the next page; null on the last one."""

    runs: list[Run]
    next: str | None = None


class RunInput(msgspec.Struct, frozen=True):
    """The parameters of a run by name."""

    input: dict[str, Any]


class RunResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of a completed run."""

    run_id: str
    result: Any


class StartRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run to be started."""

    workflow: Name
    """A name, ``package::name``, or a full name ``tenant::package::name``."""
    input: dict[str, Any] = {}
    """Parameters by name."""
    priority: Priority = 0
    """Tasks of runs with a higher one start first."""
    timeout: Timeout | None = None
    """Seconds for the whole run; without it, that of the workflow."""


class StartedRun(msgspec.Struct, frozen=True, kw_only=True):
    """A run that is durable, as it was when the answer was made."""

    run: Run
    created: bool = True
    """False: the idempotency key was used before, and this is the run of that time."""
    ended: bool = False
    """True if the run has ended within the time that the request waited."""
    result: Any = None
    """What it returned, if it has ended and completed."""
    warnings: list[str] = []
    """Tasks that run elsewhere than the workflow asks for, and why."""


class CancelRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The reason of a cancellation."""

    reason: Annotated[str, Meta(min_length=1, max_length=1_000)] = "cancelled"


class RerunRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The repetition of a run as a new run that keeps what was finished."""

    from_task: Annotated[str, Meta(min_length=1, max_length=400)] | None = None
    """The task to start from; without it, what failed."""
    input: dict[str, Any] = {}
    """Parameters that change; the others keep their values."""


class TaskAgain(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A task that a rerun runs again."""

    task: str
    why: RunsAgain
    """``follows``: it depends on a task that runs again. ``hook``: hooks run when their event comes."""
    after: str | None = None
    """For ``follows``: the task that it depends on."""
    items: int | None = None
    """Of a mapped task: its items, all of which run again. Absent: they are not known before its list is made."""
    items_of_before: bool = False
    """True: its list is made anew, and ``items`` is the number that it had in the earlier run."""


class RerunPreview(msgspec.Struct, frozen=True, kw_only=True):
    """The tasks that a rerun would run again and reuse. Nothing was started."""

    run_id: str
    version: str
    """The version of the workflow that the new run would have."""
    version_changed: bool
    """True if it is another than that of the run."""
    input: dict[str, Any]
    """The parameters of the new run."""
    again: list[TaskAgain]
    """In the order of the graph."""
    reused: list[str]
    """Tasks whose results are reused."""


class RunSelection(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The runs that a bulk request is about: conditions that must all hold. At least one is needed."""

    workflow: Name | None = None
    tags: Annotated[tuple[Name, ...], Meta(max_length=20)] = ()
    """Tags of the workflow, all of which it has."""
    states: tuple[RunState, ...] = ()
    key: Name | None = None
    parent: Annotated[str, Meta(max_length=64)] | None = None
    top_level: bool = False
    created_from: Time | None = None
    created_before: Time | None = None


class BulkCancelRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Runs to be cancelled: those of a filter, or those of ``ids``."""

    filter: RunSelection = RunSelection()
    ids: RunIds = ()
    """These runs and no others, in the place of a filter: those of a dry run, for example. ``limit`` and ``cursor`` are
    for filters."""
    dry_run: bool = False
    """True: nothing is changed, the answer lists what would be."""
    reason: Annotated[str, Meta(min_length=1, max_length=1_000)] = "cancelled"
    limit: Annotated[int, Meta(ge=1, le=MAX_BULK_RUNS)] = 100
    cursor: Annotated[str, Meta(max_length=512)] | None = None
    """``next`` of the answer before, to go on behind its runs."""


class BulkRerunRequest(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Runs to be repeated from their failures: those of a filter, or those of ``ids``."""

    filter: RunSelection = RunSelection()
    ids: RunIds = ()
    """These runs and no others, in the place of a filter: those of a dry run, for example. ``limit`` and ``cursor`` are
    for filters."""
    dry_run: bool = False
    """True: nothing is started, the answer lists what would be."""
    limit: Annotated[int, Meta(ge=1, le=MAX_BULK_RUNS)] = 100
    cursor: Annotated[str, Meta(max_length=512)] | None = None
    """``next`` of the answer before, to go on behind its runs."""


class BulkOutcome(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The outcome for one run of a bulk request."""

    run_id: str
    state: RunState | None
    """Its state when it was found; null: there is no such run."""
    new_run: str | None = None
    """The id of the rerun."""
    code: str | None = None
    """Why it was left as it is."""
    detail: str | None = None


class BulkResult(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a bulk request."""

    dry_run: bool
    runs: list[BulkOutcome]
    next: str | None = None
    """The cursor of the next request, if more runs fit the filter than the limit allows."""


class DeletedRuns(msgspec.Struct, frozen=True, kw_only=True):
    """The number of deleted runs and rows."""

    runs: int
    """The run and its child runs."""
    rows: int


def run_of(
    run: StoredRun,
    driver: Driver | None = None,
    trigger: RunTrigger | None = None,
    waiting: WaitingTask | None = None,
) -> Run:
    """Returns the run as it is shown."""
    return Run(**_columns(run), driver=driver, trigger=trigger, waiting=waiting)


def run_detail_of(
    run: StoredRun,
    driver: Driver,
    trigger: RunTrigger,
    tasks: dict[TaskState, int],
    output_bytes: int | None,
    position: str,
) -> RunDetail:
    return RunDetail(
        **_columns(run),
        driver=driver,
        trigger=trigger,
        tasks=tasks,
        input_bytes=len(run.new.input.encode()),
        output_bytes=output_bytes,
        position=position,
    )


def preview_of(plan: RerunPlan) -> RerunPreview:
    tasks, again = plan.graph.tasks, plan.again
    return RerunPreview(
        run_id=plan.run.new.run_id,
        version=plan.graph.version,
        version_changed=plan.graph.version != plan.run.new.version,
        input=dict(plan.input),
        again=[
            _task_again(task.name, again[pos], plan.items.get(pos)) for pos, task in enumerate(tasks) if pos in again
        ],
        reused=[task.name for pos, task in enumerate(tasks) if pos not in again],
    )


def _task_again(name: str, reason: AgainReason, items: ItemCount | None) -> TaskAgain:
    return TaskAgain(
        task=name,
        why=reason.why,
        after=reason.after,
        items=None if items is None else items.count,
        items_of_before=items is not None and not items.known,
    )


def _columns(run: StoredRun) -> dict[str, Any]:
    new, row = run.new, run.row
    return {
        "id": new.run_id,
        "workflow": new.workflow,
        "name": new.workflow.rpartition("::")[2],
        "version": new.version,
        "state": row.state,
        "reason": row.reason,
        "error": row.error,
        "key": new.key,
        "priority": new.priority,
        "timeout": new.timeout,
        "rerun_of": new.rerun_of,
        "parent_run": new.parent_run,
        "owner": run.owner,
        "created_at": new.created_at,
        "started_at": row.started_at,
        "finished_at": row.finished_at,
    }
