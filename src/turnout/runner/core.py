"""One orchestrator inside a program: the engine on an event loop in a thread of its own.

Both faces, ``Runner`` and ``AsyncRunner``, call the methods here from their own threads; what takes time answers with
a ``concurrent.futures.Future``. User coroutines never run on the engine's loop, nor on the caller's; and the engine
never runs in the caller's context, which may be that of a body.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextvars import Context
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from turnout.authoring.definition import Definition
from turnout.authoring.workflow import Workflow
from turnout.bodies.capture import capture
from turnout.bodies.work_runner import WorkRunner
from turnout.contracts.workers import NumbersRuns
from turnout.dispatcher import WORKERS, DefaultDispatcher, Explanation, RoutingConfig
from turnout.errors import DefinitionError, InvalidInput, InvalidWorkflow, RunNotFound, StoreError, TurnoutError
from turnout.model.durations import Duration, seconds
from turnout.model.graph import Graph
from turnout.model.health import Orchestrator, OrchestratorStatus
from turnout.model.inputs import check_input
from turnout.model.names import new_run_id, split_task_id
from turnout.model.rerun import new_input
from turnout.model.retention import Deleted
from turnout.model.rows import NewRun, StoredRun, TaskRow
from turnout.model.spec import WorkflowSpec
from turnout.model.states import RunState
from turnout.model.texts import LONGEST_KEY, LONGEST_REASON, checked_text
from turnout.model.values import dump_output
from turnout.model.workers import WorkerView
from turnout.orchestration.adoption import ClaimScope
from turnout.orchestration.elsewhere import Elsewhere
from turnout.orchestration.engine import Engine, EngineOptions
from turnout.orchestration.loading import MemoryLoader
from turnout.orchestration.log_writer import LogWriter
from turnout.orchestration.moves import Final, Request
from turnout.orchestration.reruns import reused_rows
from turnout.orchestration.results import run_result
from turnout.orchestration.run_numbers import StoredRunNumbers
from turnout.orchestration.settings import Retention, ended_states
from turnout.runner.drivers import open_counts
from turnout.runner.leaving import close_at_exit, closed
from turnout.runner.logs import LogReader
from turnout.runner.orchestrators import health, live_orchestrators
from turnout.runner.registration import registry_of
from turnout.runner.settings import RunnerConfig
from turnout.runner.stored_specs import spec_of_version
from turnout.runner.task_detail import TaskDetail, task_detail
from turnout.runner.views import failure_of
from turnout.runner.wiring import drives_stored, make_dispatcher, refuse_in_child, refuse_workers, validate_all
from turnout.runner.workers import drain, find_worker, live_workers
from turnout.store import connect
from turnout.store.urls import shown_url

if TYPE_CHECKING:
    from turnout.executors.workers.executor import WorkersExecutor

log = logging.getLogger("turnout.runner")
T = TypeVar("T")
CLOSED = "this Runner is closed"

LOOK_PATIENCE = 2.0
"""Seconds that the engine may take to say how it is; then what it said last is all there is."""


class Options(msgspec.Struct, frozen=True, kw_only=True):
    """How one submission differs from the default."""

    key: str | None = None
    """The idempotency key: the same key and input give the same run; the same key with another input is refused."""
    priority: int = 0
    timeout: float | None = None


DEFAULTS = Options()


class Core:
    """Submits, watches, controls and reads runs."""

    def __init__(self, config: RunnerConfig) -> None:
        refuse_in_child()
        self.config = config
        self.url = config.database_url
        self.registry = registry_of(config.workflows, config.tenant, config.task_defaults)
        self.dispatcher = self._make_dispatcher(config) if config.dispatcher else None
        self.store = connect(self.url, lanes=config.settings.lanes, connections=config.settings.connections)
        self._loop = asyncio.new_event_loop()
        self.engine = Engine(
            self._loop, self.store, self.registry, self.dispatcher, config.settings, self._options(config)
        )
        logs = config.settings.logs
        self.log_writer = LogWriter(self.store, logs, config.on_output, self._name_of) if logs.capture else None
        self._end_capture = lambda: None
        self.workers: WorkersExecutor | None = None
        self._work_runner = WorkRunner()
        if self.dispatcher is not None:
            engine = self.engine
            self.dispatcher.bind(
                MemoryLoader(
                    self.store,
                    self.registry,
                    engine.graphs,
                    engine.runs,
                    engine.session.begin_by,
                    self.log_writer,
                    runner=self._work_runner,
                )
            )
            self.dispatcher.timeouts = self._timeout_of
            self._join_hub(self.dispatcher)
            for executor in self.dispatcher.executors.values():
                if isinstance(executor, NumbersRuns):
                    executor.bind_numbers(StoredRunNumbers(self.store, engine.background))
        self._checked: dict[str, WorkflowSpec] = {}
        """Workflows whose routes were checked, with those that they call."""
        self._thread = threading.Thread(target=self._loop.run_forever, name="turnout-engine", daemon=True)
        self._closed = False
        self._closing = threading.Lock()
        """Held while a submission is handed to the loop: once ``_closed`` is set, none comes after the stop."""
        self._open()

    def _make_dispatcher(self, config: RunnerConfig) -> DefaultDispatcher:
        dispatcher = make_dispatcher(config)
        if config.drives:
            validate_all(dispatcher, self.registry)
        return dispatcher

    def _options(self, config: RunnerConfig) -> EngineOptions:
        dispatcher, stored = self.dispatcher, None
        if config.hub is not None and dispatcher is not None and config.claims is None:
            workers = cast("WorkersExecutor", dispatcher.executors[WORKERS])
            stored = partial(drives_stored, dispatcher) if workers.listens else None
        only = None if config.claims is None else frozenset(config.claims)
        return EngineOptions(
            drives=config.drives,
            polled=frozenset(config.polling),
            scope=ClaimScope(only, stored),
            max_output_bytes=config.max_output_bytes,
        )

    def _join_hub(self, dispatcher: DefaultDispatcher) -> None:
        """Tell the executor of workers, if there is one, who keeps what they hold."""
        if self.config.hub is not None:
            workers = cast("WorkersExecutor", dispatcher.executors[WORKERS])
            engine, lease = self.engine, seconds(self.config.hub.lease)
            workers.holders = Elsewhere(
                self.store, engine.session, engine.runs, engine.background, engine.wakeups, lease
            )
            self.workers = workers

    @property
    def hub(self) -> str | None:
        """The address that workers connect to; None if there is no hub here."""
        return self.workers.door.address if self.workers is not None and self.workers.listens else None

    def _open(self) -> None:
        try:
            self.store.open()
            self._thread.start()
            self.call(self._start()).result()
            if self.log_writer is not None and self.dispatcher is not None:
                self._end_capture = capture()
        except BaseException:
            self._stop_loop()
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
        await self.engine.start_upkeep()

    def call(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run a coroutine on the engine's loop."""
        return Context().run(asyncio.run_coroutine_threadsafe, work, self._loop)

    def close(self, timeout: float | None = None) -> None:
        """Hand over and stop. May be called twice."""
        with self._closing:
            if self._closed:
                return
            self._closed = True
        closed(self)
        grace = self.config.settings.stop_grace if timeout is None else timeout
        try:
            self.call(self._stop(grace)).result(grace + 10)
        finally:
            self._stop_loop()
            self._end_capture()
            if self.log_writer is not None:
                self.log_writer.stop()
            self.store.close()

    async def _stop(self, grace: float) -> None:
        await self.engine.stop_upkeep()
        await self.engine.stop(grace)
        await self._work_runner.stop()

    def _stop_loop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(5.0)
        if not self._thread.is_alive():
            self._loop.close()

    def _check_open(self) -> None:
        if self._closed:
            raise TurnoutError(CLOSED, code="runner_closed")

    def _timeout_of(self, event: Any) -> float | None:
        owned = self.engine.runs.get(event.run_id)
        return owned.machine.spec_of(split_task_id(event.task_id)[1]).timeout if owned else None

    def _name_of(self, run_id: str, pos: int, full_name: str) -> str:
        owned = self.engine.runs.get(run_id)
        tasks = owned.machine.tasks if owned is not None else ()
        return tasks[pos].name if pos < len(tasks) else full_name.rpartition("::")[2]

    # -- submitting ---------------------------------------------------------------------------------------------
    def graph_of(self, workflow: Workflow[..., Any]) -> Graph:
        """The workflow's graph, registered and checked against the rules."""
        return self._define(workflow).graph

    def _define(self, workflow: Workflow[..., Any]) -> Definition:
        definition = self.registry.define(workflow, self.config.tenant)
        spec = definition.spec
        if self._checked.get(spec.full_name) is not spec:
            # Where runs are only handed in, the executors that their orchestrators have are not known.
            if self.dispatcher is not None and self.config.drives:
                family = self.registry.family_of(workflow, self.config.tenant)
                self.dispatcher.validate(family)
                if self.workers is not None and not self.workers.listens:
                    refuse_workers(self.dispatcher, family)
            self._checked[spec.full_name] = spec
        return definition

    def request(
        self,
        workflow: object,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        options: Options = DEFAULTS,
    ) -> Request:
        """A checked submission; nothing is written yet."""
        if not isinstance(workflow, Workflow):
            raise InvalidWorkflow(
                f"{workflow!r} is not a workflow: decorate the function with @workflow", code="not_a_workflow"
            )
        definition = self._define(workflow)
        return self._request(definition.graph, definition, definition.bind(*args, **kwargs), options)

    def _request(
        self,
        graph: Graph,
        definition: Definition | None,
        input: Mapping[str, Any],
        options: Options,
        *,
        reuse: Sequence[TaskRow] = (),
        rerun_of: str | None = None,
    ) -> Request:
        text = dump_output(dict(input), limit=self.config.max_output_bytes, what="input")
        digest = ""
        if options.key is not None:
            checked_text(options.key, "key", longest=LONGEST_KEY)
            canonical = msgspec.json.encode(dict(input), order="deterministic")
            digest = hashlib.sha256(canonical).hexdigest()
        new = NewRun(
            run_id=new_run_id(),
            workflow=graph.spec.full_name,
            version=graph.version,
            input=text,
            created_at=time.time(),
            key=options.key,
            input_digest=digest,
            priority=options.priority,
            timeout=options.timeout if options.timeout is not None else graph.spec.timeout,
            rerun_of=rerun_of,
        )
        if definition is not None:
            self.registry.keep(new, definition)
        return Request(graph, new, Future(), Future(), reuse)

    def submit(self, requests: Sequence[Request]) -> None:
        """Hand requests to the engine; each one's ``accepted`` tells when it is durable. Above the high-water mark this
        waits, or raises TooBusy: call it off the loop."""
        self._check_open()
        throttle = self.engine.throttle
        throttle.admit(len(requests), self.config.settings.submit_wait)
        for request in requests:
            request.accepted.add_done_callback(throttle.settled)
        with self._closing:
            if not self._closed:
                self._loop.call_soon_threadsafe(self.engine.submissions.put, requests, context=Context())
                return
        for request in requests:
            request.refuse(TurnoutError(CLOSED, code="runner_closed"))

    def rerun(self, run_id: str, from_task: str | None, input: Mapping[str, Any] | None) -> Request:
        """A request for a new run that reuses what the old one finished. Reads the store: call it off the loop."""
        run = self.stored(run_id)
        old = self.engine.graphs.stored(run.new.version)
        # The workflow of today; as it was then if this program does not have it.
        definition = self.registry.workflows.get(run.new.workflow)
        graph = old if definition is None else definition.graph
        types = None if definition is None else definition.source.types
        given = check_input(graph.spec, new_input(graph.spec, msgspec.json.decode(run.new.input), input or {}), types)
        reuse = reused_rows(self.store, self.engine.graphs, run, graph, given, from_task)
        if sum(row.group is None for row in reuse) == len(graph.tasks) - len(graph.hooks):
            raise InvalidInput(
                f"run {run_id} has nothing to run again: every task of {graph.spec.name!r} has finished, "
                "and neither its code nor its input is another; give from_task=… to start there, or a changed input=…",
                code="nothing_to_rerun",
                run_id=run_id,
            )
        timeout = graph.spec.timeout if run.new.timeout == old.spec.timeout else run.new.timeout
        options = Options(priority=run.new.priority, timeout=timeout)
        return self._request(graph, definition, given, options, reuse=reuse, rerun_of=run.new.run_id)

    # -- reading ------------------------------------------------------------------------------------------------
    def stored(self, run_id: str) -> StoredRun:
        run = self.store.run(run_id)
        if run is None:
            raise RunNotFound(f"there is no run {run_id}", run_id=run_id)
        return run

    def task_detail(self, run_id: str, name: str) -> TaskDetail:
        """One task with its output and attempts, as it is stored."""
        return task_detail(self.store, self.stored(run_id), name)

    def spec_of(self, run_id: str) -> WorkflowSpec:
        """The workflow as the run knows it, whatever the code says today."""
        return spec_of_version(self.store, self.stored(run_id).new.version)

    def _stored(self, run_id: str) -> tuple[StoredRun, Graph, dict[int, TaskRow]]:
        run = self.stored(run_id)
        graph = self.engine.graphs.stored(run.new.version)
        return run, graph, {row.pos: row for row in self.store.tasks(run_id, outputs=False)}

    def look(self, run_id: str) -> list[TaskRow]:
        """The run's tasks as they are now, without outputs: from memory while it is driven here, else from the store.

        Called from any thread: the rows are frozen, and a copy of their list is made in one step.
        """
        owned = self.engine.runs.get(run_id)
        return list(owned.machine.tasks) if owned is not None else self.store.tasks(run_id, outputs=False)

    def watch(self, run_id: str, future: Future[Final]) -> None:
        self._check_open()
        self._loop.call_soon_threadsafe(self.engine.waiters.watch, run_id, future, context=Context())

    def result(self, final: Final) -> Any:
        """What the run returned, or the exception that tells how it ended. Reads large outputs from the store."""
        run = final.run
        if final.machine is not None:
            graph, rows = final.machine.graph, dict(enumerate(final.machine.tasks))
        else:
            _, graph, rows = self._stored(run.new.run_id)
        if run.row.state is not RunState.COMPLETED:
            raise failure_of(run, [row for row in rows.values() if row.pos not in graph.hooks])
        fetch = partial(self.store.outputs, run.new.run_id)
        value = run_result(graph, run.new.input, rows, fetch, one_by_one=final.machine is not None)
        definition = self.registry.definition_of(run.new)
        return value if definition is None else definition.returned(value)

    def take(self, run_id: str) -> None:
        """Drive this run here if nobody else does; returns once somebody does, or it has ended."""
        self._check_open()
        self.call(self.engine.sweeper.take(run_id)).result()

    def logs(self, run_id: str, *, follow: bool = False) -> LogReader:
        return LogReader(self.store, self.log_writer, run_id, follow=follow)

    # -- health -------------------------------------------------------------------------------------------------
    def orchestrators(self) -> list[Orchestrator]:
        """All that are alive, this one as it is now. While the database is away, this one alone."""
        self._check_open()
        if self.config.drives:
            mine = self._this_orchestrator()
            try:
                others = [one for one in live_orchestrators(self.store) if one.id != mine.id]
            except StoreError:
                others = []
            return [mine, *others]
        return live_orchestrators(self.store)

    def health(self) -> dict[str, Any]:
        """Of all orchestrators. While the database is away nobody knows which runs are driven."""
        found = self.orchestrators()
        try:
            counts = open_counts(self.store)
        except StoreError:
            counts = None
        return health(found, counts)

    def _this_orchestrator(self) -> Orchestrator:
        async def look() -> OrchestratorStatus:
            return self.engine.sight.look()

        looking = self.call(look())
        try:
            status = looking.result(LOOK_PATIENCE)
        except FutureTimeout:
            looking.cancel()
            status = self.engine.sight.known() or OrchestratorStatus()
        session = self.engine.session.current
        return Orchestrator(id=session.id, host=session.host, pid=session.pid, status=status)

    # -- workers ------------------------------------------------------------------------------------------------
    def live_workers(self) -> list[WorkerView]:
        return live_workers(self.store, self.orchestrators())

    def drain_worker(self, wanted: str, reason: str) -> WorkerView:
        worker = find_worker(self.live_workers(), wanted)
        drain(self.store, worker, reason)
        return worker

    # -- retention ----------------------------------------------------------------------------------------------
    def delete(self, run_id: str, *, force: bool = False) -> Future[Deleted]:
        self._check_open()
        return self.call(self.engine.pruner.delete(run_id, force=force, rows=self._retention.rows))

    def prune(self, older_than: Duration | None, states: Sequence[RunState | str]) -> Future[Deleted]:
        self._check_open()
        retention = self._retention
        age = seconds(retention.older_than if older_than is None else older_than, "older_than")
        ended = ended_states(states or retention.states)
        return self.call(self.engine.pruner.prune(age, ended, retention.runs, retention.rows))

    @property
    def _retention(self) -> Retention:
        return self.config.settings.retention or Retention()

    # -- controlling --------------------------------------------------------------------------------------------
    def command(self, run_id: str, kind: str, reason: str | None = None) -> Future[None]:
        self._check_open()
        if reason is not None:
            checked_text(reason, "reason", longest=LONGEST_REASON)
        return self.call(self.engine.commands.carry_out(run_id, kind, reason))

    def owns(self, run_id: str) -> bool:
        """Whether this orchestrator is the run's owner."""
        return run_id in self.engine.runs

    def explain(self, workflow: Workflow[..., Any], run_id: str | None) -> dict[str, Explanation]:
        """Each task's route by the very function that decides it."""
        spec, dispatcher = self.graph_of(workflow).spec, self.dispatcher
        return {task.name: dispatcher.explain(task, spec, run_id) for task in spec.tasks} if dispatcher else {}

    def set_routing(self, routing: RoutingConfig) -> Future[list[str]]:
        """Replace the rules at once, if they can work; each version is recorded."""
        if self.dispatcher is None:
            raise DefinitionError("this Runner has no dispatcher: there are no rules to replace", code="no_dispatcher")
        self._check_open()
        dispatcher = self.dispatcher

        async def replace() -> list[str]:
            warnings = dispatcher.set_routing(routing)
            text = msgspec.json.encode(routing).decode()
            await self.engine.background.in_thread(self.store.record_routing, self.engine.session.id, text)
            return warnings

        return self.call(replace())
