"""Submissions that are not durable yet: they wait for the first stage, or their inserts are in the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from turnout.errors import StoreError, StoreUnreachable, TurnoutError
from turnout.orchestration.ledger import Ledger
from turnout.orchestration.messages import Submission
from turnout.orchestration.stages.stage import WorkQueue

UNSURE = (
    "whether the run was stored will show when it answers again: submit it again with the same key, or look for it then"
)


class PendingSubmissions:
    """Answers every submission, also when the database or the Runner goes away."""

    def __init__(self, queue: WorkQueue, ledger: Ledger) -> None:
        self._queue = queue
        self._ledger = ledger
        self._inserting: dict[str, Submission] = {}

    def put(self, submissions: Iterable[Submission]) -> None:
        """Takes submissions. While the database is away they are refused at once."""
        for submission in submissions:
            self._queue.put(submission)
        if (outage := self._ledger.outage) is not None:
            self.refuse_all(outage)

    def inserting(self, submission: Submission) -> None:
        """The submission's insert is on its way to the ledger."""
        self._inserting[submission.new.run_id] = submission

    def answered(self, submission: Submission) -> None:
        """The ledger has said what became of the insert."""
        self._inserting.pop(submission.new.run_id, None)

    def refuse_all(self, error: StoreError) -> None:
        """Keeps no caller waiting for a database that does not answer."""
        for submission in self._waiting():
            # An error of its own for each: every raise adds to an exception's traceback, which keeps what it passed.
            submission.refuse(type(error)(error.message, code=error.code, **error.fields))
        for submission in self._inserting.values():
            if not submission.accepted.done():
                submission.refuse(StoreUnreachable(f"{error.message}; {UNSURE}", **error.fields))

    def close(self) -> None:
        """Refuses what no stage executor will take any more."""
        for submission in self._waiting():
            submission.refuse(TurnoutError("the Runner was closed meanwhile", code="runner_closed"))

    def abandon(self) -> None:
        """Refuses what is in the ledger: the event loop may end before a lane that still works has answered."""
        for submission in self._inserting.values():
            submission.refuse(StoreUnreachable(f"the Runner was closed before the database had answered; {UNSURE}"))

    def _waiting(self) -> list[Submission]:
        return not_started(self._queue.take(len(self._queue)))


def not_started(submissions: Sequence[Submission]) -> list[Submission]:
    """Those whose insert is not under way. A batch comes again if the stage executor that had it was replaced."""
    return [submission for submission in submissions if not (submission.insert_started or submission.accepted.done())]
