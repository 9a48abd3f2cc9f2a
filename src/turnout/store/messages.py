"""Reads and writes messages to owners of runs: commands, and results of attempts that pollers claimed."""

from __future__ import annotations

from collections.abc import Sequence

from turnout.errors import RunNotFound
from turnout.model.events import ExecutionResult
from turnout.model.names import split_task_id
from turnout.model.rows import Command, InboxRow, PolledTask
from turnout.store.database import Database, json_list, json_text
from turnout.store.row_codec import canonical


class Messages:
    """Commands, claims of ready attempts, and the inbox."""

    _database: Database

    # -- commands -----------------------------------------------------------------------------------------------
    def add_command(self, run_id: str, kind: str, reason: str | None = None) -> int:
        known = canonical(run_id)
        rows = self._database.write("add_command", wake="commands", id=known, kind=kind, reason=reason) if known else []
        if not rows:
            raise RunNotFound(f"there is no run {run_id}", run_id=run_id)
        return int(rows[0][0])

    def commands_for(self, session_id: str) -> list[Command]:
        return [Command(*row) for row in self._database.read("commands_for", session=session_id)]

    def command_done(self, command_id: int) -> bool:
        rows = self._database.read("command_done", id=command_id)
        return bool(rows and rows[0][0])

    def command_refusal(self, command_id: int) -> str | None:
        rows = self._database.read("command_refusal", id=command_id)
        return rows[0][0] if rows else None

    def refuse_commands(self, command_ids: Sequence[int], why: str) -> None:
        self._database.write("refuse_commands", ids=json_list(command_ids), why=why)

    def close_commands(self) -> None:
        self._database.write("close_commands")

    # -- pollers ------------------------------------------------------------------------------------------------
    def claim_ready(self, poller: str, keys: Sequence[str], limit: int, lease: float) -> list[PolledTask]:
        with self._database.transaction() as execute:
            rows = execute("offered_tasks", keys=json_list(keys), limit=limit)
            if rows:
                attempts = json_list(sorted(({"run_id": row[0], "pos": row[1]} for row in rows), key=_by_key))
                execute("record_polled", attempts=attempts, poller=poller)
                execute("take_polled", attempts=attempts, poller=poller, lease=float(lease))
        return [PolledTask(*row) for row in rows]

    def renew_attempts(
        self, poller: str, attempts: Sequence[tuple[str, int, int]], lease: float
    ) -> list[tuple[str, int, int]]:
        wanted = [{"run_id": run_id, "pos": pos, "attempt": attempt} for run_id, pos, attempt in sorted(attempts)]
        rows = self._database.write("renew_attempts", attempts=json_list(wanted), poller=poller, lease=float(lease))
        kept = {(run_id, pos, attempt) for run_id, pos, attempt in rows}
        return [attempt for attempt in attempts if tuple(attempt) not in kept]

    def post_results(self, poller: str, results: Sequence[ExecutionResult]) -> None:
        posted: list[dict[str, object]] = []
        for result in results:
            run_id, pos = split_task_id(result.task_id)
            text = json_text(result)
            posted.append({"run_id": run_id, "pos": pos, "attempt": result.attempt, "result": text})
        posted.sort(key=_by_key)
        self._database.write("post_results", wake="inbox", results=json_list(posted), poller=poller)

    def inbox_for(self, session_id: str, limit: int) -> list[InboxRow]:
        return [InboxRow(*row) for row in self._database.read("inbox_for", session=session_id, limit=limit)]

    def lapsed_attempts(self, session_id: str) -> list[tuple[str, int, int, str]]:
        rows = self._database.read("lapsed_attempts", session=session_id)
        return [(run_id, pos, attempt, holder) for run_id, pos, attempt, holder in rows]


def _by_key(item: dict[str, object]) -> tuple[object, object]:
    return item["run_id"], item["pos"]
