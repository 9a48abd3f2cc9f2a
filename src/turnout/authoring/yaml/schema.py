"""Makes the JSON Schema of workflow files from their model, for editors and other programs."""

from __future__ import annotations

from typing import Any

from turnout.authoring.yaml.reader import WORKFLOW
from turnout.authoring.yaml.steps import ACTIONS, StepDocument
from turnout.authoring.yaml.tables import fields_of


def workflow_schema() -> dict[str, Any]:
    """Returns the schema of one document of a workflow file.

    ``properties`` has the canonical names, which editors offer; the other spellings are in ``patternProperties``.
    """
    definitions: dict[str, Any] = {}
    root = WORKFLOW.schema(definitions)
    actions = [name for action in ACTIONS for name in fields_of(StepDocument)[action].names]
    definitions["Step"]["anyOf"] = [{"required": [name]} for name in actions]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Turnout workflow",
        **root,
        "$defs": dict(sorted(definitions.items())),
    }
