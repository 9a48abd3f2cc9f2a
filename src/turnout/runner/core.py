"""Composes one orchestrator inside a program, and starts and stops its parts.

``Runner`` and ``AsyncRunner`` use the parts from their own threads; calls that take time return a
``concurrent.futures.Future``. User coroutines never run on the engine's loop, nor on the caller's.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import msgspec

from turnout.dispatcher import WORKERS, DefaultDispatcher
from turnout.dispatcher.admission import Admission
from turnout.executors.work_runner import WorkRunner
from turnout.model.extras import optional_packages
from turnout.model.health import Orchestrator
from turnout.model.limits import LimitSize
from turnout.model.names import split_task_id
from turnout.orchestration.engine import Engine
from turnout.orchestration.engine_options import EngineOptions
from turnout.orchestration.loaders.loader import MemoryLoader
from turnout.orchestration.stages.claims import ClaimScope
from turnout.orchestration.upkeep.log_writer import LogWriter
from turnout.orchestration.upkeep.worker_sessions import StoredRunNumbers, WorkerSessions
from turnout.runner.administration import Administration
from turnout.runner.composition import (
    drives_stored,
    make_dispatcher,
    refuse_in_child,
    registry_of,
    validate_all,
)
from turnout.runner.definitions.settings import DefinitionSettings
from turnout.runner.engine_loop import EngineLoop, close_at_exit, closed
from turnout.runner.other_hubs import OtherHubs
from turnout.runner.routing_rules import RoutingRules
from turnout.runner.run_reader import RunReader
from turnout.runner.settings import RunnerConfig
from turnout.runner.submitter import Submitter
from turnout.runtime.capture import capture
from turnout.runtime.garbage_collector import collect_less_often
from turnout.store import connect
from turnout.store.database import shown_url

if TYPE_CHECKING:
    from turnout.authoring.workflow import Workflow
    from turnout.executors.workers.executor import WorkersExecutor
    from turnout.model.rows import NewRun
    from turnout.runner.definitions.service import Definitions
    from turnout.telemetry.service import Telemetry

log = logging.getLogger("turnout.runner")

STOP_TIMEOUT = 10.0
"""Seconds that the engine may take to stop beyond the grace of running bodies."""


class Core:
    """Composes an orchestrator from its configuration, starts it, and hands over when it is closed."""

    def __init__(self, config: RunnerConfig) -> None:
        refuse_in_child()
        for warning in config.warnings:
            log.warning("configuration: %s", warning)
        self.config = config
        self.url = config.database_url
        workflows = None if config.workflows is None else tuple(config.workflows)
        self.registry = registry_of(workflows, config.tenant, config.task_defaults)
        self.dispatcher = self._make_dispatcher(config) if config.dispatcher else None
        self.workers = self._workers_executor()
        self.store = connect(
            self.url,
            direct_url=config.direct_database_url,
            lanes=config.settings.lanes,
            connections=config.settings.connections,
        )
        self.definitions = self._make_definitions(config.definitions, workflows or ())
        self.routing = self._make_routing()
        self.loop = EngineLoop()
        self.telemetry = self._make_telemetry(config)
        self.engine = Engine(
            self.loop.loop, self.store, self.registry, self.dispatcher, config.settings, self._options()
        )
        logs = config.settings.logs
        self.log_writer = LogWriter(self.store, logs, config.on_output, self._name_of) if logs.capture else None
        self._end_capture = lambda: None
        self._restore_collector = lambda: None
        self._work_runner = WorkRunner()
        if self.dispatcher is not None:
            self._bind(self.dispatcher)
        self.reader = RunReader(self.store, self.registry, self.engine, self.log_writer, self.loop)
        self.submitter = Submitter(
            config,
            self.store,
            self.registry,
            self.dispatcher,
            self.engine,
            reader=self.reader,
            loop=self.loop,
        )
        self.admin = Administration(
            config,
            self.store,
            self.dispatcher,
            self.engine,
            routing=self.routing,
            submitter=self.submitter,
            loop=self.loop,
        )
        self._open()

    def _make_dispatcher(self, config: RunnerConfig) -> DefaultDispatcher:
        dispatcher = make_dispatcher(config)
        if config.drives:
            validate_all(dispatcher, self.registry, config.rules_origin)
        return dispatcher

    def _make_definitions(
        self, settings: DefinitionSettings | None, workflows: Iterable[Workflow[..., Any]]
    ) -> Definitions | None:
        if settings is None:
            return None
        from turnout.authoring.yaml.compiler import compile_file
        from turnout.runner.definitions.service import Definitions

        hub = self.config.hub is not None
        tenant = self.config.tenant
        return Definitions(
            self.store,
            self.registry,
            settings,
            compile_file,
            tenant=tenant,
            workflows=workflows,
            hub=hub,
            limits=self.config.limits,
        )

    def _make_routing(self) -> RoutingRules | None:
        if self.dispatcher is None:
            return None
        return RoutingRules(self.store, self.dispatcher, given=self.config.routing_given)

    def _refresh_shared(self) -> None:
        """Puts the definitions and rules that orchestrators share in force here. Blocks."""
        if self.definitions is not None:
            self.definitions.catalog.refresh()
        if self.routing is not None:
            self.routing.refresh()

    def _workers_executor(self) -> WorkersExecutor | None:
        if self.dispatcher is None or self.config.hub is None:
            return None
        return cast("WorkersExecutor", self.dispatcher.executors[WORKERS])

    def _options(self) -> EngineOptions:
        config, stored = self.config, None
        listens = self.workers is not None and self.workers.listens
        if self.dispatcher is not None and (listens or self.definitions is not None) and config.claims is None:
            stored = partial(drives_stored, self.dispatcher, self.registry)
        only = None if config.claims is None else frozenset(config.claims)
        return EngineOptions(
            drives=config.drives,
            polled=frozenset(config.polling),
            scope=ClaimScope(only, stored),
            tenant=config.tenant,
            refresh=None if self.definitions is None and self.routing is None else self._refresh_shared,
            max_output_bytes=config.max_output_bytes,
            schedules=config.schedules,
            admission=self._admission(),
            limits=config.limits,
            observer=None if self.telemetry is None else self.telemetry.observer,
        )

    def _make_telemetry(self, config: RunnerConfig) -> Telemetry | None:
        """Makes what sees the commits of the engine, which is made after it."""
        if config.telemetry is None:
            return None
        with optional_packages():
            from turnout.telemetry.service import Telemetry

        def in_memory(run_id: str) -> NewRun | None:
            owned = self.engine.runs.get(run_id)
            return None if owned is None else owned.machine.new

        def stored(run_id: str) -> NewRun | None:
            run = self.store.run(run_id)
            return None if run is None else run.new

        def status() -> Orchestrator | None:
            latest = self.engine.snapshot.latest()
            if latest is None:
                return None
            session = self.engine.session.current
            return Orchestrator(id=session.id, host=session.host, pid=session.pid, status=latest)

        return Telemetry(config.telemetry, in_memory=in_memory, stored=stored, status=status)

    def _admission(self) -> Admission | None:
        if self.dispatcher is None:
            return None
        return Admission(self.dispatcher, None if self.config.drives else OtherHubs(self.store))

    def _bind(self, dispatcher: DefaultDispatcher) -> None:
        """Gives the executors what they use of their orchestrator."""
        engine, store = self.engine, self.store
        loader = MemoryLoader(
            store,
            self.registry,
            engine.graphs,
            engine.runs,
            engine.session.begin_by,
            self.log_writer,
            runner=self._work_runner,
            traces=None if self.telemetry is None else self.telemetry.traces,
        )
        dispatcher.bind(loader)
        dispatcher.timeouts = self._timeout_of
        for remote in dispatcher.with_holders:
            lease = remote.holder_lease
            holders = WorkerSessions(store, engine.session, engine.runs, engine.background, engine.wakeups, lease)
            remote.bind_holders(holders)
            if self.log_writer is not None:
                remote.bind_lines(self.log_writer)
        dispatcher.bind_numbers(StoredRunNumbers(store, engine.background))

    @property
    def hub(self) -> str | None:
        """The address that workers connect to; None if there is no hub here."""
        return self.workers.router.address if self.workers is not None and self.workers.listens else None

    # -- life ---------------------------------------------------------------------------------------------------
    def _open(self) -> None:
        try:
            self.store.open()
            if self.definitions is not None:
                self.definitions.load()
            if self.routing is not None:
                self.routing.refresh()
            self.loop.start()
            self.loop.call(self._start()).result()
            if self.log_writer is not None and self.dispatcher is not None:
                self._end_capture = capture()
            if self.config.drives:
                self._restore_collector = collect_less_often()
        except BaseException:
            if self.definitions is not None:
                self.definitions.stop()
            self.loop.stop()
            if self.telemetry is not None:
                self.telemetry.stop()
            self.store.close()
            raise
        close_at_exit(self)

    async def _start(self) -> None:
        await self.engine.start()
        in_thread = self.engine.background.in_thread
        unfinished = (await in_thread(self.store.waiting))["unfinished"]
        if unfinished:
            log.info("resuming: %d unfinished runs in %s", unfinished, shown_url(self.url))
        if self.dispatcher is not None and self.config.routing is not None:
            text = msgspec.json.encode(self.dispatcher.routing).decode()
            await in_thread(self.store.record_routing, self.engine.session.id, text)
        if self.config.limits and self.config.drives:
            await self._store_limits(self.config.limits)
        await self.engine.start_upkeep()

    async def _store_limits(self, sizes: Mapping[str, LimitSize]) -> None:
        changed = await self.engine.background.in_thread(self.store.put_limit_sizes, sizes)
        if changed:
            log.warning("limits have other sizes than in the database, and now these: %s", ", ".join(changed))

    def close(self, timeout: float | None = None) -> None:
        """Hands over and stops. May be called twice."""
        if not self.loop.close():
            return
        closed(self)
        grace = self.config.settings.stop_grace if timeout is None else timeout
        if self.definitions is not None:
            self.definitions.stop()
        try:
            self.loop.call(self._stop(grace)).result(grace + STOP_TIMEOUT)
        finally:
            self.loop.stop()
            self._restore_collector()
            self._end_capture()
            if self.log_writer is not None:
                self.log_writer.stop()
            if self.telemetry is not None:
                self.telemetry.stop()
            self.store.close()

    async def _stop(self, grace: float) -> None:
        await self.engine.stop_upkeep()
        await self.engine.stop(grace)
        await self._work_runner.stop()

    def _timeout_of(self, event: Any) -> float | None:
        owned = self.engine.runs.get(event.run_id)
        return owned.machine.spec_of(split_task_id(event.task_id)[1]).timeout if owned else None

    def _name_of(self, run_id: str, pos: int, full_name: str) -> str:
        owned = self.engine.runs.get(run_id)
        tasks = owned.machine.tasks if owned is not None else ()
        return tasks[pos].name if pos < len(tasks) else full_name.rpartition("::")[2]
