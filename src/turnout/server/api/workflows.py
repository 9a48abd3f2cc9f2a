"""Workflows: lists and reads them, and where their tasks go; ``definitions`` changes them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from litestar import Request, Response, get
from litestar.params import PathParameter, QueryParameter

from turnout.dispatcher.placement import hub_warning, needs_hub_config
from turnout.errors import DefinitionError, WorkflowNotFound
from turnout.model.definitions import DefinitionKind, text_digest
from turnout.server.api.definitions import NAMED, WorkflowName
from turnout.server.api.parameters import Cursor, Limit, number_of
from turnout.server.api.types.workflows import (
    DispatchTrace,
    FileProblem,
    VersionDetail,
    VersionPage,
    WorkflowDetail,
    WorkflowPage,
    version_detail_of,
    version_of,
)
from turnout.server.api.workflow_history import HistoryRoutes
from turnout.server.context import ServerContext
from turnout.server.cursors import cursor_of, last_entry
from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.preconditions import etag, is_unmodified
from turnout.server.responses import answers
from turnout.server.workflow_views import MAX_RECENT, WorkflowFilter, WorkflowViews

Recent = Annotated[
    int, QueryParameter(ge=0, le=MAX_RECENT, description="How many of the newest runs are listed of each workflow.")
]
MEDIA_TYPES = {"yaml": "application/yaml", "python": "text/x-python"}


class WorkflowsController(HistoryRoutes):
    """Workflows: the routes that read them, beside those that change them."""

    guards = (requires("viewer"),)

    @get(
        operation_id="list_workflows",
        summary="List workflows",
        responses=answers(WorkflowPage, "invalid_cursor", "foreign_cursor", description="A page of workflows."),
    )
    async def list_workflows(
        self,
        *,
        context: Context,
        text: Annotated[
            str | None, QueryParameter(name="q", max_length=400, description="Part of the name or description.")
        ] = None,
        tags: Annotated[
            list[str] | None, QueryParameter(name="tag", max_items=20, description="Tags that it has; may be repeated.")
        ] = None,
        kind: Annotated[Literal["yaml", "python"] | None, QueryParameter(description="The kind of its source.")] = None,
        broken: Annotated[
            bool | None, QueryParameter(description="Only those with errors, or only those without.")
        ] = None,
        recent: Recent = 10,
        limit: Limit = 100,
        cursor: Cursor = None,
    ) -> WorkflowPage:
        """Workflows by name, each with the states of its newest runs: stored definitions, and those that the server
        was started with."""
        wanted = WorkflowFilter(text=text, tags=tuple(tags or ()), kind=kind, broken=broken)
        after = last_entry(cursor, "workflows", wanted)

        def read() -> WorkflowPage:
            views = WorkflowViews(context.core)
            found = views.page(wanted, after, limit, recent)
            following = cursor_of("workflows", wanted, found[limit - 1].full_name) if len(found) > limit else None
            files = [FileProblem(file=file, findings=each) for file, each in views.definitions.problems.items()]
            return WorkflowPage(workflows=found[:limit], next=following, files=files)

        return await context.in_thread(read)

    @get(
        "/{name:str}",
        operation_id="get_workflow",
        summary="Get a workflow",
        responses=answers(WorkflowDetail, *NAMED, description="The workflow; the ETag is its version."),
    )
    async def get_workflow(self, context: Context, name: WorkflowName, recent: Recent = 10) -> Response[WorkflowDetail]:
        """One workflow with its parameters (as JSON Schema), its tasks and their graph."""
        found = await context.in_thread(lambda: WorkflowViews(context.core).detail(name, recent))
        return Response(found, headers={"ETag": etag(found.version)})

    @get(
        "/{name:str}/source",
        operation_id="get_workflow_source",
        summary="Get the text of a workflow",
        responses=answers(str, *NAMED, description="The text; the ETag is its version.", media_type="application/yaml"),
    )
    async def get_source(
        self, context: Context, request: Request[Any, Any, Any], name: WorkflowName
    ) -> Response[str | None]:
        """The text of the version in force, as it was written: YAML, or the Python file. Of a workflow that the
        server was started with, it is the text of its file or module."""
        found = await context.in_thread(_current, context, name)
        headers = {"ETag": etag(found.version)}
        if is_unmodified(request.headers, found.version):
            return Response(None, status_code=304, headers=headers)
        return Response(found.text, headers=headers, media_type=MEDIA_TYPES[found.kind])

    @get(
        "/{name:str}/versions",
        operation_id="list_workflow_versions",
        summary="List the versions of a workflow",
        responses=answers(VersionPage, "invalid_cursor", "foreign_cursor", *NAMED, description="A page of versions."),
    )
    async def list_versions(
        self, context: Context, name: WorkflowName, limit: Limit = 100, cursor: Cursor = None
    ) -> VersionPage:
        """The versions that are stored, newest first; those of a removed workflow too."""
        last = last_entry(cursor, "versions", name)
        before = None if last is None else number_of(last)

        def read() -> VersionPage:
            full_name, current = _stored(context, name)
            found = context.store.definition_versions(full_name, before=before, limit=limit + 1)
            following = cursor_of("versions", name, str(found[limit - 1].version)) if len(found) > limit else None
            return VersionPage(versions=[version_of(each, current) for each in found[:limit]], next=following)

        return await context.in_thread(read)

    @get(
        "/{name:str}/versions/{version:int}",
        operation_id="get_workflow_version",
        summary="Get a version of a workflow",
        responses=answers(VersionDetail, "no_such_version", *NAMED, description="The version with its text."),
    )
    async def get_version(
        self,
        context: Context,
        name: WorkflowName,
        version: Annotated[int, PathParameter(ge=1, lt=2**31, description="The number of the version.")],
    ) -> VersionDetail:
        """One version with its text, and the text that it inherits from."""

        def read() -> VersionDetail:
            full_name, current = _stored(context, name)
            found = context.store.definition_version(full_name, version)
            if found is None:
                raise WorkflowNotFound(
                    f"version {version} of workflow {name!r} is not stored", code="no_such_version", version=version
                )
            return version_detail_of(found, current)

        return await context.in_thread(read)

    @get(
        "/{name:str}/dispatch",
        operation_id="get_workflow_dispatch",
        summary="Explain where the tasks of a workflow go",
        responses=answers(
            DispatchTrace, "no_dispatcher", "definition_unavailable", *NAMED, description="The trace of each task."
        ),
    )
    async def get_dispatch(self, context: Context, name: WorkflowName) -> DispatchTrace:
        """Returns where each task of a new run would go, by the function that decides it, with every step."""

        def read() -> DispatchTrace:
            spec, dispatcher = WorkflowViews(context.core).spec(name), context.core.dispatcher
            if dispatcher is None:
                raise DefinitionError(
                    "this server has no dispatcher: pollers decide by its rules", code="no_dispatcher"
                )
            traces = [(task, dispatcher.explain(task, spec)) for task in spec.tasks]
            warnings = [hub_warning(task, each.decision) for task, each in traces if needs_hub_config(each.decision)]
            return DispatchTrace(workflow=spec.full_name, tasks=[each for _, each in traces], warnings=warnings)

        return await context.in_thread(read)


class _Source(msgspec.Struct, frozen=True):
    """The text of a workflow."""

    text: str
    kind: DefinitionKind
    version: int | str


def _current(context: ServerContext, name: str) -> _Source:
    """Returns the text of the version in force."""
    views = WorkflowViews(context.core)
    full_name = views.full_name(name)
    stored = context.store.definition(full_name)
    if stored is not None and stored.current is not None and stored.exists:
        return _Source(stored.current.text, stored.kind, stored.current.version)
    found = None if stored is not None else views.program_source(full_name)
    if found is None:
        raise WorkflowNotFound(f"the text of workflow {name!r} is not stored", workflow=name)
    kind, text = found
    return _Source(text, kind, text_digest(text)[:32])


def _stored(context: ServerContext, name: str) -> tuple[str, int]:
    """Returns the full name of a workflow, and the number of its current version."""
    full_name = WorkflowViews(context.core).full_name(name)
    stored = context.store.definition(full_name)
    return full_name, stored.version if stored is not None and stored.exists else 0
