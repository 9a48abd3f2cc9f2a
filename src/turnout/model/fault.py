"""Whether an attempt's result counts against its executor or its worker. A body's failure never does."""

from __future__ import annotations

from turnout.model.events import UNAVAILABLE, ExecutionResult, ExecutionStatus
from turnout.model.reasons import CODE_MISSING

EXECUTION_FAILED = "turnout.errors.ExecutionFailed"
"""The last of the names in the ``mro`` of an error that the dispatcher made because an executor raised or answered
nonsense. The names of a body's exception always end with those of Python's own classes."""


def at_fault(result: ExecutionResult, *, isolates: bool) -> bool | None:
    """True: the executor failed. False: it did its work, whatever became of the body. None: neither can be told.

    ``isolates``: every attempt has a process of its own there. Where several share one, a body may have taken the
    others with it.
    """
    error = result.error
    match result.status:
        case ExecutionStatus.FAILED | ExecutionStatus.RETRY:
            return error is not None and error.mro[-1:] == (EXECUTION_FAILED,)
        case ExecutionStatus.RETURNED:
            return True if error is not None and error.type == UNAVAILABLE else None
        case ExecutionStatus.CRASHED:
            return error is not None and error.type == UNAVAILABLE
        case ExecutionStatus.LOST:
            return True if isolates else None
        case ExecutionStatus.CANCELLED:
            return None
        case ExecutionStatus.COMPLETED | ExecutionStatus.TIMED_OUT | ExecutionStatus.DEFERRED:
            return False


def worker_at_fault(result: ExecutionResult) -> bool | None:
    """The same for the worker that answered, or did not. A crash speaks against it: whoever asks has to know whether
    another worker could have done better.
    """
    error = result.error
    match result.status:
        case ExecutionStatus.RETURNED:
            return True if error is not None and error.message == CODE_MISSING else None
        case ExecutionStatus.CRASHED | ExecutionStatus.LOST:
            return True
        case ExecutionStatus.CANCELLED:
            return None
        case _:
            return False
