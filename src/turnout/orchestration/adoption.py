"""How does an orchestrator come to own runs that are stored already? Stage ``task_claimer``, and reloads."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from turnout.contracts.clock import boot_time
from turnout.errors import StoreError
from turnout.model.children import CHILD
from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.groups import wanted_outputs
from turnout.model.machine import RunMachine
from turnout.model.rows import Holder, LoadedRun, TaskRow
from turnout.model.spec import WorkflowSpec, decode_spec
from turnout.model.states import TaskState
from turnout.orchestration.complaint import Complaint
from turnout.orchestration.failures import unreadable
from turnout.orchestration.grace import grace
from turnout.orchestration.lease import seen_dead
from turnout.orchestration.owned import Answer, OwnedRun, place_of
from turnout.orchestration.stages import Stage

if TYPE_CHECKING:
    from turnout.orchestration.engine import Engine

log = logging.getLogger("turnout.adoption")

FIRST_PAUSE, LAST_PAUSE = 0.5, 5.0
"""Seconds until a run that could not be read anew is tried again. There may be many of them."""


class Adoption:
    """Claims runs, rebuilds their machines, and declares lost what a dead holder had."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._complaint = Complaint(log)
        self.graphs: dict[str, Graph] = {}
        self.wanted = False
        """A claim is queued."""
        self.claiming = 0
        """Claims under way: the database may name runs as owned here that are not known here yet."""
        self.more = False
        """As far as this orchestrator knows, runs were left for claimers."""
        self.only: frozenset[str] | None = None
        """Workflows whose runs are claimed here; None: all that there is the code for."""
        self.drives_stored: Callable[[WorkflowSpec], bool] | None = None
        """Whether runs of a workflow can be driven here by what is stored of it alone; None: none can."""
        self._stored_drivable: dict[str, bool] = {}
        self._trouble: dict[str, str] = {}
        """Runs that could not be taken over, and what raised where."""

    async def process(self, wishes: list[None]) -> None:
        engine = self._engine
        self.wanted, self.more = False, True
        limit = min(engine.settings.max_owned_runs - len(engine.runs), engine.settings.claim_batch)
        names = [name for name in engine.registry.workflows if self.only is None or name in self.only]
        if limit <= 0 or not (names or self.drives_stored) or not engine.may_start:
            return
        # A claim on its way is followed to its end, also if the stage executor that asked is replaced meanwhile.
        claim = engine.spawn(self._claim(names, limit))
        try:
            await asyncio.wait({claim})
            claim.result()
        except BaseException:
            self.wanted = True  # the wishes go back to the queue
            claim.add_done_callback(lambda done: done.cancelled() or done.exception())  # nobody else asks how it went
            raise

    async def _claim(self, names: list[str], limit: int) -> None:
        engine = self._engine
        self.claiming += 1
        try:
            versions = await self._without_code(names) if self.drives_stored is not None else ()
            claimed = await engine.in_thread(
                engine.store.claim_runs, engine.session_id, names, limit, engine.settings.limits.inline_output, versions
            )
            await self.take_over(claimed)
        except StoreError as error:
            self._complaint.say("no runs claimed: %s", error)
            raise
        finally:
            self.claiming -= 1
        self._complaint.over("runs can be claimed again")
        self.more = len(claimed) == limit
        if self.more and len(engine.runs) < engine.settings.max_owned_runs:
            engine.want_claim()

    async def _without_code(self, names: list[str]) -> Sequence[str]:
        """Versions of runs that wait for an owner, and need no code of a program to be driven."""
        engine, known = self._engine, self._stored_drivable
        found = await engine.in_thread(engine.store.unclaimed_versions, names)
        for version in found:
            if version not in known:
                text = await engine.in_thread(engine.store.workflow, version)
                assert self.drives_stored is not None
                known[version] = text is not None and self.drives_stored(decode_spec(text))
        return [version for version in found if known[version]]

    async def take_listed(self, run_ids: Sequence[str]) -> None:
        """Drive these runs, as far as nobody else owns them."""
        engine = self._engine
        claimed = await engine.in_thread(
            engine.store.claim_listed, engine.session_id, run_ids, engine.settings.limits.inline_output
        )
        if claimed:
            log.info("took up %d runs that were given to this orchestrator", len(claimed))
        await self.take_over(claimed)

    async def take_over(self, claimed: Sequence[LoadedRun]) -> None:
        """Become the driver of runs that the store has just given to this session."""
        if not claimed:
            return
        engine = self._engine
        held = {row.holder for run in claimed for row in run.tasks if row.state is TaskState.RUNNING and row.holder}
        held -= {engine.session_id, CHILD}
        holders = await engine.in_thread(engine.store.holders, sorted(held)) if held else {}
        complete: list[LoadedRun] = []
        for loaded in claimed:
            try:
                complete.append(await self._with_kept_outputs(loaded) if loaded.large else loaded)
            except StoreError:
                raise
            except Exception as error:
                self._stumbled(loaded, error)
        in_flight = engine.dispatcher.in_flight() if engine.dispatcher is not None else {}
        for loaded in complete:
            try:
                self._adopt(loaded, holders, in_flight)
                self._trouble.pop(loaded.run.new.run_id, None)
            except Exception as error:
                self._stumbled(loaded, error)

    def _stumbled(self, loaded: LoadedRun, error: Exception) -> None:
        """One run that cannot be made sense of is its own trouble: the sweep tries it once more, and then it fails."""
        run_id, place = loaded.run.new.run_id, place_of(error)
        if self._trouble.pop(run_id, None) != place:
            log.exception("run %s cannot be taken over and will be tried again", run_id)
            self._trouble[run_id] = place
            return
        log.error("run %s fails, since it cannot be taken over: %s", run_id, error)
        written = self._engine.ledger.write([unreadable(loaded, error)])
        written.add_done_callback(lambda done: done.cancelled() or done.exception())  # the sweep finds it otherwise

    async def _with_kept_outputs(self, loaded: LoadedRun) -> LoadedRun:
        wanted = wanted_outputs(self._graph_of(loaded), loaded.tasks, sorted(loaded.large))
        if not wanted:
            return loaded
        engine = self._engine
        outputs = await engine.in_thread(engine.store.outputs, loaded.run.new.run_id, wanted)
        tasks = [msgspec.structs.replace(row, output=outputs.get(row.pos, row.output)) for row in loaded.tasks]
        return msgspec.structs.replace(loaded, tasks=tasks)

    def _graph_of(self, loaded: LoadedRun) -> Graph:
        version = loaded.run.new.version
        graph = self.graphs.get(version)
        if graph is None:
            graph = self.graphs[version] = Graph(decode_spec(loaded.spec), version)
        return graph

    def _adopt(
        self, loaded: LoadedRun, holders: Mapping[str, Holder], in_flight: Mapping[tuple[str, int], TaskReadyEvent]
    ) -> None:
        engine, run = self._engine, loaded.run
        machine = RunMachine(
            self._graph_of(loaded),
            run.new,
            run.row,
            loaded.tasks,
            epoch=run.epoch,
            seq=run.seq,
            limits=engine.settings.limits,
        )
        owned = OwnedRun(machine)
        owned.fresh = True
        before = engine.runs.get(run.new.run_id)
        if before is not None:
            owned.results, owned.orders, owned.trouble = before.results, before.orders, before.trouble
            before.dropped = True
        engine.runs[run.new.run_id] = owned
        owned.shaken = any(row.losses for row in loaded.tasks)
        for row in loaded.tasks:
            if row.state is TaskState.RUNNING and row.pos not in machine.graph.mapped:
                self._check_holder(owned, row, holders, in_flight)
            elif row.state is TaskState.READY and row.retry_in:
                engine.settlement.wait_until_due(owned, row)
        if machine.graph.children:
            engine.children.take_up(owned)
        engine.settlement.watch_deadline(owned, run.age)
        engine.enqueue(owned, Stage.STEP_ENQUEUER)

    def _check_holder(
        self,
        owned: OwnedRun,
        row: TaskRow,
        holders: Mapping[str, Holder],
        in_flight: Mapping[tuple[str, int], TaskReadyEvent],
    ) -> None:
        """An attempt goes on if somebody alive has it, or a worker or poller that may still come back; else it is lost,
        here and now."""
        event = owned.machine.event(row.pos, row)
        if row.holder == self._engine.session_id:
            reported = any((one.pos, one.result.attempt) == (row.pos, row.attempt) for one in owned.results)
            if (event.task_id, row.attempt) in in_flight or reported:
                return
            reason = "it never reached its executor"
        elif row.holder == CHILD:
            return
        else:
            holder = holders.get(row.holder or "")
            seconds = grace(holder, gone=holder is not None and seen_dead(holder.session))
            if seconds:
                owned.grace[row.pos, row.attempt] = boot_time() + seconds
            if seconds or (holder is not None and holder.alive):
                return
            reason = f"its holder {row.holder} died"
        owned.shaken = True
        owned.results.append(Answer(row.pos, ExecutionResult.lost(event, reason)))

    async def reload(self, owned: OwnedRun, pause: float = FIRST_PAUSE) -> None:
        """Memory and database disagree about this run: read it anew under a new epoch, or let it go."""
        engine = self._engine
        try:
            loaded = await engine.in_thread(
                engine.store.claim_run, engine.session_id, owned.run_id, engine.settings.limits.inline_output
            )
            if loaded is not None:
                return await self.take_over([loaded])
        except StoreError as error:
            log.debug("run %s will be read anew later: %s", owned.run_id, error)
            engine.later(pause, lambda: engine.spawn(self.reload(owned, min(pause * 2, LAST_PAUSE))))
            return None
        log.info("run %s belongs to another orchestrator now", owned.run_id)
        return engine.drop(owned)
