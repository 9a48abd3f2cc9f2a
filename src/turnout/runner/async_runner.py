"""Provides ``AsyncRunner``: the same engine for programs that have an event loop of their own.

What a method does is in the parts of the core, as for ``Runner``. Here futures are awaited, and calls that read the
store run in a thread.
"""

from __future__ import annotations

import asyncio
import builtins
from asyncio import to_thread, wrap_future
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeVar

from turnout.authoring.default_runner import runner_closed, runner_opened
from turnout.authoring.workflow import Workflow
from turnout.dispatcher import Explanation, RoutingConfig
from turnout.model.driver import Driver
from turnout.model.durations import Duration
from turnout.model.logs import LogLine
from turnout.model.retention import Deleted
from turnout.model.rows import HistoryRow
from turnout.model.states import RunState
from turnout.model.triggers import TriggerRow
from turnout.model.workers import WorkerView
from turnout.orchestration.messages import FinishedRun, Submission
from turnout.runner.core import Core
from turnout.runner.log_reader import lines_of_async
from turnout.runner.routing_rules import RulesInForce
from turnout.runner.runner import SubmittedRun, Submitting
from turnout.runner.settings import runner_config
from turnout.runner.submitter import Options
from turnout.runner.task_detail import TaskDetail
from turnout.runner.views import AttemptView, RunView, TaskView

P = ParamSpec("P")
R = TypeVar("R")


class AsyncRunHandle(SubmittedRun, Generic[R]):
    """A submitted run: ``RunHandle`` with coroutines."""

    async def wait(self, timeout: float | None = None) -> RunState:
        return (await self._await(timeout)).run.row.state

    async def result(self, timeout: float | None = None) -> R:
        return await to_thread(self._core.reader.result, await self._await(timeout))

    async def _await(self, timeout: float | None) -> FinishedRun:
        try:
            async with asyncio.timeout(timeout):
                return await self._ended().wait()
        except TimeoutError as error:
            raise self._timed_out(timeout) from error

    async def status(self) -> RunView:
        return await to_thread(self._core.reader.status, self.id)

    async def driver(self) -> Driver:
        return await to_thread(self._core.reader.driver, self.id)

    async def tasks(self) -> list[TaskView]:
        return await to_thread(self._core.reader.tasks, self.id)

    async def task(self, name: str) -> TaskDetail:
        return await to_thread(self._core.reader.task, self.id, name)

    async def history(self) -> list[tuple[float, HistoryRow]]:
        return await to_thread(self._core.reader.history, self.id)

    async def attempts(self) -> list[AttemptView]:
        return await to_thread(self._core.reader.attempts, self.id)

    async def children(self) -> list[RunView]:
        return await to_thread(self._core.reader.children, self.id)

    def logs(
        self, task: str | None = None, *, attempt: int | None = None, follow: bool = False
    ) -> AsyncIterator[LogLine]:
        return lines_of_async(self._core.reader.logs(self.id, follow=follow), task, attempt)

    async def cancel(self, reason: str = "cancelled") -> None:
        await wrap_future(self._core.admin.command(self.id, "cancel", reason))

    async def pause(self) -> None:
        await wrap_future(self._core.admin.command(self.id, "pause"))

    async def resume(self) -> None:
        await wrap_future(self._core.admin.command(self.id, "resume"))

    async def rerun(self, from_task: str | None = None, input: Mapping[str, Any] | None = None) -> AsyncRunHandle[R]:
        request = await to_thread(self._core.submitter.rerun, self.id, from_task, input)
        return (await _submit(self._core, [request]))[0]


class AsyncRunner:
    """``Runner`` with coroutines; takes the same options.

    The engine keeps its own loop: however long the caller's loop is blocked, leases are renewed and runs progress.
    """

    def __init__(self, database_url: str | None = None, **options: Any) -> None:
        self._config = runner_config(database_url=database_url, **options)
        self._core: Core | None = None
        self._for_bodies: Submitting | None = None

    async def __aenter__(self) -> AsyncRunner:
        self._core = await to_thread(Core, self._config)
        self._for_bodies = Submitting(self._core)
        runner_opened(self._for_bodies)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def core(self) -> Core:
        """The orchestrator behind it."""
        if self._core is None:
            raise RuntimeError("use `async with AsyncRunner(…) as runner:`")
        return self._core

    @property
    def hub(self) -> str | None:
        """The address that workers connect to; None if there is no hub here."""
        return self.core.hub

    async def run(self, workflow: Workflow[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        return await (await self.submit(workflow, *args, **kwargs)).result()

    async def submit(self, workflow: Workflow[P, R], /, *args: P.args, **kwargs: P.kwargs) -> AsyncRunHandle[R]:
        return (await _submit(self.core, [self.core.submitter.request(workflow, args, kwargs)]))[0]

    async def submit_with(
        self,
        workflow: Workflow[..., R],
        /,
        *args: Any,
        key: str | None = None,
        priority: int = 0,
        timeout: Duration | None = None,
        input: Mapping[str, Any] | None = None,
    ) -> AsyncRunHandle[R]:
        options = Options.of(key, priority, timeout)
        return (await _submit(self.core, [self.core.submitter.request(workflow, args, input or {}, options)]))[0]

    async def submit_many(
        self, workflow: Workflow[..., R], inputs: Iterable[Mapping[str, Any]], *, priority: int = 0
    ) -> builtins.list[AsyncRunHandle[R]]:
        return await _submit(self.core, self.core.submitter.request_many(workflow, inputs, priority))

    async def get(self, run_id: str) -> AsyncRunHandle[Any]:
        await to_thread(self.core.reader.stored, run_id)
        return AsyncRunHandle(self.core, run_id)

    async def list(
        self,
        *,
        workflow: str | None = None,
        states: Sequence[RunState] = (),
        limit: int = 100,
        before: str | None = None,
    ) -> builtins.list[RunView]:
        return await to_thread(self.core.reader.runs, workflow, states, limit, before)

    async def triggers(self) -> builtins.list[TriggerRow]:
        return await to_thread(self.core.store.triggers)

    def explain(self, workflow: Workflow[..., Any], run_id: str | None = None) -> dict[str, Explanation]:
        return self.core.admin.explain(workflow, run_id)

    def draw(self, workflow: Workflow[..., Any]) -> str:
        return self.core.submitter.draw(workflow)

    async def set_routing(self, routing: RoutingConfig) -> builtins.list[str]:
        return await wrap_future(self.core.admin.set_routing(routing))

    def routing(self) -> RulesInForce:
        return self.core.admin.routing()

    async def health(self) -> dict[str, Any]:
        return await to_thread(self.core.admin.health)

    async def metrics(self) -> str:
        return await to_thread(self.core.admin.metrics)

    async def workers(self) -> builtins.list[WorkerView]:
        return await to_thread(self.core.admin.live_workers)

    async def drain_worker(self, worker: str, reason: str = "drained") -> WorkerView:
        return await to_thread(self.core.admin.drain_worker, worker, reason)

    async def delete(self, run_id: str, *, force: bool = False) -> Deleted:
        return await wrap_future(self.core.admin.delete(run_id, force=force))

    async def prune(self, older_than: Duration | None = None, *, states: Sequence[RunState | str] = ()) -> Deleted:
        return await wrap_future(self.core.admin.prune(older_than, states))

    async def close(self, timeout: float | None = None) -> None:
        if self._for_bodies is not None:
            runner_closed(self._for_bodies)
        if self._core is not None:
            await to_thread(self._core.close, timeout)


async def _submit(core: Core, requests: Sequence[Submission]) -> list[AsyncRunHandle[Any]]:
    """Hands in checked submissions; returns once all are durable. A thread waits where ``submit`` would have to."""
    if not core.submitter.waits:
        core.submitter.submit(requests)
    else:
        await to_thread(core.submitter.submit, requests)
    try:
        ids = await asyncio.gather(*(request.accepted.wait() for request in requests))
    except asyncio.CancelledError as error:
        for request in requests:
            request.refuse(error)  # what was not started yet is not
        raise
    return [
        AsyncRunHandle(core, run_id, request.final, request.warnings)
        for run_id, request in zip(ids, requests, strict=True)
    ]
