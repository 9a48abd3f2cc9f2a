"""Which executors does a Runner have, and how does its dispatcher know them?"""

from __future__ import annotations

import logging
import sys
from collections.abc import Container, Iterable, Mapping

import msgspec

from turnout.authoring.registry import Registry
from turnout.bodies.locating import runs_main_again
from turnout.contracts.executor import TaskExecutor
from turnout.dispatcher import WORKERS, DefaultDispatcher
from turnout.errors import DefinitionError, HubUnavailable, InvalidRouting, InvalidSetting
from turnout.executors.process import ProcessExecutor
from turnout.executors.shell import ShellExecutor
from turnout.executors.thread import ThreadExecutor
from turnout.model.extras import optional_packages
from turnout.model.spec import WorkflowSpec
from turnout.model.texts import MAX_NAME_LENGTH, checked_text
from turnout.runner.settings import RunnerConfig

log = logging.getLogger("turnout.runner")


def make_dispatcher(config: RunnerConfig) -> DefaultDispatcher:
    """A dispatcher with the rules and all executors, among them always one named ``default``."""
    polled = frozenset(
        checked_text(key, "polling", longest=MAX_NAME_LENGTH, error=InvalidSetting) for key in config.polling
    )
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
    return dispatcher


def validate_all(dispatcher: DefaultDispatcher, registry: Registry) -> list[str]:
    """What every Runner checks before anything runs, and ``turnout config check`` with it: the rules against the
    executors and all workflows. Returns warnings; raises for what cannot work."""
    return dispatcher.validate(spec for name in registry.workflows if (spec := registry.spec_of(name)))


def executors_of(
    given: Mapping[str, TaskExecutor], polled: Container[str], max_output_bytes: int
) -> dict[str, TaskExecutor]:
    """The executors of a Runner: those it is given, and ``default``, ``process`` and ``shell`` unless others serve
    these keys. None of them costs anything before its first attempt."""
    offered: dict[str, TaskExecutor] = {"default": ThreadExecutor(max_output_bytes=max_output_bytes)}
    if sys.platform != "win32":
        offered["process"] = ProcessExecutor(max_output_bytes=max_output_bytes)
        offered["shell"] = ShellExecutor(max_output_bytes=max_output_bytes)
    return {key: each for key, each in offered.items() if key not in polled or key == "default"} | dict(given)


def drives_stored(dispatcher: DefaultDispatcher, spec: WorkflowSpec) -> bool:
    """Whether runs of a workflow that this program does not have can be driven here: with handlers and commands only,
    and an executor for each of them."""
    if spec.needs_code:
        return False
    try:
        dispatcher.validate([spec])
    except InvalidRouting as error:
        log.info("runs of %s are left to others: %s", spec.full_name, error.message)
        return False
    return True


def for_workers(dispatcher: DefaultDispatcher, specs: Iterable[WorkflowSpec]) -> str | None:
    """The full name of a task that may be sent to workers; None if there is none."""
    some_runs = any(
        rule.executor == WORKERS and rule.percent is not None and not rule.shadow for rule in dispatcher.routing.rules
    )
    for spec in specs:
        for task in spec.tasks:
            if some_runs or dispatcher.explain(task, spec).decision.executor_key == WORKERS:
                return task.full_name
    return None


def refuse_workers(dispatcher: DefaultDispatcher, specs: Iterable[WorkflowSpec]) -> None:
    """Here no worker ever comes, so a task that wants one would wait for ever."""
    name = for_workers(dispatcher, specs)
    if name is not None:
        raise HubUnavailable(
            f'task "{name}" goes to workers, and this Runner has no hub (hub=False): hand the run in with '
            "drives=False, for an orchestrator that has one",
            task=name,
        )


def refuse_in_child() -> None:
    """A script that a child runs again, for one of its functions, must not start over."""
    if runs_main_again():
        raise DefinitionError(
            "the script starts a Runner whenever it is imported, and the process executor has to import it to find its "
            'tasks: put what starts it under  if __name__ == "__main__":',
            code="unguarded_main",
        )
