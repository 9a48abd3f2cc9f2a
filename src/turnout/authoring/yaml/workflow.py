"""Holds a workflow that a document of a YAML file defines: to a Runner it is a workflow like any other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from turnout.authoring.graph_builder import GraphBuilder
from turnout.authoring.options import WorkflowOptions
from turnout.authoring.task import Task
from turnout.authoring.workflow import DEFAULT_PACKAGE, Workflow
from turnout.authoring.yaml.document import WorkflowDocument
from turnout.authoring.yaml.inputs import adapters, input_name, spec_params
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
        self, document: WorkflowDocument, source: YamlSource, text: str, package: str = DEFAULT_PACKAGE
    ) -> None:
        self.document = document
        """The document that it was compiled from."""
        self.text = text
        """The whole text of the file."""
        selector = document.worker_selector
        options: WorkflowOptions = {"timeout": document.timeout_sec or None, "worker_selector": selector}
        options["package"] = package
        options["notify"] = tuple(each.notify for each in document.notify)
        if isinstance(selector, dict) and document.affinity == "run":
            options["affinity"] = "run"
        self._set_up(source, document.name, options)
        self.__doc__ = document.description or None
