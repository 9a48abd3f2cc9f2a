"""Where is the code of a run that somebody wants to go on with?"""

from __future__ import annotations

from typing import Any

from turnout.authoring.workflow import Workflow
from turnout.contracts.store import Store
from turnout.errors import InvalidTarget, TurnoutError
from turnout.model.rows import StoredRun
from turnout.model.spec import WorkflowSpec
from turnout.runner.config import Config
from turnout.runner.stored_specs import spec_of_version
from turnout.runner.targets import find_workflow, load_workflows

AnyWorkflow = Workflow[..., Any]


def code_for(config: Config, target: str | None, store: Store, run: StoredRun) -> list[AnyWorkflow]:
    """The workflows of the target; else the configured ones; else those of the modules that the tasks came from."""
    spec = spec_of_version(store, run.new.version)
    if target is not None:
        found = _named(config, target)
        if not (mine := _of(found, spec)):
            raise InvalidTarget(
                f"{target} does not have the workflow {spec.name!r} of the run", code="no_such_workflow"
            )
        return mine
    for place in (*(config.get("workflows") or ()), *_modules(spec)):
        try:
            found = load_workflows(place, (config.root,))
        except TurnoutError:
            continue
        if mine := _of(found, spec):
            return mine
    raise InvalidTarget(
        f"the code of workflow {spec.full_name} was not found",
        code="no_code",
        hint="say where it is: --target file.py or --target module, or `workflows` in the configuration",
    )


def _named(config: Config, target: str) -> list[AnyWorkflow]:
    """All workflows of the module or file; or the configured one of this name, as ``turnout run`` takes it."""
    try:
        return load_workflows(target, (config.root,))
    except InvalidTarget as error:
        if error.code != "no_such_module":
            raise
        return [find_workflow(target, config.get("workflows") or (), (config.root,))]


def _of(workflows: list[AnyWorkflow], spec: WorkflowSpec) -> list[AnyWorkflow]:
    """The workflows with the wanted one first; none if it is not among them."""
    wanted = [each for each in workflows if (each.package, each.name) == (spec.package, spec.name)]
    return wanted and [*wanted, *(each for each in workflows if each not in wanted)]


def _modules(spec: WorkflowSpec) -> list[str]:
    """The modules of the tasks' functions, as far as they can be imported by their name."""
    refs = [task.body.ref.partition(":")[0] for task in spec.tasks if task.body.kind == "python"]
    return [module for module in dict.fromkeys(refs) if module and module != "__main__"]
