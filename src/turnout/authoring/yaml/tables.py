"""Reads a table of a workflow file by the Struct that it becomes: its fields are the keys, their types the forms."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache, cached_property
from types import NoneType, UnionType
from typing import Annotated, Any, Generic, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Meta, UnsetType

from turnout.authoring.yaml.forms import (
    Choice,
    Flag,
    Form,
    Number,
    Schema,
    Several,
    Text,
    TextTable,
    Whole,
)
from turnout.authoring.yaml.nodes import Node, Table, is_null
from turnout.authoring.yaml.read_state import Reading, Rejected, unique
from turnout.model.field_docs import field_docs
from turnout.model.names import suggest_similar

S = TypeVar("S", bound=msgspec.Struct)


class Key(msgspec.Struct, frozen=True, kw_only=True):
    """The properties of a key that the type of its field does not show."""

    example: str = ""
    """A line or lines of YAML that set it, for the reference."""
    also: tuple[str, ...] = ()
    """Other names of the key; each name has a form in camelCase as well."""
    form: Form[Any] | None = None
    """What may be written, if the type does not say it."""
    derived: bool = False
    """True: the reader sets it if it is not written."""
    joined: bool = False
    """True: values that are inherited come before those of the file; else they are replaced."""


DERIVED = Key(derived=True)
"""Marks a field that no key of the file sets."""


class Field(msgspec.Struct, frozen=True, kw_only=True):
    """One key of a table."""

    name: str
    names: tuple[str, ...]
    """Every name that is accepted, the canonical one first."""
    form: Any
    key: Key
    required: bool
    default: Any


class TableForm(Form[S], Generic[S]):
    """A table whose keys are the fields of a Struct. A key without a value counts as absent."""

    def __init__(self, kind: type[S], text: str = "", unsupported: Mapping[str, str] | None = None) -> None:
        self.kind = kind
        self.text = text or "a table"
        self._unsupported = dict(unsupported or {})
        """Keys of other systems that files bring along, and what to write instead."""

    @cached_property
    def fields(self) -> Mapping[str, Field]:
        return fields_of(self.kind)

    @cached_property
    def _by_name(self) -> Mapping[str, Field]:
        return {name: field for field in self.fields.values() for name in field.names}

    def read(self, node: Node, where: str, reading: Reading) -> S:
        return self.kind(**self.read_fields(node, where, reading))

    def read_fields(self, node: Node, where: str, reading: Reading) -> dict[str, Any]:
        """Returns the values of the keys that were written. Raises Rejected when all problems are reported."""
        values, sound = self.read_sound(node, where, reading)
        if not sound:
            raise Rejected
        return values

    def read_sound(
        self, node: Node, where: str, reading: Reading, *, partial: bool = False
    ) -> tuple[dict[str, Any], bool]:
        """Returns the values of the keys that could be read, and whether the table has no problem. A partial table
        needs none of its keys."""
        if not isinstance(node, Table):
            raise self.misfit(node, where or "the document", reading)
        problems = len(reading.findings)
        values: dict[str, Any] = {}
        written: dict[str, str] = {}
        sound = True
        for entry in unique(node, where, reading):
            field = self._by_name.get(entry.key)
            if field is None:
                self._report_unknown(entry.key, where, reading, entry.mark)
                continue
            path = f"{where}.{field.name}".lstrip(".")
            if field.name in written:
                why = f"{entry.key!r} and {written[field.name]!r} are one key: write one of them"
                reading.report("error", "duplicate_key", why, entry.mark, path)
                continue
            written[field.name] = entry.key
            reading.places[path] = entry.node.mark
            if is_null(entry.node):
                del written[field.name]
                continue
            try:
                values[field.name] = field.form.read(entry.node, path, reading)
            except Rejected:
                sound = False
        for field in self.fields.values():
            if field.required and field.name not in written and not partial:
                why = f"{where or 'the document'} has no `{field.name}`: write {field.form.text}"
                reading.report("error", "missing_key", why, node.mark, f"{where}.{field.name}".lstrip("."))
        errors = any(each.severity == "error" for each in reading.findings[problems:])
        return values, sound and not errors

    def _report_unknown(self, key: str, where: str, reading: Reading, mark: Any) -> None:
        path = f"{where}.{key}".lstrip(".")
        if key in self._unsupported:
            why = f"`{key}` is not supported: {self._unsupported[key]}"
            reading.report("error", "unsupported_key", why, mark, path)
            return
        similar = suggest_similar(key, self._by_name) or f"; the keys are {', '.join(self.fields)}"
        reading.report("error", "unknown_key", f"{where or 'a workflow'} has no key {key!r}{similar}", mark, path)

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        name = self.kind.__name__.removesuffix("Document")
        if name not in definitions:
            definitions[name] = {}  # a step can hold itself
            definitions[name] = self._object(name, definitions)
        return {"$ref": f"#/$defs/{name}"}

    def _object(self, name: str, definitions: dict[str, Schema]) -> Schema:
        properties: dict[str, Schema] = {}
        spellings: dict[str, Schema] = {}
        docs = field_docs(self.kind, msgspec.Struct)
        for field in self.fields.values():
            value = field.form.schema(definitions)
            described: Schema = {"description": docs.get(field.name, "")}
            properties[field.name] = {**described, "anyOf": [value, *([] if field.required else [{"type": "null"}])]}
            if others := field.names[1:]:
                spellings[f"^(?:{'|'.join(others)})$"] = {"$ref": f"#/$defs/{name}/properties/{field.name}"}
        required = [field for field in self.fields.values() if field.required]
        return {
            "type": "object",
            "description": " ".join((self.kind.__doc__ or "").split("\n\n")[0].split()),
            "properties": properties,
            **({"patternProperties": spellings} if spellings else {}),
            "additionalProperties": False,
            **({"allOf": [{"anyOf": [{"required": [n]} for n in f.names]} for f in required]} if required else {}),
        }


@cache
def fields_of(kind: type[msgspec.Struct]) -> Mapping[str, Field]:
    """Returns the keys of a table by their names, in the order of the Struct."""
    hints = get_type_hints(kind, include_extras=True)
    found: dict[str, Field] = {}
    for each in msgspec.structs.fields(kind):
        annotation = hints[each.name]
        key = next((extra for extra in _extras(annotation) if isinstance(extra, Key)), Key())
        if key is DERIVED:
            continue
        default = each.default if each.default is not NODEFAULT else None
        found[each.name] = Field(
            name=each.name,
            names=tuple(dict.fromkeys(form for name in (each.name, *key.also) for form in (name, camel_case(name)))),
            form=key.form or form_of(annotation),
            key=key,
            required=each.required and not key.derived,
            default=default,
        )
    return found


def camel_case(name: str) -> str:
    return re.sub(r"_([a-z])", lambda match: match[1].upper(), name)


def _extras(annotation: Any) -> tuple[Any, ...]:
    return get_args(annotation)[1:] if get_origin(annotation) is Annotated else ()


def form_of(annotation: Any, bounds: Meta | None = None) -> Form[Any]:
    """Returns the form of a type."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        meta = next((extra for extra in arguments[1:] if isinstance(extra, Meta)), bounds)
        return form_of(arguments[0], meta)
    if origin in (Union, UnionType):
        [kind] = [each for each in arguments if each not in (NoneType, UnsetType)]
        return form_of(kind, bounds)
    if origin is tuple:
        return Several(form_of(arguments[0]))
    if origin is Literal:
        return Choice(arguments)
    if origin is dict:
        return TextTable()
    meta = bounds or Meta()
    if annotation is str:
        return Text(least=meta.min_length or 0, pattern=meta.pattern or "")
    if annotation is int:
        return Whole(meta.ge, meta.le)  # type: ignore[arg-type]
    if annotation is float:
        return Number(meta.ge, meta.le)
    if annotation is bool:
        return Flag()
    return TableForm(annotation)
