"""Resolves the futures of callers that wait for the end of runs. Stage ``task_finalizer``."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import Future

from turnout.contracts.store import ReadStore
from turnout.errors import RunNotFound, TurnoutError
from turnout.model.rows import StoredRun
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.messages import FinishedRun
from turnout.orchestration.stages.claims import Claims


class Waiters:
    """Futures of this process, by run, whichever orchestrator drives it."""

    def __init__(
        self, store: ReadStore, runs: ActiveRuns, claims: Claims, background: Background, max_owned_runs: int
    ) -> None:
        self._store = store
        self._runs = runs
        self._claims = claims
        self._background = background
        self._max_owned_runs = max_owned_runs
        self._futures: dict[str, list[Future[FinishedRun]]] = {}

    async def process(self, batch: list[ActiveRun]) -> None:
        """Releases runs of this orchestrator that have ended, and resolves their futures."""
        for owned in batch:
            machine = owned.machine
            self._runs.release(owned)
            stored = StoredRun(new=machine.new, row=machine.row, owner=None, epoch=machine.epoch, seq=machine.seq)
            self._resolve(owned.run_id, FinishedRun(stored, machine))
        if self._claims.may_have_more and len(self._runs) <= self._max_owned_runs // 2:
            self._claims.request()

    def add(self, run_id: str, future: Future[FinishedRun]) -> None:
        self._futures.setdefault(run_id, []).append(future)

    def watch(self, run_id: str, future: Future[FinishedRun]) -> None:
        """Resolves the future when the run ends, also if it has ended already."""
        self.add(run_id, future)
        if run_id not in self._runs:
            self._background.spawn(self.check([run_id]))

    async def check(self, run_ids: Sequence[str] | None = None) -> None:
        """Looks up awaited runs that other orchestrators drive."""
        awaited = [run for run in (run_ids or list(self._futures)) if run not in self._runs]
        if awaited:
            stored_runs = await self._background.in_thread(self._store.runs_by_id, awaited)
            found = {run.new.run_id: run for run in stored_runs}
            for run_id in awaited:
                stored = found.get(run_id)
                if stored is None:
                    self._fail(run_id, RunNotFound(f"run {run_id} was deleted", run_id=run_id))
                elif stored.row.state.terminal:
                    self._resolve(run_id, FinishedRun(stored, None))

    def close(self) -> None:
        for futures in self._futures.values():
            _fail(futures, TurnoutError("the Runner was closed before the run ended", code="runner_closed"))
        self._futures.clear()

    def _fail(self, run_id: str, error: TurnoutError) -> None:
        _fail(self._futures.pop(run_id, []), error)

    def _resolve(self, run_id: str, final: FinishedRun) -> None:
        for future in self._futures.pop(run_id, []):
            if not future.done():
                future.set_result(final)


def _fail(futures: Sequence[Future[FinishedRun]], error: TurnoutError) -> None:
    for future in futures:
        if not future.done():
            future.set_exception(error)
