"""Reads runs, tasks, history and workflow versions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from turnout.errors import StoreUnreachable
from turnout.model.resources import decode_resources
from turnout.model.rows import (
    HistoryRow,
    StoredDecision,
    StoredMove,
    StoredRun,
    StoredVersion,
    StoreFacts,
    TaskRow,
    UnownedRun,
)
from turnout.model.states import TaskState
from turnout.store.database import Database, json_list
from turnout.store.row_codec import canonical, decode_labels, stored_run, task_row

FIRST_RUN = "00000000-0000-0000-0000-000000000000"
"""Below the id of every run."""


class RunQueries:
    """Runs, tasks, history and workflow versions, as they are stored."""

    _database: Database

    def run(self, run_id: str) -> StoredRun | None:
        known = canonical(run_id)
        rows = self._database.read("run", id=known) if known else []
        return stored_run(rows[0]) if rows else None

    def failed_since(self, since: float, limit: int) -> list[StoredRun]:
        return [stored_run(row) for row in self._database.read("failed_since", since=float(since), limit=limit)]

    def count_failed(self, since: float, limit: int) -> int:
        return int(self._database.read("count_failed", since=float(since), limit=limit)[0][0])

    def undriven_runs(self, before: float, limit: int) -> list[StoredRun]:
        return [stored_run(row) for row in self._database.read("undriven_runs", before=float(before), limit=limit)]

    def open_runs(self, limit: int) -> list[StoredRun]:
        return [stored_run(row) for row in self._database.read("open_runs", limit=limit)]

    def unowned_runs(self, workflows: Sequence[str], *, after: str | None, limit: int) -> list[UnownedRun]:
        rows = self._database.read(
            "unowned_runs", workflows=json_list(workflows), after=after or FIRST_RUN, limit=limit
        )
        return [UnownedRun(str(run_id), version, max(age, 0.0)) for run_id, version, age in rows]

    def runs_by_id(self, run_ids: Sequence[str]) -> list[StoredRun]:
        known = [run_id for each in run_ids if (run_id := canonical(each))]
        return [stored_run(row) for row in self._database.read("runs_by_id", ids=json_list(known))] if known else []

    def children(self, run_id: str) -> list[StoredRun]:
        known = canonical(run_id)
        return [stored_run(row) for row in self._database.read("children", id=known)] if known else []

    def orphans(self, session_id: str) -> list[str]:
        return [row[0] for row in self._database.read("orphans", session=session_id)]

    def tasks(self, run_id: str, *, outputs: bool = True) -> list[TaskRow]:
        known = canonical(run_id)
        return [task_row(row) for row in self._database.read("tasks", id=known, outputs=int(outputs))] if known else []

    def task_counts(self, run_ids: Sequence[str]) -> dict[str, list[tuple[TaskState, int, str | None]]]:
        known = [run_id for each in run_ids if (run_id := canonical(each))]
        found: dict[str, list[tuple[TaskState, int, str | None]]] = {}
        for run_id, state, count, reason in self._database.read("task_counts", ids=json_list(known)) if known else ():
            found.setdefault(str(run_id), []).append((TaskState(state), int(count), reason))
        return found

    def tasks_at(self, run_id: str, positions: Sequence[int]) -> list[TaskRow]:
        known = canonical(run_id)
        rows = self._database.read("tasks_at", id=known, positions=json_list(positions)) if known else []
        return [task_row(row) for row in rows]

    def items(self, run_id: str) -> dict[int, range]:
        known = canonical(run_id)
        rows = self._database.read("items", id=known) if known else []
        return {group: range(first, last + 1) for group, first, last in rows}

    def owned_runs(self, session_id: str) -> list[str]:
        return [row[0] for row in self._database.read("owned_runs", session=session_id)]

    def running_tasks(self, session_id: str) -> list[tuple[str, int, int]]:
        rows = self._database.read("running_tasks", session=session_id)
        return [(run_id, pos, attempt) for run_id, pos, attempt in rows]

    def outputs(self, run_id: str, positions: Sequence[int]) -> dict[int, str]:
        known = canonical(run_id)
        if known is None:
            return {}
        rows = self._database.read("outputs", id=known, positions=json_list(positions))
        return {row[0]: row[1] for row in rows}

    def history(self, run_id: str) -> list[tuple[float, HistoryRow]]:
        known = canonical(run_id)
        return [(row[0], HistoryRow(*row[1:])) for row in self._database.read("history", id=known)] if known else []

    def moves(self, run_id: str, *, after: tuple[int, int] = (0, 0), limit: int = 1_000) -> list[StoredMove]:
        known = canonical(run_id)
        seq, part = after
        rows = self._database.read("moves", id=known, seq=seq, part=part, limit=limit) if known else []
        return [StoredMove(row[0], row[1], HistoryRow(*row[2:])) for row in rows]

    def decisions(self, limit: int) -> list[StoredDecision]:
        rows = self._database.read("decisions", limit=limit)
        return [
            StoredDecision(
                run_id,
                version,
                pos,
                executor,
                reason,
                None if labels is None else decode_labels(labels),
                None if resources is None else decode_resources(resources),
            )
            for run_id, version, pos, executor, reason, labels, resources in rows
        ]

    def workflow(self, version: str) -> str | None:
        rows = self._database.read("workflow", version=version)
        return rows[0][0] if rows else None

    def workflow_versions(self, full_name: str, limit: int = 1_000) -> list[StoredVersion]:
        rows = self._database.read("workflow_versions", full_name=full_name, limit=limit)
        return [StoredVersion(*row) for row in rows]

    def put_workflow(self, version: str, full_name: str, spec: str) -> None:
        # Two processes may pick the same number for different versions: one of them retries.
        for _ in range(20):
            if self._database.write("use_workflow", version=version):
                return
            self._database.write("put_workflow", version=version, full_name=full_name, spec=spec)
        if self.workflow(version) is None:
            raise StoreUnreachable(f"workflow {full_name} could not be numbered: others keep adding versions of it")

    def waiting(self) -> dict[str, Any]:
        states: dict[str, dict[str, int]] = {}
        owners: dict[str, int] = {}
        waiting_for_limits = 0
        for state, owner, queued, count in self._database.read("waiting"):
            waiting_for_limits += count if queued else 0
            states.setdefault(state, {"owned": 0, "unowned": 0})["unowned" if owner is None else "owned"] += count
            if owner is not None:
                owners[str(owner)] = owners.get(str(owner), 0) + count
        unfinished = sum(sum(counts.values()) for counts in states.values())
        return {"runs": states, "unfinished": unfinished, "owners": owners, "queued": waiting_for_limits}

    def about(self) -> StoreFacts:
        version, now, schema = self._database.read("about")[0]
        return StoreFacts(version=str(version), now=float(now), schema=int(schema))
