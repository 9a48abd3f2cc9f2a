"""Describes the API as an OpenAPI 3.1 document, with a viewer that needs no network."""

from __future__ import annotations

from typing import Any

from litestar import MediaType, Request, Response, Router
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin, OpenAPIRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme

from turnout.errors import RequestError
from turnout.server.guards import requires
from turnout.server.pages import static_file
from turnout.server.problems import MEDIA_TYPE, problem_of
from turnout.server.schema_docs import completed


class ViewerPlugin(OpenAPIRenderPlugin):
    """The page ``/api/docs``: it reads ``/api/openapi.json`` and shows it."""

    def __init__(self) -> None:
        super().__init__(path="/docs", media_type=MediaType.HTML)

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        return static_file("viewer.html")


class DocumentPlugin(JsonRenderPlugin):
    """The document ``/api/openapi.json``."""

    def render(self, request: Request[Any, Any, Any], openapi_schema: dict[str, Any]) -> bytes:
        return super().render(request, completed(openapi_schema, request.app))


def openapi_config(version: str) -> OpenAPIConfig:
    router = Router(
        "/api",
        route_handlers=[],
        guards=[requires("viewer", loopback=True)],
        include_in_schema=False,
        after_request=_as_problem,
    )
    return OpenAPIConfig(
        title="Turnout",
        version=version,
        description="Durable workflows: definitions, runs, logs, workers and routing. Errors are problem documents "
        "(`application/problem+json`) with a stable `code`.",
        components=Components(
            security_schemes={
                "token": SecurityScheme(type="http", scheme="bearer", description="A token of `turnout tokens create`.")
            }
        ),
        security=[{"token": []}],
        openapi_router=router,
        render_plugins=[DocumentPlugin(path="/openapi.json"), ViewerPlugin()],
        use_handler_docstrings=True,
    )


def _as_problem(response: Response[Any]) -> Response[Any]:
    """Replaces the page that the framework answers unknown paths below ``/api`` with."""
    if response.status_code != 404:
        return response
    status, headers, body = problem_of(RequestError("there is nothing at this path", code="unknown_route"))
    return Response(body, status_code=status, headers=headers, media_type=MEDIA_TYPE)
