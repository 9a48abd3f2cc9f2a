"""Workflows whose tasks run in workers of other languages. Each task adds its name to the text that it is given."""

from __future__ import annotations

import os
from typing import Any

from turnout import Workflow, remote, task, workflow

LANGUAGES = os.environ.get("TURNOUT_FAULTS_LANGUAGES", "python").split()
"""Those that there are workers of."""
TASKS = (*LANGUAGES, "any")

_said = {name: remote(name, handler=f"elsewhere.{name}") for name in TASKS}
_held = remote("held", handler="elsewhere.held")
_paid = remote("paid", handler="elsewhere.any", at_most_once=True)


@workflow
def across(key: str, seconds: float) -> str:
    """One task in each language, one in any of them."""
    text = key
    for name in TASKS:
        text = _said[name](text=text, seconds=seconds)
    return text


@workflow
def paying_across(key: str, seconds: float) -> str:
    """A task that begins once or not at all, in any language."""
    return _said["any"](text=_paid(text=key, seconds=seconds), seconds=seconds)


@workflow
def holding_across(key: str, seconds: float, until: str) -> str:
    """A task that goes on until a file is there."""
    return _said["any"](text=_held(text=key, until=until), seconds=seconds)


@task
def regret() -> None:
    """Of a run that fails. A body in Python: whoever does not have it cannot drive the run."""


@workflow(on_failure=regret)
def holding_here(key: str, seconds: float, until: str) -> str:
    """The same, for those who have its code."""
    return _said["any"](text=_held(text=key, until=until), seconds=seconds)


REMOTE: dict[str, Workflow[..., Any]] = {
    each.name: each for each in (across, paying_across, holding_across, holding_here)
}
