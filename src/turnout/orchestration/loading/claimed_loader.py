"""The work of attempts that a poller has claimed, as the store has it right before they begin."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from turnout.contracts.clock import boot_time
from turnout.contracts.executor import BEGIN_WITHIN, Work
from turnout.errors import AttemptFenced
from turnout.model.events import TaskReadyEvent
from turnout.model.names import split_task_id
from turnout.model.rows import RunRow, TaskRow
from turnout.model.states import RunState, TaskState
from turnout.orchestration.loading.loader import StoreLoader


class ClaimedLoader(StoreLoader):
    """Raises AttemptFenced for an attempt that has ended, and for one of a run that is paused. The work begins within
    ``BEGIN_WITHIN`` of that look at the store, or not at all: a pause that has waited for so long holds."""

    def load_blocking(self, event: TaskReadyEvent) -> Work:
        looked = boot_time()
        work = super().load_blocking(event)
        if boot_time() - looked > BEGIN_WITHIN / 2:
            # Large values took their time: what was read before them may not be so any more.
            looked = boot_time()
            run_id, pos = split_task_id(event.task_id)
            stored, rows = self._store.run(run_id), self._store.tasks_at(run_id, [pos])
            if stored is None or not rows:
                raise AttemptFenced("its run is gone")
            self._read(event, stored.row, rows[0])
        return msgspec.structs.replace(work, fence=_at(looked + BEGIN_WITHIN))

    def _read(self, event: TaskReadyEvent, run: RunRow, row: TaskRow) -> None:
        if run.state is RunState.PAUSED:
            raise AttemptFenced("its run is paused")
        if row.state is not TaskState.RUNNING or row.attempt != event.attempt:
            raise AttemptFenced("it has ended")


def _at(time: float) -> Callable[[], float]:
    return lambda: time
