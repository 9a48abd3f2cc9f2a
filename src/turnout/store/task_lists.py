"""Reads tasks page by page, of one run and of all runs that have not ended, and counts them by state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

import msgspec

from turnout.model.rows import HistoryRow, TaskRow
from turnout.model.states import RunState, TaskState
from turnout.model.task_lists import (
    MAX_POSITION,
    GraphTask,
    ItemGroup,
    OpenTask,
    OpenTaskFilter,
    TaskFilter,
    WaitingTask,
)
from turnout.store.database import Database, json_list, json_text
from turnout.store.row_codec import canonical, decode_labels, task_row

MAX_SEARCHED_RUNS = 1_000
"""Runs that have not ended whose tasks are looked at, the oldest first."""
MAX_SEARCHED_TASKS = 200
"""Tasks of a run, the first ones, among which one that waits is looked for."""
_decode: Callable[[str], list[HistoryRow]] = msgspec.json.Decoder(list[HistoryRow]).decode


class TaskLists:
    """Tasks, as they are stored."""

    _database: Database

    def tasks_page(self, run_id: str, wanted: TaskFilter, *, after: int = -1, limit: int = 100) -> list[TaskRow]:
        known = canonical(run_id)
        if known is None:
            return []
        states = wanted.states or tuple(TaskState)
        rows = self._database.read(
            "tasks_page",
            id=known,
            **_chosen(wanted),
            after=after,
            any_state=int(not wanted.states),
            states=json_list(list(states)),
            limit=limit,
        )
        return [task_row(row) for row in rows]

    def tasks_by_state(self, run_id: str, wanted: TaskFilter) -> dict[TaskState, int]:
        known = canonical(run_id)
        rows = self._database.read("tasks_by_state", id=known, **_chosen(wanted)) if known else []
        return {TaskState(state): int(count) for state, count in rows}

    def item_groups(self, run_id: str) -> dict[int, ItemGroup]:
        known = canonical(run_id)
        found: dict[int, ItemGroup] = {}
        for pos, state, count, started, finished in self._database.read("item_groups", id=known) if known else ():
            counted = ItemGroup({TaskState(state): int(count)}, started, finished)
            found[pos] = found[pos].with_more(counted) if pos in found else counted
        return found

    def moves_between(self, run_id: str, first: int, last: int) -> list[tuple[float, HistoryRow]]:
        known = canonical(run_id)
        mark = f"%{first},%" if first == last else ""
        found: list[tuple[int, int, float, HistoryRow]] = []
        for at, part, moves in self._database.read("commits", id=known, mark=mark) if known else ():
            found += [(each.seq, part, at, each) for each in _moves(moves) if first <= each.pos <= last]
        found.sort(key=itemgetter(0, 1))
        return [(at, move) for _, _, at, move in found]

    def task_named(self, run_id: str, name: str) -> TaskRow | None:
        known = canonical(run_id)
        rows = self._database.read("task_named", id=known, name=name) if known else []
        return task_row(rows[0]) if rows else None

    def output_sizes(self, run_id: str, positions: Sequence[int]) -> dict[int, int]:
        known = canonical(run_id)
        rows = self._database.read("output_sizes", id=known, positions=json_list(positions)) if known else []
        return {pos: int(size) for pos, size in rows}

    def graph_tasks_of(self, run_ids: Sequence[str], *, most: int = MAX_POSITION) -> dict[str, list[GraphTask]]:
        ids = json_list([known for each in run_ids if (known := canonical(each))])
        found: dict[str, list[GraphTask]] = {}
        for run_id, pos, state, *columns in self._database.read("graph_tasks_of", ids=ids, most=most):
            found.setdefault(str(run_id), []).append(GraphTask(pos, TaskState(state), *columns))
        return found

    def item_counts_of(self, run_ids: Sequence[str]) -> dict[str, dict[int, dict[TaskState, int]]]:
        ids = json_list([known for each in run_ids if (known := canonical(each))])
        found: dict[str, dict[int, dict[TaskState, int]]] = {}
        for run_id, pos, state, count in self._database.read("item_counts_of", ids=ids):
            found.setdefault(str(run_id), {}).setdefault(pos, {})[TaskState(state)] = int(count)
        return found

    def first_waiting_tasks(self, run_ids: Sequence[str]) -> dict[str, WaitingTask]:
        ids = [known for each in run_ids if (known := canonical(each))]
        if not ids:
            return {}
        rows = self._database.read("first_waiting_tasks", ids=json_list(ids), most=MAX_SEARCHED_TASKS)
        return {str(run_id): WaitingTask(name, reason, int(number)) for run_id, name, reason, number in rows}

    def open_tasks(self, wanted: OpenTaskFilter, limit: int) -> list[OpenTask]:
        reason = wanted.reason.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")
        rows = self._database.read(
            "open_tasks",
            states=json_list(list(wanted.states)),
            executor=wanted.executor,
            holder=wanted.holder,
            reason=f"{reason}%" if reason else "",
            runs=MAX_SEARCHED_RUNS,
            limit=limit,
        )
        return [
            OpenTask(
                run_id=str(run_id),
                workflow=workflow,
                run_state=RunState(run_state),
                version=version,
                pos=pos,
                name=name,
                state=TaskState(state),
                attempt=attempt,
                priority=priority,
                executor=executor,
                labels=None if labels is None else decode_labels(labels),
                reason=reason,
                retry_in=retry_in,
                holder=holder,
                item_of=item_of,
                dispatched_at=dispatched_at,
                started_at=started_at,
                since=since,
            )
            for (
                run_id,
                workflow,
                run_state,
                version,
                pos,
                name,
                state,
                attempt,
                priority,
                executor,
                labels,
                reason,
                retry_in,
                holder,
                item_of,
                dispatched_at,
                started_at,
                since,
            ) in rows
        ]


def _chosen(wanted: TaskFilter) -> dict[str, int]:
    return {"item_of": -1 if wanted.item_of is None else wanted.item_of, "top_level": int(wanted.top_level)}


def _moves(text: str) -> list[HistoryRow]:
    """Returns the moves of one commit."""
    try:
        return _decode(text)
    except msgspec.ValidationError:
        # Older versions stored the detail of an attempt that a poller took as an object on SQLite.
        rows: list[Any] = msgspec.json.decode(text)
        for row in rows:
            row[5:] = [json_text(each) if isinstance(each, dict) else each for each in row[5:]]
        return msgspec.convert(rows, list[HistoryRow])
