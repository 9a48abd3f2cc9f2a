"""Which Runner does ``fulfil(order)`` use? The program's default one, made when first needed."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, Protocol

from turnout.errors import DefinitionError


class DefaultRunner(Protocol):
    """What authoring needs of a Runner."""

    def run(self, workflow: Any, /, *args: Any, **kwargs: Any) -> Any:
        """Run the workflow durably and return its result."""
        ...


class _Slot:
    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.factory: Callable[[], DefaultRunner] | None = None
        self.runner: DefaultRunner | None = None


_slot = _Slot()


def set_default_runner_factory(factory: Callable[[], DefaultRunner] | None) -> None:
    """Say how the default Runner is made; one that was already made is forgotten, not closed."""
    with _slot.lock:
        _slot.factory, _slot.runner = factory, None


def default_runner() -> DefaultRunner:
    """The program's default Runner."""
    with _slot.lock:
        if _slot.runner is None:
            if _slot.factory is None:
                raise DefinitionError(
                    "there is no default Runner here: use Runner(…).run(workflow, …)", code="no_runner"
                )
            _slot.runner = _slot.factory()
        return _slot.runner
