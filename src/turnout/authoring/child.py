"""Makes a workflow that is called inside another one a task whose body is a child run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ParamSpec, Protocol, TypeVar

from turnout.authoring.graph_builder import current_drawing
from turnout.authoring.options import TaskOptions, checked
from turnout.authoring.task import Task
from turnout.errors import InvalidWorkflow
from turnout.model.spec import Body, WorkflowSpec

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

MEANINGLESS = ("worker_selector", "executor", "resources", "at_most_once", "retry_if", "conditions")
"""Options of the placement and execution of bodies. A child run has no body; its tasks have their own options."""


class ChildWorkflow(Protocol[P, R_co]):
    """The workflow of a child run."""

    @property
    def name(self) -> str: ...

    @property
    def package(self) -> str: ...

    @property
    def spec(self) -> WorkflowSpec: ...

    def run(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


class ChildTask(Task[P, R]):
    """A workflow with options, to be called in another workflow's function: ``fulfil.options(retries=1)(order)``."""

    def __init__(
        self, workflow: ChildWorkflow[P, R], options: TaskOptions | None = None, *, local: bool = False
    ) -> None:
        self.workflow = workflow
        self.local = local
        """True if the workflow is part of its caller's file: their versions change together."""
        self.function = workflow
        self.given = _sensible(checked(options or {}, workflow.name), workflow.name)
        self.waits_for = ()
        self.fixed_args = ()
        self.fixed_kwargs = {}
        self.named_explicitly = False
        self.__name__ = self.__qualname__ = workflow.name

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if current_drawing() is None:
            run: Callable[..., R] = self.workflow.run
            return run(*self.fixed_args, *args, **{**self.fixed_kwargs, **kwargs})
        self._draw()
        return super().__call__(*args, **kwargs)

    def map(
        self, *lists: Any, max_parallel: int | None = None, return_exceptions: bool = False, **named: Any
    ) -> list[R]:
        """Starts a child run for each item of the lists; see ``Task.map``."""
        self._draw()
        return super().map(*lists, max_parallel=max_parallel, return_exceptions=return_exceptions, **named)

    def _draw(self) -> None:
        # Built now, so that the parent reports an error in the child, or a workflow that calls itself.
        _ = self.workflow.spec

    @property
    def _given_name(self) -> str:
        return self.given.get("name") or self.workflow.name

    @property
    def uses_context(self) -> bool:
        return False

    @property
    def ref(self) -> str:
        """``package::workflow``; the parent's spec adds the tenant."""
        return f"{self.workflow.package}::{self.workflow.name}"

    @property
    def body(self) -> Body:
        return Body("workflow", self.ref, version=self.workflow.spec.version() if self.local else "")

    def _copy(self, **changes: Any) -> Task[P, R]:
        copy = super()._copy(**changes)
        _sensible(copy.given, copy.name)
        return copy


def _sensible(options: TaskOptions, name: str) -> TaskOptions:
    for option in MEANINGLESS:
        if option in options:
            raise InvalidWorkflow(
                f"the child run {name!r} has the option {option!r}, which says how a body runs: "
                f"give it to the tasks of workflow {name!r}",
                code="child_option",
                option=option,
            )
    return options
