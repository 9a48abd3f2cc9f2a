"""The routes of the API: those that are served, and those that the OpenAPI document describes."""

from __future__ import annotations

from typing import Any, TypeAlias

from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.plugins import PluginProtocol
from litestar.plugins.core import MsgspecDIPlugin
from litestar.router import Router
from litestar.routes import HTTPRoute
from litestar.types import ControllerRouterHandler, Method

Prepared: TypeAlias = tuple[HTTPRouteHandler, Any]
"""A handler, and how its arguments are taken from a request; None if it was not prepared yet."""


class DescribedRoutes(Litestar):
    """The application without plugins for types that the API has none of: where pydantic and attrs are installed,
    Litestar imports them at every start. All routes are prepared, as the OpenAPI document needs them."""

    @staticmethod
    def _get_default_plugins(plugins: list[PluginProtocol]) -> list[PluginProtocol]:
        return [*plugins, MsgspecDIPlugin()]


class ServedRoutes(DescribedRoutes):
    """The application whose routes are prepared by the first request for each. To prepare all of them would take a
    fifth of the time of a start. Those for OPTIONS, which the gateway refuses, are left out."""

    def register(self, value: ControllerRouterHandler) -> None:
        for route in Router.register(self, value):
            assert isinstance(route, HTTPRoute)  # there are no others here
            route.route_handler_map = HandlersByMethod(self, route)
        self.asgi_router.construct_routing_trie()


class HandlersByMethod(dict[Method, Prepared]):
    """The handlers of one route, each prepared when it is first looked up."""

    def __init__(self, app: Litestar, route: HTTPRoute) -> None:
        super().__init__()
        self._app = app
        self._route = route
        for handler in route.route_handlers:
            self.update(dict.fromkeys(handler.http_methods - {"OPTIONS"}, (handler, None)))

    def __getitem__(self, method: Method) -> Prepared:
        handler, arguments = super().__getitem__(method)
        if arguments is None:
            handler.on_registration(self._app)
            arguments = handler.create_kwargs_model(path_parameters=self._route.path_parameters)
            self[method] = handler, arguments
        return handler, arguments
