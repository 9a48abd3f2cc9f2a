"""Reads the request of a step that speaks HTTP."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from turnout.authoring.yaml.forms import Anything, Form, Schema, Text
from turnout.authoring.yaml.nodes import Node, Scalar, Table
from turnout.authoring.yaml.read_state import Reading
from turnout.authoring.yaml.tables import Key, TableForm

_LINE = re.compile(r"(?:(GET|POST|PUT|PATCH|DELETE|HEAD|OPTIONS)\s+)?((?:https?://|\$)\S+)")
_URL = Text("an address, such as `https://example.com/health`", pattern=r"(?:https?://|\$)[^\s]+")


class HttpRequest(msgspec.Struct, frozen=True, kw_only=True):
    """A request that a step sends; its output is the body of the response."""

    url: Annotated[str, Key(example="url: https://example.com/items", form=_URL)]
    """The address, ``http://`` or ``https://``."""
    method: Annotated[
        Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"], Key(example="method: POST")
    ] = "GET"
    """The method."""
    headers: Annotated[dict[str, str], Key(example='headers: {Accept: "application/json"}')] = {}
    """Headers of the request."""
    body: Annotated[Any, Key(example="body: {id: 7}", form=Anything())] = None
    """Text, or a value that is sent as JSON."""
    expected_status: Annotated[
        tuple[Annotated[int, Meta(ge=100, le=599)], ...],
        Key(example="expected_status: [200, 404]", also=("expect_status", "status")),
    ] = ()
    """The statuses that count as success; without it 200 to 299."""


class HttpForm(Form[HttpRequest]):
    """A line such as ``POST https://…``, or a table."""

    text = "a line such as `GET https://example.com/health`, or a table with `url`"

    def __init__(self) -> None:
        self.table = TableForm(HttpRequest)

    def read(self, node: Node, where: str, reading: Reading) -> HttpRequest:
        match node:
            case Scalar(value=str() as text) if found := _LINE.fullmatch(text.strip()):
                return msgspec.convert({"method": found[1] or "GET", "url": found[2]}, HttpRequest)
            case Table():
                return self.table.read(node, where, reading)
            case _:
                raise self.misfit(node, where, reading)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        line: Schema = {"type": "string", "pattern": f"^\\s*{_LINE.pattern}\\s*$"}
        return {"anyOf": [line, self.table.schema(definitions)]}


HTTP = HttpForm()
