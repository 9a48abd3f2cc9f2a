"""Holds the changes of one run that are to be committed together: rows, moves, and the run's own row.

A ``ChangeSet`` only collects them. What the moves of a task mean for others is in ``task_moves``, what results and
commands mean for a run in ``transition``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import msgspec

from turnout.model.events import ErrorInfo
from turnout.model.groups import Expansion
from turnout.model.reasons import reason_detail
from turnout.model.row_changes import moved_run
from turnout.model.rows import HistoryRow, RunRow, TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.states import RUN_FOLDED, RunState

NO_ITEMS: list[TaskRow] = []


def _no_jitter() -> float:
    return 0.0


class ChangeSet(msgspec.Struct, gc=False, eq=False):
    """The changes of one run that are to be committed together."""

    machine: RunMachine
    now: float
    jitter: Callable[[], float] = _no_jitter
    tasks: Sequence[TaskRow] = ()
    """The rows as they were before this transition; those that it adds come last."""
    rows: dict[int, TaskRow] = {}
    run: RunRow | None = None
    history: list[HistoryRow] = []
    seq: int = 0
    expansion: Expansion | None = None
    """The changes to mapped tasks, if any."""
    _ended: int = 0
    awaits_claim_check: bool = False
    """True if a task was ended that a poller may have claimed meanwhile: the run ends only once that has applied."""
    _to_advance: list[int] | None = None
    """Ended tasks whose dependents are to be evaluated, and tasks that end by that; ``~pos`` for mapped tasks that got
    their items."""
    _open_dependencies: dict[int, int] | None = None
    """Open dependencies of a task after this transition, where the number has changed and is not zero."""
    due: list[int] = []
    """Pending tasks of a plain workflow whose dependencies have completed. They start in this transition, which is one
    move, or ``settled`` makes them ready."""
    has_ready: bool = False
    """True if this transition has made a task ready that may still be so."""

    def __post_init__(self) -> None:
        self.seq = self.seq or self.machine.seq
        self.tasks = self.machine.tasks

    def row(self, pos: int) -> TaskRow:
        """Returns the row as it is so far: a task that is due is still pending."""
        return self.rows.get(pos) or self.tasks[pos]

    @property
    def run_row(self) -> RunRow:
        return self.run or self.machine.row

    @property
    def open_after(self) -> int:
        """The number of open tasks after this transition, with hooks and the items that it adds."""
        added = 0 if self.expansion is None else len(self.expansion.added)
        return self.machine.open + added - self._ended

    @property
    def empty(self) -> bool:
        return not self.rows and self.run is None

    def items_in(self, pos: int) -> range:
        """Returns the positions of a mapped task's items; empty before it has any."""
        group = self.machine.groups.get(pos)
        if group is not None:
            return group.items
        return range(0) if self.expansion is None else self.expansion.opened.get(pos, range(0))

    def log(self, pos: int, old: str, new: str, attempt: int, detail: str | None) -> int:
        seq = self.seq = self.seq + 1
        self.history.append(HistoryRow(seq, pos, old, new, attempt, detail))
        return seq

    def move_run(self, state: RunState, *, reason: str | None = None, error: ErrorInfo | None = None) -> None:
        row = self.run_row
        detail = reason_detail(reason)
        for old, new in pairwise(RUN_FOLDED.get((row.state, state), (row.state, state))):
            self.log(-1, old, new, 0, detail)
        self.run = moved_run(row, self.machine.row.state, state, self.now, reason, error)
