"""How does a value that an author wrote, placeholders anywhere inside it, become a template?"""

from __future__ import annotations

from typing import Any

from turnout.authoring.refs import Origin, Ref, describe, drawing_of, source_of
from turnout.authoring.source_location import place
from turnout.errors import InvalidWorkflow, NotJson, TooLarge
from turnout.model.spec import DictOf, ListOf, Literally, Template
from turnout.model.types import plain
from turnout.model.values import dump_output


def template_of(value: Any, drawing: Origin, what: str) -> Template:
    """The template for one argument or for the result; ``what`` names it in errors. Tuples become lists."""
    match value:
        case Ref():
            return _source(value, drawing, what)
        case list() | tuple() if _holds_refs(value):
            return ListOf(tuple(template_of(item, drawing, what) for item in value))
        case dict() if _holds_refs(value):
            for key in value:
                if not isinstance(key, str):
                    raise InvalidWorkflow(f"{place()}: {what} has the key {key!r}: keys are strings", code="not_json")
            return DictOf({key: template_of(item, drawing, what) for key, item in value.items()})
        case _:
            return Literally(_json(value, what))


def _source(ref: Ref, drawing: Origin, what: str) -> Template:
    if drawing_of(ref) is not drawing:
        raise InvalidWorkflow(
            f"{place()}: {what} is {describe(ref)} of workflow {drawing_of(ref).workflow!r}, "
            f"but this is workflow {drawing.workflow!r}: pass it on as a parameter",
            code="foreign_reference",
        )
    return source_of(ref)


def _holds_refs(value: Any) -> bool:
    match value:
        case Ref():
            return True
        case list() | tuple():
            return any(_holds_refs(item) for item in value)
        case dict():
            return any(_holds_refs(part) for pair in value.items() for part in pair)
        case _:
            return False


def _json(value: Any, what: str) -> Any:
    try:
        made = plain(value, what)
        dump_output(made, what=what)
    except (NotJson, TooLarge) as error:
        way_out = (
            ". A result that does not exist yet cannot be part of an object: make the object in a task, or pass a dict"
            if error.fields.get("type") == Ref.__qualname__
            else ""
        )
        raise InvalidWorkflow(f"{place()}: {error.message}{way_out}", code=error.code) from error
    return made
