"""Runs a workflow in the calling thread, without a database."""

from __future__ import annotations

from typing import Any, TypeVar

from turnout.authoring.workflow import Workflow
from turnout.errors import InvalidWorkflow
from turnout.testing.fakes import Fakes, ManualClock
from turnout.testing.inline_run import InlineRun

R = TypeVar("R")


def inline(
    workflow: Workflow[..., R],
    /,
    *args: Any,
    fakes: Fakes | None = None,
    clock: ManualClock | None = None,
    **kwargs: Any,
) -> InlineRun[R]:
    """Returns a run of the workflow that advances step by step; nothing has run yet."""
    if not isinstance(workflow, Workflow):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidWorkflow(
            f"{workflow!r} is not a workflow: decorate the function with @workflow", code="not_a_workflow"
        )
    return InlineRun(workflow, workflow.bind(*args, **kwargs), fakes, clock)


def run_inline(
    workflow: Workflow[..., R],
    /,
    *args: Any,
    fakes: Fakes | None = None,
    clock: ManualClock | None = None,
    **kwargs: Any,
) -> R:
    """Runs the workflow in the calling thread, without a database, and returns its result.

    ``fakes`` replace tasks, by task or by name: a function, an exception to raise, or a value to return.

    >>> from turnout import task, workflow
    >>> @task
    ... def charge(amount: int) -> str:
    ...     raise ConnectionError("no bank in a test")
    >>> @workflow
    ... def pay(amount: int) -> str:
    ...     return charge(amount)
    >>> run_inline(pay, 5, fakes={charge: lambda amount: f"paid {amount}"})
    'paid 5'
    """
    return inline(workflow, *args, fakes=fakes, clock=clock, **kwargs).result()
