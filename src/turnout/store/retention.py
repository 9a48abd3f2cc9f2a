"""Deletes runs, and rows that nothing refers to any more."""

from __future__ import annotations

from collections.abc import Sequence

from turnout.errors import RunNotFound
from turnout.model.retention import Deleted
from turnout.model.states import RunState
from turnout.store.database import Database, Execute, json_list
from turnout.store.row_codec import canonical

RUN_TABLES = ("log", "history_commit", "inbox", "command", "run_number", "limit_slot", "task")
"""Every table with a ``run_id``, in the order of deletion; the run itself is deleted last."""


MAX_DELETED = 10_000
"""Decisions that are deleted by one statement."""


class RetentionOfRuns:
    """Deletes runs that have ended, a bounded number of rows at a time."""

    _database: Database

    def clock(self) -> float:
        return float(self._database.read("clock")[0][0])

    def expired_runs(
        self, before: float, states: Sequence[RunState], limit: int, *, other_than: Sequence[str] = ()
    ) -> list[str]:
        rows = self._database.read(
            "expired_runs",
            before=float(before),
            states=json_list(list(states)),
            other_than=json_list(list(other_than)),
            limit=limit,
        )
        return [row[0] for row in rows]

    def surplus_runs(self, workflow: str, before: float | None, newest: int | None, limit: int) -> list[str]:
        found: dict[str, None] = {}
        if before is not None:
            rows = self._database.read("expired_runs_of", workflow=workflow, before=float(before), limit=limit)
            found.update(dict.fromkeys(row[0] for row in rows))
        if newest is not None:
            rows = self._database.read("runs_behind", workflow=workflow, newest=newest, limit=limit)
            found.update(dict.fromkeys(row[0] for row in rows))
        return list(found)[:limit]

    def family(self, run_id: str) -> dict[str, RunState]:
        known = canonical(run_id)
        rows = self._database.read("family", id=known) if known else []
        if not rows:
            raise RunNotFound(f"there is no run {run_id}", run_id=run_id)
        return {id: RunState(state) for id, state in rows}

    def delete_runs(self, run_ids: Sequence[str], limit: int) -> Deleted:
        with self._database.transaction() as execute:
            ids = json_list([row[0] for row in execute("lock_ended_runs", ids=json_list(sorted(run_ids)))])
            counts = {table: _deleted(execute, table, ids, limit) for table in RUN_TABLES}
            more = any(count == limit for count in counts.values())
            runs = 0 if more else len(execute("delete_from_run", ids=ids))
        return Deleted(runs=runs, rows=sum(counts.values()), more=more)

    def prune_rest(self, older_than: float) -> Deleted:
        age = float(older_than)
        return Deleted(
            workflows=len(self._database.write("prune_workflows", age=age)),
            sessions=len(self._database.write("prune_sessions", age=age)),
            routings=len(self._database.write("prune_routing", age=age)),
            decisions=self._prune_decisions(age),
        )

    def _prune_decisions(self, age: float) -> int:
        """Deletes settled decisions, some at a time."""
        total = 0
        while gone := len(self._database.write("prune_decisions", age=age, limit=MAX_DELETED)):
            total += gone
        return total

    def take_duty(self, name: str, session_id: str, every: float) -> bool:
        return bool(self._database.write("take_duty", name=name, session=session_id, every=float(every)))


def _deleted(execute: Execute, table: str, ids: str, limit: int) -> int:
    """Deletes rows of these runs. Returns how many: a statement of PostgreSQL counts them itself, SQLite is asked."""
    counted = execute(f"delete_from_{table}", ids=ids, limit=limit) or execute("changed_rows")
    return int(counted[0][0])
