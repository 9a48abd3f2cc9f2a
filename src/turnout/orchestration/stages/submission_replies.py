"""What a submitter is told when the ledger has answered the insert of its run."""

from __future__ import annotations

from turnout.errors import IdempotencyConflict, StoreRejected, TurnoutError
from turnout.model.children import PARENT_GONE
from turnout.model.rows import WriteOutcome
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.messages import PendingCommit, Submission
from turnout.orchestration.stages.claims import Claims
from turnout.orchestration.stages.pending_submissions import PendingSubmissions
from turnout.orchestration.stages.timers import RunTimers
from turnout.orchestration.stages.waiters import Waiters


class SubmissionReplies:
    """Accepts or refuses submissions."""

    def __init__(
        self,
        runs: ActiveRuns,
        submissions: PendingSubmissions,
        waiters: Waiters,
        claims: Claims,
        timers: RunTimers,
    ) -> None:
        self._runs = runs
        self._submissions = submissions
        self._waiters = waiters
        self._claims = claims
        self._timers = timers

    def inserted(self, pending: PendingCommit, submission: Submission) -> None:
        """The run is durable."""
        self._submissions.answered(submission)
        if submission.new.parent_run is None:
            self._waiters.add(submission.new.run_id, submission.final)
        submission.accept(submission.new.run_id)
        if submission.new.run_id in self._runs:
            self._timers.deadline(pending.owned, 0.0)
        else:
            self._claims.request()

    def not_inserted(self, pending: PendingCommit, submission: Submission, outcome: WriteOutcome) -> None:
        """The run is not stored: the database refused it, or another has its key or id."""
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
        """The ledger was closed before it answered."""
        self._submissions.answered(submission)
        submission.refuse(error)


def _answer_child(submission: Submission, outcome: WriteOutcome) -> None:
    if outcome.existing is not None:
        submission.accept(outcome.existing)
    else:
        submission.refuse(TurnoutError("its parent does not wait for it any more", code=PARENT_GONE))
