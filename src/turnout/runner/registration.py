"""Which workflows does a program have the code for?"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

from turnout.authoring.defaults import NO_DEFAULTS, TaskDefaults
from turnout.authoring.registry import Registry
from turnout.authoring.workflow import Workflow, defined_workflows
from turnout.errors import DefinitionError

log = logging.getLogger("turnout.runner")


def registry_of(
    workflows: Iterable[Workflow[..., Any]] | None, tenant: str, defaults: TaskDefaults = NO_DEFAULTS
) -> Registry:
    """The given workflows; with None, all that the program has defined so far and that can be told apart by name."""
    registry = Registry(defaults)
    if workflows is not None:
        for workflow in workflows:
            registry.add(workflow, tenant)
        return registry
    found: dict[str, list[Workflow[..., Any]]] = {}
    for workflow in defined_workflows():
        found.setdefault(f"{workflow.package}::{workflow.name}", []).append(workflow)
    for name, some in found.items():
        # A name that stands for two workflows, or a workflow that cannot be drawn, is an error only for who uses it.
        if len(some) == 1:
            try:
                registry.add(some[0], tenant)
            except DefinitionError as error:
                log.warning("workflow %s is left out: %s", name, error.message)
        else:
            log.debug("%d workflows are named %s: registered when submitted", len(some), name)
    return registry
