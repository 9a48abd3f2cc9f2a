"""Tasks of a run: lists them, and reads one with its input, output and attempts."""

from __future__ import annotations

from typing import Annotated, Any

from litestar import Controller, Request, Response, get
from litestar.params import Parameter, QueryParameter

from turnout.model.states import TaskState
from turnout.model.task_lists import MAX_POSITION, TaskFilter
from turnout.runner.stored_values import input_text, output_text
from turnout.runner.task_detail import TaskDetail, task_detail
from turnout.runner.views import AttemptView, TaskView, task_view
from turnout.server.api.found_runs import find
from turnout.server.api.parameters import Cursor, Limit, RunId, TaskName, number_of
from turnout.server.api.types.tasks import TaskPage
from turnout.server.cursors import cursor_of, last_entry
from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.responses import answers
from turnout.server.value_responses import Download, value_answers, value_response

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
        *,
        context: Context,
        run_id: RunId,
        states: Annotated[
            list[TaskState] | None, QueryParameter(name="state", description="One of these states.", max_items=7)
        ] = None,
        group: Annotated[str | None, Parameter(description="Only items of this mapped task.", max_length=400)] = None,
        top_level: Annotated[bool, Parameter(description="Without items of mapped tasks.")] = False,
        counts: Annotated[bool, Parameter(description="With the number of tasks in each state.")] = False,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> TaskPage:
        """The tasks of a run: where each runs or ran, why there, and what it waits for."""

        def read() -> TaskPage:
            run, store = find(context, run_id), context.store
            known, chosen = run.new.run_id, tuple(sorted(set(states or ())))
            item_of = None
            if group is not None:
                # A name that the graph does not have finds nothing.
                item_of = context.core.engine.graphs.stored(run.new.version).position.get(group, MAX_POSITION)
            wanted = TaskFilter(states=chosen, item_of=item_of, top_level=top_level)
            last = last_entry(cursor, "tasks", (known, wanted))
            after = -1 if last is None else number_of(last)
            rows = store.tasks_page(known, wanted, after=after, limit=limit + 1)
            more = len(rows) > limit
            found = [task_view(row) for row in rows[:limit]]
            progress = {} if run.row.state.terminal else store.progress(known)
            return TaskPage(
                tasks=found,
                next=cursor_of("tasks", (known, wanted), str(rows[limit - 1].pos)) if more else None,
                progress={task.name: progress[task.name] for task in found if task.name in progress},
                counts=store.tasks_by_state(known, wanted) if counts else {},
            )

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
    async def get_task(
        self,
        context: Context,
        run_id: RunId,
        task: TaskName,
        max_output_bytes: Annotated[
            int | None,
            Parameter(ge=0, lt=2**53, description="A larger output is left out; it has an operation of its own."),
        ] = None,
    ) -> TaskDetail:
        """One task with its output, and each attempt with its executor, the reason of that choice, its outcome and the
        traceback of its error; while it waits, what would end the wait."""

        def read() -> TaskDetail:
            return task_detail(context.store, find(context, run_id), task, max_output_bytes)

        return await context.in_thread(read)

    @get(
        "/{task:str}/output",
        operation_id="get_task_output",
        summary="Get the output of a task",
        responses=value_answers("run_not_found", "unknown_task", "no_output"),
    )
    async def get_output(
        self,
        context: Context,
        request: Request[Any, Any, Any],
        run_id: RunId,
        task: TaskName,
        download: Download = False,
    ) -> Response[bytes]:
        """The output of a completed task as JSON text; of a mapped task, the list. A part of it is answered to
        `Range: bytes=0-65535`."""

        def read() -> bytes:
            return output_text(context.store, find(context, run_id), task)

        return value_response(await context.in_thread(read), request, f"{run_id}-{task}" if download else None)

    @get(
        "/{task:str}/input",
        operation_id="get_task_input",
        summary="Get the input of a task",
        responses=value_answers("run_not_found", "unknown_task", "no_input", "missing_path"),
    )
    async def get_input(
        self,
        context: Context,
        request: Request[Any, Any, Any],
        run_id: RunId,
        task: TaskName,
        download: Download = False,
    ) -> Response[bytes]:
        """The arguments of the task as JSON text: `args`, `kwargs`, and in Context style `context`; a handler also
        has the outputs of its dependencies in `previous`. An item of a mapped task has its own values, the mapped task
        its lists. Secrets are read where the task runs, and are no part of it. A part of the text is answered to
        `Range: bytes=0-65535`."""

        def read() -> bytes:
            return input_text(context.store, find(context, run_id), task)

        return value_response(await context.in_thread(read), request, f"{run_id}-{task}-input" if download else None)
