"""Changes runs: starts, cancels, pauses, resumes, repeats and deletes them, one by one or by a filter."""

from __future__ import annotations

from asyncio import Semaphore, gather, timeout, wrap_future
from collections.abc import Awaitable, Callable, Sequence
from typing import Annotated, Any

import msgspec
from litestar import Controller, Response, delete, post
from litestar.params import JSONBody, Parameter

from turnout.errors import RequestError, TurnoutError, WaitTimedOut
from turnout.model.rows import StoredRun
from turnout.model.run_filter import RunFilter
from turnout.model.states import RUN_TERMINAL, RunState
from turnout.runner.open_runs import driver_of
from turnout.runner.run_commands import check_command
from turnout.server.api.found_runs import EXAMPLE, find
from turnout.server.api.parameters import IdempotencyKey, RunId
from turnout.server.api.types.runs import (
    BulkCancelRequest,
    BulkOutcome,
    BulkRerunRequest,
    BulkResult,
    CancelRequest,
    DeletedRuns,
    RerunRequest,
    Run,
    RunSelection,
    StartedRun,
    StartRequest,
    run_of,
)
from turnout.server.context import ServerContext
from turnout.server.dependencies import Context
from turnout.server.guards import UNBOUNDED, requires
from turnout.server.responses import RUN_ID, answers
from turnout.server.submissions import MAX_WAIT, checked_key, start_request, submit

OPERATOR = [requires("operator")]
COMMAND_TIMEOUT = 20.0
"""Seconds in which the run's owner, or its successor, must have applied a command."""
MAX_BULK_CONCURRENCY = 16
"""Runs of one bulk request that are changed at once."""

KEY = ("bad_idempotency_key", "idempotency_conflict")
START = ("workflow_not_found", "ambiguous_workflow", "unknown_parameter", "input_too_large", *KEY)
START_EXAMPLE = StartedRun(run=EXAMPLE)
STARTED = "The run is durable. 200 instead of 201: the idempotency key was used before, and this is that run."

Wait = Annotated[
    float | None,
    Parameter(
        ge=0,
        le=MAX_WAIT,
        description="Seconds to wait for the end of the run. `ended` of the answer says whether it has ended.",
    ),
]


class RunControl(Controller):
    """The routes that change runs. The controller of runs inherits them: a path has one controller."""

    path = "/api/v1/runs"
    tags = ("runs",)

    @post(
        operation_id="start_run",
        guards=OPERATOR,
        summary="Start a run",
        opt={UNBOUNDED: True},
        responses=answers(
            StartedRun,
            *START,
            "too_busy",
            "hub_unavailable",
            status=(201, 200),
            takes_body=True,
            example=START_EXAMPLE,
            description=STARTED,
        ),
    )
    async def start(
        self, context: Context, data: JSONBody[StartRequest], idempotency_key: IdempotencyKey = None, wait: Wait = None
    ) -> Response[StartedRun]:
        """Starts a run of a workflow by name, and answers once it is durable; with ``wait``, once it has ended."""
        return _started(
            await submit(context, lambda: start_request(context.core, data, idempotency_key, enqueue=False), wait)
        )

    @post(
        "/enqueue",
        operation_id="enqueue_run",
        guards=OPERATOR,
        summary="Enqueue a run",
        responses=answers(
            StartedRun,
            *START,
            "too_busy",
            "hub_unavailable",
            status=(201, 200),
            takes_body=True,
            example=START_EXAMPLE,
            description=STARTED,
        ),
    )
    async def enqueue(
        self, context: Context, data: JSONBody[StartRequest], idempotency_key: IdempotencyKey = None
    ) -> Response[StartedRun]:
        """Stores a run without an owner: any orchestrator on the database that has its code claims it."""
        return _started(await submit(context, lambda: start_request(context.core, data, idempotency_key, enqueue=True)))

    @post(
        "/{run_id:str}/cancel",
        status_code=200,
        operation_id="cancel_run",
        guards=OPERATOR,
        summary="Cancel a run",
        responses=answers(
            Run,
            "run_not_found",
            "run_ended",
            "wait_timed_out",
            takes_body=True,
            example=EXAMPLE,
            description="The cancelled run.",
        ),
    )
    async def cancel(self, context: Context, run_id: RunId, data: JSONBody[CancelRequest | None] = None) -> Run:
        """Cancels a run from any state that is not an end, and answers once that is committed."""
        return await _command(context, run_id, "cancel", (data or CancelRequest()).reason)

    @post(
        "/{run_id:str}/pause",
        status_code=200,
        operation_id="pause_run",
        guards=OPERATOR,
        summary="Pause a run",
        responses=answers(
            Run,
            "run_not_found",
            "run_ended",
            "run_cancelling",
            "wait_timed_out",
            example=EXAMPLE,
            description="The paused run.",
        ),
    )
    async def pause(self, context: Context, run_id: RunId) -> Run:
        """Pauses a run: after the answer nothing new starts; what runs goes on to its end."""
        return await _command(context, run_id, "pause")

    @post(
        "/{run_id:str}/resume",
        status_code=200,
        operation_id="resume_run",
        guards=OPERATOR,
        summary="Resume a run",
        responses=answers(
            Run,
            "run_not_found",
            "run_ended",
            "run_cancelling",
            "wait_timed_out",
            example=EXAMPLE,
            description="The resumed run.",
        ),
    )
    async def resume(self, context: Context, run_id: RunId) -> Run:
        """Lets a paused run go on."""
        return await _command(context, run_id, "resume")

    @post(
        "/{run_id:str}/retry",
        operation_id="retry_run",
        guards=OPERATOR,
        summary="Retry what failed",
        opt={UNBOUNDED: True},
        responses=answers(
            StartedRun,
            "run_not_found",
            "nothing_to_rerun",
            *KEY,
            "too_busy",
            "hub_unavailable",
            status=(201, 200),
            example=START_EXAMPLE,
            description=STARTED,
        ),
    )
    async def retry(
        self, context: Context, run_id: RunId, idempotency_key: IdempotencyKey = None, wait: Wait = None
    ) -> Response[StartedRun]:
        """Starts a new run that keeps what was finished, and begins at what failed."""
        return await _rerun(context, run_id, RerunRequest(), idempotency_key, wait)

    @post(
        "/{run_id:str}/rerun",
        operation_id="rerun_run",
        guards=OPERATOR,
        summary="Rerun from a task, or with other parameters",
        opt={UNBOUNDED: True},
        responses=answers(
            StartedRun,
            "run_not_found",
            "nothing_to_rerun",
            "unknown_task",
            "unknown_parameter",
            *KEY,
            "too_busy",
            "hub_unavailable",
            status=(201, 200),
            example=START_EXAMPLE,
            description=STARTED,
        ),
    )
    async def rerun(
        self,
        context: Context,
        run_id: RunId,
        data: JSONBody[RerunRequest | None] = None,
        idempotency_key: IdempotencyKey = None,
        wait: Wait = None,
    ) -> Response[StartedRun]:
        """Starts a new run, by today's workflow, that keeps what was finished before ``from_task``. Tasks that changed
        since, or take a parameter that ``input`` changes, run again, and so does what follows them."""
        return await _rerun(context, run_id, data or RerunRequest(), idempotency_key, wait)

    @delete(
        "/{run_id:str}",
        status_code=200,
        operation_id="delete_run",
        guards=OPERATOR,
        summary="Delete a run",
        responses=answers(
            DeletedRuns,
            "run_not_found",
            "run_not_finished",
            example=DeletedRuns(runs=1, rows=12),
            description="What was deleted.",
        ),
    )
    async def delete_run(
        self,
        context: Context,
        run_id: RunId,
        force: Annotated[bool, Parameter(description="Cancel the run first if it has not ended.")] = False,
    ) -> DeletedRuns:
        """Deletes a run that has ended with its child runs, outputs, history and logs. It cannot be undone."""
        run = await context.in_thread(find, context, run_id)
        gone = await wrap_future(context.core.admin.delete(run.new.run_id, force=force))
        return DeletedRuns(runs=gone.runs, rows=gone.rows)

    @post(
        "/bulk/cancel",
        status_code=200,
        operation_id="cancel_runs",
        guards=OPERATOR,
        summary="Cancel runs by a filter",
        opt={UNBOUNDED: True},
        responses=answers(
            BulkResult,
            "empty_filter",
            takes_body=True,
            example=BulkResult(dry_run=True, runs=[BulkOutcome(run_id=RUN_ID, state=RunState.RUNNING)], more=False),
            description="What became of each run.",
        ),
    )
    async def cancel_many(self, context: Context, data: JSONBody[BulkCancelRequest]) -> BulkResult:
        """Cancels the runs that fulfil every condition and have not ended, the newest first."""
        open_states = [state for state in RunState if state not in RUN_TERMINAL]
        wanted = _selected(data.filter, open_states)

        async def cancel(run: StoredRun) -> str | None:
            await _apply(context, run, "cancel", data.reason)
            return None

        return await _bulk(context, wanted, data.limit, None if data.dry_run else cancel)

    @post(
        "/bulk/rerun",
        status_code=200,
        operation_id="rerun_runs",
        guards=OPERATOR,
        summary="Rerun runs by a filter",
        opt={UNBOUNDED: True},
        responses=answers(
            BulkResult,
            "empty_filter",
            takes_body=True,
            example=BulkResult(
                dry_run=False,
                runs=[BulkOutcome(run_id=RUN_ID, state=RunState.FAILED, new_run=RUN_ID)],
                more=False,
            ),
            description="What became of each run.",
        ),
    )
    async def rerun_many(self, context: Context, data: JSONBody[BulkRerunRequest]) -> BulkResult:
        """Starts a new run for each run that fulfils every condition and failed or was cancelled, the newest first.
        Each begins at what failed."""
        wanted = _selected(data.filter, [RunState.FAILED, RunState.CANCELLED])

        async def rerun(run: StoredRun) -> str | None:
            submitter = context.core.submitter
            return (await submit(context, lambda: submitter.rerun(run.new.run_id, None, None))).run.id

        return await _bulk(context, wanted, data.limit, None if data.dry_run else rerun)


def _started(started: StartedRun) -> Response[StartedRun]:
    return Response(
        started,
        status_code=201 if started.created else 200,
        headers={"Location": f"/api/v1/runs/{started.run.id}"},
    )


async def _rerun(
    context: ServerContext, run_id: str, data: RerunRequest, key: str | None, wait: float | None
) -> Response[StartedRun]:
    def request() -> Any:
        known = find(context, run_id).new.run_id
        return context.core.submitter.rerun(known, data.from_task, data.input, checked_key(key))

    return _started(await submit(context, request, wait))


async def _command(context: ServerContext, run_id: str, kind: str, reason: str | None = None) -> Run:
    run = await context.in_thread(find, context, run_id)
    await _apply(context, run, kind, reason)

    def read() -> Run:
        changed = find(context, run_id)
        return run_of(changed, driver_of(context.store, changed))

    return await context.in_thread(read)


async def _apply(context: ServerContext, run: StoredRun, kind: str, reason: str | None) -> None:
    check_command(run, kind)
    try:
        async with timeout(COMMAND_TIMEOUT):
            await wrap_future(context.core.admin.command(run.new.run_id, kind, reason))
    except TimeoutError as error:
        raise WaitTimedOut(
            f"the {kind} of run {run.new.run_id} was not applied in {COMMAND_TIMEOUT:g} s; it stays requested",
            run_id=run.new.run_id,
        ) from error


def _selected(selection: RunSelection, states: Sequence[RunState]) -> RunFilter:
    """Returns the filter of a bulk request, among runs in these states."""
    given = msgspec.structs.asdict(selection)
    conditions: dict[str, Any] = {name: value for name, value in given.items() if value not in (None, (), False)}
    if not conditions:
        raise RequestError(
            "the filter has no condition: a bulk request about all runs has to say so, for example with states",
            code="empty_filter",
            field="filter",
        )
    wanted = tuple(state for state in states if not selection.states or state in selection.states)
    if not wanted:
        raise RequestError(
            f"runs that are {', '.join(selection.states)} are not changed by this; write some of {', '.join(states)}",
            code="empty_filter",
            field="filter.states",
        )
    return msgspec.structs.replace(RunFilter(**conditions), states=wanted)


async def _bulk(
    context: ServerContext,
    wanted: RunFilter,
    limit: int,
    change: Callable[[StoredRun], Awaitable[str | None]] | None,
) -> BulkResult:
    """Changes each run that is found; without ``change`` they are only listed."""
    found = await context.in_thread(context.store.find_runs, wanted, limit=limit + 1)
    slots = Semaphore(MAX_BULK_CONCURRENCY)

    async def outcome(run: StoredRun) -> BulkOutcome:
        made: dict[str, Any] = {"run_id": run.new.run_id, "state": run.row.state}
        if change is not None:
            async with slots:
                try:
                    made["new_run"] = await change(run)
                except TurnoutError as error:
                    made |= {"code": error.code, "detail": error.message}
        return BulkOutcome(**made)

    runs = await gather(*(outcome(run) for run in found[:limit]))
    return BulkResult(dry_run=change is None, runs=list(runs), more=len(found) > limit)
