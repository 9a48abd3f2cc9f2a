"""Writes a batch of changes to PostgreSQL, each row by compare-and-swap, in one round trip."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from typing import Any, TypeAlias

import msgspec
from msgspec.structs import astuple

from turnout.errors import StoreUnreachable
from turnout.model.rows import RunWrite, TaskRow, WriteOutcome
from turnout.store.database import Rows, json_list, json_text
from turnout.store.limits import queue_rows
from turnout.store.narrow_rows import BEGUN, COMPLETED, STARTED, WAITING, completes, starts
from turnout.store.postgres.arrays import Value, columns
from turnout.store.postgres.connection import PostgresDatabase
from turnout.store.postgres.errors import translated
from turnout.store.postgres.single_run import insert_params, step_params
from turnout.store.row_codec import check, last_seq, moves_texts

Row = tuple[Value, ...]

TASK_COLUMNS = (
    *("ids", "epochs", "positions", "was", "attempts", "executors", "decisions", "holders", "dispatched"),
    *("outputs", "started", "finished", "seqs"),
)
RUN_COLUMNS = (
    *("run_ids", "run_epochs", "run_was", "run_states", "run_reasons", "run_errors", "run_started", "run_finished"),
    "run_seqs",
)
HISTORY_COLUMNS = ("history_ids", "history_seqs", "moves")
INSERT_COLUMNS = (
    *("run_ids", "run_epochs", "run_owners", "run_states", "run_seqs", "run_reasons", "run_errors", "run_started"),
    *("run_finished", "moves", "workflows", "versions", "inputs", "created", "keys", "digests", "run_priorities"),
    *("timeouts", "reruns", "parents", "parent_positions", "parent_attempts", "depths", "origins"),
)
WAITING_COLUMNS = ("waiting_ids", "waiting_epochs", "waiting_positions", "waiting_names", "waiting_priorities")
BEGUN_COLUMNS = (
    *("ids", "epochs", "positions", "names", "priorities", "states", "attempts", "reasons", "executors", "decisions"),
    *("holders", "dispatched", "seqs"),
)


class Statement(msgspec.Struct, gc=False):
    """One part of a commit: a statement, and the writes that it makes."""

    block: str
    params: dict[str, Any]
    writes: Sequence[RunWrite]
    """Those whose outcomes it returns."""


Exchange: TypeAlias = Generator[list[Statement], list[Rows], list[WriteOutcome]]
"""Yields statements that are to be executed in one transaction, takes their rows, and returns the outcomes."""


class PostgresLedger:
    """``commit`` for PostgreSQL: one statement for each kind of writes, in one transaction if need be."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def commit(self, writes: Sequence[RunWrite], wake: frozenset[str]) -> list[WriteOutcome]:
        if not writes:
            return []
        made = exchange(writes, wake)
        statements = next(made)
        while True:
            try:
                statements = made.send(self._executed(statements))
            except StopIteration as ended:
                outcomes: list[WriteOutcome] = ended.value
                return outcomes

    def _executed(self, statements: Sequence[Statement]) -> list[Rows]:
        """Runs the statements in one transaction. Returns their rows."""
        if len(statements) == 1:
            return [self._database.statement(statements[0].block, statements[0].params)]
        with self._database.for_ledger() as connection:
            with translated(), connection.pipeline(), connection.transaction():
                self._database.apply_settings(connection)
                cursors = [self._database.execute(connection, each.block, each.params) for each in statements]
            return [cursor.fetchall() if cursor.description else [] for cursor in cursors]


def exchange(writes: Sequence[RunWrite], wake: frozenset[str]) -> Exchange:
    """Makes a commit, however its statements are executed."""
    check(writes)
    statements = statements_of(writes)
    for statement in statements:
        statement.params["wake"] = "[]"
    if statements:
        statements[0].params["wake"] = json_list(sorted(wake))
    outcomes: dict[str, WriteOutcome] = {}
    for statement, rows in zip(statements, (yield statements), strict=True):
        if not statement.writes:
            continue
        if statement.writes[0].insert is None:
            outcomes.update(_of_updates(statement.writes, rows))
        elif rows[0][1]:
            wanted = [(new.run_id, new.workflow, new.key) for write in statement.writes if (new := write.insert)]
            given = columns(("run_ids", "workflows", "keys"), wanted)
            [existing] = yield [Statement("existing_runs", given, ())]
            outcomes.update(_of_inserts(statement.writes, rows[0][0], existing))
    return [outcomes.get(write.run_id) or WriteOutcome(write.run_id) for write in writes]


def _of_inserts(writes: Sequence[RunWrite], inserted: str | None, existing: Rows) -> dict[str, WriteOutcome]:
    """Returns outcomes of runs that existed already, or whose parent does not wait for them; the others applied."""
    applied = set(msgspec.json.decode(inserted or "[]", type=list[str]))
    found: dict[str, tuple[str, str]] = {}
    for run_id, id, digest in existing:
        if id == run_id or run_id not in found:
            found[run_id] = (id, digest)
    outcomes: dict[str, WriteOutcome] = {}
    for write in writes:
        run_id = write.run_id
        if run_id in applied:
            continue
        if run_id in found:
            outcomes[run_id] = WriteOutcome(run_id, existing=found[run_id][0], existing_digest=found[run_id][1])
        elif write.insert is not None and write.insert.parent_run is not None:
            outcomes[run_id] = WriteOutcome(run_id, stale=(-1,))
        else:
            raise StoreUnreachable(
                "a run that conflicted with an insert was deleted meanwhile; the insert can be retried"
            )
    return outcomes


def statements_of(writes: Sequence[RunWrite]) -> list[Statement]:
    """Returns the statements of a commit: inserts, then what needs whole images, then everything else."""
    inserts: list[RunWrite] = []
    whole: list[RunWrite] = []
    steps: list[RunWrite] = []
    rows: list[Row] = []
    known: dict[int, Row] = {}
    for write in writes:
        if write.insert is not None:
            inserts.append(write)
        elif (narrow := _narrow_rows(write, known)) is None:
            whole.append(write)
        else:
            steps.append(write)
            rows += narrow
    statements: list[Statement] = []
    if len(inserts) == 1 and (params := insert_params(inserts[0])) is not None:
        statements.append(Statement("insert_run", params, inserts))
    elif inserts:
        statements.append(_inserts(inserts))
    if any(write.limits for write in inserts):
        statements.append(Statement("queue_runs", {"slots": queue_rows(inserts)}, ()))
    if whole:
        statements.append(Statement(_block(whole), {"writes": json_text(whole)}, whole))
    if len(steps) == 1 and (params := step_params(steps[0], rows)) is not None:
        statements.append(Statement("update_step", params, steps))
    elif steps:
        statements.append(Statement("update_steps", _steps(steps, rows), steps))
    return statements


def _narrow_rows(write: RunWrite, known: dict[int, Row]) -> list[Row] | None:
    """Returns the rows of ``update_steps``; None if the write changes more than these have. Starts that were seen
    before are ``known``: runs that begin together share their rows."""
    if write.items or write.inbox_done or write.commands_done or write.answer is not None:
        return None
    run_id, epoch = write.run_id, write.epoch
    rows: list[Row] = []
    for task in write.tasks:
        start = known.get(id(task))
        if start is not None:
            rows.append((run_id, epoch, *start))
            continue
        image = astuple(task)
        if completes(task) and COMPLETED.fits(image):
            pos, attempt, *end = COMPLETED.values(image)
            rows.append((run_id, epoch, pos, "running", attempt, None, None, None, None, *end))
        elif starts(task) and STARTED.fits(image):
            *begin, seq = STARTED.values(image)
            start = known[id(task)] = (*begin, None, None, None, seq)
            rows.append((run_id, epoch, *start))
        else:
            return None
    return rows


def _steps(writes: Sequence[RunWrite], rows: Sequence[Row]) -> dict[str, Any]:
    runs = [_run_row(write) for write in writes if write.run is not None]
    moved = [write for write in writes if write.history]
    texts = moves_texts([write.history for write in moved])
    moves: list[Row] = [(write.run_id, write.history[-1].seq, text) for write, text in zip(moved, texts, strict=True)]
    return {**columns(TASK_COLUMNS, rows), **columns(RUN_COLUMNS, runs), **columns(HISTORY_COLUMNS, moves)}


def _run_row(write: RunWrite) -> Row:
    run = write.run
    assert run is not None and run.was is not None
    error = None if run.error is None else json_text(run.error)
    times = (run.started_at, run.finished_at)
    return (write.run_id, write.epoch, run.was, run.state, run.reason, error, *times, last_seq(write))


def _inserts(writes: Iterable[RunWrite]) -> Statement:
    # In order of their keys, so that two batches that share keys wait for one another in one direction only.
    ordered = sorted(writes, key=_key)
    waiting: list[Row] = []
    begun: list[Row] = []
    whole: list[dict[str, Any]] = []
    # Runs that begin together share their rows.
    known: dict[int, tuple[list[Row], Row]] = {}
    for write in ordered:
        others: list[TaskRow] = []
        run_id, epoch = write.run_id, write.task_epoch
        for task in write.tasks:
            found = known.get(id(task))
            if found is None:
                image = astuple(task)
                if WAITING.fits(image):
                    found = waiting, WAITING.values(image)
                elif BEGUN.fits(image):
                    found = begun, BEGUN.values(image)
                else:
                    others.append(task)
                    continue
                known[id(task)] = found
            found[0].append((run_id, epoch, *found[1]))
        if others or write.answer is not None:
            whole.append({"run_id": run_id, "epoch": epoch, "tasks": others, "answer": write.answer})
    params = {
        **columns(INSERT_COLUMNS, list(map(_new_run_row, ordered, moves_texts([write.history for write in ordered])))),
        **columns(WAITING_COLUMNS, waiting),
        **columns(BEGUN_COLUMNS, begun),
    }
    if not whole:
        return Statement("insert_batch", params, ordered)
    return Statement("insert_with_others", {**params, "writes": json_text(whole)}, ordered)


def _new_run_row(write: RunWrite, moves: str) -> Row:
    new, run = write.insert, write.run
    assert new is not None and run is not None
    error = None if run.error is None else json_text(run.error)
    times = (run.started_at, run.finished_at)
    state = (write.owner, run.state, last_seq(write), run.reason, error, *times, moves if write.history else None)
    _, *given = astuple(new)
    return (write.run_id, write.epoch, *state, *given)


def _of_updates(writes: Sequence[RunWrite], rows: Rows) -> dict[str, WriteOutcome]:
    """Returns outcomes of writes with stale rows; the others applied."""
    applied, missed, _ = rows[0]
    if not missed:
        return {}
    done = set(msgspec.json.decode(applied or "[]", type=list[tuple[str, int]]))
    outcomes: dict[str, WriteOutcome] = {}
    for write in writes:
        stale = [task.pos for task in (*write.tasks, *write.items) if (write.run_id, task.pos) not in done]
        if write.run is not None and (write.run_id, -1) not in done:
            stale.append(-1)
        if stale:
            outcomes[write.run_id] = WriteOutcome(write.run_id, tuple(stale))
    return outcomes


def _block(updates: Sequence[RunWrite]) -> str:
    answering = any(write.inbox_done or write.commands_done or write.answer is not None for write in updates)
    if any(write.items for write in updates):
        return "update_add_and_answer" if answering else "update_and_add"
    return "update_and_answer" if answering else "update_batch"


def _key(write: RunWrite) -> tuple[str, str]:
    return (write.insert.workflow, write.insert.key or "") if write.insert else ("", "")
