"""Answers callers that wait for the end of runs. Stage ``task_finalizer``."""

from __future__ import annotations

from collections.abc import Sequence

from turnout.contracts.store import ReadStore
from turnout.errors import RunNotFound, TurnoutError
from turnout.model.rows import StoredRun
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns
from turnout.orchestration.background import Background
from turnout.orchestration.messages import FinishedRun
from turnout.orchestration.reply import Reply
from turnout.orchestration.stages.claims import Claims


class Waiters:
    """Replies that callers in this process wait for, by run, whichever orchestrator drives it."""

    def __init__(
        self, store: ReadStore, runs: ActiveRuns, claims: Claims, background: Background, max_owned_runs: int
    ) -> None:
        self._store = store
        self._runs = runs
        self._claims = claims
        self._background = background
        self._max_owned_runs = max_owned_runs
        self._replies: dict[str, tuple[Reply[FinishedRun], ...]] = {}

    async def process(self, batch: list[ActiveRun]) -> None:
        """Releases runs of this orchestrator that have ended, and answers their callers."""
        for owned in batch:
            machine = owned.machine
            self._runs.release(owned)
            if machine.new.run_id in self._replies:
                stored = StoredRun(new=machine.new, row=machine.row, owner=None, epoch=machine.epoch, seq=machine.seq)
                self._resolve(machine.new.run_id, FinishedRun(stored, machine))
        if self._claims.may_have_more and len(self._runs) <= self._max_owned_runs // 2:
            self._claims.request()

    def add(self, run_id: str, reply: Reply[FinishedRun]) -> None:
        self._replies[run_id] = (*self._replies.get(run_id, ()), reply)

    def watch(self, run_id: str, reply: Reply[FinishedRun]) -> None:
        """Answers when the run ends, also if it has ended already."""
        self.add(run_id, reply)
        if run_id not in self._runs:
            self._background.spawn(self.check([run_id]))

    async def check(self, run_ids: Sequence[str] | None = None) -> None:
        """Looks up awaited runs that other orchestrators drive."""
        awaited = [run for run in (run_ids or list(self._replies)) if run not in self._runs]
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
        for replies in self._replies.values():
            _fail(replies, TurnoutError("the Runner was closed before the run ended", code="runner_closed"))
        self._replies.clear()

    def _fail(self, run_id: str, error: TurnoutError) -> None:
        _fail(self._replies.pop(run_id, ()), error)

    def _resolve(self, run_id: str, final: FinishedRun) -> None:
        for reply in self._replies.pop(run_id, ()):
            reply.set_result(final)


def _fail(replies: Sequence[Reply[FinishedRun]], error: TurnoutError) -> None:
    for reply in replies:
        reply.set_exception(error)
