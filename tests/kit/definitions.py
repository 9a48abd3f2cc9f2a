"""A small compiler of workflow files, for tests of what surrounds the real one: commands and calls only."""

from __future__ import annotations

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from turnout import Workflow, shell
from turnout.authoring.child import ChildTask
from turnout.authoring.yaml.document import WorkflowDocument
from turnout.authoring.yaml.findings import Finding, has_errors
from turnout.authoring.yaml.reader import read_file


def compile_small(
    text: str,
    *,
    name: str,
    base: str | None = None,
    tasks: Mapping[str, Any] | None = None,
    workflows: Mapping[str, Workflow[..., Any]] | None = None,
) -> Any:
    """Compiles the documents of a text. A call of a workflow that does not exist is an error, as is a Python task."""
    reading = read_file(text, name=name, base=base)
    findings = list(reading.findings)
    made: list[Workflow[..., Any]] = []
    for document in reading.documents:
        steps: list[Any] = []
        for step in document.steps:
            if step.call is not None:
                called = (workflows or {}).get(step.call)
                if called is None:
                    findings.append(Finding("error", "unknown_workflow", f"there is no workflow {step.call!r}", 1, 1))
                else:
                    steps.append(ChildTask(called, {"name": step.name}))
            elif step.python is not None:
                task = (tasks or {}).get(step.python)
                if task is None:
                    findings.append(Finding("error", "unknown_task", f"no module declares {step.python!r}", 1, 1))
                else:
                    steps.append(task.named(step.name))
            else:
                steps.append(shell(str(step.command[0]), name=step.name))
        if not has_errors(findings):
            made.append(_workflow(document, steps))
    return SimpleNamespace(workflows=() if has_errors(findings) else tuple(made), findings=tuple(findings))


def _workflow(document: WorkflowDocument, steps: list[Any]) -> Workflow[..., Any]:
    workflow: Any = Workflow(document.name, tasks=steps)
    workflow.document = document
    return workflow
