"""Changes definitions: validates, puts and deletes the texts of workflows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import msgspec
from litestar import Controller, Request, Response, delete, post, put
from litestar.openapi.spec import OpenAPIMediaType, Operation, RequestBody, Schema
from litestar.openapi.spec.enums import OpenAPIType
from litestar.params import HeaderParameter, PathParameter

from turnout.authoring.yaml.findings import has_errors
from turnout.errors import RequestError
from turnout.runner.definitions.names import checked_name
from turnout.server.api.parameters import IfMatch
from turnout.server.api.types.workflows import MAX_TEXT, DefinitionText, Validation, WorkflowDetail
from turnout.server.context import ServerContext
from turnout.server.dependencies import ByCaller, Context
from turnout.server.guards import CONSUMES, requires
from turnout.server.preconditions import check_if_match, etag
from turnout.server.responses import answers
from turnout.server.workflow_views import WorkflowViews

WorkflowName = Annotated[
    str,
    PathParameter(max_length=400, description="The name of a workflow; `package::name` or the full name if needed."),
]
IfNoneMatch = Annotated[
    str | None,
    HeaderParameter(name="If-None-Match", max_length=400, description="`*`: there must be no such workflow yet."),
]
NAMED = ("workflow_not_found", "ambiguous_workflow", "path_in_name", "bad_definition_name", "no_definitions")
CHANGES = ("precondition_required", "stale_etag", "definition_from_file", *NAMED)
AUTHOR = [requires("author")]
YAML = ("application/yaml", "application/json")
"""The media types of a text: as it is, or ``{"text": …}``."""


@dataclass
class TextOperation(Operation):
    """Describes the body of a request that is the text of a definition."""

    def __post_init__(self) -> None:
        text = Schema(type=OpenAPIType.STRING, min_length=1, max_length=MAX_TEXT)
        document = Schema(
            type=OpenAPIType.OBJECT, properties={"text": text}, required=["text"], additional_properties=False
        )
        self.request_body = RequestBody(
            content={YAML[0]: OpenAPIMediaType(schema=text), YAML[1]: OpenAPIMediaType(schema=document)},
            description="The text of the workflow.",
            required=True,
        )


class DefinitionRoutes(Controller):
    """The routes that check and change definitions."""

    path = "/api/v1/workflows"
    tags = ("workflows",)

    @post(
        "/{name:str}/validate",
        status_code=200,
        operation_id="validate_workflow",
        summary="Validate a text",
        operation_class=TextOperation,
        opt={CONSUMES: YAML},
        responses=answers(Validation, *NAMED, description="All findings."),
    )
    async def validate(self, context: Context, request: Request[Any, Any, Any], name: WorkflowName) -> Validation:
        """Returns what is wrong with a text that would be put under this name, with lines and columns. Nothing is
        stored."""
        text = await _text_of(request)
        editor = WorkflowViews(context.core).definitions.editor
        found = await context.in_thread(editor.validate, text, checked_name(name).rpartition("::")[2])
        names = tuple(each.name for each in found.workflows)
        return Validation(valid=not has_errors(found.findings), findings=found.findings, workflows=names)

    @put(
        "/{name:str}",
        operation_id="put_workflow",
        summary="Put a workflow",
        guards=AUTHOR,
        operation_class=TextOperation,
        opt={CONSUMES: YAML},
        responses=answers(
            WorkflowDetail,
            "invalid_definition_text",
            "limit_conflict",
            "local_execution_refused",
            "name_mismatch",
            *CHANGES,
            status=(200, 201),
            description="The version that is in force now. 201 instead of 200: the workflow is new.",
        ),
    )
    async def put_workflow(
        self,
        *,
        context: Context,
        caller: ByCaller,
        request: Request[Any, Any, Any],
        name: WorkflowName,
        if_match: IfMatch = None,
        if_none_match: IfNoneMatch = None,
    ) -> Response[WorkflowDetail]:
        """Makes the text the newest version of the workflow, for new runs on every server; running runs keep theirs.

        `If-Match` has the ETag of the version that is replaced; `If-None-Match: *` makes a new workflow."""
        text = await _text_of(request)

        def store() -> tuple[WorkflowDetail, int]:
            views = WorkflowViews(context.core)
            expected = _expected(context, views, name, request)
            stored = views.definitions.editor.put(name, text, expected, caller.name)
            return views.detail(stored.full_name), expected

        found, expected = await context.in_thread(store)
        return Response(found, status_code=200 if expected else 201, headers={"ETag": etag(found.version)})

    @delete(
        "/{name:str}",
        operation_id="delete_workflow",
        summary="Delete a workflow",
        status_code=204,
        guards=AUTHOR,
        responses=answers(
            None, "definition_in_use", "definition_called", *CHANGES, status=204, description="It is deleted."
        ),
    )
    async def delete_workflow(
        self,
        *,
        context: Context,
        caller: ByCaller,
        request: Request[Any, Any, Any],
        name: WorkflowName,
        if_match: IfMatch = None,
    ) -> None:
        """Deletes an uploaded workflow: there are no new runs of it. Its runs and versions stay. While it has open runs
        it is not deleted."""

        def remove() -> None:
            views = WorkflowViews(context.core)
            views.detail(name)
            expected = _expected(context, views, name, request)
            views.definitions.editor.remove(name, expected, caller.name)

        await context.in_thread(remove)


def _expected(context: ServerContext, views: WorkflowViews, name: str, request: Request[Any, Any, Any]) -> int:
    """Returns the version that the request replaces, 0 for none. Raises if it says nothing of it, or of another."""
    own_name = checked_name(name).rpartition("::")[2]
    stored = context.store.definition(views.definitions.catalog.yaml_name(own_name))
    current = stored.version if stored is not None and stored.exists else None
    check_if_match(request.headers, current, f"workflow {own_name!r}")
    return current or 0


async def _text_of(request: Request[Any, Any, Any]) -> str:
    """Returns the text in the body. Raises RequestError if there is none."""
    body = await request.body()
    try:
        if request.headers.get("content-type", "").partition(";")[0].strip().lower() == YAML[1]:
            text = msgspec.json.decode(body, type=DefinitionText).text
        else:
            text = body.decode()
    except msgspec.MsgspecError as error:
        raise RequestError(f"the body is not as described: {error}", code="invalid_request") from error
    except UnicodeDecodeError as error:
        raise RequestError(f"the text is not UTF-8: {error}", code="invalid_request") from error
    if not text.strip() or "\0" in text:
        raise RequestError("the body holds no text: send the workflow as YAML", code="invalid_request")
    return text
