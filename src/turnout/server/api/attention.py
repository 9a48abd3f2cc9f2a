"""What needs attention, and the tasks that run or wait now, over all runs."""

from __future__ import annotations

from typing import Annotated, Literal

from litestar import Controller, get
from litestar.params import Parameter, QueryParameter

from turnout.model.states import TaskState
from turnout.model.task_lists import OpenTask, OpenTaskFilter
from turnout.runner.task_detail import WaitView, wait_view
from turnout.server.api.found_runs import EXAMPLE as RUN
from turnout.server.api.parameters import MAX_TIME, Limit
from turnout.server.api.types.attention import Attention, LongWait, OpenTasks, OpenTaskView
from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.responses import RUN_ID, answers

USUAL_SPAN = 86_400.0
"""Seconds that are looked back without ``since``."""
MAX_SPAN = 7 * 86_400.0
WAIT = WaitView(
    "No connected worker has the handler and the labels that the reason names.",
    "Start a worker with this handler and these labels, or correct the task's worker selector.",
)
EXAMPLE = Attention(
    at=1_760_000_600.0,
    since=1_759_914_200.0,
    failed=[RUN],
    failed_total=1,
    waiting=[
        LongWait(
            run_id=RUN_ID,
            workflow="public::ml::train",
            task="fit",
            reason="no_worker_matches{gpu=true} handler fit",
            wait=WAIT,
            since=1_760_000_000.0,
            waited=600.0,
            usual=0.02,
            bound=30.0,
        )
    ],
    waiting_total=1,
    workers=[],
    breakers=[],
    schedules=[],
    troubles=[],
)
OpenState = Literal["ready", "running"]


class AttentionController(Controller):
    """Failures, long waits and what is out of order, over all runs."""

    path = "/api/v1"
    tags = ("attention",)
    guards = (requires("viewer"),)

    @get(
        "/attention",
        operation_id="get_attention",
        summary="Get what needs attention",
        responses=answers(Attention, example=EXAMPLE, description="Failures, long waits, and what is out of order."),
    )
    async def get_attention(
        self,
        context: Context,
        since: Annotated[
            float | None,
            Parameter(
                ge=0,
                le=MAX_TIME,
                description="Failures and losses since then, at most seven days ago; without it, of the last day.",
            ),
        ] = None,
    ) -> Attention:
        """Runs that failed since a time; tasks and runs that wait longer than usual, with the reason in words and what
        would end the wait; workers that were lost; breakers that are open; schedules that are late.

        A wait is longer than usual if it takes more than three times as long as 95 of 100 earlier waits of the task in
        the newest 20 runs of its workflow, and more than 30 s; where too few are known, more than 120 s. Pauses,
        deferrals and the delays of retries do not count."""

        def read() -> Attention:
            now = context.store.clock()
            wanted = now - USUAL_SPAN if since is None else max(since, now - MAX_SPAN)
            return context.attention.read(wanted, now)

        return await context.in_thread(read)

    @get(
        "/tasks",
        operation_id="list_open_tasks",
        summary="List tasks that run or wait",
        responses=answers(
            OpenTasks,
            example=OpenTasks(
                tasks=[
                    OpenTaskView(
                        run_id=RUN_ID,
                        workflow="public::ml::train",
                        name="fit",
                        state=TaskState.READY,
                        executor="workers",
                        labels={"gpu": "true"},
                        reason="no_worker_matches{gpu=true} handler fit",
                        wait=WAIT,
                        since=1_760_000_000.0,
                    )
                ],
                more=False,
            ),
            description="Tasks of the oldest runs first.",
        ),
    )
    async def list_open_tasks(
        self,
        *,
        context: Context,
        states: Annotated[
            list[OpenState] | None,
            QueryParameter(name="state", max_items=2, description="Without it, tasks that run and tasks that wait."),
        ] = None,
        executor: Annotated[str, Parameter(max_length=400, description="Its executor key.")] = "",
        holder: Annotated[
            str, Parameter(max_length=400, description="The id of the worker, poller or orchestrator that holds it.")
        ] = "",
        reason: Annotated[str, Parameter(max_length=400, description="The beginning of the waiting reason.")] = "",
        limit: Limit = 100,
    ) -> OpenTasks:
        """Tasks that run or wait, of the thousand oldest runs that have not ended, with the reason of each wait."""
        chosen = tuple(TaskState(state) for state in dict.fromkeys(states or ("ready", "running")))
        wanted = OpenTaskFilter(states=chosen, executor=executor, holder=holder, reason=reason)
        found = await context.in_thread(context.store.open_tasks, wanted, limit + 1)
        return OpenTasks(tasks=[_view(each) for each in found[:limit]], more=len(found) > limit)


def _view(task: OpenTask) -> OpenTaskView:
    waits = task.state is TaskState.READY
    return OpenTaskView(
        run_id=task.run_id,
        workflow=task.workflow,
        name=task.name,
        state=task.state,
        attempt=task.attempt,
        priority=task.priority,
        executor=task.executor,
        labels=task.labels,
        holder=task.holder,
        reason=task.reason,
        wait=wait_view(task.reason) if waits else None,
        since=task.since,
        started_at=None if waits else task.started_at,
    )
