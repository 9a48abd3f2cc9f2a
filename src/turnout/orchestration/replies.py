"""What a submitter is told when the ledger has answered the insert of its run."""

from __future__ import annotations

from turnout.errors import IdempotencyConflict, StoreRejected, TurnoutError
from turnout.model.children import PARENT_GONE
from turnout.model.rows import WriteOutcome
from turnout.orchestration.active_runs import ActiveRuns
from turnout.orchestration.adoption import Adoption
from turnout.orchestration.moves import Move, Request
from turnout.orchestration.submissions import PendingSubmissions
from turnout.orchestration.timers import RunTimers
from turnout.orchestration.waiters import Waiters


class SubmissionReplies:
    """Accepts or refuses submissions."""

    def __init__(
        self,
        runs: ActiveRuns,
        submissions: PendingSubmissions,
        waiters: Waiters,
        claims: Adoption,
        timers: RunTimers,
    ) -> None:
        self._runs = runs
        self._submissions = submissions
        self._waiters = waiters
        self._claims = claims
        self._timers = timers

    def inserted(self, move: Move, request: Request) -> None:
        """The run is durable."""
        self._submissions.answered(request)
        if request.new.parent_run is None:
            self._waiters.add(request.new.run_id, request.final)
        request.accept(request.new.run_id)
        if request.new.run_id in self._runs:
            self._timers.deadline(move.owned, 0.0)
        else:
            self._claims.request()

    def not_inserted(self, move: Move, request: Request, outcome: WriteOutcome) -> None:
        """The run is not stored: the database refused it, or another has its key or id."""
        self._runs.release(move.owned)
        self._submissions.answered(request)
        if outcome.rejected is not None:
            request.refuse(StoreRejected(f"the database refused the run: {outcome.rejected}"))
        elif request.new.parent_run is not None:
            _answer_child(request, outcome)
        elif outcome.existing is not None and outcome.existing_digest == request.new.input_digest:
            self._waiters.watch(outcome.existing, request.final)
            request.accept(outcome.existing)
        else:
            request.refuse(
                IdempotencyConflict(
                    f"idempotency key {request.new.key!r} belongs to run {outcome.existing}, which has another input",
                    run_id=outcome.existing,
                    key=request.new.key,
                )
            )

    def failed(self, request: Request, error: BaseException) -> None:
        """The ledger was closed before it answered."""
        self._submissions.answered(request)
        request.refuse(error)


def _answer_child(request: Request, outcome: WriteOutcome) -> None:
    if outcome.existing is not None:
        request.accept(outcome.existing)
    else:
        request.refuse(TurnoutError("its parent does not wait for it any more", code=PARENT_GONE))
