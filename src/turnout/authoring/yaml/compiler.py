"""Compiles a workflow file: its text becomes workflows that a Runner takes, and all findings about it."""

from __future__ import annotations

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
from turnout.authoring.yaml.reader import read_file
from turnout.authoring.yaml.tasks import TaskBuilder
from turnout.authoring.yaml.workflow import YamlSource, YamlWorkflow
from turnout.errors import InvalidWorkflow

AnyTask = Task[..., Any]
AnyWorkflow = Workflow[..., Any]
NO_TASKS: Mapping[str, AnyTask] = MappingProxyType({})
NO_WORKFLOWS: Mapping[str, AnyWorkflow] = MappingProxyType({})


class CompiledFile(msgspec.Struct, frozen=True):
    """A workflow file, compiled."""

    workflows: tuple[YamlWorkflow, ...]
    """The workflow, then its local sub-workflows; none if there is an error."""
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
        return CompiledFile((), reading.findings)
    documents = dict(zip((each.name for each in reading.documents), reading.documents, strict=True))
    marks = dict(zip(documents, reading.marks, strict=True))
    findings = list(reading.findings)
    order, cycles = _order(documents, marks)
    findings += cycles
    made: dict[str, YamlWorkflow] = {}
    for each in order:
        document, reporter = documents[each], Reporter(marks[each])
        # Two files may have local sub-workflows of the same name.
        package = DEFAULT_PACKAGE if document is reading.documents[0] else reading.documents[0].name
        builder = TaskBuilder(document, reporter, tasks, workflows, made)
        made[each] = _compiled(document, reporter, builder, text, f"{name}.yaml", marks[each], package)
        findings += reporter.findings
    findings.sort(key=lambda each: (each.source, each.line, each.column))
    sound = not has_errors(findings)
    return CompiledFile(tuple(made[each] for each in documents) if sound else (), tuple(findings))


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
    workflow = YamlWorkflow(document, source, text, marks, package)
    if not has_errors(reporter.findings):
        try:
            _ = workflow.spec
        except InvalidWorkflow as error:
            reporter.report("error", error.code, error.message, "")
    return workflow
