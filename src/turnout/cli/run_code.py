"""Finds the code of a stored run: the workflows of a target, of the configuration, or of the modules of its tasks."""

from __future__ import annotations

from typing import Any, TypeAlias

from turnout.authoring.workflow import Workflow
from turnout.contracts.store import Store
from turnout.errors import InvalidTarget, TurnoutError
from turnout.model.rows import StoredRun
from turnout.model.spec import WorkflowSpec
from turnout.runner.config import Config
from turnout.runner.run_reader import spec_of_version
from turnout.runner.targets import find_workflow, load_workflows

AnyWorkflow: TypeAlias = Workflow[..., Any]


def workflows_of(config: Config, target: str | None, store: Store, run: StoredRun) -> list[AnyWorkflow]:
    """Returns the workflows of the target, else of the configuration, else of the modules of the run's tasks. Empty if
    they are not found and the run needs no code."""
    spec = spec_of_version(store, run.new.version)
    if target is not None:
        found = _target_workflows(config, target)
        if not (matching := _with_first(found, spec)):
            raise InvalidTarget(
                f"{target} does not have the workflow {spec.name!r} of the run", code="no_such_workflow"
            )
        return matching
    configured: tuple[str, ...] = config.workflow_places
    for module in (*configured, *_modules(spec)):
        try:
            found = load_workflows(module, (config.root,), configured)
        except TurnoutError:
            continue
        if matching := _with_first(found, spec):
            return matching
    if not spec.needs_code:
        return []  # commands and handlers are stored with the run
    raise InvalidTarget(
        f"the code of workflow {spec.full_name} was not found",
        code="no_code",
        hint="say where it is: --target file.py or --target module, or `workflows` in the configuration",
    )


def _target_workflows(config: Config, target: str) -> list[AnyWorkflow]:
    """Returns all workflows of the module or file, or the configured workflow of this name."""
    try:
        return load_workflows(target, (config.root,), config.workflow_places)
    except InvalidTarget as error:
        if error.code != "no_such_module":
            raise
        return [find_workflow(target, config.workflow_places, (config.root,))]


def _with_first(workflows: list[AnyWorkflow], spec: WorkflowSpec) -> list[AnyWorkflow]:
    """Returns the workflows, that of the spec first; empty if it is not among them."""
    wanted = [each for each in workflows if (each.package, each.name) == (spec.package, spec.name)]
    return wanted and [*wanted, *(each for each in workflows if each not in wanted)]


def _modules(spec: WorkflowSpec) -> list[str]:
    """Returns the modules of the tasks' functions that can be imported by name."""
    refs = [task.body.ref.partition(":")[0] for task in spec.tasks if task.body.kind == "python"]
    return [module for module in dict.fromkeys(refs) if module and module != "__main__"]
