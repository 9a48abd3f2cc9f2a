"""Turnout: durable workflows for Python, in which dispatch is a layer of its own.

The names here are what authors of workflows need. Each loads its module when it is first used: the command line, whose
modules are in this package too, answers `--help` without any of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from turnout.authoring.default_runner import set_default_runner_factory

if TYPE_CHECKING:
    from turnout.authoring.injection import Context, injected
    from turnout.authoring.limits import Limit
    from turnout.authoring.remote import remote
    from turnout.authoring.schedules import Schedule
    from turnout.authoring.shell import shell
    from turnout.authoring.task import Task, task
    from turnout.authoring.triggers import Trigger, trigger
    from turnout.authoring.workflow import Workflow, workflow
    from turnout.dispatcher import RoutingConfig, RoutingRule
    from turnout.errors import PermanentFailure, RetryAfter, TurnoutError
    from turnout.model.branch import Branch
    from turnout.model.deferral import Defer
    from turnout.model.hooks import RunOutcome, TaskOutcome
    from turnout.model.info import TaskInfo, current_task
    from turnout.model.notifications import Notify
    from turnout.model.rules import all_, always, any_, context_value, none_, task_failed, task_skipped, task_success
    from turnout.model.triggers import Event, Poll
    from turnout.model.types import register_type
    from turnout.runner import AsyncRunner, Runner

__all__ = [
    "AsyncRunner",
    "Branch",
    "Context",
    "Defer",
    "Event",
    "Limit",
    "Notify",
    "PermanentFailure",
    "Poll",
    "RetryAfter",
    "RoutingConfig",
    "RoutingRule",
    "RunOutcome",
    "Runner",
    "Schedule",
    "Task",
    "TaskInfo",
    "TaskOutcome",
    "Trigger",
    "TurnoutError",
    "Workflow",
    "all_",
    "always",
    "any_",
    "context_value",
    "current_task",
    "injected",
    "none_",
    "register_type",
    "remote",
    "shell",
    "task",
    "task_failed",
    "task_skipped",
    "task_success",
    "trigger",
    "workflow",
]

_HOMES = {
    "turnout.authoring.injection": ("Context", "injected"),
    "turnout.authoring.limits": ("Limit",),
    "turnout.authoring.remote": ("remote",),
    "turnout.authoring.schedules": ("Schedule",),
    "turnout.authoring.shell": ("shell",),
    "turnout.authoring.task": ("Task", "task"),
    "turnout.authoring.triggers": ("Trigger", "trigger"),
    "turnout.authoring.workflow": ("Workflow", "workflow"),
    "turnout.dispatcher": ("RoutingConfig", "RoutingRule"),
    "turnout.errors": ("PermanentFailure", "RetryAfter", "TurnoutError"),
    "turnout.model.branch": ("Branch",),
    "turnout.model.deferral": ("Defer",),
    "turnout.model.hooks": ("RunOutcome", "TaskOutcome"),
    "turnout.model.info": ("TaskInfo", "current_task"),
    "turnout.model.notifications": ("Notify",),
    "turnout.model.rules": (
        *("all_", "always", "any_", "context_value", "none_", "task_failed", "task_skipped", "task_success"),
    ),
    "turnout.model.triggers": ("Event", "Poll"),
    "turnout.model.types": ("register_type",),
    "turnout.runner": ("AsyncRunner", "Runner"),
}
_LATER = {name: home for home, names in _HOMES.items() for name in names}


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
