"""Cancels, pauses and resumes runs on behalf of requests."""

from __future__ import annotations

from asyncio import timeout, wrap_future

from turnout.errors import WaitTimedOut
from turnout.model.rows import StoredRun
from turnout.runner.run_commands import check_command
from turnout.server.context import ServerContext

COMMAND_TIMEOUT = 20.0
"""Seconds in which the run's owner, or its successor, must have applied a command."""


async def apply_command(context: ServerContext, run: StoredRun, kind: str, reason: str | None = None) -> None:
    """Returns once the command is committed. Raises InvalidInput for a run that cannot take it, WaitTimedOut if its
    owner does not apply it in time."""
    check_command(run, kind)
    try:
        async with timeout(COMMAND_TIMEOUT):
            await wrap_future(context.core.admin.command(run.new.run_id, kind, reason))
    except TimeoutError as error:
        raise WaitTimedOut(
            f"the {kind} of run {run.new.run_id} was not applied in {COMMAND_TIMEOUT:g} s; it stays requested",
            run_id=run.new.run_id,
        ) from error
