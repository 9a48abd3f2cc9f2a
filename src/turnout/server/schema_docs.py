"""Completes the OpenAPI document: meanings of types and fields from docstrings, examples, roles, closed types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from litestar import Litestar
from litestar.handlers import HTTPRouteHandler
from litestar.routes import HTTPRoute

from turnout.model.field_docs import field_docs
from turnout.server.api.examples import BODIES
from turnout.server.guards import role_guard_of

Document = dict[str, Any]


def completed(document: Document, app: Litestar) -> Document:
    """Adds what the framework does not describe. The same document is returned."""
    _add_roles(document, app)
    _add_meanings(document["components"]["schemas"])
    _mark_optional_bodies(document)
    return document


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


def _add_roles(document: Document, app: Litestar) -> None:
    """Adds ``x-role`` to each operation: the role that a token needs for it."""
    for method, path, handler in routes_of(app):
        operation = document["paths"].get(path, {}).get(method.lower())
        guard = role_guard_of(handler)
        if operation is not None and guard is not None and guard.role is not None:
            operation["x-role"] = str(guard.role)


def _mark_optional_bodies(document: Document) -> None:
    """Marks bodies that may be null as optional: such a request may be sent without one."""
    operations = [each for path in document["paths"].values() for each in path.values() if isinstance(each, dict)]
    for body in [each["requestBody"] for each in operations if "requestBody" in each]:
        schemas = [media.get("schema", {}) for media in body["content"].values()]
        if any({"type": "null"} in each.get("oneOf", ()) for each in schemas):
            body["required"] = False


def _add_meanings(schemas: Document) -> None:
    examples = {type(body): msgspec.to_builtins(body) for body in BODIES}
    kinds: dict[str, list[type[msgspec.Struct]]] = {}
    for kind in _structs(msgspec.Struct):
        kinds.setdefault(kind.__name__, []).append(kind)
    for name, schema in schemas.items():
        properties: Document = schema.get("properties", {})
        kind = _kind_of(kinds.get(name.rpartition("_")[2], []), set(properties))
        if not properties or kind is None:
            continue
        schema["description"] = _text(kind.__doc__ or "")
        if kind in examples:
            schema["examples"] = [examples[kind]]
        if kind.__struct_config__.forbid_unknown_fields:
            schema["additionalProperties"] = False
        for field, meaning in field_docs(kind, msgspec.Struct).items():
            shown = properties.get(_shown_name(kind, field))
            if shown is not None:
                shown.setdefault("description", _text(meaning))


def _structs(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for each in kind.__subclasses__():
        if each.__module__.startswith("turnout."):
            yield each
        yield from _structs(each)


def _kind_of(candidates: list[type[msgspec.Struct]], properties: set[str]) -> type[msgspec.Struct] | None:
    """Returns the type with these fields; several types may have one name."""
    return next((kind for kind in candidates if set(kind.__struct_encode_fields__) == properties), None)


def _shown_name(kind: type[msgspec.Struct], field: str) -> str:
    names = dict(zip(kind.__struct_fields__, kind.__struct_encode_fields__, strict=True))
    return names.get(field, field)


def _text(docstring: str) -> str:
    return " ".join(docstring.split()).replace("``", "`")
