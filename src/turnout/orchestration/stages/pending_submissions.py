"""Answers submissions, and bounds how many are not durable yet."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from typing import Any

from turnout.errors import IdempotencyConflict, StoreError, StoreRejected, StoreUnreachable, TooBusy, TurnoutError
from turnout.model.children import PARENT_GONE
from turnout.model.rows import WriteOutcome
from turnout.orchestration.active_runs import ActiveRuns, RunTimers
from turnout.orchestration.ledger import Ledger
from turnout.orchestration.messages import PendingCommit, Submission
from turnout.orchestration.reply import Reply
from turnout.orchestration.stages.claims import Claims
from turnout.orchestration.stages.limit_queue import LimitQueue
from turnout.orchestration.stages.stage import WorkQueue
from turnout.orchestration.stages.waiters import Waiters

MIN_RETRY = 1.0
MAX_RETRY = 60.0
UNSURE = (
    "whether the run was stored will show when it answers again: submit it again with the same key, or look for it then"
)


class Throttle:
    """Counts submissions that are not durable yet, and makes callers wait above the mark. Used from their threads."""

    def __init__(self, high_water: int) -> None:
        self._high_water = high_water
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._under_way = 0
        self._done = 0
        self._since = time.monotonic()

    @property
    def under_way(self) -> int:
        return self._under_way

    @property
    def open(self) -> bool:
        """True if a submission would be taken without waiting."""
        return self._under_way < self._high_water

    def admit(self, count: int, timeout: float | None) -> None:
        """Takes ``count`` more, after waiting up to ``timeout`` seconds (None: for ever) for others to become durable.

        A batch may exceed the mark, since one that is larger could otherwise never be submitted."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._under_way < self._high_water, timeout):
                raise TooBusy(
                    f"{self._under_way:,} submissions are not durable yet, the mark is {self._high_water:,}: wait",
                    retry_after=self.retry_after,
                    under_way=self._under_way,
                )
            self._under_way += count

    def settled(self, _: Reply[Any]) -> None:
        """Called when a submission was accepted or refused."""
        with self._lock:
            self._under_way -= 1
            self._done += 1
            if self._under_way == self._high_water - 1:
                self._changed.notify_all()

    @property
    def retry_after(self) -> float:
        """Seconds until there should be room, by the rate of answers so far."""
        rate = self._done / max(time.monotonic() - self._since, 0.001)
        return min(max(self._under_way / rate if rate else MAX_RETRY, MIN_RETRY), MAX_RETRY)


class PendingSubmissions:
    """Holds submissions until they are answered, also when the database or the Runner goes away."""

    def __init__(self, queue: WorkQueue, ledger: Ledger) -> None:
        self._queue = queue
        self._ledger = ledger
        self._inserting: dict[str, Submission] = {}

    def put(self, submissions: Iterable[Submission]) -> None:
        """Queues submissions. While the database is away they are refused at once."""
        for submission in submissions:
            self._queue.put(submission)
        if (outage := self._ledger.outage) is not None:
            self.refuse_all(outage)

    def inserting(self, submission: Submission) -> None:
        """Called when the submission's insert goes to the ledger."""
        self._inserting[submission.new.run_id] = submission

    def answered(self, submission: Submission) -> None:
        """Called when the ledger has returned the outcome of the insert."""
        self._inserting.pop(submission.new.run_id, None)

    def refuse_all(self, error: StoreError) -> None:
        """Refuses all submissions while the database does not answer."""
        for submission in self._waiting():
            # Each gets an error of its own: every raise adds to an exception's traceback, which keeps its frames alive.
            submission.refuse(type(error)(error.message, code=error.code, **error.fields))
        for submission in self._inserting.values():
            if not submission.accepted.done():
                submission.refuse(StoreUnreachable(f"{error.message}; {UNSURE}", **error.fields))

    def close(self) -> None:
        """Refuses submissions that no stage executor will take any more."""
        for submission in self._waiting():
            submission.refuse(TurnoutError("the Runner was closed meanwhile", code="runner_closed"))

    def abandon(self) -> None:
        """Refuses submissions in the ledger: the event loop may end before their lane has answered."""
        for submission in self._inserting.values():
            submission.refuse(StoreUnreachable(f"the Runner was closed before the database had answered; {UNSURE}"))

    def _waiting(self) -> list[Submission]:
        return not_started(self._queue.take(len(self._queue)))


def not_started(submissions: Sequence[Submission]) -> list[Submission]:
    """Returns those whose insert has not started. A batch is retried if its stage executor was replaced."""
    return [submission for submission in submissions if not (submission.insert_started or submission.accepted.done())]


class SubmissionReplies:
    """Accepts or refuses submissions by the outcome of their inserts."""

    def __init__(
        self,
        runs: ActiveRuns,
        submissions: PendingSubmissions,
        waiters: Waiters,
        claims: Claims,
        timers: RunTimers,
        limits: LimitQueue,
    ) -> None:
        self._runs = runs
        self._submissions = submissions
        self._waiters = waiters
        self._claims = claims
        self._timers = timers
        self._limits = limits

    def inserted(self, pending: PendingCommit, submission: Submission) -> None:
        """Called when the run is durable."""
        run_id, new = submission.new.run_id, submission.new
        self._submissions.answered(submission)
        if new.parent_run is None:
            self._waiters.add(run_id, submission.final)
        submission.accept(run_id)
        if self._runs.get(run_id) is not None:
            if new.timeout is not None:
                self._timers.deadline(pending.owned, 0.0)
            if pending.owned.machine.graph.stuck_hooks:
                self._timers.stuck(pending.owned, 0.0)
        elif submission.limits:
            self._limits.submitted(submission)
        else:
            self._claims.request()

    def not_inserted(self, pending: PendingCommit, submission: Submission, outcome: WriteOutcome) -> None:
        """Called when the run is not stored: the database refused it, or another run has its key or id."""
        self._runs.release(pending.owned)
        self._submissions.answered(submission)
        if outcome.rejected is not None:
            submission.refuse(StoreRejected(f"the database refused the run: {outcome.rejected}"))
        elif submission.new.parent_run is not None:
            _answer_child(submission, outcome)
        elif outcome.existing is not None and outcome.existing_digest == submission.new.input_digest:
            self._waiters.watch(outcome.existing, submission.final)
            submission.accept(outcome.existing)
        else:
            submission.refuse(
                IdempotencyConflict(
                    f"idempotency key {submission.new.key!r} belongs to run {outcome.existing}, "
                    "which has another input",
                    run_id=outcome.existing,
                    key=submission.new.key,
                )
            )

    def failed(self, submission: Submission, error: BaseException) -> None:
        """Called when the ledger was closed before the insert."""
        self._submissions.answered(submission)
        submission.refuse(error)


def _answer_child(submission: Submission, outcome: WriteOutcome) -> None:
    if outcome.existing is not None:
        submission.accept(outcome.existing)
    else:
        submission.refuse(TurnoutError("its parent does not wait for it any more", code=PARENT_GONE))
