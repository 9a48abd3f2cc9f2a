"""Which workflows does a program have the code for, and which executors does it offer?"""

from __future__ import annotations

import contextlib
import logging
import sys
from collections.abc import Container, Iterable, Mapping
from typing import Any

from turnout.authoring.registry import Registry
from turnout.authoring.workflow import Workflow, defined_workflows
from turnout.bodies.locating import runs_main_again
from turnout.contracts.executor import TaskExecutor
from turnout.errors import DefinitionError
from turnout.executors.process import ProcessExecutor
from turnout.executors.shell import ShellExecutor
from turnout.executors.thread import ThreadExecutor

log = logging.getLogger("turnout.runner")


def registry_of(workflows: Iterable[Workflow[..., Any]] | None, tenant: str) -> Registry:
    """The given workflows; with None, all that the program has defined so far and that can be told apart by name."""
    registry = Registry()
    if workflows is not None:
        for workflow in workflows:
            registry.add(workflow, tenant)
        return registry
    found: dict[str, list[Workflow[..., Any]]] = {}
    for workflow in defined_workflows():
        found.setdefault(f"{workflow.package}::{workflow.name}", []).append(workflow)
    for name, some in found.items():
        # A name that stands for two workflows, or a workflow that cannot be drawn, is an error only for who uses it.
        if len(some) == 1:
            with contextlib.suppress(DefinitionError):
                registry.add(some[0], tenant)
        else:
            log.debug("%d workflows are named %s: registered when submitted", len(some), name)
    return registry


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


def refuse_in_child() -> None:
    """A script that a child runs again, for one of its functions, must not start over."""
    if runs_main_again():
        raise DefinitionError(
            "the script starts a Runner whenever it is imported, and the process executor has to import it to find its "
            'tasks: put what starts it under  if __name__ == "__main__":',
            code="unguarded_main",
        )
