"""Workers: lists those that are connected, reads one, and drains it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from litestar import Controller, get, post
from litestar.params import JSONBody, Parameter

from turnout.model.reasons import NO_WORKER_MATCHES
from turnout.model.states import TaskState
from turnout.model.task_lists import OpenTask, OpenTaskFilter
from turnout.model.unmatched import Nearest, nearest, needs_in
from turnout.model.workers import WorkerView
from turnout.runner.live_sessions import find_worker
from turnout.server.api.types.workers import DrainRequest, UnmatchedWait, UnmatchedWaits, WorkerDetail, Workers
from turnout.server.context import ServerContext
from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.responses import RUN_ID, answers

WorkerName = Annotated[str, Parameter(max_length=400, description="The name or the id of a worker.")]
MAX_LOOKED_AT = 1_000
"""Waiting tasks that are looked at."""
UNMATCHED = UnmatchedWait(
    handler="train",
    labels={"gpu": "true"},
    tasks=3,
    since=1_760_000_000.0,
    run_id=RUN_ID,
    task="fit",
    workflow="public::ml::train",
    nearest=Nearest(worker="cpu-1", missing={"gpu": "true"}, has={}, lacks_handler=False, draining=False),
)
EXAMPLE = WorkerView(id="w-7c1e", name="gpu-7", language="python", labels={"gpu": "true"}, capacity=4, running=1)


class WorkersController(Controller):
    """Workers."""

    path = "/api/v1/workers"
    tags = ("workers",)
    guards = (requires("viewer"),)

    @get(
        operation_id="list_workers",
        summary="List workers",
        responses=answers(Workers, example=Workers([EXAMPLE]), description="The workers."),
    )
    async def list_workers(self, context: Context) -> Workers:
        """The workers that are connected to any hub on this database, with their labels, handlers and load."""
        return Workers(await context.in_thread(context.core.admin.live_workers))

    @get(
        "/unmatched",
        operation_id="list_unmatched_waits",
        summary="List tasks that no worker matches",
        responses=answers(
            UnmatchedWaits,
            example=UnmatchedWaits(waits=[UNMATCHED], connected=1),
            description="Handlers and labels that tasks wait for.",
        ),
    )
    async def list_unmatched(self, context: Context) -> UnmatchedWaits:
        """Tasks that wait for a worker with a handler and labels that no connected worker has, by these, each with the
        worker that comes nearest and the labels that it lacks."""
        return await context.in_thread(_unmatched, context)

    @get(
        "/{worker:str}",
        operation_id="get_worker",
        summary="Get a worker",
        responses=answers(
            WorkerDetail,
            "worker_not_found",
            "ambiguous_worker",
            example=WorkerDetail(worker=EXAMPLE, attempts=[]),
            description="The worker and the attempts that it holds.",
        ),
    )
    async def get_worker(self, context: Context, worker: WorkerName) -> WorkerDetail:
        """One worker, by name or id, with the attempts that it holds."""

        def read() -> WorkerDetail:
            found = find_worker(context.core.admin.live_workers(), worker)
            return WorkerDetail(worker=found, attempts=context.store.held_by(found.id))

        return await context.in_thread(read)

    @post(
        "/{worker:str}/drain",
        status_code=200,
        operation_id="drain_worker",
        summary="Drain a worker",
        guards=[requires("operator")],
        responses=answers(
            WorkerView,
            "worker_not_found",
            "ambiguous_worker",
            example=EXAMPLE,
            description="The worker as it was when the drain was requested.",
        ),
    )
    async def drain(
        self, context: Context, worker: WorkerName, data: JSONBody[DrainRequest | None] = None
    ) -> WorkerView:
        """Drains a worker: from its next heartbeat on it finishes what it has, and then it leaves."""
        reason = (data or DrainRequest()).reason
        return await context.in_thread(context.core.admin.drain_worker, worker, reason)


def _unmatched(context: ServerContext) -> UnmatchedWaits:
    wanted = OpenTaskFilter(states=(TaskState.READY,), reason=NO_WORKER_MATCHES)
    by_need: dict[tuple[str, tuple[tuple[str, str], ...]], list[OpenTask]] = {}
    for each in context.store.open_tasks(wanted, MAX_LOOKED_AT):
        handler, labels = needs_in(each.reason or "")
        by_need.setdefault((handler, tuple(sorted(labels.items()))), []).append(each)
    workers = context.core.admin.live_workers()
    waits = [_wait(handler, dict(labels), tasks, workers) for (handler, labels), tasks in by_need.items()]
    return UnmatchedWaits(waits=sorted(waits, key=lambda each: each.since or 0.0), connected=len(workers))


def _wait(
    handler: str, labels: dict[str, str], tasks: Sequence[OpenTask], workers: Sequence[WorkerView]
) -> UnmatchedWait:
    first = min(tasks, key=lambda each: each.since or 0.0)
    return UnmatchedWait(
        handler=handler,
        labels=labels,
        tasks=len(tasks),
        since=first.since,
        run_id=first.run_id,
        task=first.name,
        workflow=first.workflow,
        nearest=nearest(handler, labels, workers),
    )
