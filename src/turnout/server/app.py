"""Assembles the application: routes, problem documents, the OpenAPI document, the web interface and the gateway."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any, cast

import msgspec
from litestar import Controller, Litestar
from litestar.datastructures import State
from litestar.types import ASGIApp

from turnout.server.api.about import AboutController
from turnout.server.api.attention import AttentionController
from turnout.server.api.dispatch import DispatchController
from turnout.server.api.events import EventsController
from turnout.server.api.health import HealthController
from turnout.server.api.hooks import HooksController
from turnout.server.api.limits import LimitsController, RunLimitsController
from turnout.server.api.logs import LogsController
from turnout.server.api.orchestration import OrchestrationController
from turnout.server.api.rerun_preview import RerunPreviewController
from turnout.server.api.routing import RoutingController
from turnout.server.api.runs import RunsController
from turnout.server.api.schedules import SchedulesController
from turnout.server.api.session import SessionController
from turnout.server.api.stats import StatsController
from turnout.server.api.tasks import TasksController
from turnout.server.api.timeline import TimelineController
from turnout.server.api.tokens import AuditController, TokensController
from turnout.server.api.triggers import TriggersController
from turnout.server.api.workers import WorkersController
from turnout.server.api.workflows import WorkflowsController
from turnout.server.context import ServerContext
from turnout.server.dependencies import dependencies
from turnout.server.gateway import Gateway
from turnout.server.guards import role_guard_of
from turnout.server.openapi import DocumentController, openapi_config
from turnout.server.pages import PagesController
from turnout.server.problems import handle_error
from turnout.server.routes import DescribedRoutes, ServedRoutes
from turnout.server.schema_docs import completed, routes_of
from turnout.server.web import WebInterface

CONTROLLERS: tuple[type[Controller], ...] = (
    HealthController,
    SessionController,
    TokensController,
    AuditController,
    PagesController,
    DocumentController,
    RunsController,
    RerunPreviewController,
    TimelineController,
    TasksController,
    LogsController,
    EventsController,
    AttentionController,
    StatsController,
    OrchestrationController,
    AboutController,
    WorkersController,
    LimitsController,
    RunLimitsController,
    RoutingController,
    DispatchController,
    SchedulesController,
    WorkflowsController,
    HooksController,
    TriggersController,
)
"""Every controller; each of their routes declares its role."""


def create_app(context: ServerContext) -> Litestar:
    """Returns the application. Requests reach it through ``asgi_app``: it knows no caller by itself."""
    app = ServedRoutes(
        route_handlers=CONTROLLERS,
        dependencies=dependencies(context),
        exception_handlers={Exception: handle_error},
        openapi_config=None,
        request_max_body_size=context.settings.max_body_bytes,
        state=State(
            {
                "open_to_loopback": context.settings.open_to_loopback,
                "max_body_bytes": context.settings.max_body_bytes,
                "document": _encoded_document,
            }
        ),
        logging_config=None,
    )
    _check_roles(app)
    return app


def asgi_app(context: ServerContext) -> ASGIApp:
    """Returns what a server serves: the application and the web interface behind the gateway."""
    return Gateway(WebInterface(create_app(context), context.web_files, context.version), context)


def openapi_document() -> dict[str, Any]:
    """Returns the OpenAPI document of the API without a server: no request is served, so no context is used."""
    app = DescribedRoutes(
        route_handlers=CONTROLLERS,
        dependencies=dependencies(cast("ServerContext", None)),
        openapi_config=openapi_config(version("turnout")),
        logging_config=None,
    )
    return completed(app.openapi_schema.to_schema(), app)


@cache
def _encoded_document() -> bytes:
    return msgspec.json.encode(openapi_document())


def _check_roles(app: Litestar) -> None:
    """Raises RuntimeError for a route that declares no role."""
    for method, path, handler in routes_of(app):
        if role_guard_of(handler) is None:
            raise RuntimeError(f"the route {method} {path} declares no role: guards=[requires(…)]")
