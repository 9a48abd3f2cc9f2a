"""Provides ``Runner``: durable runs from ordinary Python, in scripts, services and notebooks."""

from __future__ import annotations

import builtins
import math
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import FrameType, TracebackType
from typing import Any, Generic, Literal, ParamSpec, TypeVar

from turnout.authoring.default_runner import runner_closed, runner_opened
from turnout.authoring.workflow import Workflow
from turnout.contracts.executor import TaskExecutor
from turnout.dispatcher import Explanation, PlacementSettings, RoutingConfig
from turnout.errors import WaitTimedOut
from turnout.executors.workers.settings import HubSettings
from turnout.model.driver import Driver
from turnout.model.durations import Duration
from turnout.model.logs import LogLine
from turnout.model.retention import Deleted
from turnout.model.rows import HistoryRow
from turnout.model.states import RunState
from turnout.model.triggers import TriggerRow
from turnout.model.workers import WorkerView
from turnout.orchestration.messages import FinishedRun, Submission
from turnout.orchestration.reply import Reply
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.upkeep.log_writer import Observer
from turnout.runner.core import Core
from turnout.runner.definitions.settings import DefinitionSettings
from turnout.runner.log_reader import lines_of
from turnout.runner.notification_settings import NotificationSettings
from turnout.runner.routing_rules import RulesInForce
from turnout.runner.settings import ConfigSource, runner_config
from turnout.runner.submitter import Options
from turnout.runner.task_detail import TaskDetail
from turnout.runner.views import AttemptView, RunView, TaskView

P = ParamSpec("P")
R = TypeVar("R")

MAX_SLEEP = 0.5
"""Seconds that a wait for a run's end sleeps at most, and a signal may stay unhandled."""


class SubmittedRun:
    """One run and the reply that tells its end: what both handles share."""

    def __init__(
        self, core: Core, run_id: str, final: Reply[FinishedRun] | None = None, warnings: Sequence[str] = ()
    ) -> None:
        self._core = core
        self.id = run_id
        self._final = final
        self.warnings = tuple(warnings)
        """Of a run that was just submitted: what is doubtful about where its tasks go."""

    def _ended(self) -> Reply[FinishedRun]:
        if self._final is None:
            self._final = self._core.reader.final(self.id)
        return self._final

    def _timed_out(self, timeout: float | None) -> WaitTimedOut:
        return WaitTimedOut(f"run {self.id} has not ended after {timeout:g} s", run_id=self.id)

    def __repr__(self) -> str:
        return f"<run {self.id}>"


class RunHandle(SubmittedRun, Generic[R]):
    """A submitted run."""

    def wait(self, timeout: float | None = None) -> RunState:
        """Waits for the run to end; raises WaitTimedOut, and leaves the run alone, after ``timeout`` seconds."""
        return self._await(timeout).run.row.state

    def result(self, timeout: float | None = None) -> R:
        """Returns what the workflow returned; raises RunFailed, RunCancelled or RunTimedOut if it did not complete."""
        return self._core.reader.result(self._await(timeout))

    def _await(self, timeout: float | None) -> FinishedRun:
        final = self._ended()
        try:
            return _awake(final, timeout)
        except TimeoutError as error:
            if final.done():  # at the last moment
                return final.result()
            raise self._timed_out(timeout) from error

    def status(self) -> RunView:
        """Returns the run as it is stored now."""
        return self._core.reader.status(self.id)

    def driver(self) -> Driver:
        """Returns ``driven``, ``not_driven`` or, once the run has ended, ``not_needed``."""
        return self._core.reader.driver(self.id)

    def tasks(self) -> list[TaskView]:
        """Returns all tasks of the run."""
        return self._core.reader.tasks(self.id)

    def task(self, name: str) -> TaskDetail:
        """Returns one task with its output and all of its attempts: ``run.task("charge").output``."""
        return self._core.reader.task(self.id, name)

    def history(self) -> list[tuple[float, HistoryRow]]:
        """Returns every change of state, with its time."""
        return self._core.reader.history(self.id)

    def attempts(self) -> list[AttemptView]:
        """Returns every attempt: the executor and why that one, the worker, and the outcome with its error."""
        return self._core.reader.attempts(self.id)

    def children(self) -> list[RunView]:
        """Returns the child runs of this run, by task and attempt."""
        return self._core.reader.children(self.id)

    def logs(self, task: str | None = None, *, attempt: int | None = None, follow: bool = False) -> Iterator[LogLine]:
        """Yields what the run's attempts printed and logged; with ``follow``, also new lines until the run ends."""
        return lines_of(self._core.reader.logs(self.id, follow=follow).begin(task, attempt))

    def cancel(self, reason: str = "cancelled") -> None:
        """Cancels the run from any state that is not an end; returns when that is committed."""
        self._core.admin.command(self.id, "cancel", reason).result()

    def pause(self) -> None:
        """Pauses the run: after this returns nothing new starts, and running attempts finish."""
        self._core.admin.command(self.id, "pause").result()

    def resume(self) -> None:
        """Resumes a paused run."""
        self._core.admin.command(self.id, "resume").result()

    def rerun(self, from_task: str | None = None, input: Mapping[str, Any] | None = None) -> RunHandle[R]:
        """Starts a new run, by today's code, that reuses finished outputs, at the failures or at ``from_task``.

        Tasks that changed since, or take a parameter that ``input`` changes, run again, and so does what follows them.
        """
        return _submit(self._core, [self._core.submitter.rerun(self.id, from_task, input)])[0]


def _awake(final: Reply[FinishedRun], timeout: float | None) -> FinishedRun:
    """Waits in steps of ``MAX_SLEEP``: a signal that comes just before a thread sleeps is handled when it wakes."""
    until = math.inf if timeout is None else time.monotonic() + timeout
    while (left := until - time.monotonic()) > MAX_SLEEP:
        try:
            return final.result(MAX_SLEEP)
        except TimeoutError:
            if final.done():
                return final.result()
    return final.result(max(0.0, left))


class Submitting:
    """Starts runs on a core: for a Runner, and for bodies that start runs of their own."""

    def __init__(self, core: Core) -> None:
        self._core = core

    def run(self, workflow: Workflow[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
        """Submits a run, waits for its end, and returns the result."""
        return self.submit(workflow, *args, **kwargs).result()

    def submit(self, workflow: Workflow[P, R], /, *args: P.args, **kwargs: P.kwargs) -> RunHandle[R]:
        """Starts a run; returns once it is durable."""
        return _submit(self._core, [self._core.submitter.request(workflow, args, kwargs)])[0]

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
        """Starts a run with an idempotency key, a priority or a timeout; keyword parameters go into ``input``."""
        options = Options.of(key, priority, timeout)
        return _submit(self._core, [self._core.submitter.request(workflow, args, input or {}, options)])[0]

    def owns(self, run_id: str) -> bool:
        """True if this Runner is the run's owner now."""
        return self._core.admin.owns(run_id)


def _submit(core: Core, requests: Sequence[Submission]) -> list[RunHandle[Any]]:
    """Hands in checked submissions; returns once all are durable."""
    core.submitter.submit(requests)
    return [RunHandle(core, request.accepted.result(), request.final, request.warnings) for request in requests]


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
        direct_database_url: str | None = None,
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
        schedules: bool | None = None,
        definitions: DefinitionSettings | None = None,
        notifications: NotificationSettings | None = None,
        origin: str | None = None,
        config: ConfigSource = True,
        handle_sigterm: bool = True,
    ) -> None:
        core = Core(
            runner_config(
                config,
                database_url=database_url,
                direct_database_url=direct_database_url,
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
                schedules=schedules,
                definitions=definitions,
                notifications=notifications,
                origin=origin,
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
        """Starts a run for each input (parameters by name); returns once all are durable."""
        return _submit(self._core, self._core.submitter.request_many(workflow, inputs, priority))

    # -- reading ------------------------------------------------------------------------------------------------
    def get(self, run_id: str) -> RunHandle[Any]:
        """Returns the handle of a run that was submitted earlier, here or elsewhere."""
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
        """Returns runs, newest first."""
        return self._core.reader.runs(workflow, states, limit, before)

    def triggers(self) -> builtins.list[TriggerRow]:
        """Returns the event triggers that were polled on this database, with their last errors."""
        return self._core.store.triggers()

    def explain(self, workflow: Workflow[..., Any], run_id: str | None = None) -> dict[str, Explanation]:
        """Returns where each task of the workflow goes, and why, by task name."""
        return self._core.admin.explain(workflow, run_id)

    def draw(self, workflow: Workflow[..., Any]) -> str:
        """Returns the workflow's graph in text."""
        return self._core.submitter.draw(workflow)

    def set_routing(self, routing: RoutingConfig) -> builtins.list[str]:
        """Replaces all routing rules of this Runner at once, or refuses them as a whole if one is invalid. Returns
        warnings. From then on it does not follow the rules that orchestrators share."""
        return self._core.admin.set_routing(routing).result()

    def routing(self) -> RulesInForce:
        """Returns the routing rules that this Runner decides by, and where they come from."""
        return self._core.admin.routing()

    # -- health -------------------------------------------------------------------------------------------------
    def health(self) -> dict[str, Any]:
        """Returns the health of all live orchestrators on this database: ``GET /health/orchestration``."""
        return self._core.admin.health()

    def metrics(self) -> str:
        """Returns the metrics of all live orchestrators on this database, for Prometheus."""
        return self._core.admin.metrics()

    # -- workers ------------------------------------------------------------------------------------------------
    def workers(self) -> builtins.list[WorkerView]:
        """Returns the workers that are connected to any hub on this database, by name."""
        return self._core.admin.live_workers()

    def drain_worker(self, worker: str, reason: str = "drained") -> WorkerView:
        """Drains a worker, by its name or id: from the next heartbeat it finishes what it has, then it leaves."""
        return self._core.admin.drain_worker(worker, reason)

    # -- retention ----------------------------------------------------------------------------------------------
    def delete(self, run_id: str, *, force: bool = False) -> Deleted:
        """Deletes a run that has ended, with its child runs; with ``force``, one that has not is cancelled first."""
        return self._core.admin.delete(run_id, force=force).result()

    def prune(self, older_than: Duration | None = None, *, states: Sequence[RunState | str] = ()) -> Deleted:
        """Deletes the runs that ended longer ago, in small transactions; by default those that the settings name."""
        return self._core.admin.prune(older_than, states).result()

    # -- life ---------------------------------------------------------------------------------------------------
    def close(self, timeout: float | None = None) -> None:
        """Hands over: unstarted attempts are released, running ones get ``timeout`` seconds, runs become unowned."""
        runner_closed(self)
        self._restore()
        self._core.close(timeout)

    def _hand_over_on_sigterm(self) -> Callable[[], None]:
        """Handles SIGTERM in the main thread if it has the default disposition. Returns what restores it."""
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
