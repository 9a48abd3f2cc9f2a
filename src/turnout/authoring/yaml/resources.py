"""Reads the resources of a step."""

from __future__ import annotations

from turnout.authoring.yaml.forms import Form, Schema
from turnout.authoring.yaml.nodes import Node, Scalar, Table, plain
from turnout.authoring.yaml.read_state import Reading
from turnout.errors import InvalidWorkflow
from turnout.model.resources import BAD_RESOURCES, Resources, parse_resources


class ResourcesForm(Form[Resources | None]):
    """A table of amounts by name."""

    text = "a table of amounts such as `{gpu: 1, cpu: 4, memory: 8GiB}`"
    code = BAD_RESOURCES

    def read(self, node: Node, where: str, reading: Reading) -> Resources | None:
        if not isinstance(node, Table) or not all(isinstance(each.node, Scalar) for each in node.entries):
            raise self.misfit(node, where, reading)
        try:
            return parse_resources(plain(node), where)
        except InvalidWorkflow as error:
            wrong = next((each for each in node.entries if each.key == error.fields.get("resource")), None)
            mark = node.mark if wrong is None else wrong.node.mark
            raise reading.reject(error.code, error.message, mark, where) from error

    def schema(self, definitions: dict[str, Schema]) -> Schema:
        amount = {"type": ["number", "string"], "minimum": 0}
        return {"type": "object", "minProperties": 1, "additionalProperties": amount}


RESOURCES = ResourcesForm()
