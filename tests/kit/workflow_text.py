"""Workflow files in tests: one document, one step, or the findings of a text."""

from __future__ import annotations

from textwrap import dedent, indent

from turnout.authoring.yaml.document import StepDocument, WorkflowDocument
from turnout.authoring.yaml.findings import Finding
from turnout.authoring.yaml.reader import read_file

STEP = "\nsteps:\n  - make\n"


def workflow_of(text: str, base: str | None = None) -> WorkflowDocument:
    """The one document of a text that has no errors."""
    reading = read_file(dedent(text), name="orders", base=base)
    assert [each for each in reading.findings if each.severity == "error"] == []
    [document] = reading.documents
    return document


def keys_of(text: str) -> WorkflowDocument:
    """The document with these keys, and one step."""
    return workflow_of(dedent(text) + STEP)


def step_of(text: str) -> StepDocument:
    """The one step with these keys; it runs make if they say nothing else."""
    keys = dedent(text).strip("\n")
    action = any(line.split(":")[0] in ACTIONS for line in keys.splitlines())
    [step] = workflow_of("steps:\n  -\n" + indent(keys if action else f"command: make\n{keys}", "    ")).steps
    return step


ACTIONS = ("command", "script", "call", "run", "handler", "python", "http")


def errors_of(text: str, base: str | None = None) -> list[Finding]:
    """The errors of a text, of which nothing can be used then."""
    reading = read_file(dedent(text), name="orders", base=base)
    errors = [each for each in reading.findings if each.severity == "error"]
    assert not errors or reading.documents == ()
    return errors


def error_of(text: str) -> Finding:
    [error] = errors_of(text)
    return error


def notes_of(text: str) -> list[str]:
    """The codes of the findings that are no errors."""
    return [each.code for each in read_file(dedent(text), name="orders").findings if each.severity != "error"]
