"""The tables of docs/reference/protocol.md name every field of every message with type and default, and no other."""

from __future__ import annotations

import re
from pathlib import Path
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest

from turnout.wire.documents import ResultMetadata, Step, StepError, StepMetadata, StepResult
from turnout.wire.messages import KINDS, Held, Line

PAGE = (Path(__file__).parents[3] / "docs" / "reference/protocol.md").read_text()
NESTED: dict[str, type[msgspec.Struct]] = {
    "in_flight": Held,
    "step": Step,
    "step.metadata": StepMetadata,
    "result": StepResult,
    "result.error": StepError,
    "result.metadata": ResultMetadata,
    "line": Line,
}
STRUCTS: dict[str, type[msgspec.Struct]] = {**KINDS, **NESTED}
NARROWER = {("result.metadata", "deferral"): "object or null"}
"""Fields that are read as anything, and checked later."""
SHARED = {"heartbeat"}
"""One struct, and a table for each way."""


def tables() -> dict[str, list[dict[str, tuple[str, str]]]]:
    """Of each name the tables that its heading has, as fields with their type and default."""
    found: dict[str, list[dict[str, tuple[str, str]]]] = {}
    for head, rows in re.findall(r"^\| `([\w.]+)`[^|\n]*\| type \| default \|.*\n\|[-|]+\n((?:\|.*\n)+)", PAGE, re.M):
        fields: dict[str, tuple[str, str]] = {}
        for row in rows.splitlines():
            names, kind, default, _ = (cell.strip() for cell in row.strip("|").split(" | ", 3))
            fields |= dict.fromkeys(re.findall(r"`(\w+)`", names), (kind, default))
        found.setdefault(head, []).append(fields)
    return found


def type_in_words(kind: Any) -> str:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is Any:
        return "any"
    if origin is Literal:
        return "text"
    if origin in (Union, UnionType):
        (inner,) = (each for each in arguments if each is not type(None))
        return f"{type_in_words(inner)} or null"
    if origin is tuple:
        inner = type_in_words(arguments[0])
        return "list" if inner == "any" else f"list of {inner}{'s' if inner == 'object' else ''}"
    if origin is dict:
        return "object of text" if arguments[1] is str else "object"
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return "object"
    return {str: "text", int: "integer", float: "number", bool: "boolean"}[kind]


def default_in_words(field: msgspec.structs.FieldInfo) -> str:
    if field.required:
        return "required"
    default = field.default if field.default is not msgspec.NODEFAULT else field.default_factory()
    return f"`{msgspec.json.encode(default).decode()}`"


def fields_of(name: str) -> dict[str, tuple[str, str]]:
    hints = get_type_hints(STRUCTS[name])
    return {
        field.name: (NARROWER.get((name, field.name)) or type_in_words(hints[field.name]), default_in_words(field))
        for field in msgspec.structs.fields(STRUCTS[name])
    }


@pytest.mark.parametrize("name", STRUCTS)
def test_every_field_stands_in_its_table_with_its_type_and_default(name: str) -> None:
    there = tables().get(name, [])
    assert len(there) == (2 if name in SHARED else 1), f"a table with the heading | `{name}` | type | default |"
    told = {field: said for each in there for field, said in each.items()}
    assert told == fields_of(name)


def test_there_is_no_table_of_something_that_does_not_exist() -> None:
    assert set(tables()) == set(STRUCTS)


def test_each_way_of_a_heartbeat_has_its_fields() -> None:
    worker, hub = tables()["heartbeat"]
    assert (list(worker), list(hub)) == (["seq", "credits", "in_flight"], ["seq", "keep", "hubs"])


def test_every_code_of_an_error_that_a_hub_or_worker_sends_is_explained() -> None:
    source = Path(__file__).parents[3] / "src" / "turnout"
    files = [*(source / "wire").glob("*.py"), *(source / "executors" / "workers").glob("*.py")]
    sent = {code for each in files for code in re.findall(r'\bError\(\s*"(\w+)"', each.read_text())}
    assert sent and {code for code in sent if f"| `{code}` |" not in PAGE} == set()
