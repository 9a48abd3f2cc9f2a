"""Makes the registry and the dispatcher of a configuration, for a Runner and for a dry run."""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from turnout.authoring.definition import NO_DEFAULTS, TaskDefaults
from turnout.authoring.registry import Registry
from turnout.authoring.workflow import DEFAULT_TENANT, Workflow, defined_workflows
from turnout.contracts.executor import TaskExecutor
from turnout.contracts.store import RoutingStore
from turnout.contracts.workers import UsesHub
from turnout.dispatcher import WORKERS, DefaultDispatcher, Explanation
from turnout.dispatcher.placement import MODE, MODES, hub_warning, lacks_hub, require_hub
from turnout.errors import DefinitionError, InvalidRouting, InvalidSetting
from turnout.executors.process import ProcessExecutor
from turnout.executors.shell import ShellExecutor
from turnout.executors.thread import ThreadExecutor
from turnout.model.events import DispatchDecision
from turnout.model.extras import optional_packages
from turnout.model.limit_declarations import conflicts, declarations, without_size
from turnout.model.schedules import past_schedules
from turnout.model.spec import TaskSpec, WorkflowSpec
from turnout.model.texts import MAX_NAME_LENGTH, checked_text
from turnout.model.workers import WorkerView
from turnout.runner.config import Config
from turnout.runner.live_sessions import Needs, needs
from turnout.runner.routing_rules import RoutingRules, RulesInForce
from turnout.runner.settings import RunnerConfig, runner_config
from turnout.runtime.importable import runs_main_again

log = logging.getLogger("turnout.runner")


def registry_of(
    workflows: Iterable[Workflow[..., Any]] | None, tenant: str, defaults: TaskDefaults = NO_DEFAULTS
) -> Registry:
    """Returns the given workflows; with None, all that the program has defined so far under a name of their own."""
    registry = Registry(defaults)
    if workflows is not None:
        for workflow in workflows:
            registry.add(workflow, tenant)
        return registry
    found: dict[str, list[Workflow[..., Any]]] = {}
    for workflow in defined_workflows():
        found.setdefault(f"{workflow.package}::{workflow.name}", []).append(workflow)
    for name, same in found.items():
        # A name of two workflows, or a workflow that is invalid, is an error only when it is submitted.
        if len(same) == 1:
            try:
                registry.add(same[0], tenant)
            except DefinitionError as error:
                log.warning("workflow %s is left out: %s", name, error.message)
        else:
            log.debug("%d workflows are named %s: registered when submitted", len(same), name)
    return registry


def make_dispatcher(config: RunnerConfig) -> DefaultDispatcher:
    """Returns a dispatcher with the rules and all executors, among them always one named ``default``."""
    polled = frozenset(
        checked_text(key, "polling", longest=MAX_NAME_LENGTH, error=InvalidSetting) for key in config.polling
    )
    mode = config.placement.default_execution_mode
    if mode not in MODES:
        raise InvalidSetting(f"{MODE} is {mode!r}: write {' or '.join(map(repr, MODES))}", code="bad_setting", key=MODE)
    hub = config.hub is not None or config.placement.hub_configured
    placement = msgspec.structs.replace(config.placement, polled_keys=polled, hub_configured=hub)
    dispatcher = DefaultDispatcher(
        config.routing, placement, output_limit=config.max_output_bytes, breaker=config.settings.executor_breaker
    )
    dispatcher.starts = config.drives
    if config.hub is not None:
        with optional_packages():
            from turnout.executors.workers.executor import WorkersExecutor
        listens = config.listens and config.drives
        workers = WorkersExecutor(
            config.hub,
            listens=listens,
            breaker=config.settings.executor_breaker,
            max_output_bytes=config.max_output_bytes,
        )
        dispatcher.register_executor(WORKERS, workers)
    for key, executor in executors_of(config.executors, polled, config.max_output_bytes).items():
        dispatcher.register_executor(key, executor)
        if isinstance(executor, UsesHub):
            executor.bind_hub(dispatcher.executors.get(WORKERS))
    return dispatcher


def validate_all(dispatcher: DefaultDispatcher, registry: Registry, rules_origin: str | None = None) -> list[str]:
    """Checks the rules against the executors and all workflows, at the start of a Runner and in ``turnout config
    check``. Returns warnings; raises for what cannot work, with the origin of the rules if a rule is wrong."""
    specs = (spec for name in registry.workflows if (spec := registry.spec_of(name)))
    return _validate(dispatcher, specs, rules_origin)


def _validate(dispatcher: DefaultDispatcher, specs: Iterable[WorkflowSpec], rules_origin: str | None) -> list[str]:
    try:
        return dispatcher.validate(specs)
    except InvalidRouting as error:
        if rules_origin is None or "rule" not in error.fields:
            raise
        message = f"{rules_origin}: routing.rules, {error.message}"
        raise InvalidRouting(message, code=error.code, **error.fields) from error


def executors_of(
    given: Mapping[str, TaskExecutor], polled: Container[str], max_output_bytes: int
) -> dict[str, TaskExecutor]:
    """Returns the executors of a Runner: the given ones, and ``default``, ``process`` and ``shell`` unless others serve
    these keys. An executor starts nothing before its first attempt."""
    offered: dict[str, TaskExecutor] = {"default": ThreadExecutor(max_output_bytes=max_output_bytes)}
    if sys.platform != "win32":
        offered["process"] = ProcessExecutor(max_output_bytes=max_output_bytes)
        offered["shell"] = ShellExecutor(max_output_bytes=max_output_bytes)
    return {key: each for key, each in offered.items() if key not in polled or key == "default"} | dict(given)


def drives_stored(dispatcher: DefaultDispatcher, registry: Registry, spec: WorkflowSpec) -> bool:
    """True if runs of a workflow that this program does not have can be driven here: it has handlers, commands and
    calls of workflows that are registered here, or it is kept for open runs, and there is an executor for each body."""
    for body in () if registry.has_earlier(spec.version()) else (task.body for task in spec.tasks):
        if body.kind == "python" or (body.kind == "workflow" and registry.spec_of(body.ref) is None):
            return False
    try:
        dispatcher.validate([spec])
    except InvalidRouting as error:
        log.info("runs of %s are left to other orchestrators: %s", spec.full_name, error.message)
        return False
    return True


def for_workers(dispatcher: DefaultDispatcher, specs: Iterable[WorkflowSpec]) -> str | None:
    """Returns the full name of a task that may be sent to workers; None if there is none."""
    by_percent = any(
        rule.executor == WORKERS and rule.percent is not None and not rule.shadow for rule in dispatcher.routing.rules
    )
    for spec in specs:
        for task in spec.tasks:
            if by_percent or dispatcher.explain(task, spec).decision.executor_key == WORKERS:
                return task.full_name
    return None


def refuse_in_child() -> None:
    """Raises DefinitionError in a child process that imports a script which starts a Runner."""
    if runs_main_again():
        raise DefinitionError(
            "the script starts a Runner whenever it is imported, and the process executor has to import it to find its "
            'tasks: put what starts it under  if __name__ == "__main__":',
            code="unguarded_main",
        )


def remote_needs(
    workflow: Workflow[..., Any], found: Mapping[str, Explanation], connected: Callable[[], Sequence[WorkerView]]
) -> dict[str, Needs]:
    """Returns what each task that goes to workers asks for, and the workers that have it. ``connected`` is called only
    if there is such a task."""
    remote = [name for name, each in found.items() if each.decision.executor_key == WORKERS]
    if not remote:
        return {}
    tasks, views = {task.name: task for task in workflow.spec.tasks}, connected()
    return {name: needs(tasks[name], found[name].decision, views) for name in remote}


class Plan:
    """Answers from the rules and executors of a configuration, without running anything. The hub is at another address
    if one is given."""

    def __init__(self, config: Config, hub: str | None = None) -> None:
        self._settings: RunnerConfig = runner_config(config, hub=hub)
        self._dispatcher: DefaultDispatcher = make_dispatcher(msgspec.structs.replace(self._settings, listens=False))
        self._tenant: str = config.get("tenant") or DEFAULT_TENANT
        self._checked: list[WorkflowSpec] = []
        self._warned: set[str] = set()

    @property
    def executors(self) -> list[str]:
        return list(self._dispatcher.executors)

    def check(self, workflow: Workflow[..., Any]) -> tuple[WorkflowSpec, list[str]]:
        """Returns the workflow as a value, and warnings; raises what would keep it from running."""
        spec = workflow.define(self._tenant).spec
        found = _validate(self._dispatcher, [spec], self._settings.rules_origin)
        # The rules are checked against all workflows so far: a warning is returned with the workflow that brought it.
        warnings = [each for each in found if each not in self._warned]
        self._warned.update(warnings)
        warnings += self._limit_problems(workflow, spec)
        warnings += past_schedules(workflow.schedules, time.time())
        self._checked.append(spec)
        for task in spec.tasks:
            self._require_hub(task, self._dispatcher.explain(task, spec).decision)
        return spec, warnings

    def _limit_problems(self, workflow: Workflow[..., Any], spec: WorkflowSpec) -> list[str]:
        """Returns a warning about each limit and queue without a size. Raises InvalidLimit if the workflow has
        schedules: no caller reads why their runs are refused."""
        found = without_size(spec, self._settings.limits)
        if found and workflow.schedules:
            raise found[0]
        return [each.message for each in found]

    def limit_warnings(self) -> dict[str, list[str]]:
        """Returns by workflow, of all that were checked, a warning for each limit that others declare with another
        size."""
        found: dict[str, list[str]] = {}
        declared = [each for spec in self._checked for each in declarations(spec)]
        for name, sentence in conflicts(declared, self._settings.limits).items():
            for workflow in dict.fromkeys(each.workflow for each in declared if each.declared == name):
                found.setdefault(workflow, []).append(sentence)
        return found

    def check_all(self, workflows: Iterable[Workflow[..., Any]]) -> list[str]:
        """Returns warnings about these workflows together, by the function that a Runner calls when it starts."""
        return validate_all(self._dispatcher, registry_of(workflows, self._tenant), self._settings.rules_origin)

    def explain(self, workflow: Workflow[..., Any]) -> dict[str, Explanation]:
        """Returns where each task goes, by the function that decides it in a run."""
        spec = workflow.spec_for(self._tenant)
        _validate(self._dispatcher, [spec], self._settings.rules_origin)
        return {task.name: self._dispatcher.explain(task, spec, None) for task in spec.tasks}

    def follow(self, store: RoutingStore) -> RulesInForce:
        """Decides from now on by the rules that orchestrators on this database share, if there are any. Returns those
        in force, with the problem that shared ones have here."""
        rules = RoutingRules(store, self._dispatcher, given=False)
        rules.refresh()
        return rules.in_force

    def hub_warnings(self, workflow: Workflow[..., Any]) -> list[str]:
        """Returns a warning for each task, also of called workflows, that runs locally only because there is no hub.
        Raises HubUnavailable for one that may not."""
        family = Registry().family_of(workflow, self._tenant)
        found = [(task, self._dispatcher.explain(task, spec).decision) for spec in family for task in spec.tasks]
        for task, decision in found:
            self._require_hub(task, decision)
        return [hub_warning(task, decision) for task, decision in found if lacks_hub(decision)]

    def _require_hub(self, task: TaskSpec, decision: DispatchDecision) -> None:
        """Raises HubUnavailable if it would need a hub and none is configured. Whether one is up is not known here."""
        require_hub(decision, msgspec.structs.replace(self._dispatcher.settings, hub_up=True), task.full_name)

    def needs_hub(self, workflows: Iterable[Workflow[..., Any]]) -> bool:
        """True if a task of these, or of a workflow that they call, may go to workers."""
        if self._settings.hub is None:
            return False
        specs = [spec for workflow in workflows for spec in Registry().family_of(workflow, self._tenant)]
        return for_workers(self._dispatcher, specs) is not None
