"""The package: what it exports, and that importing it is quick."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

import turnout

EXPORTED = {
    "AsyncRunner",
    "Branch",
    "Context",
    "Defer",
    "Limit",
    "Event",
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
}
HEAVY = (
    "turnout.runner",
    "turnout.store",
    "turnout.orchestration",
    "turnout.dispatcher",
    "asyncio",
    "sqlite3",
    "psycopg",
)


def test_the_exported_names_are_these() -> None:
    assert set(turnout.__all__) == EXPORTED
    assert set(dir(turnout)) >= EXPORTED


def test_every_exported_name_can_be_had() -> None:
    for name in EXPORTED:
        assert getattr(turnout, name) is not None


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="Runnner"):
        _ = turnout.Runnner  # pyright: ignore


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = f"import sys, turnout; print([name for name in {HEAVY} if name in sys.modules])"
    # A tool that measures coverage would load things of its own.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("COV")}
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert found.stdout.strip() == "[]"
