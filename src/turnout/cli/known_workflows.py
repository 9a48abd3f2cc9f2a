"""Checks a name of a workflow where there is no server to ask: by the configuration, and by what the database knows."""

from __future__ import annotations

from collections.abc import Mapping

from turnout.authoring.registry import AnyWorkflow
from turnout.contracts.store import Store
from turnout.errors import TurnoutError, WorkflowNotFound
from turnout.model.names import suggest
from turnout.model.webhooks import check_parameters
from turnout.runner.settings import configuration
from turnout.runner.targets import load_workflows


def check_webhook(workflow: str, mapping: Mapping[str, str], store: Store) -> None:
    """Raises WorkflowNotFound if the workflow is neither configured here, nor stored, nor one that an orchestrator
    on the database has; InvalidInput if a configured one does not have the parameters. Where nothing is known of any
    workflow, nothing is checked."""
    configured = _configured()
    for each in configured:
        if workflow in (each.name, f"{each.package}::{each.name}", each.spec.full_name):
            return check_parameters(mapping, each.spec)
    known = {each.full_name for each in store.definitions() if each.exists}
    known.update(name for session in store.live_sessions() for name in session.workflows)
    if any(name == workflow or name.endswith(f"::{workflow}") for name in known):
        return None
    names = sorted({each.name for each in configured} | {name.rpartition("::")[2] for name in known})
    if names:
        raise WorkflowNotFound(f"there is no workflow {workflow!r}{suggest(workflow, names)}", workflow=workflow)
    return None


def _configured() -> list[AnyWorkflow]:
    """Returns the workflows of the configuration that can be loaded."""
    config = configuration()
    places, found = config.workflow_places, list[AnyWorkflow]()
    for place in places:
        try:
            found += load_workflows(place, (config.root,), places)
        except TurnoutError:
            continue  # its own commands report it
    return found
