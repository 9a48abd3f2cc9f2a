"""Whatever was done to a database, its history must still be a lawful one: read with plain SQL, past our own store."""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

import psycopg

from turnout.model.states import RUN_MOVES, RUN_TERMINAL, TASK_MOVES, TASK_TERMINAL, RunState, TaskState

SHOWN = 20


class Run(NamedTuple):
    id: str
    key: str | None
    state: str
    owner: str | None
    epoch: int
    reason: str | None


class Task(NamedTuple):
    run_id: str
    pos: int
    name: str
    state: str
    attempt: int
    seq: int
    has_output: bool
    reason: str | None


class Move(NamedTuple):
    run_id: str
    seq: int
    part: int
    pos: int
    old: str | None
    new: str
    attempt: int


class Ledger(NamedTuple):
    """Everything that was recorded."""

    runs: dict[str, Run]
    tasks: dict[tuple[str, int], Task]
    moves: list[Move]

    def by_key(self) -> dict[str, Run]:
        return {run.key: run for run in self.runs.values() if run.key is not None}


def query(url: str, sql: str) -> list[tuple[Any, ...]]:
    """Rows of one SELECT, on a connection of its own."""
    if url.startswith("sqlite:///"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=10)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(sql.encode()).fetchall()


def execute(url: str, sql: str) -> None:
    """One statement of a test's own, committed at once."""
    if url.startswith("sqlite:///"):
        connection = sqlite3.connect(url.removeprefix("sqlite:///"), timeout=10)
        try:
            with connection:
                connection.execute(sql)
        finally:
            connection.close()
        return
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(sql.encode())


def read_ledger(url: str) -> Ledger:
    runs = [Run(str(row[0]), *row[1:]) for row in query(url, "select id, key, state, owner, epoch, reason from run")]
    tasks = [
        Task(str(row[0]), *row[1:6], bool(row[6]), row[7])
        for row in query(
            url,
            "select run_id, pos, name, state, attempt, seq, output is not null, reason from task order by run_id, pos",
        )
    ]
    moves = [
        Move(str(row[0]), *row[1:])
        for row in query(
            url, "select run_id, seq, part, pos, old, new, attempt from history order by run_id, seq, part"
        )
    ]
    return Ledger({run.id: run for run in runs}, {(task.run_id, task.pos): task for task in tasks}, moves)


def check_history(url: str) -> Ledger:
    """Raises AssertionError with every guarantee that the tables break; returns what was read."""
    ledger = read_ledger(url)
    wrong = [*_numbering(ledger), *_runs(ledger), *_tasks(ledger)]
    assert not wrong, f"{len(wrong)} guarantees broken:\n" + "\n".join(wrong[:SHOWN])
    return ledger


def _numbering(ledger: Ledger) -> Iterable[str]:
    before: Move | None = None
    for move in ledger.moves:
        if before is not None and before.run_id == move.run_id and (before.seq, before.part) >= (move.seq, move.part):
            yield f"run {move.run_id}: history number {move.seq}.{move.part} comes twice"
        if move.run_id not in ledger.runs:
            yield f"history of a run {move.run_id} that does not exist"
        before = move


def _runs(ledger: Ledger) -> Iterable[str]:
    history = _grouped(ledger, of_runs=True)
    open_tasks = {task.run_id for task in ledger.tasks.values() if TaskState(task.state) not in TASK_TERMINAL}
    for run in ledger.runs.values():
        moves = history[run.id, -1]
        state: RunState | None = None
        for move in moves:
            if move.old != state:
                yield f"run {run.id}: moved from {move.old} to {move.new} while it was {state}"
            if state is not None and RunState(move.new) not in RUN_MOVES[state]:
                yield f"run {run.id}: {state} to {move.new} is not a legal move"
            state = RunState(move.new)
        if state != run.state:
            yield f"run {run.id}: is {run.state}, but its history ends in {state}"
        if sum(RunState(move.new) in RUN_TERMINAL for move in moves) > 1:
            yield f"run {run.id}: ended more than once"
        if RunState(run.state) in RUN_TERMINAL:
            if run.owner is not None:
                yield f"run {run.id}: is {run.state} and still owned by {run.owner}"
            if run.id in open_tasks:
                yield f"run {run.id}: is {run.state} with open tasks"


def _tasks(ledger: Ledger) -> Iterable[str]:
    history = _grouped(ledger, of_runs=False)
    for stray in history.keys() - ledger.tasks.keys():
        yield f"history of a task {stray} that does not exist"
    for place, task in ledger.tasks.items():
        if (task.reason or "").startswith("reused:"):
            continue
        yield from _path(task, history[place])
        if task.state == TaskState.COMPLETED and not task.has_output:
            yield f"task {task.run_id}.{task.pos} ({task.name}): completed without an output"


def _path(task: Task, moves: list[Move]) -> Iterable[str]:
    name = f"task {task.run_id}.{task.pos} ({task.name})"
    state, attempt = TaskState.PENDING, 0
    for move in moves:
        new = TaskState(move.new)
        if move.old != state:
            yield f"{name}: moved from {move.old} to {new} while it was {state}"
        elif new not in TASK_MOVES[state]:
            yield f"{name}: {state} to {new} is not a legal move"
        if new is TaskState.RUNNING:
            if move.attempt <= attempt:
                yield f"{name}: attempt {move.attempt} comes after attempt {attempt}"
            attempt = move.attempt
        elif state is TaskState.RUNNING and move.attempt != attempt:
            yield f"{name}: attempt {move.attempt} ended while attempt {attempt} was running"
        state = new
    if state != task.state:
        yield f"{name}: is {task.state}, but its history ends in {state}"
    if attempt != task.attempt:
        yield f"{name}: has attempt {task.attempt}, but its history ends with attempt {attempt}"
    if moves and moves[-1].seq != task.seq:
        yield f"{name}: its newest history number is {task.seq}, but history says {moves[-1].seq}"
    if sum(TaskState(move.new) in TASK_TERMINAL for move in moves) > 1:
        yield f"{name}: ended more than once"
    ends = [place for place, move in enumerate(moves) if TaskState(move.new) in TASK_TERMINAL]
    if ends and any(move.new == TaskState.RUNNING for move in moves[ends[0] :]):
        yield f"{name}: runs after its end"


def _grouped(ledger: Ledger, *, of_runs: bool) -> defaultdict[tuple[str, int], list[Move]]:
    groups: defaultdict[tuple[str, int], list[Move]] = defaultdict(list)
    for move in ledger.moves:
        if (move.pos == -1) is of_runs:
            groups[move.run_id, move.pos].append(move)
    return groups
