"""Changes runs by a filter: cancels and repeats many of them, or lists those that it would change."""

from __future__ import annotations

from asyncio import Semaphore, gather
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec
from litestar import Controller, post
from litestar.params import JSONBody

from turnout.errors import RequestError, TurnoutError
from turnout.model.rows import StoredRun
from turnout.model.run_filter import RunFilter
from turnout.model.states import RUN_TERMINAL, RunState
from turnout.server.api.found_runs import run_filter
from turnout.server.api.types.runs import (
    BulkCancelRequest,
    BulkOutcome,
    BulkRerunRequest,
    BulkResult,
    RunSelection,
)
from turnout.server.commands import apply_command
from turnout.server.context import ServerContext
from turnout.server.cursors import cursor_of, last_entry
from turnout.server.dependencies import Context
from turnout.server.guards import UNBOUNDED, requires
from turnout.server.responses import RUN_ID, Responses, answers
from turnout.server.submissions import submit

OPERATOR = [requires("operator")]
CHANGE: dict[str, Any] = {"status_code": 200, "guards": OPERATOR, "opt": {UNBOUNDED: True}}
"""Options of the routes."""
MAX_BULK_CONCURRENCY = 16
"""Runs of one bulk request that are changed at once."""


def _bulk_answers(example: BulkOutcome, *, dry_run: bool) -> Responses:
    return answers(
        BulkResult,
        "empty_filter",
        "invalid_cursor",
        "foreign_cursor",
        takes_body=True,
        example=BulkResult(dry_run=dry_run, runs=[example]),
        description="What became of each run.",
    )


class BulkControl(Controller):
    """The routes that change many runs."""

    path = "/api/v1/runs"
    tags = ("runs",)

    @post(
        "/bulk/cancel",
        operation_id="cancel_runs",
        summary="Cancel runs by a filter",
        responses=_bulk_answers(BulkOutcome(run_id=RUN_ID, state=RunState.RUNNING), dry_run=True),
        **CHANGE,
    )
    async def cancel_many(self, context: Context, data: JSONBody[BulkCancelRequest]) -> BulkResult:
        """Cancels the runs that fulfil every condition and have not ended, the newest first."""
        open_states = [state for state in RunState if state not in RUN_TERMINAL]
        wanted = await context.in_thread(_selected, context, data.filter, open_states)

        async def cancel(run: StoredRun) -> str | None:
            await apply_command(context, run, "cancel", data.reason)
            return None

        return await _bulk(context, wanted, data, None if data.dry_run else cancel)

    @post(
        "/bulk/rerun",
        operation_id="rerun_runs",
        summary="Rerun runs by a filter",
        responses=_bulk_answers(BulkOutcome(run_id=RUN_ID, state=RunState.FAILED, new_run=RUN_ID), dry_run=False),
        **CHANGE,
    )
    async def rerun_many(self, context: Context, data: JSONBody[BulkRerunRequest]) -> BulkResult:
        """Starts a new run for each run that fulfils every condition and failed or was cancelled, the newest first.
        Each begins at what failed."""
        ended = [RunState.FAILED, RunState.CANCELLED]
        wanted = await context.in_thread(_selected, context, data.filter, ended)

        async def rerun(run: StoredRun) -> str | None:
            submitter = context.core.submitter
            return (await submit(context, lambda: submitter.rerun(run.new.run_id, None, None))).run.id

        return await _bulk(context, wanted, data, None if data.dry_run else rerun)


def _selected(context: ServerContext, selection: RunSelection, states: Sequence[RunState]) -> RunFilter:
    """Returns the filter of a bulk request, among runs in these states."""
    given = msgspec.structs.asdict(selection)
    conditions: dict[str, Any] = {name: value for name, value in given.items() if value not in (None, (), False)}
    if not conditions:
        raise RequestError(
            "the filter has no condition: a bulk request about all runs has to say so, for example with states",
            code="empty_filter",
            field="filter",
        )
    wanted = tuple(state for state in states if not selection.states or state in selection.states)
    if not wanted:
        raise RequestError(
            f"runs that are {', '.join(selection.states)} are not changed by this; write some of {', '.join(states)}",
            code="empty_filter",
            field="filter.states",
        )
    return run_filter(context, **conditions | {"states": wanted})


async def _bulk(
    context: ServerContext,
    wanted: RunFilter,
    data: BulkCancelRequest | BulkRerunRequest,
    change: Callable[[StoredRun], Awaitable[str | None]] | None,
) -> BulkResult:
    """Changes each run that is found; without ``change`` they are only listed."""
    limit, before = data.limit, last_entry(data.cursor, "bulk", wanted)
    found = await context.in_thread(context.store.find_runs, wanted, limit=limit + 1, before=before)
    slots = Semaphore(MAX_BULK_CONCURRENCY)

    async def outcome(run: StoredRun) -> BulkOutcome:
        made: dict[str, Any] = {"run_id": run.new.run_id, "state": run.row.state}
        if change is not None:
            async with slots:
                try:
                    made["new_run"] = await change(run)
                except TurnoutError as error:
                    made |= {"code": error.code, "detail": error.message}
        return BulkOutcome(**made)

    runs = await gather(*(outcome(run) for run in found[:limit]))
    following = cursor_of("bulk", wanted, found[limit - 1].new.run_id) if len(found) > limit else None
    return BulkResult(dry_run=change is None, runs=list(runs), next=following)
