"""Writes a batch of changes to PostgreSQL, each row by compare-and-swap, in one round trip."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from turnout.errors import StoreUnreachable
from turnout.model.rows import RunWrite, WriteOutcome
from turnout.store.database import Rows, json_list, json_text
from turnout.store.postgres.connection import PostgresDatabase
from turnout.store.postgres.errors import translated
from turnout.store.row_codec import check


class PostgresLedger:
    """``commit`` for PostgreSQL: one statement for updates, one for inserts, both in one transaction if need be."""

    def __init__(self, database: PostgresDatabase) -> None:
        self._database = database

    def commit(self, writes: Sequence[RunWrite], wake: frozenset[str]) -> list[WriteOutcome]:
        check(writes)
        # In order of their keys, so that two batches that share keys wait for one another in one direction only.
        inserts = sorted((write for write in writes if write.insert is not None), key=_key)
        updates = [write for write in writes if write.insert is None] if inserts else writes
        topics = json_list(sorted(wake))
        outcomes: dict[str, WriteOutcome] = {}
        if inserts and updates:
            texts = _text(inserts), _text(updates)
            rows = self._both({"writes": texts[0], "wake": topics}, _block(updates), {"writes": texts[1], "wake": "[]"})
            outcomes.update(self._of_inserts(inserts, texts[0], rows[0]))
            outcomes.update(_of_updates(updates, rows[1]))
        elif inserts:
            text = _text(inserts)
            found = self._database.statement("insert_batch", {"writes": text, "wake": topics})
            outcomes.update(self._of_inserts(inserts, text, found))
        elif updates:
            found = self._database.statement(_block(updates), {"writes": _text(updates), "wake": topics})
            outcomes.update(_of_updates(updates, found))
        return [outcomes.get(write.run_id) or WriteOutcome(write.run_id) for write in writes]

    def _both(self, insert: dict[str, Any], block: str, update: dict[str, Any]) -> tuple[Rows, Rows]:
        """Runs two statements in one transaction, sent together."""
        with self._database.for_ledger() as connection:
            with translated(), connection.pipeline(), connection.transaction():
                first = self._database.execute(connection, "insert_batch", insert)
                second = self._database.execute(connection, block, update)
            return first.fetchall(), second.fetchall()

    def _of_inserts(self, writes: Sequence[RunWrite], text: str, rows: Rows) -> dict[str, WriteOutcome]:
        """Returns outcomes of runs that existed already, or whose parent does not wait for them; the others applied."""
        inserted, missed, _ = rows[0]
        if not missed:
            return {}
        applied = set(msgspec.json.decode(inserted or "[]", type=list[str]))
        found: dict[str, tuple[str, str]] = {}
        for run_id, existing, digest in self._database.read("existing_runs", writes=text):
            if existing == run_id or run_id not in found:
                found[run_id] = (existing, digest)
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


def _text(writes: Sequence[RunWrite]) -> str:
    return json_text(writes)
