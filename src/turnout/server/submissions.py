"""Starts runs on behalf of requests: finds the workflow, submits, and waits for the end if that is asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from turnout.errors import IdempotencyConflict
from turnout.model.rows import StoredRun
from turnout.model.states import RUN_TERMINAL, RunState
from turnout.orchestration.messages import Submission
from turnout.runner.core import Core
from turnout.runner.stored_values import stored_result
from turnout.runner.submitter import Options
from turnout.server.api.types.runs import StartedRun, StartRequest, run_of
from turnout.server.context import ServerContext
from turnout.server.named_workflows import named_definition
from turnout.server.preconditions import IDEMPOTENCY_KEY, idempotency_key
from turnout.server.shutdown import Shutdown

MAX_WAIT = 300.0
"""Seconds that a request may wait for the end of a run."""


def start_request(core: Core, data: StartRequest, key: str | None, *, origin: str, enqueue: bool) -> Submission:
    """Returns the checked submission of a run. Blocks."""
    options = Options.of(checked_key(key), data.priority, data.timeout, origin)
    return core.submitter.request_named(named_definition(core, data.workflow), data.input, options, enqueue=enqueue)


def checked_key(key: str | None) -> str | None:
    """Returns the idempotency key of a request. Raises RequestError for one that is malformed."""
    return None if key is None else idempotency_key({IDEMPOTENCY_KEY: key})


async def submit(context: ServerContext, request: Callable[[], Submission], wait: float | None = None) -> StartedRun:
    """Hands in a request, and returns once the run is durable; with ``wait``, once it has ended, that many seconds are
    over or the server stops. Raises RequestError if the server stops already."""
    core = context.core
    context.shutdown.check_open()

    def hand_in() -> Submission:
        made = request()
        core.submitter.submit([made], wait=False)
        return made

    submission = await context.in_thread(hand_in)
    run_id = await submission.accepted.wait()
    created = run_id == submission.new.run_id
    ended = wait is not None and await _ended(submission, wait, context.shutdown)
    return await context.in_thread(_started, core, submission, run_id, created=created, ended=ended)


async def _ended(submission: Submission, wait: float, shutdown: Shutdown) -> bool:
    waits = [asyncio.ensure_future(each.wait()) for each in (submission.final, shutdown)]
    try:
        await asyncio.wait(waits, timeout=min(wait, MAX_WAIT), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for each in waits:
            each.cancel()
    return waits[0].done() and not waits[0].cancelled() and waits[0].exception() is None


def _started(core: Core, submission: Submission, run_id: str, *, created: bool, ended: bool) -> StartedRun:
    run = core.reader.stored(run_id)
    if not created:
        _check_same(run, submission)
    ended, result = ended or run.row.state in RUN_TERMINAL, None
    if ended and run.row.state is RunState.COMPLETED:
        result = stored_result(core.store, run, core.store.tasks(run_id, outputs=False))
    return StartedRun(run=run_of(run), created=created, ended=ended, result=result, warnings=list(submission.warnings))


def _check_same(run: StoredRun, submission: Submission) -> None:
    """Raises IdempotencyConflict if the key was used with the same input, but for something else."""
    asked, known = submission.new, run.new
    if (asked.priority, asked.timeout, asked.rerun_of) != (known.priority, known.timeout, known.rerun_of):
        raise IdempotencyConflict(
            f"the key {asked.key!r} belongs to run {known.run_id}, which was asked for differently: use a new key",
            key=asked.key,
            run_id=known.run_id,
        )
