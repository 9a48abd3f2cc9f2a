"""The newest runs of a workflow task by task, and the graphs that it has had."""

from __future__ import annotations

from typing import Annotated

from litestar import Response, get
from litestar.params import Parameter

from turnout.errors import WorkflowNotFound
from turnout.model.graph import Graph
from turnout.model.percentiles import Spread
from turnout.model.run_filter import RunFilter
from turnout.model.spec import decode_spec
from turnout.model.states import RunState, TaskState
from turnout.server.api.definitions import NAMED, DefinitionRoutes, WorkflowName
from turnout.server.api.parameters import Cursor
from turnout.server.api.types.workflow_history import (
    GraphVersion,
    GraphVersions,
    PastRun,
    PastTask,
    TaskHistory,
    WorkflowGraph,
    WorkflowHistory,
    graph_version,
    history_of,
)
from turnout.server.context import ServerContext
from turnout.server.cursors import cursor_of, last_entry
from turnout.server.dependencies import Context
from turnout.server.preconditions import etag
from turnout.server.responses import RUN_ID, answers
from turnout.server.workflow_views import WorkflowViews, parameters_of, tasks_of

MAX_COLUMNS = 100
"""Runs of one history."""
CURRENT = "current"
NAME = "public::embedded::fulfil"
VERSION = "b1946ac92492d2347c6235b4d2611184"
SPREAD = Spread(count=1, p50=0.7, p95=0.7)
EXAMPLE = WorkflowHistory(
    workflow=NAME,
    runs=[PastRun(run_id=RUN_ID, state=RunState.COMPLETED, version=VERSION, created_at=1_760_000_000.0, duration=0.9)],
    tasks=[
        TaskHistory(
            name="charge",
            cells=[PastTask(state=TaskState.COMPLETED, attempt=1, duration=0.7)],
            duration=SPREAD,
        )
    ],
    slowest=["charge"],
    duration=SPREAD,
)


class HistoryRoutes(DefinitionRoutes):
    """The routes that read the past of a workflow. The controller of workflows inherits them."""

    @get(
        "/{name:str}/history",
        operation_id="get_workflow_history",
        summary="Get the newest runs of a workflow, task by task",
        responses=answers(
            WorkflowHistory,
            "invalid_cursor",
            "foreign_cursor",
            *NAMED,
            example=EXAMPLE,
            description="A matrix: a row for each task, a column for each run.",
        ),
    )
    async def get_history(
        self,
        context: Context,
        name: WorkflowName,
        limit: Annotated[int, Parameter(ge=1, le=MAX_COLUMNS, description="Runs at most.")] = 25,
        cursor: Cursor = None,
    ) -> WorkflowHistory:
        """The state and duration of every task in each of the newest runs, how long runs and tasks take, and the
        slowest tasks."""

        def read() -> WorkflowHistory:
            full_name, store = WorkflowViews(context.core).full_name(name), context.store
            before = last_entry(cursor, "workflow_history", full_name)
            runs = store.find_runs(RunFilter(workflow=full_name), limit=limit, before=before)
            ids = [run.new.run_id for run in runs]
            following = cursor_of("workflow_history", full_name, ids[-1]) if len(runs) == limit else None
            return history_of(full_name, runs, store.graph_tasks_of(ids), store.item_counts_of(ids), following)

        return await context.in_thread(read)

    @get(
        "/{name:str}/graphs",
        operation_id="list_workflow_graphs",
        summary="List the graphs that a workflow has had",
        responses=answers(
            GraphVersions,
            *NAMED,
            example=GraphVersions(
                workflow=NAME,
                versions=[
                    GraphVersion(
                        version=VERSION, number=3, created_at=1_760_000_000.0, used_at=1_760_000_900.0, current=True
                    )
                ],
            ),
            description="The versions that runs have had, newest first.",
        ),
    )
    async def list_graphs(self, context: Context, name: WorkflowName) -> GraphVersions:
        """The newest thousand versions of a workflow that runs have had, whether it is written in Python or in
        YAML."""

        def read() -> GraphVersions:
            views = WorkflowViews(context.core)
            full_name = views.full_name(name)
            now = views.current_spec(full_name)
            current = None if now is None else now.version()
            return GraphVersions(
                workflow=full_name,
                versions=[
                    GraphVersion(
                        version=each.version,
                        number=each.number,
                        created_at=each.created_at,
                        used_at=each.used_at,
                        current=each.version == current,
                    )
                    for each in context.store.workflow_versions(full_name)
                ],
            )

        return await context.in_thread(read)

    @get(
        "/{name:str}/graphs/{graph:str}",
        operation_id="get_workflow_graph",
        summary="Get a graph of a workflow",
        responses=answers(WorkflowGraph, "no_such_version", *NAMED, description="The graph; the ETag is its version."),
    )
    async def get_graph(
        self,
        context: Context,
        name: WorkflowName,
        graph: Annotated[
            str, Parameter(max_length=100, description="The version of the graph; `current`: the one of new runs.")
        ],
    ) -> Response[WorkflowGraph]:
        """One version of the graph, with the parameters and with the places of its tasks in a picture."""

        def read() -> WorkflowGraph:
            found = _graph(context, WorkflowViews(context.core).full_name(name), graph)
            return graph_version(found, tasks_of(found.spec), parameters_of(found.spec))

        shown = await context.in_thread(read)
        return Response(shown, headers={"ETag": etag(shown.version)})


def _graph(context: ServerContext, full_name: str, version: str) -> Graph:
    if version == CURRENT:
        spec = WorkflowViews(context.core).current_spec(full_name)
    else:
        text = context.store.workflow(version)
        spec = None if text is None else decode_spec(text)
    if spec is None or spec.full_name != full_name:
        raise WorkflowNotFound(
            f"version {version[:100]!a} of workflow {full_name!r} is not stored", code="no_such_version"
        )
    return Graph(spec, None if version == CURRENT else version)
