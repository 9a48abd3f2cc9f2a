"""Provides ``Poller``: it runs ready tasks that no dispatcher sends, in any program on the same database."""

from __future__ import annotations

from collections.abc import Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any

from turnout.authoring.workflow import Workflow
from turnout.executors.polling import PollingExecutor
from turnout.executors.thread import ThreadExecutor
from turnout.model.events import ExecutorMetrics
from turnout.model.rows import NewRun
from turnout.orchestration.loaders.loader import ClaimedLoader
from turnout.orchestration.loaders.stored_runs import GraphCache
from turnout.orchestration.session import this_session
from turnout.orchestration.upkeep.log_writer import LogWriter
from turnout.runner.composition import registry_of
from turnout.runner.settings import configuration
from turnout.runner.settings import database_url as default_url
from turnout.runner.settings import direct_database_url as default_direct_url
from turnout.runtime.capture import capture
from turnout.runtime.log_buffer import LogSettings
from turnout.store import connect

if TYPE_CHECKING:
    from turnout.telemetry.run_traces import RunTraces


class Poller:
    """Claims ready tasks of its keys in batches, and sends results through the inbox of the runs' owners.

    >>> from turnout.runner import Poller, Runner
    >>> from turnout import task, workflow
    >>> @task
    ... def double(number: int) -> int:
    ...     return 2 * number
    >>> @workflow
    ... def doubling(number: int) -> int:
    ...     return double(number)
    >>> with Runner("sqlite:///.turnout/polled.db", dispatcher=None) as runner:
    ...     with Poller("sqlite:///.turnout/polled.db"):
    ...         runner.run(doubling, 21)
    42
    """

    def __init__(
        self,
        database_url: str | None = None,
        *,
        direct_database_url: str | None = None,
        workflows: Iterable[Workflow[..., Any]] | None = None,
        keys: Iterable[str] = ("polling",),
        executor: ThreadExecutor | None = None,
        tenant: str = "public",
        lease: float = 15.0,
        poll: float = 2.0,
        logs: LogSettings | None = None,
    ) -> None:
        logs = logs or LogSettings()
        logs.check("logs")
        registry = registry_of(workflows, tenant)
        self._store = connect(
            default_url(database_url), direct_url=direct_database_url or default_direct_url(database_url)
        )
        self._store.open()
        self._log_writer = LogWriter(self._store, logs) if logs.capture else None
        self._executor = PollingExecutor(
            self._store,
            ClaimedLoader(self._store, registry, GraphCache(self._store), self._log_writer, traces=self._traces()),
            executor,
            tuple(keys),
            session=this_session(tuple(registry.workflows), kind="poller"),
            lease=lease,
            poll=poll,
        )
        try:
            self._executor.start()
        except BaseException:
            self._store.close()
            raise
        self._end_capture = capture() if logs.capture else lambda: None

    def _traces(self) -> RunTraces | None:
        settings = configuration().telemetry
        if settings is None:
            return None
        from turnout.telemetry.root_runs import RootRuns
        from turnout.telemetry.run_traces import RunTraces

        def stored(run_id: str) -> NewRun | None:
            run = self._store.run(run_id)
            return None if run is None else run.new

        return RunTraces(RootRuns(lambda _: None, stored), settings.sample)

    def metrics(self) -> ExecutorMetrics:
        return self._executor.metrics()

    def close(self, timeout: float = 10.0) -> None:
        """Stops claiming, returns what has not started, and gives the rest ``timeout`` seconds."""
        self._executor.stop(timeout)
        self._end_capture()
        if self._log_writer is not None:
            self._log_writer.stop()
        self._store.close()

    def __enter__(self) -> Poller:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()
