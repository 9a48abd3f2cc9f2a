"""Finds the workflow that a request names."""

from __future__ import annotations

from collections.abc import Mapping

from turnout.authoring.definition import Definition
from turnout.errors import WorkflowNotFound
from turnout.model.names import suggest
from turnout.runner.core import Core


def named_definition(core: Core, workflow: str) -> Definition:
    """Returns the definition that new runs of this name take."""
    if core.definitions is not None:
        # A definition that was removed takes no new runs, and its newest version does.
        return core.submitter.definition_of(core.definitions.catalog.workflow(workflow))
    return find_definition(core.registry.workflows, workflow)


def find_definition(known: Mapping[str, Definition], wanted: str) -> Definition:
    """Returns the workflow of this name, ``package::name`` or full name. Raises WorkflowNotFound."""
    found = [each for name, each in known.items() if name == wanted or name.endswith(f"::{wanted}")]
    if not found:
        names = [name.rpartition("::")[2] for name in known]
        raise WorkflowNotFound(f"there is no workflow {wanted!r}{suggest(wanted, names)}", workflow=wanted)
    if len(found) > 1:
        names = sorted(each.spec.full_name for each in found)
        raise WorkflowNotFound(
            f"several workflows are named {wanted!r}: give the full name, one of {', '.join(names)}",
            code="ambiguous_workflow",
            workflow=wanted,
        )
    return found[0]
