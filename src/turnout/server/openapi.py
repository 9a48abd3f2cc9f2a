"""Describes the API as an OpenAPI 3.1 document, with a viewer that needs no network."""

from __future__ import annotations

from typing import Any

from litestar import Controller, MediaType, Request, get
from litestar.openapi import OpenAPIConfig
from litestar.openapi.plugins import JsonRenderPlugin
from litestar.openapi.spec import Components, SecurityScheme

from turnout.server.dependencies import Context
from turnout.server.guards import requires
from turnout.server.pages import static_file

OPENAPI_JSON = "application/vnd.oai.openapi+json"


class DocumentController(Controller):
    """The OpenAPI document, and the page that shows it."""

    path = "/api"
    include_in_schema = False
    guards = (requires("viewer", loopback=True),)

    @get("/openapi.json", media_type=OPENAPI_JSON)
    async def document(self, context: Context, request: Request[Any, Any, Any]) -> bytes:
        """The document is made when it is first asked for, in a thread: requests are served meanwhile."""
        return await context.in_thread(request.app.state.document)

    @get("/docs", media_type=MediaType.HTML, sync_to_thread=False)
    def viewer(self) -> bytes:
        """The page reads ``/api/openapi.json``."""
        return static_file("viewer.html")


def openapi_config(version: str) -> OpenAPIConfig:
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
        render_plugins=[JsonRenderPlugin()],
        use_handler_docstrings=True,
    )
