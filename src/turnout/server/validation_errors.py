"""Says what is wrong with the parameters of a request, by the names that callers write, with the values that fit."""

from __future__ import annotations

from collections.abc import Iterator
from enum import Enum
from typing import Any, Literal, get_args, get_origin

from litestar.exceptions import ValidationException
from litestar.handlers import BaseRouteHandler
from litestar.params import ParameterKwarg
from litestar.typing import FieldDefinition

from turnout.errors import RequestError

INVALID_ENUM = "Invalid enum value"
"""How msgspec begins a message about a value that is none of several."""


def invalid_request(error: ValidationException, handler: BaseRouteHandler | None) -> RequestError:
    """Returns the refusal of a request whose parameters or body the framework could not read."""
    errors = [_named(each, handler) for each in error.extra or () if isinstance(each, dict)]
    sentences = [f"{each.get('key') or each.get('source') or 'the request'}: {each.get('message')}" for each in errors]
    detail = "; ".join(sentences) or error.detail or "the request does not fit its schema"
    return RequestError(detail, code="invalid_request", errors=errors)


def _named(found: dict[str, Any], handler: BaseRouteHandler | None) -> dict[str, Any]:
    """Returns one error with the name of its parameter as it is in the request, and the values that are right."""
    parameters = {} if handler is None else handler.parsed_fn_signature.parameters
    definition = parameters.get(str(found.get("key")))
    if definition is None or found.get("source") == "body":
        return found
    given = definition.kwarg_definition
    named = found | {"key": given.name} if isinstance(given, ParameterKwarg) and given.name else dict(found)
    choices = list(dict.fromkeys(_choices(definition)))
    if choices and str(found.get("message")).startswith(INVALID_ENUM):
        named["message"] = f"{found['message']}: write {', '.join(choices[:-1])} or {choices[-1]}"
    return named


def _choices(definition: FieldDefinition) -> Iterator[str]:
    """Yields the values that a parameter may have, if they are listed by its type."""
    kind = definition.annotation
    if isinstance(kind, type) and issubclass(kind, Enum):
        yield from (str(each.value) for each in kind)
    elif get_origin(kind) is Literal:
        yield from map(str, get_args(kind))
    for inner in definition.inner_types:
        yield from _choices(inner)
