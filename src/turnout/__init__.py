"""Turnout: durable workflows for Python, in which dispatch is a layer of its own.

The names here are what authors of workflows need. The heavy ones load when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from turnout.authoring.context import Context
from turnout.authoring.default_runner import set_default_runner_factory
from turnout.authoring.task import Task, task
from turnout.authoring.workflow import Workflow, workflow
from turnout.errors import PermanentFailure, RetryAfter, TurnoutError
from turnout.model.branch import Branch
from turnout.model.deferral import Defer
from turnout.model.hooks import RunOutcome, TaskOutcome
from turnout.model.info import TaskInfo, current_task
from turnout.model.rules import all_, always, any_, context_value, none_, task_failed, task_skipped, task_success
from turnout.model.types import register_type

if TYPE_CHECKING:
    from turnout.dispatcher import RoutingConfig, RoutingRule
    from turnout.runner import AsyncRunner, Runner

__all__ = [
    "AsyncRunner",
    "Branch",
    "Context",
    "Defer",
    "PermanentFailure",
    "RetryAfter",
    "RoutingConfig",
    "RoutingRule",
    "RunOutcome",
    "Runner",
    "Task",
    "TaskInfo",
    "TaskOutcome",
    "TurnoutError",
    "Workflow",
    "all_",
    "always",
    "any_",
    "context_value",
    "current_task",
    "none_",
    "register_type",
    "task",
    "task_failed",
    "task_skipped",
    "task_success",
    "workflow",
]

_LATER = {
    "AsyncRunner": "turnout.runner",
    "Runner": "turnout.runner",
    "RoutingConfig": "turnout.dispatcher",
    "RoutingRule": "turnout.dispatcher",
}


def __getattr__(name: str) -> Any:
    home = _LATER.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(home), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def _default_runner() -> Any:
    return import_module("turnout.runner").Runner()


set_default_runner_factory(_default_runner)
