"""Serves the static pages: the sign-in, and the parts of the API viewer. They load nothing from other hosts."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from litestar import Controller, MediaType, get

from turnout.server.guards import open_to_all, requires

SCRIPT, STYLE = "text/javascript", "text/css"


@cache
def static_file(name: str) -> bytes:
    """Returns a file of the folder ``static``."""
    return files("turnout.server").joinpath("static", name).read_bytes()


class PagesController(Controller):
    """The static pages."""

    include_in_schema = False

    @get("/sign-in", guards=[open_to_all], media_type=MediaType.HTML, sync_to_thread=False)
    def sign_in(self) -> bytes:
        return static_file("sign-in.html")

    @get("/sign-in.js", guards=[open_to_all], media_type=SCRIPT, sync_to_thread=False)
    def sign_in_script(self) -> bytes:
        return static_file("sign-in.js")

    @get("/sign-in.css", guards=[open_to_all], media_type=STYLE, sync_to_thread=False)
    def style(self) -> bytes:
        return static_file("page.css")

    @get("/api/viewer.js", guards=[requires("viewer", loopback=True)], media_type=SCRIPT, sync_to_thread=False)
    def viewer_script(self) -> bytes:
        return static_file("viewer.js")
