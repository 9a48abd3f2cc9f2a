"""Finds the Runner of a call such as ``fulfil(order)``: that of the calling body, else the program's default one."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from turnout.errors import DefinitionError
from turnout.model.info import current_task

R_co = TypeVar("R_co", covariant=True)


class Submitted(Protocol[R_co]):
    """A run that was started."""

    id: str

    def wait(self, timeout: float | None = None) -> Any:
        """Waits for the run to end and returns its state."""
        ...

    def result(self, timeout: float | None = None) -> R_co:
        """Waits for the run to end and returns its result, or raises the exception of its end."""
        ...


class DefaultRunner(Protocol):
    """The methods of a Runner that authoring uses."""

    def run(self, workflow: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Runs the workflow durably and returns its result."""
        ...

    def submit(self, workflow: Any, /, *args: Any, **kwargs: Any) -> Submitted[Any]:
        """Starts a run; returns once it is durable."""
        ...

    def submit_with(
        self,
        workflow: Any,
        /,
        *args: Any,
        key: str | None = None,
        priority: int = 0,
        timeout: Any = None,
        input: Mapping[str, Any] | None = None,
    ) -> Submitted[Any]:
        """Starts a run with options; returns once it is durable."""
        ...


class OpenRunner(DefaultRunner, Protocol):
    """An open Runner of this program, which may run bodies."""

    def owns(self, run_id: str) -> bool:
        """True if it owns this run."""
        ...


class _Slot:
    def __init__(self) -> None:
        self.lock = threading.RLock()  # reentrant: the factory of the default Runner calls runner_opened
        self.factory: Callable[[], DefaultRunner] | None = None
        self.runner: DefaultRunner | None = None
        self.open: tuple[OpenRunner, ...] = ()


_slot = _Slot()


def set_default_runner_factory(factory: Callable[[], DefaultRunner] | None) -> None:
    """Sets the factory of the default Runner; one that it has created before is dropped, not closed."""
    with _slot.lock:
        _slot.factory, _slot.runner = factory, None


def runner_opened(runner: OpenRunner) -> None:
    """Registers an open Runner, on which bodies may run."""
    with _slot.lock:
        _slot.open = (*_slot.open, runner)


def runner_closed(runner: OpenRunner) -> None:
    with _slot.lock:
        _slot.open = tuple(each for each in _slot.open if each is not runner)


def current_runner() -> DefaultRunner:
    """Returns the Runner that drives the run of the calling body; outside of a body, the default one."""
    info = current_task()
    if info is not None:
        for runner in _slot.open:
            if runner.owns(info.run_id):
                return runner
    return default_runner()


def default_runner() -> DefaultRunner:
    """Returns the program's default Runner."""
    with _slot.lock:
        if _slot.runner is None:
            if _slot.factory is None:
                raise DefinitionError(
                    "there is no default Runner here: use Runner(…).run(workflow, …)", code="no_runner"
                )
            _slot.runner = _slot.factory()
        return _slot.runner
