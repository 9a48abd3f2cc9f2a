"""What a row of the inbox says: a sound result, also where what was left there is not."""

from __future__ import annotations

import msgspec

from turnout.dispatcher.intake import accepted
from turnout.model.events import (
    STATUS_COMPLETED,
    ErrorInfo,
    ExecutionResult,
    TaskReadyEvent,
    decode_result,
    printable,
)
from turnout.model.names import task_id
from turnout.model.rows import InboxRow


def result_in(row: InboxRow) -> ExecutionResult:
    """The result that was left for this attempt. One that cannot be read ends it: it would never become readable."""
    event = TaskReadyEvent(
        run_id=row.run_id, task_id=task_id(row.run_id, row.pos), task_name="", attempt=row.attempt, max_attempts=1
    )
    try:
        result = decode_result(row.result)
    except (msgspec.MsgspecError, ValueError, RecursionError) as error:
        said = printable(f"the result that {row.holder} left cannot be read: {error}")
        return ExecutionResult.failed(event, ErrorInfo("UnreadableResult", said), retryable=False)
    # An output is made by ``dump_output`` wherever it comes from; errors and versions are texts of others.
    if result.status is STATUS_COMPLETED and result.chosen is None:
        return result
    return accepted(event, result, row.holder)
