"""Limits: lists them, reads one with its holders and waiters, and those of a run."""

from __future__ import annotations

from typing import Annotated

from litestar import Controller, get
from litestar.params import Parameter

from turnout.model.limits import MAX_LIMIT_NAME
from turnout.model.slots import HeldLimit, LimitDetail, LimitHolder, LimitView
from turnout.runner.limits import find_limit
from turnout.server.api.found_runs import find
from turnout.server.api.parameters import RunId
from turnout.server.api.types.limits import Limits, RunLimits
from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.responses import answers

LimitName = Annotated[
    str,
    Parameter(
        min_length=1,
        max_length=MAX_LIMIT_NAME,
        description="The name of a limit, with its parameters filled in; of a queue, `queue:` and its name.",
    ),
]
EXAMPLE = LimitView(
    name="customer-17",
    declared="customer-${customer_id}",
    at_most=3,
    rate=None,
    per=None,
    configured=False,
    held=3,
    waiting=1,
)
RUN_ID = "0197a1c2-5f3e-7c41-9d57-3f0c2f6f7a10"
WAITER = LimitHolder(
    run_id=RUN_ID, workflow="public::embedded::import", task=None, priority=0, since=1750000000.0, position=1
)


class LimitsController(Controller):
    """Limits."""

    path = "/api/v1/limits"
    tags = ("limits",)
    guards = (requires("viewer"),)

    @get(
        operation_id="list_limits",
        summary="List limits",
        responses=answers(Limits, example=Limits([EXAMPLE]), description="The limits."),
    )
    async def list_limits(self, context: Context) -> Limits:
        """The limits and queues that are configured, declared, held or waited for, each with the number of its holders
        and waiters."""
        return Limits(await context.in_thread(context.store.limits))

    @get(
        "/detail",
        operation_id="get_limit",
        summary="Get a limit",
        responses=answers(
            LimitDetail,
            "limit_not_found",
            example=LimitDetail(limit=EXAMPLE, holders=[], waiters=[WAITER]),
            description="The limit, its holders, and its waiters in the order in which they get slots.",
        ),
    )
    async def get_limit(self, context: Context, name: LimitName) -> LimitDetail:
        """One limit with its holders, its waiters with their positions, and the sizes that workflows declare for it.
        A name may hold any character, so it is a parameter of the query."""
        return await context.in_thread(find_limit, context.store, name)


class RunLimitsController(Controller):
    """The limits of one run."""

    path = "/api/v1/runs/{run_id:str}/limits"
    tags = ("limits",)
    guards = (requires("viewer"),)

    @get(
        operation_id="get_run_limits",
        summary="Get the limits of a run",
        responses=answers(
            RunLimits,
            "run_not_found",
            example=RunLimits([HeldLimit(name="customer-17", task=None, held=False, position=1, since=1750000000.0)]),
            description="The limits that the run and its tasks hold or wait for.",
        ),
    )
    async def get_run_limits(self, context: Context, run_id: RunId) -> RunLimits:
        """The limits that a run and its tasks hold or wait for, with the position in the queue of each."""

        def read() -> RunLimits:
            return RunLimits(context.store.limits_of(find(context, run_id).new.run_id))

        return await context.in_thread(read)
