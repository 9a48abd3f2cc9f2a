"""Reads a workflow file: its documents in canonical form, and every problem with its line and column."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from turnout.authoring.yaml.checks import check_env, check_limits, check_secrets
from turnout.authoring.yaml.document import StepDefaults, WorkflowDocument
from turnout.authoring.yaml.findings import MAX_FINDINGS, Finding, has_errors
from turnout.authoring.yaml.inheritance import NOT_INHERITED, inherit
from turnout.authoring.yaml.marks import Mark, Marks
from turnout.authoring.yaml.nodes import Node, documents_of, is_null
from turnout.authoring.yaml.read_state import Reading, Rejected, Source, TooManyFindings
from turnout.authoring.yaml.resolution import resolve_handlers, resolve_steps, resolved_type
from turnout.authoring.yaml.tables import TableForm
from turnout.authoring.yaml.unsupported import UNSUPPORTED_KEYS
from turnout.errors import InvalidYaml
from turnout.model.names import is_identifier

MAX_DOCUMENTS = 100

WORKFLOW = TableForm(WorkflowDocument, "a table with `steps`", UNSUPPORTED_KEYS)


class PartialDocument(msgspec.Struct, frozen=True):
    """A document with what could be read of it."""

    document: WorkflowDocument
    marks: Marks
    errors: tuple[Finding, ...]
    """Those of the document and of the base; values at their places are absent."""


class FileReading(msgspec.Struct, frozen=True):
    """One file, read."""

    documents: tuple[WorkflowDocument, ...]
    """The workflow and its local sub-workflows; none if there is an error."""
    findings: tuple[Finding, ...]
    """In the order of their places; those of the base come first."""
    marks: tuple[Marks, ...] = ()
    """The places of the values of each document."""
    partial: tuple[PartialDocument, ...] = ()
    """The documents with what could be read of them, also those with errors."""


def read_file(text: str, *, name: str, base: str | None = None) -> FileReading:
    """Returns the documents of a workflow file and all findings.

    The name is that of the file without its ending, the default for the workflow; the base is the text of the
    ``base.yaml`` that it inherits from. No text makes it raise.
    """
    inherited, findings = _read_base(base)
    base_errors = _errors(findings)
    nodes, problems = _nodes(text, "file")
    findings += problems
    found: list[PartialDocument] = []
    names: dict[str, int] = {}
    for number, node in enumerate(nodes):
        reading = Reading()
        try:
            document = _read_document(node, name if number == 0 else "", inherited, reading)
            if document is not None:
                _check_unique(document, node.mark, names, reading)
                errors = (*base_errors, *_errors(reading.findings))
                found.append(PartialDocument(document, Marks(reading.places), errors))
        except TooManyFindings:
            pass
        findings += reading.findings
        if len(findings) > MAX_FINDINGS:
            break
    ordered = sorted(findings, key=lambda each: (each.source, each.line, each.column))
    if has_errors(findings):
        return FileReading((), tuple(ordered), partial=tuple(found))
    return FileReading(
        tuple(each.document for each in found), tuple(ordered), tuple(each.marks for each in found), tuple(found)
    )


def _errors(findings: Iterable[Finding]) -> list[Finding]:
    return [each for each in findings if each.severity == "error"]


def _nodes(text: str, source: Source) -> tuple[list[Node], list[Finding]]:
    """Returns the documents that are not empty; of a malformed text none, and the reason."""
    reading = Reading(source)
    try:
        nodes = [node for node in documents_of(text) if not is_null(node)]
    except InvalidYaml as error:
        line, column = error.fields.get("line", 1), error.fields.get("column", 1)
        place = f"line {line}, column {column}: "
        reading.report("error", error.code, error.message.removeprefix(place), Mark(line, column))
        return [], reading.findings
    if not nodes and source == "file":
        reading.report("error", "empty_file", "the file is empty: write at least `steps:`", Mark(1, 1))
    if len(nodes) > MAX_DOCUMENTS:
        why = f"the file has {len(nodes):,} documents; {MAX_DOCUMENTS} are the most"
        reading.report("error", "bad_value", why, nodes[MAX_DOCUMENTS].mark)
    return nodes[:MAX_DOCUMENTS], reading.findings


def _read_base(base: str | None) -> tuple[dict[str, Any], list[Finding]]:
    if base is None:
        return {}, []
    nodes, findings = _nodes(base, "base")
    if not nodes:
        return {}, findings
    reading = Reading("base")
    values: dict[str, Any] = {}
    try:
        values, _ = WORKFLOW.read_sound(nodes[0], "", reading, partial=True)
        for key in NOT_INHERITED:
            if key in values:
                why = f"a base has no `{key}`: each workflow has its own"
                reading.report("error", "not_inherited", why, reading.places[key], key)
        if len(nodes) > 1:
            reading.report("error", "not_inherited", "a base is one document", nodes[1].mark)
    except (Rejected, TooManyFindings):
        pass
    return values, [*findings, *reading.findings]


def _read_document(
    node: Node, default_name: str, inherited: Mapping[str, Any], reading: Reading
) -> WorkflowDocument | None:
    """Returns what could be read of the document after every problem was reported; None if it is no table."""
    try:
        own, _ = WORKFLOW.read_sound(node, "", reading)
    except Rejected:
        return None
    values = inherit(inherited, own)
    if "name" not in values and "name" not in reading.places:
        _add_name(values, default_name, node.mark, reading)
    check_secrets(values, reading)
    check_env(values, reading)
    if "handler_on" in values:
        values["handler_on"] = resolve_handlers(values["handler_on"], reading)
    if "steps" in values:
        groups = values["steps"]
        values["type"] = resolved_type(groups, values.get("type"), reading)
        values["steps"] = resolve_steps(groups, values["type"], values.get("defaults", StepDefaults()), reading)
    values.setdefault("name", "")
    values.setdefault("steps", ())
    document = WorkflowDocument(**values)
    if "params" in values or "params" not in reading.places:
        check_limits(document, reading)
    return document


def _add_name(values: dict[str, Any], default: str, mark: Mark, reading: Reading) -> None:
    if not default:
        why = "this document has no `name`: every document after the first needs one, for `call:`"
        reading.report("error", "missing_key", why, mark, "name")
    elif not is_identifier(default):
        why = f"the file is called {default[:60]!r}, which no workflow can be: write `name:`"
        reading.report("error", "bad_name", why, mark, "name")
    else:
        values["name"] = default


def _check_unique(document: WorkflowDocument, mark: Mark, names: dict[str, int], reading: Reading) -> None:
    place = reading.places.get("name", mark)
    if document.name and document.name in names:
        why = f"the workflow {document.name!r} is here again, after line {names[document.name]}"
        reading.report("error", "duplicate_workflow", why, place, "name")
    names.setdefault(document.name, place.line)
