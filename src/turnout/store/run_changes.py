"""Reads the changes of the states of all runs, in the order in which they became readable."""

from __future__ import annotations

from turnout.model.run_filter import ChangeSpan, RunChange
from turnout.store.database import Database


class RunChanges:
    """The feed of changes."""

    _database: Database

    def run_changes(self, after: int, limit: int) -> list[RunChange]:
        rows = self._database.read("run_changes", after=after, limit=limit)
        return [RunChange(int(position), str(run_id)) for position, run_id in rows]

    def change_span(self) -> ChangeSpan:
        oldest, newest = self._database.read("change_span")[0]
        return ChangeSpan(int(oldest), int(newest))
