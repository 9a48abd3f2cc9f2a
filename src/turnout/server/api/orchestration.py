"""Orchestrators with their pools, now and over the last hour, and the task executors of all of them."""

from __future__ import annotations

from typing import Annotated

from litestar import Controller, get
from litestar.params import Parameter

from turnout.orchestration.coordination.status_history import SAMPLE_INTERVAL
from turnout.server.api.parameters import MAX_TIME
from turnout.server.api.types.orchestration import (
    ExecutorAt,
    Executors,
    ExecutorView,
    Orchestration,
    OrchestrationHistory,
    executor_views,
    orchestrator_view,
)
from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.responses import answers

EXAMPLE = ExecutorAt(
    orchestrator="0199b2c4-7d5e-7a10-9c3b-2f6d1e8a4b57",
    active=3,
    capacity=8,
    running=3,
    waiting=0,
    executed=412,
    failed=2,
    attempts_per_second=4.5,
    average_seconds=0.4,
    breaker="closed",
)


class OrchestrationController(Controller):
    """Orchestrators and executors."""

    path = "/api/v1"
    tags = ("orchestration",)
    guards = (requires("viewer"),)

    @get(
        "/orchestration",
        operation_id="get_orchestration",
        summary="Get the orchestrators",
        responses=answers(Orchestration, description="The orchestrators that are alive, this server's first."),
    )
    async def get_orchestration(self, context: Context) -> Orchestration:
        """The orchestrators on the database, each with its condition, its pools with the health of every stage
        executor, the use of the database, backpressure and its latest events."""
        found = await context.in_thread(context.core.admin.orchestrators)
        return Orchestration(
            orchestrators=[orchestrator_view(one) for one in found], this=context.core.engine.session.id
        )

    @get(
        "/orchestration/history",
        operation_id="get_orchestration_history",
        summary="Get the last hour of this server's orchestrator",
        responses=answers(OrchestrationHistory, description="Samples and events, oldest first."),
    )
    async def get_history(
        self,
        context: Context,
        since: Annotated[
            float, Parameter(ge=0, le=MAX_TIME, description="Only what was later, in seconds since 1970.")
        ] = 0.0,
    ) -> OrchestrationHistory:
        """The sizes of pools, their utilisation, queues and breakers, the saturation of the database and backpressure,
        every five seconds of the last hour; and what the coordinator did, with the reasons. It is kept in the memory of
        the server that answers."""
        engine = context.core.engine
        return OrchestrationHistory(
            orchestrator=engine.session.id,
            interval=SAMPLE_INTERVAL,
            samples=engine.snapshot.history.samples(since),
            events=[each for each in tuple(engine.coordinator.events) if each.at > since],
        )

    @get(
        "/executors",
        operation_id="list_executors",
        summary="List task executors",
        responses=answers(
            Executors,
            example=Executors(
                [
                    ExecutorView(
                        key="default",
                        shared=False,
                        here=True,
                        local=True,
                        kinds=["python"],
                        active=3,
                        capacity=8,
                        running=3,
                        waiting=0,
                        executed=412,
                        failed=2,
                        attempts_per_second=4.5,
                        average_seconds=0.4,
                        breaker="closed",
                        orchestrators=[EXAMPLE],
                    )
                ]
            ),
            description="The executors, by key.",
        ),
    )
    async def list_executors(self, context: Context) -> Executors:
        """The task executors of all orchestrators with capacity, load and breaker. What one runs or waits for it is
        in the list of open tasks, by its key."""

        def read() -> Executors:
            dispatcher = context.core.dispatcher
            kinds: dict[str, list[str]] = {}
            local: list[str] = []
            if dispatcher is not None:
                kinds = {key: sorted(dispatcher.settings.kinds.get(key, ())) for key in dispatcher.executors}
                local = sorted(dispatcher.settings.local_keys)
            return Executors(executor_views(context.core.admin.orchestrators(), local, kinds))

        return await context.in_thread(read)
