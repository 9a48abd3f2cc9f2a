"""Routes are prepared by the first request for each, and described all at once."""

from __future__ import annotations

from litestar import Controller, get, post
from litestar.routes import HTTPRoute

from turnout.server.app import openapi_document
from turnout.server.routes import ServedRoutes


class Things(Controller):
    path = "/things"

    @get(sync_to_thread=False)
    def listed(self) -> list[str]:
        return ["one"]

    @post(sync_to_thread=False)
    def made(self) -> str:
        return "two"


def test_a_handler_is_prepared_once_when_it_is_first_looked_up() -> None:
    app = ServedRoutes(route_handlers=[Things], openapi_config=None, logging_config=None)
    [route] = [each for each in app.routes if isinstance(each, HTTPRoute)]
    handlers = route.route_handler_map
    assert {method: arguments for method, (_, arguments) in handlers.items()} == {"GET": None, "POST": None}
    handler, arguments = handlers["GET"]
    assert handler.has_sync_callable and arguments is not None
    assert handlers["GET"] == (handler, arguments)
    assert dict(handlers.items())["POST"][1] is None


def test_the_document_describes_the_api_and_not_its_own_address() -> None:
    paths = openapi_document()["paths"]
    assert "/api/v1/runs" in paths and "/api/openapi.json" not in paths and "/api/docs" not in paths
