"""Explains the workflows of this project by its configuration, with what its database knows of workers and runs."""

from __future__ import annotations

from turnout.authoring.yaml.run_retries import steps_of
from turnout.cli.database import count_not_driven
from turnout.cli.service import Explained, ExplainedTask
from turnout.cli.workers import connected_workers, hubs_at
from turnout.dispatcher.placement import hub_warning, needs_hub_config
from turnout.runner.composition import Plan, remote_needs
from turnout.runner.settings import configuration
from turnout.runner.targets import find_workflow


class LocalWorkflows:
    """Workflows that this process can load."""

    def __init__(self, database: str | None) -> None:
        self._database = database

    def explain(self, target: str, hub: str | None) -> Explained:
        config = configuration()
        started = find_workflow(target, config.get("workflows") or (), (config.root,))
        workflow = steps_of(started)
        found = Plan(config, hub).explain(workflow)
        needs = remote_needs(workflow, found, lambda: connected_workers(self._database))
        specs = {each.name: each for each in workflow.spec.tasks}
        tasks = [
            ExplainedTask(
                name,
                each,
                hub_warning(specs[name], each.decision) if needs_hub_config(each.decision) else None,
                needs.get(name),
            )
            for name, each in found.items()
        ]
        others = hubs_at(self._database) if hub is None and config.hub is None else ()
        notes = [
            f"orchestrator {orchestrator} has a hub, which is not configured here: --hub {address}"
            for orchestrator, address in others
        ]
        full_name = started.spec.full_name
        return Explained(full_name, tasks, count_not_driven(self._database, full_name), notes)
