"""Compiles a workflow file: its text becomes workflows that a Runner takes, and all findings about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from graphlib import TopologicalSorter
from types import MappingProxyType
from typing import Any

import msgspec

from turnout.authoring.task import Task
from turnout.authoring.workflow import DEFAULT_PACKAGE, Workflow
from turnout.authoring.yaml.bodies import Reporter
from turnout.authoring.yaml.document import WorkflowDocument
from turnout.authoring.yaml.findings import Finding, has_errors
from turnout.authoring.yaml.follow_on import independent
from turnout.authoring.yaml.reader import PartialDocument, read_file
from turnout.authoring.yaml.resolution import cycles_in
from turnout.authoring.yaml.run_retries import retried, steps_document
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
    documents = _by_name(reading.partial)
    findings = list(reading.findings)
    order, cycles = _order(documents)
    findings += cycles
    made: dict[str, YamlWorkflow] = {}
    inner: list[YamlWorkflow] = []
    for each in order:
        part, reporter = documents[each], Reporter(documents[each].marks)
        # Two files may have local sub-workflows of the same name.
        main = reading.partial[0].document.name
        package = DEFAULT_PACKAGE if each == main else main
        home = f"{name}.yaml"
        own, own_package = part.document, package
        if part.document.retry_policy is not None:
            own, own_package = steps_document(part.document), main if each == main else f"{main}.{each}"
        builder = TaskBuilder(own, reporter, tasks, workflows, made, documents.keys() - made.keys())
        workflow = _compiled(own, part, reporter, builder, text, home, own_package)
        findings += independent(reporter.findings, part.errors)
        if workflow is None:
            continue
        made[each] = workflow
        if part.document.retry_policy is not None:
            inner.append(workflow)
            made[each] = retried(part.document, workflow, home, package)
    findings.sort(key=lambda each: (each.source, each.line, each.column))
    sound = not has_errors(findings)
    names = [each.name for each in reading.documents]
    return CompiledFile((*(made[each] for each in names), *inner) if sound else (), tuple(findings))


def _by_name(parts: Sequence[PartialDocument]) -> dict[str, PartialDocument]:
    """Returns the documents by the names that ``call:`` knows. Those without a name of their own have an error, and one
    that no text can have: what else is wrong with them is found all the same."""
    found: dict[str, PartialDocument] = {}
    for number, part in enumerate(parts):
        name = part.document.name
        found[name if name and name not in found else f"\0{number}"] = part
    return found


def _order(documents: Mapping[str, PartialDocument]) -> tuple[list[str], list[Finding]]:
    """Returns the documents with those that are called before those that call them, and a finding for each circle."""
    calls = {
        name: [step.call for step in part.document.steps if step.call is not None and step.call in documents]
        for name, part in documents.items()
    }
    findings: list[Finding] = []
    for path in cycles_in(calls):
        # The path goes from each workflow to one that calls it.
        caller, called = documents[path[1]], path[0]
        step = next(each for each in caller.document.steps if each.call == called)
        line, column = caller.marks.at(f"{step.where}.call")
        why = f"workflows call one another in a circle and would never end: {' → '.join(reversed(path))}"
        findings.append(Finding("error", "recursive_workflow", why, line, column, f"{step.where}.call"))
    if findings:
        return list(documents), findings
    return list(TopologicalSorter(calls).static_order()), []


def _compiled(
    document: WorkflowDocument,
    part: PartialDocument,
    reporter: Reporter,
    builder: TaskBuilder,
    text: str,
    where: str,
    package: str,
) -> YamlWorkflow | None:
    """Returns the workflow of a document; None if it has errors, all of them reported."""
    nodes = builder.build()
    if part.errors or not builder.complete or has_errors(reporter.findings):
        return None
    source = YamlSource(document, nodes, builder.result(), builder.gate, where)
    try:
        workflow = YamlWorkflow(document, source, text, part.marks, package, document.timeout_sec or None)
        workflow.define()
    except InvalidWorkflow as error:
        reporter.report("error", error.code, error.message, _place(error))
        return None
    return workflow


def _place(error: InvalidWorkflow) -> str:
    """Returns the place of an error of the whole workflow, as far as it is known."""
    entry, _, _ = str(error.fields.get("field", "")).rpartition(".")
    return entry if entry.startswith("notify") else "schedule" if "schedule" in error.fields else ""
