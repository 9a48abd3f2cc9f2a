"""Explains the workflows of this project by its configuration, and by the rules, workers and runs of its database."""

from __future__ import annotations

from turnout.authoring.yaml.run_retries import steps_of
from turnout.cli.database import count_not_driven, store_if_there
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
        started = find_workflow(target, config.workflow_places, (config.root,))
        workflow = steps_of(started)
        plan = Plan(config, hub)
        notes = self._follow_shared_rules(plan)
        found = plan.explain(workflow)
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
        notes += [
            f"orchestrator {orchestrator} has a hub, which is not configured here: --hub {address}"
            for orchestrator, address in others
        ]
        full_name = started.spec.full_name
        return Explained(full_name, tasks, count_not_driven(self._database, full_name), notes)

    def _follow_shared_rules(self, plan: Plan) -> list[str]:
        """Makes the plan decide by the rules of the database, as a run does. Returns what is to be said about them."""
        with store_if_there(self._database, configured=False) as store:
            if store is None:
                return []
            rules = plan.follow(store)
        if rules.problem is not None:
            return [f"version {rules.version} of the shared routing rules cannot work here: {rules.problem}"]
        return [f"by version {rules.version} of the shared routing rules"] if rules.origin == "database" else []
