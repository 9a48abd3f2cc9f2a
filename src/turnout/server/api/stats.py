"""Throughput and latency of the last hour or day, over all workflows or of one."""

from __future__ import annotations

from typing import Annotated

from litestar import Controller, get
from litestar.params import Parameter

from turnout.model.percentiles import Spread, spread
from turnout.model.run_figures import StepCounts
from turnout.model.states import RUN_TERMINAL, TASK_TERMINAL, RunState, TaskState
from turnout.runner.open_runs import open_counts
from turnout.server.api.types.stats import Latency, Series, Stats, Window
from turnout.server.context import ServerContext
from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.long_waits import EarlierRuns
from turnout.server.responses import answers
from turnout.server.workflow_views import WorkflowViews

STEPS: dict[Window, tuple[float, int]] = {"hour": (60.0, 60), "day": (900.0, 96)}
"""Seconds of a step, and steps, of each window."""
MAX_SAMPLED = 200
"""Runs that latencies are computed of: those that ended last."""
SOME = Spread(count=200, p50=0.012, p95=0.4)
EXAMPLE = Stats(
    window="hour",
    workflow=None,
    step=60.0,
    complete_from=1_760_000_000.0,
    series=Series(at=[1_760_000_000.0], runs={"completed": [17], "failed": [1]}, tasks={"completed": [52]}),
    latency=Latency(runs=200, start_delay=SOME, task_duration=SOME, run_duration=SOME),
    open_runs={"running": 3},
    not_driven=0,
)


class StatsController(Controller):
    """Throughput and latency."""

    path = "/api/v1/stats"
    tags = ("attention",)
    guards = (requires("viewer"),)

    @get(
        operation_id="get_stats",
        summary="Get throughput and latency",
        responses=answers(
            Stats,
            "workflow_not_found",
            "ambiguous_workflow",
            "no_definitions",
            example=EXAMPLE,
            description="Counts by minute of the last hour, or by quarter of an hour of the last day.",
        ),
    )
    async def get_stats(
        self,
        context: Context,
        window: Annotated[Window, Parameter(description="The time that is looked back.")] = "hour",
        workflow: Annotated[
            str | None, Parameter(max_length=400, description="Only this workflow: full name, or its last segment.")
        ] = None,
    ) -> Stats:
        """Runs that ended and their tasks, by state and step of time; the median and the 95th percentile of durations;
        and the runs that have not ended."""

        def read() -> Stats:
            full_name = None if workflow is None else WorkflowViews(context.core).full_name(workflow)
            return _stats(context, window, full_name)

        return await context.in_thread(read)


def _stats(context: ServerContext, window: Window, workflow: str | None) -> Stats:
    store = context.store
    now, (step, count) = store.clock(), STEPS[window]
    complete, counts = context.throughput.read(now, step, count, workflow or "")
    opened = open_counts(store)
    return Stats(
        window=window,
        workflow=workflow,
        step=step,
        complete_from=complete,
        series=series_of(counts, step),
        latency=_latency(context, now - step * count, now, workflow or ""),
        open_runs={str(state): number for state, number in opened.states.items()},
        not_driven=opened.not_driven,
    )


def series_of(counts: list[StepCounts], step: float) -> Series:
    """Returns the counts by column, with a column for every state in which something ends."""
    return Series(
        at=[each.number * step for each in counts],
        runs={state: [each.runs.get(state, 0) for each in counts] for state in RunState if state in RUN_TERMINAL},
        tasks={state: [each.tasks.get(state, 0) for each in counts] for state in TaskState if state in TASK_TERMINAL},
    )


def _latency(context: ServerContext, after: float, until: float, workflow: str) -> Latency:
    store = context.store
    runs = store.runs_by_id(store.ended_sample(after, until, MAX_SAMPLED, workflow))
    earlier = EarlierRuns(store, context.core.engine.graphs, runs)
    return Latency(
        runs=len(runs),
        start_delay=spread([each for some in earlier.waits().by_task.values() for each in some]),
        task_duration=spread(
            [
                max(0.0, task.finished_at - task.started_at)
                for some in earlier.tasks.values()
                for task in some
                if task.started_at is not None and task.finished_at is not None
            ]
        ),
        run_duration=spread(
            [max(0.0, run.row.finished_at - run.new.created_at) for run in runs if run.row.finished_at is not None]
        ),
    )
