"""Workers: lists those that are connected, reads one, and drains it."""

from __future__ import annotations

from typing import Annotated

from litestar import Controller, get, post
from litestar.params import JSONBody, Parameter

from turnout.model.workers import WorkerView
from turnout.runner.live_sessions import find_worker
from turnout.server.api.types.workers import DrainRequest, WorkerDetail, Workers
from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.responses import answers

WorkerName = Annotated[str, Parameter(max_length=400, description="The name or the id of a worker.")]
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
