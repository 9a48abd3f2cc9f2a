"""``AsyncRunner``: the same engine for programs that have an event loop of their own."""

from __future__ import annotations

import asyncio
import builtins
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from types import TracebackType
from typing import Any, Generic, ParamSpec, TypeVar

from turnout.authoring.default_runner import runner_closed, runner_opened
from turnout.authoring.workflow import Workflow
from turnout.dispatcher import Explanation, RoutingConfig
from turnout.errors import WaitTimedOut
from turnout.model.driver import Driver
from turnout.model.durations import Duration, seconds
from turnout.model.exposition import exposition
from turnout.model.logs import LogLine
from turnout.model.retention import Deleted
from turnout.model.rows import HistoryRow
from turnout.model.states import RunState
from turnout.model.workers import WorkerView
from turnout.orchestration.messages import FinishedRun, Submission
from turnout.rendering.text import text_diagram
from turnout.runner.core import Core
from turnout.runner.open_runs import driver_of
from turnout.runner.run_reader import TaskDetail, lines_of_async
from turnout.runner.runner import Submitting
from turnout.runner.settings import runner_config
from turnout.runner.submitter import Options
from turnout.runner.views import AttemptView, RunView, TaskView, attempts_of, run_view, task_view

P = ParamSpec("P")
R = TypeVar("R")


class AsyncRunHandle(Generic[R]):
    """A submitted run."""

    def __init__(self, core: Core, run_id: str, final: Future[FinishedRun] | None = None) -> None:
        self._core = core
        self.id = run_id
        self._final = final

    async def wait(self, timeout: float | None = None) -> RunState:
        return (await self._await(timeout)).run.row.state

    async def result(self, timeout: float | None = None) -> R:
        return await asyncio.to_thread(self._core.reader.result, await self._await(timeout))

    async def _await(self, timeout: float | None) -> FinishedRun:
        if self._final is None:
            final: Future[FinishedRun] = Future()
            self._core.reader.watch(self.id, final)
            self._final = final
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(self._final)), timeout)
        except TimeoutError as error:
            raise WaitTimedOut(f"run {self.id} has not ended after {timeout:g} s", run_id=self.id) from error

    async def status(self) -> RunView:
        return run_view(await asyncio.to_thread(self._core.reader.stored, self.id))

    async def driver(self) -> Driver:
        """Whether anybody drives it: ``driven``, ``not_driven`` or, once it has ended, ``not_needed``."""
        return await asyncio.to_thread(lambda: driver_of(self._core.store, self._core.reader.stored(self.id)))

    async def tasks(self) -> list[TaskView]:
        rows = await asyncio.to_thread(self._core.store.tasks, self.id, outputs=False)
        return [task_view(row) for row in rows]

    async def task(self, name: str) -> TaskDetail:
        return await asyncio.to_thread(self._core.reader.task_detail, self.id, name)

    async def history(self) -> list[tuple[float, HistoryRow]]:
        return await asyncio.to_thread(self._core.store.history, self.id)

    async def attempts(self) -> list[AttemptView]:
        store = self._core.store
        history = await asyncio.to_thread(store.history, self.id)
        return attempts_of(history, await asyncio.to_thread(store.tasks, self.id, outputs=False))

    async def children(self) -> list[RunView]:
        return [run_view(run) for run in await asyncio.to_thread(self._core.store.children, self.id)]

    def logs(
        self, task: str | None = None, *, attempt: int | None = None, follow: bool = False
    ) -> AsyncIterator[LogLine]:
        return lines_of_async(self._core.reader.logs(self.id, follow=follow), task, attempt)

    async def cancel(self, reason: str = "cancelled") -> None:
        await asyncio.wrap_future(self._core.admin.command(self.id, "cancel", reason))

    async def pause(self) -> None:
        await asyncio.wrap_future(self._core.admin.command(self.id, "pause"))

    async def resume(self) -> None:
        await asyncio.wrap_future(self._core.admin.command(self.id, "resume"))

    async def rerun(self, from_task: str | None = None, input: Mapping[str, Any] | None = None) -> AsyncRunHandle[R]:
        request = await asyncio.to_thread(self._core.submitter.rerun, self.id, from_task, input)
        await _hand_in(self._core, [request])
        return AsyncRunHandle(self._core, await asyncio.wrap_future(request.accepted), request.final)


class AsyncRunner:
    """``Runner`` with coroutines; takes the same options.

    The engine keeps its own loop: however long the caller's loop is held up, leases are kept and runs move.
    """

    def __init__(self, database_url: str | None = None, **options: Any) -> None:
        self._config = runner_config(database_url=database_url, **options)
        self._core: Core | None = None
        self._for_bodies: Submitting | None = None

    async def __aenter__(self) -> AsyncRunner:
        self._core = await asyncio.to_thread(Core, self._config)
        self._for_bodies = Submitting(self._core)
        runner_opened(self._for_bodies)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    @property
    def core(self) -> Core:
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
        return (await self._submit([self.core.submitter.request(workflow, args, kwargs)]))[0]

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
        options = Options(key=key, priority=priority, timeout=None if timeout is None else seconds(timeout, "timeout"))
        return (await self._submit([self.core.submitter.request(workflow, args, input or {}, options)]))[0]

    async def submit_many(
        self, workflow: Workflow[..., R], inputs: Iterable[Mapping[str, Any]], *, priority: int = 0
    ) -> builtins.list[AsyncRunHandle[R]]:
        options = Options(priority=priority)
        return await self._submit([self.core.submitter.request(workflow, (), input, options) for input in inputs])

    async def _submit(self, requests: Sequence[Submission]) -> builtins.list[AsyncRunHandle[Any]]:
        await _hand_in(self.core, requests)
        ids = await asyncio.gather(*(asyncio.wrap_future(request.accepted) for request in requests))
        return [AsyncRunHandle(self.core, run_id, request.final) for run_id, request in zip(ids, requests, strict=True)]

    async def get(self, run_id: str) -> AsyncRunHandle[Any]:
        await asyncio.to_thread(self.core.reader.stored, run_id)
        return AsyncRunHandle(self.core, run_id)

    async def list(
        self,
        *,
        workflow: str | None = None,
        states: Sequence[RunState] = (),
        limit: int = 100,
        before: str | None = None,
    ) -> builtins.list[RunView]:
        found = await asyncio.to_thread(
            lambda: self.core.store.runs(workflow=workflow, states=states, limit=limit, before=before)
        )
        return [run_view(run) for run in found]

    def explain(self, workflow: Workflow[..., Any], run_id: str | None = None) -> dict[str, Explanation]:
        return self.core.admin.explain(workflow, run_id)

    def draw(self, workflow: Workflow[..., Any]) -> str:
        return text_diagram(self.core.submitter.graph_of(workflow).spec)

    async def set_routing(self, routing: RoutingConfig) -> builtins.list[str]:
        return await asyncio.wrap_future(self.core.admin.set_routing(routing))

    async def health(self) -> dict[str, Any]:
        return await asyncio.to_thread(self.core.admin.health)

    async def metrics(self) -> str:
        return exposition(await asyncio.to_thread(self.core.admin.orchestrators))

    async def workers(self) -> builtins.list[WorkerView]:
        return await asyncio.to_thread(self.core.admin.live_workers)

    async def drain_worker(self, worker: str, reason: str = "drained") -> WorkerView:
        return await asyncio.to_thread(self.core.admin.drain_worker, worker, reason)

    async def delete(self, run_id: str, *, force: bool = False) -> Deleted:
        return await asyncio.wrap_future(self.core.admin.delete(run_id, force=force))

    async def prune(self, older_than: Duration | None = None, *, states: Sequence[RunState | str] = ()) -> Deleted:
        return await asyncio.wrap_future(self.core.admin.prune(older_than, states))

    async def close(self, timeout: float | None = None) -> None:
        if self._for_bodies is not None:
            runner_closed(self._for_bodies)
        if self._core is not None:
            await asyncio.to_thread(self._core.close, timeout)


async def _hand_in(core: Core, requests: Sequence[Submission]) -> None:
    if not core.submitter.waits:
        core.submitter.submit(requests)
    else:
        await asyncio.to_thread(core.submitter.submit, requests)
