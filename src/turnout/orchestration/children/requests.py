"""Makes the submissions of child runs, and reads the outputs that they leave to their parents' tasks."""

from __future__ import annotations

from typing import Any

import msgspec

from turnout.authoring.definition import Definition
from turnout.authoring.registry import Registry
from turnout.contracts.executor import Work
from turnout.contracts.store import ReadStore
from turnout.errors import InputError, InvalidInput
from turnout.model.children import (
    CHILD_INPUT,
    CHILD_RESULT,
    CHILD_TOO_DEEP,
    child_input,
    child_output,
    child_run_id,
    shorter_timeout,
)
from turnout.model.events import ErrorInfo, ExecutionResult, ExecutionStatus, TaskReadyEvent
from turnout.model.names import split_task_id
from turnout.model.rows import StoredRun, TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.states import RunState
from turnout.model.values import dump_output
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.loaders.loader import MemoryLoader
from turnout.orchestration.loaders.stored_runs import GraphCache, reused_rows, run_result
from turnout.orchestration.messages import Submission
from turnout.orchestration.run_requests import ParentTask, RunRequest, RunRequests
from turnout.orchestration.session import OrchestratorSession


class ChildRequests:
    """Makes the submissions of child runs, and reads what they returned."""

    def __init__(
        self,
        store: ReadStore,
        registry: Registry,
        graphs: GraphCache,
        session: OrchestratorSession,
        runs: ActiveRuns,
        *,
        background: Background,
        requests: RunRequests,
        max_depth: int,
        max_output_bytes: int,
    ) -> None:
        self._store = store
        self._registry = registry
        self._graphs = graphs
        self._runs = runs
        self._in_thread = background.in_thread
        self._loader = MemoryLoader(store, registry, graphs, runs, session.begin_by)
        self._requests = requests
        self._max_depth = max_depth
        self._max_output_bytes = max_output_bytes

    async def request(self, owned: ActiveRun, row: TaskRow, child: str) -> Submission | None:
        """Returns the child's submission, checked like any other; None if its workflow is not registered any more.

        Raises the InputError with which the parent's task fails.
        """
        machine = owned.machine
        event = machine.event(row.pos, row)
        try:
            work = self._loader.load_now(event) or await self._in_thread(self._loader.load_blocking, event)
            definition = self._registry.child_of(machine.new, work.task.body.ref)
            if definition is None:
                return None
            graph = definition.graph
            self._check_depth(machine, work)
            input = _bound(definition, work)
        except InputError as error:
            raise _refused(row, error) from error
        former: StoredRun | None = None
        reuse: list[TaskRow] = []
        detached = work.task.body.detached
        if (row.attempt > 1 or machine.new.rerun_of is not None) and not detached:
            former = await self._in_thread(self._former, machine, row, graph.spec.full_name)
        if former is not None:
            reuse = await self._in_thread(reused_rows, self._store, self._graphs, former, graph, input)
        parent = ParentTask(machine.new.run_id, row.pos, row.attempt, machine.new.depth + 1)
        request = RunRequest(
            graph=graph,
            input=input,
            definition=definition,
            run_id=child,
            priority=machine.new.priority,
            timeout=shorter_timeout(work.timeout, graph.spec.timeout),
            reuse=reuse,
            rerun_of=None if former is None else former.new.run_id,
            parent=None if detached else parent,
            answered=False,
        )
        try:
            return self._requests.build(request)
        except InputError as error:
            raise _refused(row, error) from error

    def _check_depth(self, machine: RunMachine, work: Work) -> None:
        if machine.new.depth >= self._max_depth:
            raise InvalidInput(
                f"it would be {machine.new.depth + 1} runs deep, and the limit is {self._max_depth}: call its tasks "
                "directly, or raise EngineSettings(limits=Limits(depth=…))",
                code=CHILD_TOO_DEEP,
                task=work.task.full_name,
            )

    def _former(self, machine: RunMachine, row: TaskRow, workflow: str) -> StoredRun | None:
        """Returns the child that did not complete, of the previous attempt, or of the run that this is a rerun of."""
        store, new = self._store, machine.new
        if row.attempt > 1:
            former = store.run(child_run_id(new.run_id, row.pos, row.attempt - 1))
        else:
            assert new.rerun_of is not None
            rows = [each for each in store.tasks(new.rerun_of, outputs=False) if each.name == row.name and each.attempt]
            former = store.run(child_run_id(new.rerun_of, rows[0].pos, rows[0].attempt)) if rows else None
        usable = former is not None and former.row.state.terminal and former.row.state is not RunState.COMPLETED
        return former if usable and former is not None and former.new.workflow == workflow else None

    # -- the end --------------------------------------------------------------------------------------------------
    async def with_output(self, result: ExecutionResult) -> ExecutionResult:
        """Returns the result with the child's output; a failure if that cannot be stored."""
        if result.status is not ExecutionStatus.COMPLETED:
            return result
        return await self._in_thread(self._with_output, result)

    def _with_output(self, result: ExecutionResult) -> ExecutionResult:
        run_id, pos = split_task_id(result.task_id)
        parent = self._runs.get(run_id)
        event = TaskReadyEvent(
            run_id=run_id, task_id=result.task_id, task_name="", attempt=result.attempt, max_attempts=result.attempt
        )
        try:
            value = self._returned(child_run_id(run_id, pos, result.attempt))
            if parent is not None and parent.machine.graph.spec.context_style:
                work = self._loader.load_blocking(event)
                value = child_output(work.task, work.context, value)
            output = dump_output(value, limit=self._max_output_bytes, what="output")
        except InputError as error:
            failure = ErrorInfo(type(error).__name__, error.message, code=CHILD_RESULT)
            return ExecutionResult.failed(event, failure, retryable=False)
        return msgspec.structs.replace(result, output=output)

    def _returned(self, child: str) -> Any:
        store = self._store
        run = store.run(child)
        if run is None:
            raise InvalidInput(f"child run {child} was deleted before its result was read", code=CHILD_RESULT)
        graph = self._graphs.stored(run.new.version)
        rows = {row.pos: row for row in store.tasks(child, outputs=False)}
        return run_result(graph, run.new.input, rows, lambda positions: store.outputs(child, positions))


def _bound(definition: Definition, work: Work) -> dict[str, Any]:
    args, kwargs = child_input(definition.spec, work.args, dict(work.kwargs), work.context)
    return definition.bind(*args, **kwargs)


def _refused(row: TaskRow, error: InputError) -> InvalidInput:
    """Returns the error with which the parent's task fails."""
    code = error.code if error.code == CHILD_TOO_DEEP else CHILD_INPUT
    return InvalidInput(f"the child run {row.name!r} cannot start: {error.message}", code=code)
