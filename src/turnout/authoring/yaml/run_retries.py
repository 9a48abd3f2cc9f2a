"""Gives a workflow file further runs after a failure: its steps are a child run, which the retries of one task repeat.

The engine retries a child run from what failed, in a run of its own that continues the one before. Delays, budgets and
the waiting caller are those of every task.
"""

from __future__ import annotations

from typing import Any, cast

import msgspec

from turnout.authoring.child import ChildTask
from turnout.authoring.workflow import Workflow
from turnout.authoring.yaml.document import WorkflowDocument
from turnout.authoring.yaml.inputs import input_name
from turnout.authoring.yaml.tasks import Node, retry_of
from turnout.authoring.yaml.workflow import YamlSource, YamlWorkflow
from turnout.model.spec import FromParam, FromTask, Template


def steps_document(document: WorkflowDocument) -> WorkflowDocument:
    """Returns the document of the steps alone: what says when and how often the workflow runs, and what it holds or
    sends for as long as it runs, is not theirs."""
    return msgspec.structs.replace(
        document,
        schedule=None,
        timezone=None,
        max_active_runs=None,
        queue=None,
        limits=(),
        priority=0,
        notify=(),
        retry_policy=None,
        hist_retention_days=None,
        hist_retention_runs=None,
    )


def retried(document: WorkflowDocument, steps: YamlWorkflow, where: str, package: str) -> YamlWorkflow:
    """Returns the workflow that runs these steps, the workflow of the same document, until they complete or its policy
    is used up. Its one task has the name of the workflow."""
    assert document.retry_policy is not None
    name, task = document.name, ChildTask(steps, local=True)
    kwargs: dict[str, Template] = {input_name(each): FromParam(input_name(each)) for each in document.params}
    spec = task.spec(name, kwargs=kwargs)
    spec = msgspec.structs.replace(spec, retry=retry_of(document.retry_policy))
    result = FromTask(name) if steps.source.result is not None else None
    source = YamlSource(document, {name: Node(spec, task)}, result, "", where)
    return YamlWorkflow(document, source, steps.text, steps.marks, package, timeout=None)


def steps_of(workflow: Workflow[..., Any]) -> Workflow[..., Any]:
    """Returns the workflow whose tasks are the steps: itself, or of one with further runs that of its attempts."""
    if isinstance(workflow, YamlWorkflow) and workflow.document.retry_policy is not None:
        task = workflow.tasks.get(workflow.document.name)  # beside it there may be notifications
        if isinstance(task, ChildTask):
            return cast("Workflow[..., Any]", task.workflow)
    return workflow
