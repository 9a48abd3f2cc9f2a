"""Compiles a workflow file: its text becomes workflows that a Runner takes, and all findings about it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter
from types import MappingProxyType
from typing import Any

import msgspec

from turnout.authoring.task import Task
from turnout.authoring.workflow import DEFAULT_PACKAGE, Workflow
from turnout.authoring.yaml.bodies import Reporter
from turnout.authoring.yaml.document import WorkflowDocument
from turnout.authoring.yaml.findings import Finding, has_errors
from turnout.authoring.yaml.marks import Marks
from turnout.authoring.yaml.reader import FileReading, read_file
from turnout.authoring.yaml.run_retries import retried, steps_document
from turnout.authoring.yaml.tasks import TaskBuilder
from turnout.authoring.yaml.workflow import YamlSource, YamlWorkflow
from turnout.errors import InvalidWorkflow

AnyTask = Task[..., Any]
AnyWorkflow = Workflow[..., Any]
NO_TASKS: Mapping[str, AnyTask] = MappingProxyType({})
NO_WORKFLOWS: Mapping[str, AnyWorkflow] = MappingProxyType({})
UNRESOLVED = ("cycle", "duplicate_step", "duplicate_workflow", "too_many_findings")
"""Codes of errors that leave no order or no names of steps."""
REFERENCES = ("unknown_reference", "not_before")
NAMES = re.compile(r"^(params|env|secrets|handler_on)|\.(output|id|name)$")
"""Paths of what declares names that texts refer to."""


class CompiledFile(msgspec.Struct, frozen=True):
    """A workflow file, compiled."""

    workflows: tuple[YamlWorkflow, ...]
    """The workflow, then its local sub-workflows, then the steps of those with further runs after a failure; none if
    there is an error."""
    findings: tuple[Finding, ...]
    """Errors, warnings and notes, in the order of their places."""


def compile_file(
    text: str,
    *,
    name: str,
    base: str | None = None,
    tasks: Mapping[str, AnyTask] = NO_TASKS,
    workflows: Mapping[str, AnyWorkflow] = NO_WORKFLOWS,
) -> CompiledFile:
    """Returns the workflows of a file and all findings about it. No text makes it raise.

    ``name`` is that of the file without its ending, the default for the workflow. ``tasks`` are the declared Python
    tasks by ``module:function`` that ``python:`` may name, ``workflows`` the others that ``call:`` may name.
    """
    reading = read_file(text, name=name, base=base)
    if not reading.documents:
        return CompiledFile((), (*reading.findings, *_further_findings(reading, tasks, workflows)))
    documents = dict(zip((each.name for each in reading.documents), reading.documents, strict=True))
    marks = dict(zip(documents, reading.marks, strict=True))
    findings = list(reading.findings)
    order, cycles = _order(documents, marks)
    findings += cycles
    made: dict[str, YamlWorkflow] = {}
    inner: list[YamlWorkflow] = []
    for each in order:
        document, reporter = documents[each], Reporter(marks[each])
        # Two files may have local sub-workflows of the same name.
        main = reading.documents[0].name
        package = DEFAULT_PACKAGE if each == main else main
        home = f"{name}.yaml"
        policy = document.retry_policy
        own = document if policy is None else steps_document(document)
        builder = TaskBuilder(own, reporter, tasks, workflows, made)
        if policy is None:
            made[each] = _compiled(own, reporter, builder, text, home, marks[each], package)
        else:
            own_package = main if each == main else f"{main}.{each}"
            inner.append(_compiled(own, reporter, builder, text, home, marks[each], own_package))
            made[each] = retried(document, inner[-1], home, package)
        findings += reporter.findings
    findings.sort(key=lambda each: (each.source, each.line, each.column))
    sound = not has_errors(findings)
    return CompiledFile((*(made[each] for each in documents), *inner) if sound else (), tuple(findings))


def _further_findings(
    reading: FileReading, tasks: Mapping[str, AnyTask], workflows: Mapping[str, AnyWorkflow]
) -> list[Finding]:
    """Returns the errors in the sound steps of a file with errors. What such an error may have caused is left out."""
    errors = [each for each in reading.findings if each.severity == "error"]
    if any(each.code in UNRESOLVED for each in errors) or len(reading.partial) != 1:
        return []
    [(document, marks)] = reading.partial
    unsound = {
        step.where for step in document.steps for each in errors if f"{each.where}.".startswith(f"{step.where}.")
    }
    names_unsound = any(each.code == "unknown_key" or NAMES.search(each.where) for each in errors)
    reporter = Reporter(marks)
    TaskBuilder(document, reporter, tasks, workflows, {}).build()
    return [
        each
        for each in reporter.findings
        if each.severity == "error"
        and not any(f"{each.where}.".startswith(f"{where}.") for where in unsound)
        and (each.code not in REFERENCES or not names_unsound)
    ]


def _order(documents: Mapping[str, WorkflowDocument], marks: Mapping[str, Marks]) -> tuple[list[str], list[Finding]]:
    """Returns the documents with those that are called before those that call them; if they call one another in a
    circle none, and the finding."""
    calls = {
        name: [step.call for step in document.steps if step.call is not None and step.call in documents]
        for name, document in documents.items()
    }
    try:
        return list(TopologicalSorter(calls).static_order()), []
    except CycleError as error:
        path: list[str] = error.args[1]
        # The path goes from each workflow to one that calls it.
        caller, called = path[1], path[0]
        step = next(each for each in documents[caller].steps if each.call == called)
        line, column = marks[caller].at(f"{step.where}.call")
        why = f"workflows call one another in a circle and would never end: {' → '.join(reversed(path))}"
        return [], [Finding("error", "recursive_workflow", why, line, column, f"{step.where}.call")]


def _compiled(
    document: WorkflowDocument,
    reporter: Reporter,
    builder: TaskBuilder,
    text: str,
    where: str,
    marks: Marks,
    package: str,
) -> YamlWorkflow:
    nodes = builder.build()
    source = YamlSource(document, nodes, builder.result(), builder.gate, where)
    workflow = YamlWorkflow(document, source, text, marks, package, document.timeout_sec or None)
    if not has_errors(reporter.findings):
        try:
            workflow.define()
        except InvalidWorkflow as error:
            reporter.report("error", error.code, error.message, "schedule" if "schedule" in error.fields else "")
    return workflow
