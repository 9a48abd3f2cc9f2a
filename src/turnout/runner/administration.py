"""Administers runs, workers and orchestrators: health, metrics, drains, retention, commands and routing."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any

import msgspec

from turnout.authoring.workflow import Workflow
from turnout.contracts.store import Store
from turnout.dispatcher import DefaultDispatcher, Explanation, RoutingConfig
from turnout.errors import DefinitionError, StoreError
from turnout.model.durations import Duration, seconds
from turnout.model.exposition import exposition
from turnout.model.health import Orchestrator, OrchestratorStatus
from turnout.model.retention import Deleted
from turnout.model.states import RunState
from turnout.model.texts import MAX_REASON_LENGTH, checked_text
from turnout.model.workers import WorkerView
from turnout.orchestration.engine import Engine
from turnout.orchestration.settings import Retention, ended_states
from turnout.runner.engine_loop import EngineLoop
from turnout.runner.live_sessions import drain, find_worker, health, live_orchestrators, live_workers
from turnout.runner.open_runs import open_counts
from turnout.runner.routing_rules import RoutingRules, RulesInForce
from turnout.runner.settings import RunnerConfig
from turnout.runner.submitter import Submitter

STATUS_TIMEOUT = 2.0
"""Seconds that the engine has to report its status; after that the last one is used."""


class Administration:
    """Health, workers, retention, commands to runs, and routing."""

    def __init__(
        self,
        config: RunnerConfig,
        store: Store,
        dispatcher: DefaultDispatcher | None,
        engine: Engine,
        *,
        routing: RoutingRules | None,
        submitter: Submitter,
        loop: EngineLoop,
    ) -> None:
        self._config = config
        self._store = store
        self._dispatcher = dispatcher
        self._engine = engine
        self._routing = routing
        self._submitter = submitter
        self._loop = loop

    # -- health -------------------------------------------------------------------------------------------------
    def orchestrators(self) -> list[Orchestrator]:
        """Returns all live orchestrators, this one as it is now. During a database outage, this one alone."""
        self._loop.check_open()
        if self._config.drives:
            mine = self._this_orchestrator()
            try:
                others = [one for one in live_orchestrators(self._store) if one.id != mine.id]
            except StoreError:
                others = []
            return [mine, *others]
        return live_orchestrators(self._store)

    def health(self) -> dict[str, Any]:
        """Returns the health report of all orchestrators. During a database outage it has no counts of runs."""
        found = self.orchestrators()
        try:
            counts = open_counts(self._store)
        except StoreError:
            counts = None
        return health(found, counts)

    def metrics(self, *, in_open_metrics: bool = False) -> str:
        """Returns the metrics of all orchestrators in the format of Prometheus, or in that of OpenMetrics."""
        return exposition(self.orchestrators(), in_open_metrics=in_open_metrics)

    def _this_orchestrator(self) -> Orchestrator:
        async def look() -> OrchestratorStatus:
            return self._engine.snapshot.refresh()

        looking = self._loop.call(look())
        try:
            status = looking.result(STATUS_TIMEOUT)
        except FutureTimeout:
            looking.cancel()
            status = self._engine.snapshot.latest() or OrchestratorStatus()
        session = self._engine.session.current
        return Orchestrator(id=session.id, host=session.host, pid=session.pid, status=status)

    # -- workers ------------------------------------------------------------------------------------------------
    def live_workers(self) -> list[WorkerView]:
        return live_workers(self._store, self.orchestrators())

    def drain_worker(self, wanted: str, reason: str) -> WorkerView:
        worker = find_worker(self.live_workers(), wanted)
        drain(self._store, worker, reason)
        return worker

    # -- retention ----------------------------------------------------------------------------------------------
    def delete(self, run_id: str, *, force: bool = False) -> Future[Deleted]:
        self._loop.check_open()
        return self._loop.call(self._engine.pruner.delete(run_id, force=force, rows=self._retention.rows))

    def prune(self, older_than: Duration | None, states: Sequence[RunState | str]) -> Future[Deleted]:
        self._loop.check_open()
        retention = self._retention
        age = seconds(retention.older_than if older_than is None else older_than, "older_than")
        ended = ended_states(states or retention.states)
        return self._loop.call(self._engine.pruner.prune(age, ended, retention.runs, retention.rows))

    @property
    def _retention(self) -> Retention:
        return self._config.settings.retention or Retention()

    def command(self, run_id: str, kind: str, reason: str | None = None) -> Future[None]:
        self._loop.check_open()
        if reason is not None:
            checked_text(reason, "reason", longest=MAX_REASON_LENGTH)
        return self._loop.call(self._engine.commands.carry_out(run_id, kind, reason))

    def owns(self, run_id: str) -> bool:
        """True if this orchestrator is the run's owner."""
        return run_id in self._engine.runs

    def explain(self, workflow: Workflow[..., Any], run_id: str | None) -> dict[str, Explanation]:
        """Returns the route of each task, by the function that decides it in a run. Labels take values of the input of
        a run that is stored."""
        spec, dispatcher = self._submitter.graph_of(workflow).spec, self._dispatcher
        if dispatcher is None:
            return {}
        run = None if run_id is None else self._store.run(run_id)
        input = None if run is None else msgspec.json.decode(run.new.input)
        return {task.name: dispatcher.explain(task, spec, run_id, input) for task in spec.tasks}

    def set_routing(self, routing: RoutingConfig) -> Future[list[str]]:
        """Replaces all rules of this Runner at once if they are valid, and records the new version."""
        rules, dispatcher = self._rules, self._dispatcher
        self._loop.check_open()

        async def replace() -> list[str]:
            assert dispatcher is not None
            dispatcher.check(routing)
            text = msgspec.json.encode(routing).decode()
            # First recorded, then in force: what cannot be recorded changes nothing.
            await self._engine.background.in_thread(self._store.record_routing, self._engine.session.id, text)
            return rules.use(routing)

        return self._loop.call(replace())

    def routing(self) -> RulesInForce:
        """Returns the rules that this Runner decides by, and where they come from."""
        return self._rules.in_force

    def share_routing(self, routing: RoutingConfig | None, expected: int | None, actor: str) -> list[str]:
        """Makes these the rules of all orchestrators on the database, or with None those of each configuration, if the
        version of the shared ones is the expected one. Returns warnings. Blocks."""
        return self._rules.share(routing, expected, actor=actor, session_id=self._engine.session.id)

    @property
    def _rules(self) -> RoutingRules:
        if self._routing is None:
            raise DefinitionError("there is no dispatcher here: pollers decide by its rules", code="no_dispatcher")
        return self._routing

    def take(self, run_id: str) -> None:
        """Drives this run here if no live orchestrator does. Returns once one does, or the run has ended."""
        self._loop.check_open()
        self._loop.call(self._engine.sweeper.take(run_id)).result()
