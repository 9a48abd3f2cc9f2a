"""Makes a step of a workflow file a task whose body is resolved and run elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from turnout.authoring.options import TaskOptions
from turnout.authoring.task import Task
from turnout.errors import PermanentFailure
from turnout.model.spec import Body
from turnout.model.step import StepSpec

MAX_SHOWN = 200


class StepTask(Task[..., Any]):
    """A task whose body is a step. It is run by a Runner or a worker, never by a call."""

    def __init__(self, name: str, step: StepSpec, shown: str, options: TaskOptions | None = None) -> None:
        self.step = step
        self._shown = " ".join(shown.split())[:MAX_SHOWN] or name
        super().__init__(needs_runner, {**(options or {}), "name": name})

    @property
    def body(self) -> Body:
        return Body("shell", self._shown, step=self.step)

    @property
    def conditions(self) -> Mapping[str, Callable[..., Any]]:
        return {}


def needs_runner(**arguments: Any) -> NoReturn:
    """The function of every step: what a step does is not Python."""
    raise PermanentFailure(
        "a step of a workflow file is run by a Runner, not by a call. In a test, fake it: "
        'run_inline(…, fakes={"step": …})',
        code="needs_runner",
    )
