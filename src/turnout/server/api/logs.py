"""Log lines of a run, of one of its tasks, and of one attempt; in pages or as they are written."""

from __future__ import annotations

from typing import Annotated

from litestar import Controller, get
from litestar.params import Parameter
from litestar.response import Stream

from turnout.errors import InvalidInput
from turnout.model.logs import LogLine
from turnout.model.names import suggest
from turnout.server.api.events import STREAM_ERRORS, STREAM_OPTIONS, follow_run, stream_answers
from turnout.server.api.found_runs import find
from turnout.server.api.parameters import After, Cursor, LastEventId, Limit, RunId, TaskName, number_of
from turnout.server.api.types.logs import LogPage
from turnout.server.context import ServerContext
from turnout.server.cursors import cursor_of, last_entry
from turnout.server.dependencies import ByCaller, Context
from turnout.server.event_streams import View
from turnout.server.guards import requires
from turnout.server.responses import answers
from turnout.server.run_source import FLUSH_TIMEOUT, is_line_of

_EXAMPLE = LogPage(
    lines=[LogLine(id=17, task="charge", attempt=1, stream="stdout", at=1_760_000_000.4, text="charging order 7")]
)
_PAGE = answers(
    LogPage,
    "run_not_found",
    "unknown_task",
    "invalid_cursor",
    "foreign_cursor",
    example=_EXAMPLE,
    description="A page of lines.",
)
Attempt = Annotated[int, Parameter(ge=1, le=2**31 - 1, description="The number of the attempt.")]


class LogsController(Controller):
    """Log lines."""

    path = "/api/v1/runs/{run_id:str}"
    tags = ("logs",)
    guards = (requires("viewer"),)

    @get(
        "/logs",
        operation_id="get_run_logs",
        summary="Get the log lines of a run",
        responses=_PAGE,
    )
    async def run_logs(self, context: Context, run_id: RunId, limit: Limit = 1_000, cursor: Cursor = None) -> LogPage:
        """Returns what all attempts of the run printed and logged, merged."""
        return await context.in_thread(_page, context, run_id, None, None, limit, cursor)

    @get(
        "/tasks/{task:str}/logs",
        operation_id="get_task_logs",
        summary="Get the log lines of a task",
        responses=_PAGE,
    )
    async def task_logs(
        self, context: Context, run_id: RunId, task: TaskName, limit: Limit = 1_000, cursor: Cursor = None
    ) -> LogPage:
        """Returns what all attempts of a task printed and logged; of a mapped task, those of all its items."""
        return await context.in_thread(_page, context, run_id, task, None, limit, cursor)

    @get(
        "/tasks/{task:str}/attempts/{attempt:int}/logs",
        operation_id="get_attempt_logs",
        summary="Get the log lines of an attempt",
        responses=_PAGE,
    )
    async def attempt_logs(
        self,
        context: Context,
        run_id: RunId,
        task: TaskName,
        attempt: Attempt,
        limit: Limit = 1_000,
        cursor: Cursor = None,
    ) -> LogPage:
        """Returns what one attempt of a task printed and logged."""
        return await context.in_thread(_page, context, run_id, task, attempt, limit, cursor)

    @get(
        "/logs/stream",
        operation_id="stream_run_logs",
        summary="Follow the log lines of a run",
        responses=stream_answers(
            *STREAM_ERRORS,
            "unknown_task",
            example='id: …\nevent: log\ndata: {"id":17,"task":"charge","attempt":1,"stream":"stdout","at":…}\n\n',
            description="Events `log`, and `end` once the run has ended.",
        ),
        **STREAM_OPTIONS,
    )
    async def stream(
        self,
        context: Context,
        caller: ByCaller,
        run_id: RunId,
        task: Annotated[str | None, Parameter(max_length=400, description="Only lines of this task.")] = None,
        attempt: Annotated[int | None, Parameter(ge=1, le=2**31 - 1, description="Only lines of this attempt.")] = None,
        last_event_id: LastEventId = None,
        after: After = None,
    ) -> Stream:
        """Lines as they are written, from the first one or from ``Last-Event-ID`` or ``after`` on, until the run has
        ended."""
        if task is not None:
            await context.in_thread(_check_task, context, run_id, task)
        view = View(keep=lambda frame: is_line_of(frame, task, attempt))
        return await follow_run(context, caller, run_id, last_event_id or after, view)


def _page(
    context: ServerContext, run_id: str, task: str | None, attempt: int | None, limit: int, cursor: str | None
) -> LogPage:
    known = find(context, run_id).new.run_id
    if task is not None:
        _check_task(context, known, task)
    wanted = (known, task, attempt)
    after = number_of(last_entry(cursor, "logs", wanted))
    if context.core.log_writer is not None:
        context.core.log_writer.flush(FLUSH_TIMEOUT)
    lines = context.store.logs(known, task=task, attempt=attempt, after=after, limit=limit)
    following = cursor_of("logs", wanted, str(lines[-1].id)) if len(lines) == limit else None
    return LogPage(lines=lines, next=following)


def _check_task(context: ServerContext, run_id: str, task: str) -> None:
    names = [row.name for row in context.store.tasks(find(context, run_id).new.run_id, outputs=False)]
    if not any(name == task or name.startswith(f"{task}[") for name in names):
        raise InvalidInput(f"run {run_id} has no task {task!r}{suggest(task, names)}", code="unknown_task", task=task)
