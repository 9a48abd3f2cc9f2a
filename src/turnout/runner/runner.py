"""``Runner``: durable runs from ordinary Python, in scripts, services and notebooks."""

from __future__ import annotations

import builtins
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from types import FrameType, TracebackType
from typing import Any, Generic, Literal, ParamSpec, TypeVar

from turnout.authoring.default_runner import runner_closed, runner_opened
from turnout.authoring.workflow import Workflow
from turnout.contracts.executor import TaskExecutor
from turnout.dispatcher import Explanation, PlacementSettings, RoutingConfig
from turnout.errors import WaitTimedOut
from turnout.executors.workers.settings import HubSettings
from turnout.model.driver import Driver
from turnout.model.durations import Duration, seconds
from turnout.model.exposition import exposition
from turnout.model.logs import LogLine
from turnout.model.retention import Deleted
from turnout.model.rows import HistoryRow
from turnout.model.states import RunState
from turnout.model.workers import WorkerView
from turnout.orchestration.messages import FinishedRun, Submission
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.upkeep.log_writer import Observer
from turnout.rendering.text import text_diagram
from turnout.runner.core import Core
from turnout.runner.open_runs import driver_of
from turnout.runner.run_reader import TaskDetail, lines_of
from turnout.runner.settings import ConfigSource, runner_config
from turnout.runner.submitter import Options
from turnout.runner.views import AttemptView, RunView, TaskView, attempts_of, run_view, task_view

P = ParamSpec("P")
R = TypeVar("R")

MAX_SLEEP = 0.5
"""Seconds that a wait for a run's end sleeps at most: as long a signal may go unheard."""


class RunHandle(Generic[R]):
    """A submitted run."""

    def __init__(self, core: Core, run_id: str, final: Future[FinishedRun] | None = None) -> None:
        self._core = core
        self.id = run_id
        self._final = final

    def wait(self, timeout: float | None = None) -> RunState:
        """Wait for the run to end; raises WaitTimedOut, and leaves the run alone, after ``timeout`` seconds."""
        return self._await(timeout).run.row.state

    def result(self, timeout: float | None = None) -> R:
        """What the workflow returned; raises RunFailed, RunCancelled or RunTimedOut if it did not complete."""
        return self._core.reader.result(self._await(timeout))

    def _await(self, timeout: float | None) -> FinishedRun:
        if self._final is None:
            final: Future[FinishedRun] = Future()
            self._core.reader.watch(self.id, final)
            self._final = final
        try:
            return _awake(self._final, timeout)
        except FutureTimeout as error:
            if self._final.done():
                raise
            raise WaitTimedOut(f"run {self.id} has not ended after {timeout:g} s", run_id=self.id) from error

    def status(self) -> RunView:
        return run_view(self._core.reader.stored(self.id))

    def driver(self) -> Driver:
        """Whether anybody drives it: ``driven``, ``not_driven`` or, once it has ended, ``not_needed``."""
        return driver_of(self._core.store, self._core.reader.stored(self.id))

    def tasks(self) -> list[TaskView]:
        return [task_view(row) for row in self._core.store.tasks(self.id, outputs=False)]

    def task(self, name: str) -> TaskDetail:
        """One task with its output and all of its attempts: ``run.task("charge").output``."""
        return self._core.reader.task_detail(self.id, name)

    def history(self) -> list[tuple[float, HistoryRow]]:
        return self._core.store.history(self.id)

    def attempts(self) -> list[AttemptView]:
        """Every attempt: the executor and why that one, the worker, and what became of it, with its error."""
        store = self._core.store
        return attempts_of(store.history(self.id), store.tasks(self.id, outputs=False))

    def children(self) -> list[RunView]:
        """The child runs of this run, by task and attempt."""
        return [run_view(run) for run in self._core.store.children(self.id)]

    def logs(self, task: str | None = None, *, attempt: int | None = None, follow: bool = False) -> Iterator[LogLine]:
        """What the run's attempts printed and logged; with ``follow``, also what they say until the run has ended."""
        return lines_of(self._core.reader.logs(self.id, follow=follow).begin(task, attempt))

    def cancel(self, reason: str = "cancelled") -> None:
        """Cancel from any state that is not an end; returns when that is committed."""
        self._core.admin.command(self.id, "cancel", reason).result()

    def pause(self) -> None:
        """After this returns nothing new starts; what runs goes on to its end."""
        self._core.admin.command(self.id, "pause").result()

    def resume(self) -> None:
        self._core.admin.command(self.id, "resume").result()

    def rerun(self, from_task: str | None = None, input: Mapping[str, Any] | None = None) -> RunHandle[R]:
        """A new run, by today's code, that reuses finished outputs; it starts at the failures or at ``from_task``.

        Tasks that changed since, or take a parameter that ``input`` changes, run again, and so does what follows them.
        """
        request = self._core.submitter.rerun(self.id, from_task, input)
        self._core.submitter.submit([request])
        return RunHandle(self._core, request.accepted.result(), request.final)

    def __repr__(self) -> str:
        return f"<run {self.id}>"


def _awake(final: Future[FinishedRun], timeout: float | None) -> FinishedRun:
    """Wait for it. A signal that comes in the moment before a thread sleeps is heard when it wakes: that is soon."""
    until = math.inf if timeout is None else time.monotonic() + timeout
    while (left := until - time.monotonic()) > MAX_SLEEP:
        try:
            return final.result(MAX_SLEEP)
        except FutureTimeout:
            if final.done():
                raise
    return final.result(max(0.0, left))


class Submitting:
    """Starts runs on a core: what a Runner does, and what bodies that start runs of their own are given."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def run(self, workflow: Workflow[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Submit, wait, and return the result."""
        return self.submit(workflow, *args, **kwargs).result()

    def submit(self, workflow: Workflow[P, R], /, *args: P.args, **kwargs: P.kwargs) -> RunHandle[R]:
        """Start a run; returns once it is durable."""
        return self._submit([self._core.submitter.request(workflow, args, kwargs)])[0]

    def submit_with(
        self,
        workflow: Workflow[..., R],
        /,
        *args: Any,
        key: str | None = None,
        priority: int = 0,
        timeout: Duration | None = None,
        input: Mapping[str, Any] | None = None,
    ) -> RunHandle[R]:
        """Start a run with an idempotency key, a priority or a timeout; keyword parameters go into ``input``."""
        options = Options(key=key, priority=priority, timeout=None if timeout is None else seconds(timeout, "timeout"))
        return self._submit([self._core.submitter.request(workflow, args, input or {}, options)])[0]

    def owns(self, run_id: str) -> bool:
        """Whether this Runner is the run's owner at the moment."""
        return self._core.admin.owns(run_id)

    def _submit(self, requests: Sequence[Submission]) -> builtins.list[RunHandle[Any]]:
        self._core.submitter.submit(requests)
        return [RunHandle(self._core, request.accepted.result(), request.final) for request in requests]


class Runner(Submitting):
    """Runs workflows durably inside this program.

    >>> from turnout import Runner, task, workflow
    >>> @task
    ... def greet(name: str) -> str:
    ...     return f"hello {name}"
    >>> @workflow
    ... def greeting(name: str) -> str:
    ...     return greet(name)
    >>> with Runner("sqlite:///:memory:") as runner:
    ...     runner.run(greeting, "world")
    'hello world'
    """

    def __init__(  # noqa: PLR0913 - every option has a name and a default
        self,
        database_url: str | None = None,
        *,
        routing: RoutingConfig | None = None,
        executors: Mapping[str, TaskExecutor] | None = None,
        workflows: Iterable[Workflow[..., Any]] | None = None,
        tenant: str | None = None,
        dispatcher: bool | None = True,
        polling: Iterable[str] | None = None,
        settings: EngineSettings | None = None,
        placement: PlacementSettings | None = None,
        hub: str | HubSettings | Literal[False] | None = None,
        strict_selectors: bool | None = None,
        max_output_bytes: int | None = None,
        default_timeout: Duration | None = None,
        default_retries: int | None = None,
        on_output: Observer | None = None,
        claims: Iterable[str] | None = None,
        drives: bool = True,
        config: ConfigSource = True,
        handle_sigterm: bool = True,
    ) -> None:
        core = Core(
            runner_config(
                config,
                database_url=database_url,
                routing=routing,
                executors=executors,
                workflows=workflows,
                tenant=tenant,
                dispatcher=dispatcher,
                polling=polling,
                settings=settings,
                placement=placement,
                hub=hub,
                strict_selectors=strict_selectors,
                max_output_bytes=max_output_bytes,
                default_timeout=default_timeout,
                default_retries=default_retries,
                on_output=on_output,
                claims=claims,
                drives=drives,
            )
        )
        super().__init__(core)
        runner_opened(self)
        self._restore = self._hand_over_on_sigterm() if handle_sigterm else lambda: None

    @property
    def hub(self) -> str | None:
        """The address that workers connect to; None if there is no hub here."""
        return self._core.hub

    @property
    def url(self) -> str:
        return self._core.url

    @property
    def core(self) -> Core:
        """The orchestrator behind it."""
        return self._core

    # -- running ------------------------------------------------------------------------------------------------
    def submit_many(
        self, workflow: Workflow[..., R], inputs: Iterable[Mapping[str, Any]], *, priority: int = 0
    ) -> builtins.list[RunHandle[R]]:
        """Start a run for each input (parameters by name); returns once all are durable."""
        options = Options(priority=priority)
        return self._submit([self._core.submitter.request(workflow, (), input, options) for input in inputs])

    # -- looking ------------------------------------------------------------------------------------------------
    def get(self, run_id: str) -> RunHandle[Any]:
        """The handle of a run that was submitted earlier, here or elsewhere."""
        self._core.reader.stored(run_id)
        return RunHandle(self._core, run_id)

    def list(
        self,
        *,
        workflow: str | None = None,
        states: Sequence[RunState] = (),
        limit: int = 100,
        before: str | None = None,
    ) -> builtins.list[RunView]:
        """Runs, newest first."""
        found = self._core.store.runs(workflow=workflow, states=states, limit=limit, before=before)
        return [run_view(run) for run in found]

    def explain(self, workflow: Workflow[..., Any], run_id: str | None = None) -> dict[str, Explanation]:
        """Where each task of the workflow goes, and why, by task name."""
        return self._core.admin.explain(workflow, run_id)

    def draw(self, workflow: Workflow[..., Any]) -> str:
        """The workflow's graph in text."""
        return text_diagram(self._core.submitter.graph_of(workflow).spec)

    def set_routing(self, routing: RoutingConfig) -> builtins.list[str]:
        """Replace all routing rules at once; refused as a whole if one cannot work. Returns warnings."""
        return self._core.admin.set_routing(routing).result()

    # -- health -------------------------------------------------------------------------------------------------
    def health(self) -> dict[str, Any]:
        """How all live orchestrators on this database are: the answer of ``GET /health/orchestration``."""
        return self._core.admin.health()

    def metrics(self) -> str:
        """The metrics of all live orchestrators on this database, for Prometheus."""
        return exposition(self._core.admin.orchestrators())

    # -- workers ------------------------------------------------------------------------------------------------
    def workers(self) -> builtins.list[WorkerView]:
        """The workers that are connected to any hub on this database, by name."""
        return self._core.admin.live_workers()

    def drain_worker(self, worker: str, reason: str = "drained") -> WorkerView:
        """Tell a worker, by its name or id, to finish what it has and to leave; it hears of it within a heartbeat."""
        return self._core.admin.drain_worker(worker, reason)

    # -- retention ----------------------------------------------------------------------------------------------
    def delete(self, run_id: str, *, force: bool = False) -> Deleted:
        """Delete a run that has ended, with its child runs; with ``force``, one that has not is cancelled first."""
        return self._core.admin.delete(run_id, force=force).result()

    def prune(self, older_than: Duration | None = None, *, states: Sequence[RunState | str] = ()) -> Deleted:
        """Delete the runs that ended longer ago, in small steps; by default those that the settings name."""
        return self._core.admin.prune(older_than, states).result()

    # -- life ---------------------------------------------------------------------------------------------------
    def close(self, timeout: float | None = None) -> None:
        """Hand over: unstarted attempts are released, running ones get ``timeout`` seconds, the rest goes to others."""
        runner_closed(self)
        self._restore()
        self._core.close(timeout)

    def _hand_over_on_sigterm(self) -> Callable[[], None]:
        """Only where nobody else has a say: in the main thread, with the default disposition."""
        if threading.current_thread() is not threading.main_thread():
            return lambda: None
        if signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
            return lambda: None

        def hand_over(number: int, frame: FrameType | None) -> None:
            self.close()
            os.kill(os.getpid(), number)

        def restore() -> None:
            if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGTERM) is hand_over:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)

        signal.signal(signal.SIGTERM, hand_over)
        return restore

    def __enter__(self) -> Runner:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
