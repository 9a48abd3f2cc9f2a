"""Finds stored runs by their workflow, state, key, parent and time, each by an index, newest first.

Ids begin with the time at which they were made, which is not after the submission: so a time of submission is a range
of ids, but for the few runs whose ids are older, as those of child runs are.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from typing import Any

from turnout.model.rows import StoredRun
from turnout.model.run_filter import ALL_RUNS, RunFilter
from turnout.model.states import RunState
from turnout.store.database import Database, Rows, json_list
from turnout.store.row_codec import canonical, stored_run

_BEYOND_ALL_IDS = "ffffffff-ffff-ffff-ffff-ffffffffffff"
_STAMP_BITS, _ID_BITS = 48, 128
ID_TOLERANCE = 1.0
"""Seconds by which the time in an id may be after the submission: many ids of one moment run ahead of the clock."""


class RunLists:
    """Pages of runs. Completed runs are most of all, so a list with them is read by id; one without, by state."""

    _database: Database

    def runs(
        self,
        *,
        workflow: str | None = None,
        states: Sequence[RunState] = (),
        limit: int = 100,
        before: str | None = None,
    ) -> list[StoredRun]:
        return self.find_runs(RunFilter(workflow=workflow, states=tuple(states)), limit=limit, before=before)

    def find_runs(
        self, wanted: RunFilter = ALL_RUNS, *, limit: int = 100, before: str | None = None
    ) -> list[StoredRun]:
        page: dict[str, Any] = {"limit": limit, "before": (before and canonical(before)) or _BEYOND_ALL_IDS}
        return [stored_run(row) for row in self._found(wanted, page)]

    def _found(self, wanted: RunFilter, page: dict[str, Any]) -> Rows:
        if wanted == ALL_RUNS:
            return self._database.read("runs", **page)
        page |= {
            "states": json_list(list(wanted.states or RunState)),
            "created_from": wanted.created_from,
            "created_before": wanted.created_before,
            "top_level": int(wanted.top_level),
            "before": min(page["before"], first_id(wanted.created_before + ID_TOLERANCE)),
            "first": first_id(wanted.created_from),
        }
        names = self._names(wanted)
        any_workflow = wanted.workflow is None and wanted.among is None
        page |= {"workflows": json_list(names), "any_workflow": int(any_workflow)}
        if wanted.parent is not None:
            parent = canonical(wanted.parent)
            return self._database.read("runs_of_parent", parent=parent, key=wanted.key or "", **page) if parent else []
        if wanted.key is not None:
            return self._database.read("runs_with_key", key=wanted.key, **page)
        if wanted.states and RunState.COMPLETED not in wanted.states:
            pages = [self._in_state(state, page) for state in wanted.states]
        elif not any_workflow:
            pages = [self._database.read("runs_of_workflow", workflow=name, **page) for name in names]
        else:
            pages = [self._database.read("runs_in_states", **page)]
        found = self._newest(pages, page["limit"])
        if len(found) == page["limit"] or wanted.created_from <= 0:
            return found
        # Their ids are below all of these.
        return self._newest([found, self._database.read("late_runs", **page)], page["limit"])

    def _in_state(self, state: RunState, page: dict[str, Any]) -> Rows:
        if state is RunState.RUNNING:
            return self._database.read("running_runs", **page)
        return self._database.read("runs_in_state", state=str(state), **page)

    @staticmethod
    def _newest(pages: Sequence[Rows], limit: int) -> Rows:
        """Returns the first page of the rows of all pages. A run that moved between two reads is in it once."""
        found = {row[0]: row for rows in pages for row in rows}
        return [found[run_id] for run_id in sorted(found, reverse=True)[:limit]]

    def _names(self, wanted: RunFilter) -> list[str]:
        """Returns the full names of the workflows that the filter allows."""
        if wanted.workflow is not None and "::" in wanted.workflow:
            names = [wanted.workflow]
        else:
            known = [row[0] for row in self._database.read("workflow_names")]
            names = [name for name in known if wanted.workflow in (None, name.rpartition("::")[2])]
        return [name for name in names if wanted.among is None or name in wanted.among]


def first_id(at: float) -> str:
    """Returns an id that no run has whose id was made before this time, in seconds since 1970, and that is not above
    the ids of later ones.

    >>> first_id(1_760_000_000.0)
    '0199c82c-c000-0000-0000-000000000000'
    >>> first_id(-math.inf), first_id(math.inf) == "f" * 8 + "-ffff" * 3 + "-" + "f" * 12
    ('00000000-0000-0000-0000-000000000000', True)
    """
    if at > (2**_STAMP_BITS - 1) / 1_000:
        return _BEYOND_ALL_IDS
    return str(uuid.UUID(int=int(max(at, 0.0) * 1_000) << (_ID_BITS - _STAMP_BITS)))
