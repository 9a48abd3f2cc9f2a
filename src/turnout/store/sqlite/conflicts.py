"""Which parts of a batch no longer fit what is stored? Asked within the writer's transaction, so the answer holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

import msgspec

from turnout.model.rows import RunWrite, WriteOutcome
from turnout.store.database import Rows, json_list
from turnout.store.queries import load_blocks


def sift(connection: sqlite3.Connection, writes: Sequence[RunWrite]) -> tuple[list[RunWrite], list[WriteOutcome]]:
    """The writes without what is stale or exists already, and what to answer for each."""
    inserts = [write for write in writes if write.insert is not None]
    existing = _existing(connection, inserts)
    awaited = _awaited(connection, inserts)
    stale = _Stale(connection, [write for write in writes if write.insert is None])
    fresh: list[RunWrite] = []
    outcomes: list[WriteOutcome] = []
    for write in writes:
        if write.run_id in existing:
            run_id, digest = existing[write.run_id]
            outcomes.append(WriteOutcome(write.run_id, existing=run_id, existing_digest=digest))
        elif write.insert is not None and write.insert.parent_run is not None and write.run_id not in awaited:
            outcomes.append(WriteOutcome(write.run_id, stale=(-1,)))
        elif write.insert is not None:
            fresh.append(write)
            outcomes.append(WriteOutcome(write.run_id))
        else:
            kept, outcome = stale.without(write)
            fresh.append(kept)
            outcomes.append(outcome)
    return fresh, outcomes


def _existing(connection: sqlite3.Connection, inserts: Sequence[RunWrite]) -> dict[str, tuple[str, str]]:
    """By the id of a write that must not be inserted: the run that is there instead, and its input's digest."""
    keys = [(write.insert.workflow, write.insert.key) for write in inserts if write.insert and write.insert.key]
    known = {row[0]: (row[0], row[1]) for row in _select(connection, "known_runs", [write.run_id for write in inserts])}
    taken = {(workflow, key): (id, digest) for id, workflow, key, digest in _select(connection, "taken_keys", keys)}
    found: dict[str, tuple[str, str]] = {}
    for write in inserts:
        assert write.insert is not None
        key = (write.insert.workflow, write.insert.key)
        if write.run_id in known:
            found[write.run_id] = known[write.run_id]
        elif key[1] is not None and key in taken:
            found[write.run_id] = taken[key]
        elif key[1] is not None:
            # The first of several new runs with one key is inserted; the others in the batch meet it here.
            taken[key[0], key[1]] = (write.run_id, write.insert.input_digest)
    return found


def _awaited(connection: sqlite3.Connection, inserts: Sequence[RunWrite]) -> frozenset[str]:
    """The new child runs whose parent's attempt is running."""
    children = [(write.run_id, write.insert) for write in inserts if write.insert and write.insert.parent_run]
    parents = [new.parent_run for _, new in children]
    rows = _select(connection, "current_tasks", parents) if parents else []
    running = {(run_id, pos, attempt) for run_id, pos, _, state, attempt in rows if state == "running"}
    return frozenset(id for id, new in children if (new.parent_run, new.parent_pos, new.parent_attempt) in running)


class _Stale:
    """What is stored of the runs that the batch changes."""

    def __init__(self, connection: sqlite3.Connection, updates: Sequence[RunWrite]) -> None:
        ids = [write.run_id for write in updates]
        self._runs = {row[0]: row[1:] for row in _select(connection, "current_runs", ids)}
        self._tasks = {row[:2]: row[2:] for row in _select(connection, "current_tasks", ids)}

    def without(self, write: RunWrite) -> tuple[RunWrite, WriteOutcome]:
        epoch = write.epoch
        stale = [
            task.pos
            for task in write.tasks
            if self._tasks.get((write.run_id, task.pos)) != (epoch, task.was, task.was_attempt)
        ]
        stored = self._runs.get(write.run_id)
        fenced = stored is None or stored[0] != epoch
        stale += [row.pos for row in write.items if fenced or row.group in stale]
        if write.run is not None and stored != (epoch, write.run.was):
            stale.append(-1)
        if not stale:
            if fenced:
                write = msgspec.structs.replace(write, inbox_done=[], commands_done=[])
            return write, WriteOutcome(write.run_id)
        gone = frozenset(stale)
        kept = msgspec.structs.replace(
            write,
            run=None if -1 in gone else write.run,
            tasks=[task for task in write.tasks if task.pos not in gone],
            items=[row for row in write.items if row.pos not in gone],
            history=[row for row in write.history if row.pos not in gone],
            answer=None if -1 in gone else write.answer,
            inbox_done=[],
            commands_done=[],
        )
        return kept, WriteOutcome(write.run_id, tuple(stale))


def _select(connection: sqlite3.Connection, block: str, values: Sequence[object]) -> Rows:
    name = "keys" if block == "taken_keys" else "ids"
    return connection.execute(load_blocks("sqlite")[block], {name: json_list(values)}).fetchall()
