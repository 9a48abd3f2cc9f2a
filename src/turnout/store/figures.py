"""Counts the runs and tasks that have ended, in the database."""

from __future__ import annotations

from turnout.model.run_figures import BUCKETS, EndedRuns, EndedTasks, StepCounts
from turnout.store.database import Database


class Figures:
    """Figures of what ended within a time."""

    _database: Database

    def ended_runs(self, after: float, until: float) -> list[EndedRuns]:
        rows = self._database.read("ended_runs", after=float(after), until=float(until))
        return [
            EndedRuns(workflow, state, int(count), float(seconds), tuple(map(int, within)))
            for workflow, state, count, seconds, *within in rows
        ]

    def ended_by_step(self, after: float, until: float, step: float, workflow: str = "") -> list[StepCounts]:
        wanted = {"after": float(after), "until": float(until), "step": float(step), "workflow": workflow}
        found: dict[int, StepCounts] = {}
        for kind in ("runs", "tasks"):
            block = "run_counts" if kind == "runs" else "task_counts_by_step"
            for number, state, count in self._database.read(block, **wanted):
                known = found.setdefault(number, StepCounts(number))
                getattr(known, kind)[state] = int(count)
        return [found[number] for number in sorted(found)]

    def ended_sample(self, after: float, until: float, limit: int, workflow: str = "") -> list[str]:
        rows = self._database.read(
            "ended_sample", after=float(after), until=float(until), limit=limit, workflow=workflow
        )
        return [str(row[0]) for row in rows]

    def ended_tasks(self, after: float, until: float) -> list[EndedTasks]:
        rows = self._database.read("ended_tasks", after=float(after), until=float(until))
        size = len(BUCKETS)
        return [
            EndedTasks(
                *row[:3],
                attempts=int(row[3]),
                timed=int(row[4]),
                seconds=float(row[5]),
                within=tuple(map(int, row[6 : 6 + size])),
                start_seconds=float(row[6 + size]),
                started_within=tuple(map(int, row[7 + size :])),
            )
            for row in rows
        ]
