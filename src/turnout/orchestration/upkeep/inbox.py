"""Delivers results and commands that other processes have stored for runs of this orchestrator."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import msgspec

from turnout.contracts.store import MessageStore
from turnout.dispatcher.result_validation import accepted
from turnout.model.children import CHILD
from turnout.model.events import (
    STATUS_COMPLETED,
    ErrorInfo,
    ExecutionResult,
    TaskReadyEvent,
    clipped,
    decode_result,
)
from turnout.model.logs import storable
from turnout.model.names import task_id
from turnout.model.rows import InboxRow
from turnout.orchestration.active_runs import ActiveRun, ActiveRuns, RunCommand
from turnout.orchestration.background import Background
from turnout.orchestration.children.child_runs import ChildRuns
from turnout.orchestration.session import OrchestratorSession

MAX_BATCH = 1_000


class Inbox:
    """Reads the inbox and the commands. A row stays until the commit that takes its result deletes it."""

    def __init__(
        self,
        store: MessageStore,
        session: OrchestratorSession,
        runs: ActiveRuns,
        children: ChildRuns,
        background: Background,
    ) -> None:
        self._store = store
        self._session = session
        self._runs = runs
        self._children = children
        self._in_thread = background.in_thread
        self._delivered: dict[int, ActiveRun] = {}
        """By the id of a row that was read before: the run that has it already, as it was claimed then."""

    async def take_commands(self) -> None:
        for command in await self._in_thread(self._store.commands_for, self._session.id):
            owned = self._runs.get(command.run_id)
            if owned is not None and all(pending.row != command.id for pending in owned.commands):
                reason = command.reason and storable(command.reason)
                self._runs.command(owned, RunCommand(command.kind, reason, row=command.id))

    async def take_results(self) -> bool:
        """Delivers new results. Returns whether there may be more of them."""
        rows, read = await self._in_thread(self._read)
        delivered = self._delivered
        self._delivered = {row.id: delivered[row.id] for row in rows if row.id in delivered}
        new, results = [row for row, _ in read], [result for _, result in read]
        if any(row.holder == CHILD for row in new):
            results = await asyncio.gather(*map(self._children.completed_result, new, results))
        for row, result in zip(new, results, strict=True):
            owned = self._runs.get(row.run_id)
            if owned is not None:
                self._delivered[row.id] = owned
                self._runs.deliver(owned, row.pos, result, inbox=row.id, holder=row.holder)
        return len(rows) == MAX_BATCH

    def forget(self) -> None:
        """Called when this session owns no run."""
        self._delivered = {}

    def _read(self) -> tuple[Sequence[InboxRow], Sequence[tuple[InboxRow, ExecutionResult]]]:
        """Returns all rows, and the new ones with their results. Runs in a thread, since decoding takes long."""
        runs, delivered = self._runs, self._delivered
        rows = self._store.inbox_for(self._session.id, MAX_BATCH)
        new = [row for row in rows if row.id not in delivered or delivered[row.id] is not runs.get(row.run_id)]
        return rows, [(row, result_in(row)) for row in new]


def result_in(row: InboxRow) -> ExecutionResult:
    """Returns the stored result of this attempt. One that cannot be decoded fails the attempt."""
    event = TaskReadyEvent(
        run_id=row.run_id, task_id=task_id(row.run_id, row.pos), task_name="", attempt=row.attempt, max_attempts=1
    )
    try:
        result = decode_result(row.result)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        message = clipped(f"the result that {row.holder} left cannot be read: {error}")
        return ExecutionResult.failed(event, ErrorInfo("UnreadableResult", message), retryable=False)
    # Outputs are always made by ``dump_output``; errors and versions are texts of other programs.
    if result.status is STATUS_COMPLETED and result.chosen is None:
        return result
    return accepted(event, result, row.holder)
