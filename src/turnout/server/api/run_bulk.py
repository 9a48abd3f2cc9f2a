"""Changes many runs, by a filter or by their ids: cancels or repeats them, or lists those that it would change."""

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
        """Cancels the runs that fulfil every condition and have not ended, the newest first; or those of `ids`, up to
        1,000, so that exactly what a dry run listed is changed."""

        async def cancel(run: StoredRun) -> str | None:
            await apply_command(context, run, "cancel", data.reason)
            return None

        open_states = [state for state in RunState if state not in RUN_TERMINAL]
        return await _bulk(context, data, open_states, None if data.dry_run else cancel)

    @post(
        "/bulk/rerun",
        operation_id="rerun_runs",
        summary="Rerun runs by a filter",
        responses=_bulk_answers(BulkOutcome(run_id=RUN_ID, state=RunState.FAILED, new_run=RUN_ID), dry_run=False),
        **CHANGE,
    )
    async def rerun_many(self, context: Context, data: JSONBody[BulkRerunRequest]) -> BulkResult:
        """Starts a new run for each run that fulfils every condition and failed or was cancelled, the newest first.
        Each begins at what failed. Or it does so for those of `ids`, up to 1,000, so that exactly what a dry run listed
        is started."""

        async def rerun(run: StoredRun) -> str | None:
            submitter = context.core.submitter
            return (await submit(context, lambda: submitter.rerun(run.new.run_id, None, None))).run.id

        return await _bulk(context, data, [RunState.FAILED, RunState.CANCELLED], None if data.dry_run else rerun)


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
    data: BulkCancelRequest | BulkRerunRequest,
    states: Sequence[RunState],
    change: Callable[[StoredRun], Awaitable[str | None]] | None,
) -> BulkResult:
    """Changes each run that is found and is in one of these states; without ``change`` they are only listed."""
    if data.ids:
        found, missing = await context.in_thread(_named, context, data)
        following = None
    else:
        found, following = await context.in_thread(_found, context, data, states)
        missing = list[BulkOutcome]()
    slots = Semaphore(MAX_BULK_CONCURRENCY)

    async def outcome(run: StoredRun) -> BulkOutcome:
        run_id, state = run.new.run_id, run.row.state
        made: dict[str, Any] = {"run_id": run_id, "state": state}
        if state not in states:
            made |= {"code": _refusal(state, states), "detail": f"it is {state}"}
        elif change is not None:
            async with slots:
                try:
                    made["new_run"] = await change(run)
                except TurnoutError as error:
                    made |= {"code": error.code, "detail": error.message}
        return BulkOutcome(**made)

    runs = await gather(*(outcome(run) for run in found))
    return BulkResult(dry_run=change is None, runs=[*runs, *missing], next=following)


def _found(
    context: ServerContext, data: BulkCancelRequest | BulkRerunRequest, states: Sequence[RunState]
) -> tuple[list[StoredRun], str | None]:
    """Returns the runs of the filter, and the cursor of those behind them. Blocks."""
    wanted, limit = _selected(context, data.filter, states), data.limit
    found = context.store.find_runs(wanted, limit=limit + 1, before=last_entry(data.cursor, "bulk", wanted))
    following = cursor_of("bulk", wanted, found[limit - 1].new.run_id) if len(found) > limit else None
    return found[:limit], following


def _named(
    context: ServerContext, data: BulkCancelRequest | BulkRerunRequest
) -> tuple[list[StoredRun], list[BulkOutcome]]:
    """Returns the runs of ``ids`` in their order, each once, and those that do not exist. Blocks."""
    if data.filter != RunSelection() or data.cursor is not None:
        raise RequestError("a bulk request has ids or a filter, not both", code="invalid_request", field="ids")
    ids = list(dict.fromkeys(data.ids))
    stored = {run.new.run_id: run for run in context.store.runs_by_id(ids)}
    missing = [
        BulkOutcome(run_id=each, state=None, code="run_not_found", detail="there is no such run")
        for each in ids
        if each not in stored
    ]
    return [stored[each] for each in ids if each in stored], missing


def _refusal(state: RunState, changed: Sequence[RunState]) -> str:
    """Returns the code for a run that is in none of the states in which runs are changed."""
    if not state.terminal:
        return "run_not_finished"
    return "nothing_to_rerun" if RunState.FAILED in changed else "run_ended"
