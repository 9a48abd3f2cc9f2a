"""Decides what follows from an attempt's result: success, retry, failure, deferral; rejects undeclared conditions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

import msgspec

from turnout.errors import UndeclaredCondition
from turnout.model.children import CHILD_ENDS
from turnout.model.deferral import Deferral, Memo, read_memo, write_memo
from turnout.model.events import STATUS_COMPLETED, ErrorInfo, ExecutionResult, ExecutionStatus, short_text
from turnout.model.reasons import CONTINUED, DEFERRED, DEFERRED_TOO_OFTEN, PRECONDITION, UNDECLARED_CONDITION
from turnout.model.retry import delay_before_retry
from turnout.model.rows import TaskRow
from turnout.model.setting_types import Natural, NonNegativeSeconds, Settings
from turnout.model.spec import TaskSpec
from turnout.model.states import TaskState


class Limits(Settings, frozen=True):
    """Budgets beside the retry policy, the delays of refused attempts, and bounds of a run."""

    crashes: Natural = 3
    """Crashes of its process after which a task fails."""
    losses: Natural = 20
    """Losses of its owner, worker or poller after which a task fails."""
    deferrals: Natural = 10_000
    """Deferrals that a task may have before it fails, each evaluation of its condition included."""
    refused_delay: NonNegativeSeconds = 0.1
    """Seconds before an attempt that was refused is dispatched again."""
    code_missing_delay: NonNegativeSeconds = 2.0
    """Seconds before an attempt whose process did not have its code is dispatched again."""
    inline_output: Natural = 1024
    """Outputs up to so many bytes stay in memory until the run ends."""
    depth: Natural = 16
    """The greatest depth of child runs."""
    map_items: Natural = 50_000
    """Items of one mapped task; a longer list fails it before any item starts."""


class Verdict(msgspec.Struct, frozen=True, gc=False):
    """The next state of a running task, and the use of its three budgets."""

    state: TaskState
    reason: str | None = None
    delay: float = 0.0
    """With ``ready``: seconds until the next attempt."""
    failures: int = 0
    crashes: int = 0
    losses: int = 0
    error: ErrorInfo | None = None
    """The error of a failure that is not in the result."""
    memo: str | None = None
    """With a deferral: the new memo; None leaves it unchanged."""


LOSSES_BEFORE_EXCLUSIVE = 2


def must_run_exclusively(row: TaskRow) -> bool:
    """True if the task was lost so often that its body may be the cause: it runs alone from now on."""
    return row.losses >= LOSSES_BEFORE_EXCLUSIVE


COMPLETED = Verdict(TaskState.COMPLETED)


def verdict(
    result: ExecutionResult, row: TaskRow, task: TaskSpec, limits: Limits, jitter: Callable[[], float], now: float
) -> Verdict:
    """Returns the verdict for a run that is not being cancelled; ``row`` is the running task, ``now`` the Unix time."""
    if result.status is STATUS_COMPLETED:
        return COMPLETED
    match result.status:
        case ExecutionStatus.RETURNED:
            reason = result.error.message if result.error else "returned"
            delay = limits.code_missing_delay if reason == "code_missing" else limits.refused_delay
            return Verdict(TaskState.READY, reason, delay)
        case ExecutionStatus.SKIPPED | ExecutionStatus.DEFERRED:
            deferral = result.deferral or Deferral()
            deferred = result.status is ExecutionStatus.DEFERRED
            return verdict_deferred(deferral, read_memo(row.memo), limits, now) if deferred else verdict_skipped(result)
        case ExecutionStatus.LOST:
            if task.at_most_once:
                return Verdict(TaskState.FAILED, "lost_at_most_once", losses=1)
            if row.losses + 1 >= limits.losses:
                return Verdict(TaskState.FAILED, "lost_too_often", losses=1)
            return Verdict(TaskState.READY, "lost", losses=1)
        case ExecutionStatus.CRASHED:
            if task.at_most_once or row.crashes + 1 >= limits.crashes:
                reason = "crashed_at_most_once" if task.at_most_once else "crashed_too_often"
                return Verdict(TaskState.FAILED, reason, crashes=1)
            return Verdict(TaskState.READY, "crashed", crashes=1)
        case ExecutionStatus.FAILED | ExecutionStatus.RETRY | ExecutionStatus.TIMED_OUT | ExecutionStatus.CANCELLED:
            # An attempt that was cancelled while its run goes on (its executor stopped) counts as a failure.
            failures = row.failures + 1
            after = delay_before_retry(
                task.retry, failures, result.error, result.retryable, result.retry_after, jitter()
            )
            if after is None:
                return Verdict(TaskState.FAILED, _reason(result), failures=1)
            return Verdict(TaskState.READY, "retry_at", after, failures=1)


def _reason(result: ExecutionResult) -> str | None:
    """Returns the reason of a failed task: the end of its child run, an undeclared condition, or an end after which its
    dependents run; otherwise None."""
    code = result.error.code if result.error is not None else ""
    return code if code in CHILD_ENDS or code in (UNDECLARED_CONDITION, CONTINUED) else None


def verdict_skipped(result: ExecutionResult) -> Verdict:
    """Returns the verdict on an attempt whose preconditions do not hold."""
    why = short_text(result.error.message) if result.error is not None else ""
    return Verdict(TaskState.SKIPPED, f"{PRECONDITION}:{why}" if why else PRECONDITION)


def verdict_deferred(deferral: Deferral, memo: Memo, limits: Limits, now: float) -> Verdict:
    """Returns the verdict on a deferred attempt. An at_most_once task may be deferred too."""
    count = memo.deferrals + 1
    if count > limits.deferrals:
        error = ErrorInfo("DeferredTooOften", f"deferred {memo.deferrals:,} times, which is the limit")
        return Verdict(TaskState.FAILED, DEFERRED_TOO_OFTEN, error=error)
    condition = memo.condition if deferral.unmet else deferral.condition
    if condition is None:
        reason = DEFERRED
        delay = deferral.seconds if deferral.until is None else max(0.0, deferral.until - now)
    else:
        condition = msgspec.structs.replace(condition, asked=condition.asked + deferral.unmet)
        reason, delay = f"{DEFERRED}:{condition.ref}", condition.pause()
    saved = memo.saved if deferral.saved is None else deferral.saved
    carried = write_memo(Memo(saved=saved, deferrals=count, condition=condition, unmet=memo.unmet + deferral.unmet))
    return Verdict(TaskState.READY, reason, delay, memo=carried)


def verdict_when_cancelling(result: ExecutionResult, reason: str | None) -> Verdict:
    """Returns the verdict for a run that is being cancelled: completed work counts, nothing is retried."""
    match result.status:
        case ExecutionStatus.COMPLETED:
            return COMPLETED
        case ExecutionStatus.SKIPPED:
            return verdict_skipped(result)
        case ExecutionStatus.FAILED | ExecutionStatus.RETRY | ExecutionStatus.TIMED_OUT:
            return Verdict(TaskState.FAILED, _reason(result), failures=1)
        case ExecutionStatus.LOST:
            return Verdict(TaskState.CANCELLED, reason, losses=1)
        case ExecutionStatus.CRASHED:
            return Verdict(TaskState.CANCELLED, reason, crashes=1)
        case ExecutionStatus.CANCELLED | ExecutionStatus.RETURNED | ExecutionStatus.DEFERRED:
            return Verdict(TaskState.CANCELLED, reason)


def checked_condition(result: ExecutionResult, task: str, declared: Collection[str]) -> ExecutionResult:
    """Returns the result, or a failure if it waits for a predicate that the task does not declare."""
    condition = None if result.deferral is None else result.deferral.condition
    if condition is None or condition.ref in declared:
        return result
    error = undeclared_condition(condition.ref, task, declared)
    info = ErrorInfo(type(error).__qualname__, error.message, code=error.code)
    return msgspec.structs.replace(
        result, status=ExecutionStatus.FAILED, error=info, retryable=False, retry_after=None, deferral=None
    )


def undeclared_condition(ref: str, task: str, declared: Iterable[str]) -> UndeclaredCondition:
    """Returns the error of a task that waits for this predicate without declaring it."""
    shown, known = short_text(ref), sorted(declared)
    has = f" (it declares {', '.join(known)})" if known else ""
    return UndeclaredCondition(
        f"task {task!r} waits for the condition {shown!r}, which it does not declare{has}: "
        f"name the function in its option conditions, as in @task(conditions=[{shown.rpartition(':')[2] or '…'}])",
        task=task,
        condition=shown,
    )
