"""Checks routing rules against executors and workflows, and refuses at start what would fail later."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from turnout.contracts.executor import BatchExecutor, TaskExecutor
from turnout.dispatcher.executor_adapter import batch_executors
from turnout.dispatcher.placement import (
    NO_HUB,
    WORKERS,
    PlacementSettings,
    decide,
    hub_warning,
    lacks_hub,
    never_fits,
)
from turnout.dispatcher.routing import Router, RoutingConfig
from turnout.errors import InvalidRouting, NoExecutor
from turnout.model.events import DispatchDecision
from turnout.model.spec import TaskSpec, WorkflowSpec


def validate_routing(
    config: RoutingConfig,
    executors: Mapping[str, TaskExecutor],
    settings: PlacementSettings,
    workflows: Iterable[WorkflowSpec] = (),
) -> list[str]:
    """Raises ``InvalidRouting`` for what cannot work; returns warnings for what is only doubtful."""
    check = _Check(config, batch_executors(executors.items()), settings)
    check.keys()
    for workflow in workflows:
        for task in workflow.tasks:
            if task.body.kind != "workflow":
                check.task(task, workflow)
    check.unmatched_rules()
    return check.warnings


class _Check:
    def __init__(
        self, config: RoutingConfig, executors: Mapping[str, BatchExecutor], settings: PlacementSettings
    ) -> None:
        self.config = config
        self.executors = executors
        self.settings = settings
        self.router = Router(config)
        self.warnings: list[str] = []
        self.matched: set[int] = set()
        self.saw_tasks = False
        self._variants: dict[tuple[int, ...], list[Router]] = {}

    def keys(self) -> None:
        self._known(self.config.default_executor, "the default executor")
        for route in self.router.routes:
            self._known(route.rule.executor, route.title, rule=route.number, pattern=route.rule.pattern)

    def task(self, task: TaskSpec, workflow: WorkflowSpec) -> None:
        self.saw_tasks = True
        candidates = self.router.candidates(task.full_name)
        self.matched.update(route.number for route in candidates)
        if task.executor is not None:
            self._known(task.executor, f'task "{task.full_name}"', task=task.full_name)
        for decision in self._possible(task, workflow):
            if decision.executor_key == WORKERS and not self.settings.hub_configured:
                self._warn(hub_warning(task, decision))
                continue
            if lacks_hub(decision) and (task.worker_selector or workflow.worker_selector):
                self._warn(hub_warning(task, decision))
            self._can_run(task, decision.executor_key, decision.reason)
            self._fits(task, decision)
        for route in candidates:
            if route.rule.shadow and task.at_most_once:
                raise InvalidRouting(
                    f'{route.title} makes a shadow copy of task "{task.full_name}", which runs at most once; '
                    "narrow the pattern or drop at_most_once",
                    code="shadow_at_most_once",
                    rule=route.number,
                    task=task.full_name,
                )
            if route.rule.shadow:
                self._can_run(task, route.rule.executor, f"shadow {route.reason}")

    def unmatched_rules(self) -> None:
        for route in self.router.routes if self.saw_tasks else ():
            if route.number not in self.matched:
                self.warnings.append(
                    f"{route.title} matches no known task; full names look like tenant::package::workflow::task"
                )

    def _warn(self, warning: str) -> None:
        if warning not in self.warnings:
            self.warnings.append(warning)

    def _known(self, key: str, who: str, **fields: object) -> None:
        if key == WORKERS and not self.settings.hub_configured:
            self._warn(f'{who} names "{WORKERS}", {NO_HUB}: such tasks run locally')
        elif key not in self.executors and key not in self.settings.polled_keys:
            known = sorted({*self.executors, *self.settings.polled_keys})
            raise InvalidRouting(
                f'{who} names executor "{key}", which is not registered; known are {", ".join(known) or "none"}',
                code="unknown_executor",
                executor=key,
                known=known,
                **fields,
            )

    def _can_run(self, task: TaskSpec, key: str, reason: str) -> None:
        if key not in self.executors:
            # A polled key is not ours to judge; any other was refused by name, but for a hub whose executor is missing.
            self._known(key, f'{reason}, for task "{task.full_name}",', task=task.full_name)
            return
        kinds = self.executors[key].kinds
        if task.body.kind not in kinds:
            raise InvalidRouting(
                f'task "{task.full_name}" has a {task.body.kind} body, but {reason} would send it to executor "{key}", '
                f"which runs {', '.join(sorted(kinds)) or 'nothing'}{self._way_out(task)}",
                code="unsupported_body",
                task=task.full_name,
                executor=key,
                kind=task.body.kind,
            )
        why = self.executors[key].refuses(task)
        if why is not None:
            raise InvalidRouting(
                f'task "{task.full_name}" cannot run in executor "{key}" ({reason}): {why}',
                code="not_importable",
                task=task.full_name,
                executor=key,
            )

    def _fits(self, task: TaskSpec, decision: DispatchDecision) -> None:
        """Warns of runs that will be refused. A cluster may grow until one is submitted, so this is no error."""
        executor, asked = self.executors.get(decision.executor_key), decision.resources
        misfit = None if executor is None or asked is None else executor.fits(asked)
        if misfit is not None:
            self._warn(f"runs are refused: {never_fits(task, decision, misfit)} ({decision.reason})")

    def _way_out(self, task: TaskSpec) -> str:
        if task.body.kind != "handler" or any("handler" in each.kinds for each in self.executors.values()):
            return ""
        return f"; no executor here runs handlers: configure a hub, to whose workers {task.body.ref!r} can go"

    def _possible(self, task: TaskSpec, workflow: WorkflowSpec) -> Iterator[DispatchDecision]:
        for router in self._routers(task.full_name):
            try:
                yield decide(task, workflow, self.settings, router)
            except NoExecutor as error:
                message = f'task "{task.full_name}": {error.message}'
                raise InvalidRouting(message, code="no_local_executor", **error.fields) from error

    def _routers(self, name: str) -> list[Router]:
        """One router for each way that rules for a share of runs can turn out, as far as it matters for the name."""
        uncertain = tuple(r.number for r in self.router.candidates(name) if not r.rule.shadow and not r.rule.certain)
        if not uncertain:
            return [self.router]
        if uncertain not in self._variants:
            out = set(uncertain)
            kept = {number: rule for number, rule in enumerate(self.config.rules, 1) if number not in out}
            configs = [RoutingConfig(self.config.default_executor, tuple(kept.values()))]
            for number in uncertain:
                rule = msgspec.structs.replace(self.config.rules[number - 1], percent=None)
                rules = sorted({**kept, number: rule}.items())
                configs.append(RoutingConfig(self.config.default_executor, tuple(rule for _, rule in rules)))
            self._variants[uncertain] = [Router(config) for config in configs]
        return self._variants[uncertain]
