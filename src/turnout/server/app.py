"""Assembles the application: routes, problem documents, the OpenAPI document, and the gateway around it."""

from __future__ import annotations

from importlib.metadata import version

from litestar import Controller, Litestar
from litestar.datastructures import State
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute
from litestar.types import ASGIApp

from turnout.server.api.events import EventsController
from turnout.server.api.health import HealthController
from turnout.server.api.logs import LogsController
from turnout.server.api.routing import RoutingController
from turnout.server.api.runs import RunsController
from turnout.server.api.session import SessionController
from turnout.server.api.tasks import TasksController
from turnout.server.api.tokens import AuditController, TokensController
from turnout.server.api.workers import WorkersController
from turnout.server.api.workflows import WorkflowsController
from turnout.server.context import ServerContext
from turnout.server.dependencies import dependencies
from turnout.server.gateway import Gateway
from turnout.server.guards import role_guard_of
from turnout.server.openapi import openapi_config
from turnout.server.pages import PagesController
from turnout.server.problems import handle_error

CONTROLLERS: tuple[type[Controller], ...] = (
    HealthController,
    SessionController,
    TokensController,
    AuditController,
    PagesController,
    RunsController,
    TasksController,
    LogsController,
    EventsController,
    WorkersController,
    RoutingController,
    WorkflowsController,
)
"""Every controller; each of their routes declares its role."""


def create_app(context: ServerContext) -> Litestar:
    """Returns the application. Requests reach it through ``asgi_app``: it knows no caller by itself."""
    app = Litestar(
        route_handlers=CONTROLLERS,
        dependencies=dependencies(context),
        exception_handlers={Exception: handle_error},
        openapi_config=openapi_config(version("turnout")),
        request_max_body_size=context.settings.max_body_bytes,
        state=State({"open_to_loopback": context.settings.open_to_loopback}),
        logging_config=None,
    )
    _check_roles(app)
    return app


def asgi_app(context: ServerContext) -> ASGIApp:
    """Returns what a server serves: the application behind the gateway."""
    return Gateway(create_app(context), context)


def routes_of(app: Litestar) -> list[tuple[str, str, HTTPRouteHandler]]:
    """Returns the method, path and handler of each route. The gateway refuses OPTIONS, which the framework adds."""
    return [
        (str(method), route.path_format, handler)
        for route in app.routes
        if isinstance(route, HTTPRoute)
        for handler in route.route_handlers
        for method in handler.http_methods
        if method != "OPTIONS"
    ]


def _check_roles(app: Litestar) -> None:
    """Raises RuntimeError for a route that declares no role."""
    for method, path, handler in routes_of(app):
        if role_guard_of(handler) is None:
            raise RuntimeError(f"the route {method} {path} declares no role: guards=[requires(…)]")
