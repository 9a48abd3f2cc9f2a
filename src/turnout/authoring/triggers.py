"""Makes a function an event trigger: it is polled at an interval, and what it yields starts runs."""

from __future__ import annotations

import inspect
import weakref
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable
from typing import Any, TypeAlias

from turnout.authoring.invocation import open_signature
from turnout.authoring.workflow import DEFAULT_PACKAGE, DEFAULT_TENANT, Workflow
from turnout.errors import InvalidWorkflow
from turnout.model.durations import Duration, seconds
from turnout.model.names import is_identifier, suggest
from turnout.model.triggers import Event

Yielded: TypeAlias = Iterable[Event] | AsyncIterable[Event] | Awaitable[Iterable[Event]]
TriggerFunction: TypeAlias = Callable[..., Yielded]

MIN_INTERVAL = 0.1
DEFAULT_TIMEOUT = 60.0
UNKNOWN_WORKFLOW = "unknown_workflow"
"""The code of a trigger whose workflow is not known."""

_defined: weakref.WeakValueDictionary[tuple[str, str], Trigger] = weakref.WeakValueDictionary()


def defined_triggers() -> list[Trigger]:
    """Returns the triggers that this program has defined so far; of those with one name, the newest."""
    return list(_defined.values())


class Trigger:
    """A function that yields events. A call of it is the plain function's."""

    def __init__(
        self,
        function: TriggerFunction,
        *,
        every: Duration,
        workflow: Workflow[..., Any] | str,
        name: str | None = None,
        timeout: Duration = DEFAULT_TIMEOUT,
    ) -> None:
        self.function = function
        self.name = name or function.__name__
        if not is_identifier(self.name):
            _refuse(self.name, f"its name is {self.name!r}", "write letters, digits, _, - and .", "name")
        self.every = seconds(every, f"every of trigger {self.name!r}")
        if self.every < MIN_INTERVAL:
            _refuse(self.name, f"every is {every!r}", f"write at least {MIN_INTERVAL:g} s", "every")
        self.timeout = seconds(timeout, f"timeout of trigger {self.name!r}")
        if not self.timeout:
            _refuse(self.name, f"timeout is {timeout!r}", "write a time above 0", "timeout")
        given: Any = workflow
        if not isinstance(given, Workflow) and not (isinstance(given, str) and given):
            _refuse(self.name, f"workflow is {workflow!r}", "give a workflow, or the name of one", "workflow")
        self.workflow = workflow
        self.takes_poll = _takes_poll(function, self.name)
        _defined[self._home, self.name] = self

    @property
    def _home(self) -> str:
        return self.workflow if isinstance(self.workflow, str) else f"{self.workflow.package}::{self.workflow.name}"

    def is_for(self, full_name: str) -> bool:
        """True if it starts runs of the workflow with this full name."""
        return full_name == self._home or full_name.endswith(f"::{self._home}")

    def missing(self, known: Iterable[str]) -> str | None:
        """Returns a sentence if its workflow is given by a name that none of these full names has; else None."""
        names = list(known)
        if not isinstance(self.workflow, str) or any(self.is_for(each) for each in names):
            return None
        similar = suggest(self.workflow, [each.rpartition("::")[2] for each in names])
        return (
            f"trigger {self.name!r} starts runs of workflow {self.workflow!r}, which is not known{similar}: write the "
            "name of a workflow that is loaded with it"
        )

    def full_name(self, tenant: str = DEFAULT_TENANT) -> str:
        """Returns the full name that it has if its workflow is one of this tenant, in the usual package."""
        parts = self._home.split("::")
        return "::".join((*(tenant, DEFAULT_PACKAGE)[: 3 - len(parts)], *parts, self.name))

    def __call__(self, *args: Any, **kwargs: Any) -> Yielded:
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<trigger {self.name!r}>"


def trigger(
    *,
    every: Duration,
    workflow: Workflow[..., Any] | str,
    name: str | None = None,
    timeout: Duration = DEFAULT_TIMEOUT,
) -> Callable[[TriggerFunction], Trigger]:
    """Makes a function a trigger: of all servers one calls it at a time, every so often, and each key that it yields
    starts one run. It is a generator or returns a list, sync or async, and may take a ``Poll``.

    >>> from turnout import Event, task, trigger, workflow
    >>> @task
    ... def ship(order: int) -> int:
    ...     return order
    >>> @workflow
    ... def fulfil(order: int) -> int:
    ...     return ship(order)
    >>> @trigger(every="30s", workflow=fulfil)
    ... def new_orders():
    ...     yield Event("order-7", order=7)
    >>> list(new_orders())
    [Event('order-7', order=7)]
    """
    return lambda function: Trigger(function, every=every, workflow=workflow, name=name, timeout=timeout)


def _takes_poll(function: TriggerFunction, name: str) -> bool:
    needed = [
        each
        for each in open_signature(function).parameters.values()
        if each.default is inspect.Parameter.empty
        and each.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    ]
    if len(needed) > 1 or any(each.kind is inspect.Parameter.KEYWORD_ONLY for each in needed):
        names = ", ".join(repr(each.name) for each in needed)
        _refuse(name, f"its function takes {names}", "let it take one Poll, or nothing", "function")
    return bool(needed)


def _refuse(name: str, found: str, right: str, field: str) -> None:
    raise InvalidWorkflow(f"trigger {name!r}: {found}: {right}", code="bad_trigger", field=field)
