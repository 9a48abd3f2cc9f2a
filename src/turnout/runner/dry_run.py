"""Where would tasks go? The dispatcher of a configuration, without a database and without running anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from turnout.authoring.registry import Registry
from turnout.authoring.workflow import DEFAULT_TENANT, Workflow
from turnout.dispatcher import WORKERS, DefaultDispatcher, Explanation
from turnout.dispatcher.placement import hub_warning, lacks_hub
from turnout.model.spec import WorkflowSpec
from turnout.model.workers import WorkerView
from turnout.runner.composition import for_workers, make_dispatcher, validate_all
from turnout.runner.config import Config
from turnout.runner.registration import registry_of
from turnout.runner.settings import RunnerConfig, runner_config
from turnout.runner.workers import Needs, needs


def remote_needs(
    workflow: Workflow[..., Any], found: Mapping[str, Explanation], connected: Callable[[], Sequence[WorkerView]]
) -> dict[str, Needs]:
    """Of the tasks that go to workers: what each asks for, and who has it. Nobody is looked for if none does."""
    remote = [name for name, each in found.items() if each.decision.executor_key == WORKERS]
    if not remote:
        return {}
    tasks, views = {task.name: task for task in workflow.spec.tasks}, connected()
    return {name: needs(tasks[name], found[name].decision, views) for name in remote}


class Plan:
    """A configuration's rules and executors, with the hub at another address if one is given; asked instead of used."""

    def __init__(self, config: Config, hub: str | None = None) -> None:
        self._settings: RunnerConfig = runner_config(config, hub=hub)
        self._dispatcher: DefaultDispatcher = make_dispatcher(msgspec.structs.replace(self._settings, listens=False))
        self._tenant: str = config.get("tenant") or DEFAULT_TENANT

    @property
    def executors(self) -> list[str]:
        return list(self._dispatcher.executors)

    def check(self, workflow: Workflow[..., Any]) -> tuple[WorkflowSpec, list[str]]:
        """The workflow as a value, and warnings; raises what would keep it from running."""
        spec = workflow.spec_for(self._tenant)
        return spec, self._dispatcher.validate([spec])

    def check_all(self, workflows: Iterable[Workflow[..., Any]]) -> list[str]:
        """Warnings about these workflows together, by the function that a Runner with them calls when it starts."""
        return validate_all(self._dispatcher, registry_of(workflows, self._tenant))

    def explain(self, workflow: Workflow[..., Any]) -> dict[str, Explanation]:
        """Where each task goes, by the function that decides it in a run."""
        spec, _ = self.check(workflow)
        return {task.name: self._dispatcher.explain(task, spec, None) for task in spec.tasks}

    def hub_warnings(self, workflow: Workflow[..., Any]) -> list[str]:
        """What to say of the workflow's tasks, and of those that it calls, that run locally only for want of a hub."""
        family = Registry().family_of(workflow, self._tenant)
        found = ((task, self._dispatcher.explain(task, spec).decision) for spec in family for task in spec.tasks)
        return [hub_warning(task, decision) for task, decision in found if lacks_hub(decision)]

    def needs_hub(self, workflows: Iterable[Workflow[..., Any]]) -> bool:
        """Whether a task of these, or of a workflow that they call, may go to workers."""
        if self._settings.hub is None:
            return False
        specs = [spec for workflow in workflows for spec in Registry().family_of(workflow, self._tenant)]
        return for_workers(self._dispatcher, specs) is not None
