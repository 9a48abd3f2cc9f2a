"""Changes runs one by one: starts, cancels, pauses, resumes, repeats and deletes them."""

from __future__ import annotations

from asyncio import wrap_future
from functools import partial
from typing import Annotated, Any

from litestar import Request, Response, delete, post
from litestar.params import JSONBody, Parameter

from turnout.runner.open_runs import driver_of
from turnout.server.api.found_runs import EXAMPLE, find
from turnout.server.api.parameters import IdempotencyKey, RunId
from turnout.server.api.run_bulk import OPERATOR, BulkControl
from turnout.server.api.types.runs import (
    CancelRequest,
    DeletedRuns,
    RerunRequest,
    Run,
    StartedRun,
    StartRequest,
    run_of,
)
from turnout.server.commands import apply_command
from turnout.server.context import ServerContext
from turnout.server.dependencies import Context
from turnout.server.guards import UNBOUNDED
from turnout.server.responses import Responses, answers
from turnout.server.run_origin import origin_of
from turnout.server.submissions import MAX_WAIT, checked_key, start_request, submit

KEY = ("bad_idempotency_key", "idempotency_conflict")
LIMIT = ("no_limit_key", "unknown_queue")
START = ("workflow_not_found", "ambiguous_workflow", "unknown_parameter", "input_too_large", *LIMIT)
RERUN = ("run_not_found", "nothing_to_rerun")

Wait = Annotated[
    float | None,
    Parameter(
        ge=0,
        le=MAX_WAIT,
        description="Seconds to wait for the end of the run, until the server stops at most. `ended` says "
        "whether it has ended.",
    ),
]


def _start_answers(*codes: str, takes_body: bool = False) -> Responses:
    return answers(
        StartedRun,
        *codes,
        *KEY,
        "too_busy",
        "hub_unavailable",
        "server_stopping",
        status=(201, 200),
        takes_body=takes_body,
        example=StartedRun(run=EXAMPLE),
        description="The run is durable. 200 instead of 201: the idempotency key was used before, and this is its run.",
    )


def _command_answers(description: str, *codes: str, takes_body: bool = False) -> Responses:
    codes = ("run_not_found", "run_ended", *codes, "wait_timed_out")
    return answers(Run, *codes, takes_body=takes_body, example=EXAMPLE, description=description)


class RunControl(BulkControl):
    """The routes that change one run. The controller of runs inherits them: a path has one controller."""

    @post(
        operation_id="start_run",
        guards=OPERATOR,
        summary="Start a run",
        opt={UNBOUNDED: True},
        responses=_start_answers(*START, takes_body=True),
    )
    async def start(
        self,
        context: Context,
        request: Request[Any, Any, Any],
        data: JSONBody[StartRequest],
        idempotency_key: IdempotencyKey = None,
        wait: Wait = None,
    ) -> Response[StartedRun]:
        """Starts a run of a workflow by name, and answers once it is durable; with ``wait``, once it has ended, the
        time is over or the server stops."""
        start = partial(start_request, context.core, data, idempotency_key, origin=origin_of(request), enqueue=False)
        return _started(await submit(context, start, wait))

    @post(
        "/enqueue",
        operation_id="enqueue_run",
        guards=OPERATOR,
        summary="Enqueue a run",
        responses=_start_answers(*START, takes_body=True),
    )
    async def enqueue(
        self,
        context: Context,
        request: Request[Any, Any, Any],
        data: JSONBody[StartRequest],
        idempotency_key: IdempotencyKey = None,
    ) -> Response[StartedRun]:
        """Stores a run without an owner: any orchestrator on the database that has its code claims it."""
        start = partial(start_request, context.core, data, idempotency_key, origin=origin_of(request), enqueue=True)
        return _started(await submit(context, start))

    @post(
        "/{run_id:str}/cancel",
        status_code=200,
        operation_id="cancel_run",
        guards=OPERATOR,
        summary="Cancel a run",
        responses=_command_answers("The cancelled run.", takes_body=True),
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
        responses=_command_answers("The paused run.", "run_cancelling"),
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
        responses=_command_answers("The resumed run.", "run_cancelling"),
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
        responses=_start_answers(*RERUN),
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
        responses=_start_answers(*RERUN, "unknown_task", "unknown_parameter"),
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
    await apply_command(context, run, kind, reason)

    def read() -> Run:
        changed = find(context, run_id)
        return run_of(changed, driver_of(context.store, changed))

    return await context.in_thread(read)
