"""Runs: lists them, and reads one with its input, result, children, history and graph."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from litestar import Request, Response, get
from litestar.params import Parameter, QueryParameter

from turnout.model.rows import StoredRun
from turnout.model.run_filter import RunFilter
from turnout.model.states import RunState
from turnout.model.task_lists import TaskFilter
from turnout.runner.open_runs import driver_of, drivers_of
from turnout.runner.result_size import result_bytes
from turnout.runner.stored_values import read_output, result_text
from turnout.runner.task_detail import newest_children
from turnout.server.api.found_runs import EXAMPLE, find, run_filter
from turnout.server.api.parameters import Cursor, Limit, RunId, Time, position_of
from turnout.server.api.run_control import RunControl
from turnout.server.api.types.runs import (
    RunDetail,
    RunInput,
    RunPage,
    RunResult,
    run_detail_of,
    run_of,
)
from turnout.server.api.types.tasks import MovePage, RunGraph, graph_of, move_of
from turnout.server.context import ServerContext
from turnout.server.cursors import cursor_of, last_entry
from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.positions import position_behind
from turnout.server.responses import RUN_ID, answers
from turnout.server.run_triggers import triggers_of
from turnout.server.value_responses import Download, value_answers, value_response


class RunsController(RunControl):
    """Runs: the routes that read them, beside those that change them."""

    guards = (requires("viewer"),)

    @get(
        operation_id="list_runs",
        summary="List runs",
        responses=answers(
            RunPage, "invalid_cursor", "foreign_cursor", example=RunPage(runs=[EXAMPLE]), description="A page of runs."
        ),
    )
    async def list_runs(  # noqa: PLR0913 - every condition has a name and a default
        self,
        *,
        context: Context,
        workflow: Annotated[
            str | None, Parameter(max_length=400, description="A full name, or its last segment.")
        ] = None,
        states: Annotated[
            list[RunState] | None,
            QueryParameter(name="state", description="One of these states; may be repeated.", max_items=7),
        ] = None,
        tags: Annotated[
            list[str] | None,
            QueryParameter(name="tag", description="Tags of the workflow, all of which it has.", max_items=20),
        ] = None,
        key: Annotated[str | None, Parameter(max_length=400, description="The idempotency key.")] = None,
        parent: Annotated[str | None, Parameter(max_length=64, description="The id of the parent run.")] = None,
        top_level: Annotated[bool, Parameter(description="Without child runs.")] = False,
        created_from: Time = None,
        created_before: Time = None,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> RunPage:
        """Runs, newest first, that fulfil every condition."""
        wanted = await context.in_thread(
            run_filter,
            context,
            workflow=workflow,
            tags=tuple(tags or ()),
            states=tuple(sorted(set(states or ()))),
            key=key,
            parent=parent,
            top_level=top_level,
            created_from=created_from,
            created_before=created_before,
        )
        before = last_entry(cursor, "runs", wanted)
        return await context.in_thread(_page, context, wanted, limit, before)

    @get(
        "/{run_id:str}",
        operation_id="get_run",
        summary="Get a run",
        responses=answers(RunDetail, "run_not_found", example=EXAMPLE, description="The run."),
    )
    async def get_run(self, context: Context, run_id: RunId) -> RunDetail:
        """One run, with the number of its tasks in each state."""

        def read() -> RunDetail:
            run = find(context, run_id)
            counted = context.store.task_counts([run.new.run_id]).get(run.new.run_id, [])
            tasks = {state: count for state, count, _ in counted}
            (trigger,) = triggers_of(context.store, [run])
            size = None
            if run.row.state is RunState.COMPLETED:
                size = result_bytes(context.store, run, context.core.engine.graphs.stored(run.new.version))
            return run_detail_of(run, driver_of(context.store, run), trigger, tasks, size, position_behind(run))

        return await context.in_thread(read)

    @get(
        "/{run_id:str}/input",
        operation_id="get_run_input",
        summary="Get the input of a run",
        responses=answers(RunInput, "run_not_found", example={"input": {"order": 7}}, description="The parameters."),
    )
    async def get_input(self, context: Context, run_id: RunId) -> RunInput:
        """The parameters of the run by name, with defaults."""
        run = await context.in_thread(find, context, run_id)
        return RunInput(msgspec.json.decode(run.new.input))

    @get(
        "/{run_id:str}/result",
        operation_id="get_run_result",
        summary="Get the result of a run",
        responses=answers(
            RunResult,
            "run_not_found",
            "run_not_finished",
            "run_failed",
            example={"run_id": RUN_ID, "result": {"shipped": True}},
            description="What the run returned.",
        ),
    )
    async def get_result(self, context: Context, run_id: RunId) -> RunResult:
        """Returns the result of a completed run. A run that has not ended, or did not complete, is answered with 409;
        the problem document of a failed run has ``failures``, one for each failed task."""

        def read() -> RunResult:
            run = find(context, run_id)
            return RunResult(run_id=run.new.run_id, result=read_output(context.store, run))

        return await context.in_thread(read)

    @get(
        "/{run_id:str}/output",
        operation_id="get_run_output",
        summary="Get the result of a run as text",
        responses=value_answers("run_not_found", "run_not_finished", "run_failed"),
    )
    async def get_output(
        self, context: Context, request: Request[Any, Any, Any], run_id: RunId, download: Download = False
    ) -> Response[bytes]:
        """The result of a completed run as JSON text, for results that are too large to be shown. A part of it is
        answered to `Range: bytes=0-65535`."""

        def read() -> bytes:
            run = find(context, run_id)
            return result_text(context.store, run, context.core.engine.graphs.stored(run.new.version))

        return value_response(await context.in_thread(read), request, run_id if download else None)

    @get(
        "/{run_id:str}/children",
        operation_id="list_child_runs",
        summary="List the child runs of a run",
        responses=answers(RunPage, "run_not_found", example=RunPage(runs=[EXAMPLE]), description="The child runs."),
    )
    async def get_children(self, context: Context, run_id: RunId) -> RunPage:
        """The runs that tasks of this run have started, by task and attempt."""

        def read() -> RunPage:
            return _shown(context, context.store.children(find(context, run_id).new.run_id))

        return await context.in_thread(read)

    @get(
        "/{run_id:str}/history",
        operation_id="get_run_history",
        summary="Get the history of a run",
        responses=answers(
            MovePage, "run_not_found", "invalid_cursor", "foreign_cursor", description="A page of moves, oldest first."
        ),
    )
    async def get_history(self, context: Context, run_id: RunId, limit: Limit = 100, cursor: Cursor = None) -> MovePage:
        """Every change of the state of the run and its tasks, in order."""

        def read() -> MovePage:
            known = find(context, run_id).new.run_id
            after = position_of(last_entry(cursor, "history", known))
            moves = context.store.moves(known, after=after, limit=limit)
            names = {row.pos: row.name for row in context.store.tasks(known, outputs=False)}
            last = f"{moves[-1].move.seq}.{moves[-1].part}" if len(moves) == limit else None
            return MovePage(
                moves=[move_of(known, each, names) for each in moves],
                next=None if last is None else cursor_of("history", known, last),
            )

        return await context.in_thread(read)

    @get(
        "/{run_id:str}/graph",
        operation_id="get_run_graph",
        summary="Get the graph of a run",
        responses=answers(RunGraph, "run_not_found", description="Nodes and edges."),
    )
    async def get_graph(self, context: Context, run_id: RunId) -> RunGraph:
        """The tasks of the run and their dependencies, with the state of each and its place in a picture. A mapped task
        is one node with its items counted by state; a task that starts a child run names it."""

        def read() -> RunGraph:
            run = find(context, run_id)
            known, store = run.new.run_id, context.store
            graph = context.core.engine.graphs.stored(run.new.version)
            rows = store.tasks_page(known, TaskFilter(top_level=True), limit=len(graph.tasks))
            items = store.item_groups(known) if graph.mapped else {}
            children = newest_children(store, known, rows)
            return graph_of(known, graph, rows, items, children, position_behind(run))

        return await context.in_thread(read)


def _page(context: ServerContext, wanted: RunFilter, limit: int, before: str | None) -> RunPage:
    found = context.store.find_runs(wanted, limit=limit, before=before)
    following = cursor_of("runs", wanted, found[-1].new.run_id) if len(found) == limit else None
    return msgspec.structs.replace(_shown(context, found), next=following)


def _shown(context: ServerContext, found: list[StoredRun]) -> RunPage:
    drivers = drivers_of(context.store, found)
    triggers = triggers_of(context.store, found)
    waits = context.store.first_waiting_tasks([run.new.run_id for run in found if run.row.state is RunState.RUNNING])
    return RunPage(
        runs=[
            run_of(run, driver, trigger, waits.get(run.new.run_id))
            for run, driver, trigger in zip(found, drivers, triggers, strict=True)
        ]
    )
