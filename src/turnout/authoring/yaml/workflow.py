"""Holds a workflow that a document of a YAML file defines: to a Runner it is a workflow like any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from turnout.authoring.graph_builder import GraphBuilder
from turnout.authoring.options import WorkflowOptions
from turnout.authoring.task import Task
from turnout.authoring.workflow import Workflow
from turnout.authoring.yaml.document import WorkflowDocument
from turnout.authoring.yaml.inputs import adapters, input_name, spec_params
from turnout.authoring.yaml.marks import Marks
from turnout.authoring.yaml.tasks import Node
from turnout.model.spec import Template


class YamlSource:
    """Gives the graph that was compiled from a document."""

    context_style = False
    ref: str | None = None
    replaceable = True

    def __init__(
        self, document: WorkflowDocument, nodes: Mapping[str, Node], result: Template | None, gate: str, where: str
    ) -> None:
        self._nodes = nodes
        self.params = spec_params(document.params)
        self.positional = tuple(input_name(each) for each in document.params)
        self.types = adapters(document.params)
        self.result = result
        self.gate = gate
        self.home: Mapping[str, Any] = {}
        self.where = where

    def draw(self, drawing: GraphBuilder[Task[..., Any]]) -> None:
        for name, node in self._nodes.items():
            drawing.specs[name] = node.spec
            drawing.tasks[name] = node.task


class YamlWorkflow(Workflow[..., Any]):
    """A workflow of a YAML file. Its result is an object of the outputs of its steps."""

    def __init__(
        self,
        document: WorkflowDocument,
        source: YamlSource,
        text: str,
        marks: Marks,
        package: str,
        timeout: float | None,
    ) -> None:
        self.document = document
        """The document that it was compiled from."""
        self.marks = marks
        """The places of the document's values."""
        self.text = text
        """The whole text of the file."""
        selector = document.worker_selector
        options: WorkflowOptions = {"timeout": timeout, "worker_selector": selector}
        options["package"] = package
        options["limits"] = [each.spec() for each in document.limits]
        options["max_active_runs"] = document.max_active_runs
        options["max_active_steps"] = document.max_active_steps
        options["queue"] = document.queue
        options["priority"] = document.priority
        if document.timezone is not None:
            options["timezone"] = document.timezone
        days = document.hist_retention_days
        options["keep_for"] = None if days is None else f"{days}d"
        options["keep_runs"] = document.hist_retention_runs
        options["notify"] = tuple(each.notify for each in document.notify)
        if isinstance(selector, dict) and document.affinity == "run":
            options["affinity"] = "run"
        if document.schedule is not None:
            options["schedule"] = [
                msgspec.structs.replace(each, skip_if_successful=each.skip_if_successful or document.skip_if_successful)
                for each in document.schedule.all()
            ]
        self._set_up(source, document.name, options)
        self.__doc__ = document.description or None
