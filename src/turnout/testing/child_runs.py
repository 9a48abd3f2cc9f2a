"""Makes an inline run the child of another, by the same decisions as in an orchestrator, without a store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from turnout.authoring.definition import Definition
from turnout.authoring.registry import Registry
from turnout.contracts.executor import Work
from turnout.errors import InputError
from turnout.model.children import CHILD_INPUT, CHILD_RESULT, child_input, child_output, child_result, shorter_timeout
from turnout.model.events import ErrorInfo, ExecutionResult
from turnout.model.graph import Graph
from turnout.model.rerun import kept_tasks
from turnout.model.rows import NewRun, TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.states import RunState
from turnout.model.values import dump_output


class ChildRun(Protocol):
    """An inline run that is the child of another."""

    @property
    def machine(self) -> RunMachine: ...

    @property
    def value(self) -> Any: ...


class ChildCall:
    """One attempt of a task that is a child run; ``former`` is the child of the previous attempt, if any."""

    def __init__(self, work: Work, pos: int, registry: Registry, former: ChildRun | None) -> None:
        self.registry = registry
        self._work = work
        self._pos = pos
        self._former = former

    def call(self) -> tuple[Definition, dict[str, Any]]:
        """Returns the child's workflow and its checked input."""
        work = self._work
        workflow = self.registry.workflows[work.task.body.ref]
        args, kwargs = child_input(workflow.spec, work.args, dict(work.kwargs), work.context)
        return workflow, workflow.bind(*args, **kwargs)

    def child_of_parent(self, new: NewRun) -> NewRun:
        event = self._work.event
        return msgspec.structs.replace(
            new,
            timeout=shorter_timeout(new.timeout, self._work.timeout),
            parent_run=event.run_id,
            parent_pos=self._pos,
            parent_attempt=event.attempt,
        )

    def reused(self, graph: Graph) -> Sequence[TaskRow]:
        """Returns the rows that the child of the previous attempt has finished."""
        if self._former is None:
            return ()
        rows = {row.pos: row for row in self._former.machine.tasks}
        kept = ((pos, rows[was]) for pos, was in kept_tasks(self._former.machine.graph, rows, graph).items())
        return [
            TaskRow(pos=pos, name=row.name, state=row.state, reason=row.reason, output=row.output, memo=row.memo)
            for pos, row in kept
        ]

    def refused(self, error: InputError, code: str = CHILD_INPUT) -> ExecutionResult:
        failure = ErrorInfo(type(error).__name__, error.message, code=code)
        return ExecutionResult.failed(self._work.event, failure, retryable=False)

    def result(self, child: ChildRun) -> ExecutionResult:
        """Returns the result of the attempt by the end of its child."""
        work, machine = self._work, child.machine
        answer = child_result(machine.new, machine.row)
        if machine.row.state is not RunState.COMPLETED:
            return answer
        try:
            left = child_output(work.task, work.context, child.value)
            return msgspec.structs.replace(answer, output=dump_output(left, what="output"))
        except InputError as error:
            return self.refused(error, CHILD_RESULT)
