"""Tasks of a run: lists them, and reads one with its output and attempts."""

from __future__ import annotations

from typing import Annotated

from litestar import Controller, get
from litestar.params import Parameter, QueryParameter

from turnout.model.states import TaskState
from turnout.runner.run_reader import TaskDetail, task_detail
from turnout.runner.views import AttemptView, TaskView, task_view
from turnout.server.api.found_runs import find
from turnout.server.api.parameters import Cursor, Limit, RunId, TaskName, number_of
from turnout.server.api.types.tasks import TaskPage
from turnout.server.cursors import cursor_of, last_entry
from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.responses import answers

EXAMPLE = TaskView(
    name="charge",
    state=TaskState.COMPLETED,
    attempt=2,
    begun=2,
    executor="default",
    decision="default executor",
    started_at=1_760_000_000.2,
    finished_at=1_760_000_000.9,
)
DETAIL_EXAMPLE = TaskDetail(
    name="charge",
    state=TaskState.COMPLETED,
    attempt=2,
    begun=2,
    executor="default",
    decision="default executor",
    output={"paid": 42},
    attempts=[
        AttemptView(
            task="charge",
            attempt=1,
            number=1,
            executor="default",
            began_at=1_760_000_000.1,
            ended_at=1_760_000_000.2,
            outcome="retry",
            error="TimeoutError: the bank does not answer",
            error_type="TimeoutError",
            message="the bank does not answer",
            traceback="Traceback (most recent call last): …",
        )
    ],
)


class TasksController(Controller):
    """Tasks of runs."""

    path = "/api/v1/runs/{run_id:str}/tasks"
    tags = ("tasks",)
    guards = (requires("viewer"),)

    @get(
        operation_id="list_tasks",
        summary="List the tasks of a run",
        responses=answers(
            TaskPage,
            "run_not_found",
            "invalid_cursor",
            "foreign_cursor",
            example=TaskPage(tasks=[EXAMPLE]),
            description="A page of tasks.",
        ),
    )
    async def list_tasks(
        self,
        context: Context,
        run_id: RunId,
        states: Annotated[
            list[TaskState] | None, QueryParameter(name="state", description="One of these states.", max_items=7)
        ] = None,
        group: Annotated[str | None, Parameter(description="Only items of this mapped task.", max_length=400)] = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> TaskPage:
        """The tasks of a run: where each runs or ran, why there, and what it waits for."""

        def read() -> TaskPage:
            run = find(context, run_id)
            known = run.new.run_id
            wanted = (known, sorted(set(states or ())), group)
            after = number_of(last_entry(cursor, "tasks", wanted))
            rows = context.store.tasks(known, outputs=False)[after:]
            progress = {} if run.row.state.terminal else context.store.progress(known)
            found: list[TaskView] = []
            following: str | None = None
            for number, row in enumerate(rows, after + 1):
                if states and row.state not in states:
                    continue
                if group is not None and (row.group is None or row.name.rpartition("[")[0] != group):
                    continue
                found.append(task_view(row))
                if len(found) == limit and number < after + len(rows):
                    following = cursor_of("tasks", wanted, str(number))
                    break
            shown = {task.name: progress[task.name] for task in found if task.name in progress}
            return TaskPage(tasks=found, next=following, progress=shown)

        return await context.in_thread(read)

    @get(
        "/{task:str}",
        operation_id="get_task",
        summary="Get a task of a run",
        responses=answers(
            TaskDetail,
            "run_not_found",
            "unknown_task",
            example=DETAIL_EXAMPLE,
            description="The task with its output and all attempts.",
        ),
    )
    async def get_task(self, context: Context, run_id: RunId, task: TaskName) -> TaskDetail:
        """One task with its output, and each attempt with its executor, the reason of that choice, its outcome and the
        traceback of its error."""

        def read() -> TaskDetail:
            return task_detail(context.store, find(context, run_id), task)

        return await context.in_thread(read)
