"""The timeline of a run: when each task could start, waited and ran, on which executor, and the critical path."""

from __future__ import annotations

from typing import Annotated

from litestar import Controller, get
from litestar.params import Parameter

from turnout.model.rows import StoredRun
from turnout.model.states import TaskState
from turnout.model.task_lists import TaskFilter
from turnout.model.timeline import WaitSpan, waits_by_position
from turnout.runner.views import AttemptView, attempts_of
from turnout.server.api.found_runs import find, mapped_position
from turnout.server.api.parameters import Cursor, Limit, RunId, number_of
from turnout.server.api.types.timeline import (
    Timeline,
    TimelineAttempt,
    TimelineTask,
    path_of,
    timeline_of,
    timeline_task,
)
from turnout.server.context import ServerContext
from turnout.server.cursors import cursor_of, last_entry
from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.positions import position_behind
from turnout.server.responses import RUN_ID, answers

EXAMPLE = Timeline(
    run_id=RUN_ID,
    created_at=1_760_000_000.0,
    started_at=1_760_000_000.1,
    finished_at=1_760_000_003.0,
    at=1_760_000_009.0,
    tasks=[
        TimelineTask(
            name="charge",
            state=TaskState.COMPLETED,
            ready_at=1_760_000_000.1,
            started_at=1_760_000_002.1,
            finished_at=1_760_000_003.0,
            critical=True,
            waits=[WaitSpan(since=1_760_000_000.1, until=1_760_000_002.0, reason="no_capacity")],
            attempts=[
                TimelineAttempt(
                    attempt=1,
                    executor="default",
                    decision="default executor",
                    began_at=1_760_000_002.0,
                    started_at=1_760_000_002.1,
                    ended_at=1_760_000_003.0,
                    outcome="completed",
                )
            ],
        )
    ],
    critical_path=["charge"],
    position=f"{RUN_ID}:9.0.0",
)


class TimelineController(Controller):
    """Timelines of runs."""

    path = "/api/v1/runs/{run_id:str}/timeline"
    tags = ("runs",)
    guards = (requires("viewer"),)

    @get(
        operation_id="get_run_timeline",
        summary="Get the timeline of a run",
        responses=answers(
            Timeline,
            "run_not_found",
            "unknown_task",
            "invalid_cursor",
            "foreign_cursor",
            example=EXAMPLE,
            description="The tasks of the graph, or the items of one mapped task, with their times.",
        ),
    )
    async def get_timeline(
        self,
        context: Context,
        run_id: RunId,
        group: Annotated[
            str | None, Parameter(max_length=400, description="The items of this mapped task, instead of the graph.")
        ] = None,
        limit: Limit = 500,
        cursor: Cursor = None,
    ) -> Timeline:
        """The times at which each task could start, its waits with their reasons, and every attempt with its executor,
        worker and outcome. A mapped task is one entry; its items are those of ``group``. The critical path is that of
        the graph: the chain of tasks that the end of the run waited for."""

        def read() -> Timeline:
            return _timeline(context, find(context, run_id), group, limit, cursor)

        return await context.in_thread(read)


def _timeline(context: ServerContext, run: StoredRun, group: str | None, limit: int, cursor: str | None) -> Timeline:
    store, known = context.store, run.new.run_id
    graph, now = context.core.engine.graphs.stored(run.new.version), context.store.clock()
    item_of = None if group is None else mapped_position(known, graph, group)
    wanted = (known, group)
    last = last_entry(cursor, "timeline", wanted)
    after = -1 if last is None else number_of(last)
    # Items are behind the tasks of the graph: they are not searched for tasks of the graph.
    most = limit + 1 if group is not None else max(0, min(limit + 1, len(graph.tasks) - 1 - after))
    found = store.tasks_page(known, TaskFilter(item_of=item_of, top_level=group is None), after=after, limit=most)
    rows = found[:limit]
    moves = store.moves_between(known, rows[0].pos, rows[-1].pos) if rows else []
    attempts: dict[str, list[AttemptView]] = {}
    for each in attempts_of(moves, rows):
        attempts.setdefault(each.task, []).append(each)
    items = store.item_groups(known) if graph.mapped and group is None else {}
    path = path_of(graph, store.graph_tasks_of([known], most=len(graph.tasks)).get(known, []), now)
    waits = waits_by_position(moves)
    tasks = [timeline_task(row, waits, attempts.get(row.name, ()), items.get(row.pos), set(path)) for row in rows]
    following = cursor_of("timeline", wanted, str(rows[-1].pos)) if len(found) > limit else None
    return timeline_of(run, tasks, path, now, position_behind(run), following)
