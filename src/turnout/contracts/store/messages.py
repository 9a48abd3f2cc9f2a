"""Declares what processes leave for one another: commands, results, offered attempts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from turnout.model.events import ExecutionResult
from turnout.model.rows import Command, InboxRow, PolledTask


class MessageStore(Protocol):
    """Carries commands, tasks and results between processes."""

    def add_command(self, run_id: str, kind: str, reason: str | None = None) -> int:
        """Asks the run's owner to cancel, pause or resume; wakes ``commands``. RunNotFound if there is no such run."""
        ...

    def commands_for(self, session_id: str) -> list[Command]:
        """Returns the open commands of runs that this session owns."""
        ...

    def command_done(self, command_id: int) -> bool:
        """True if it was applied or refused; one for a run that has ended counts as done."""
        ...

    def command_refusal(self, command_id: int) -> str | None:
        """Returns why it was refused; None if it was not."""
        ...

    def refuse_commands(self, command_ids: Sequence[int], why: str) -> None:
        """Closes these commands without applying them."""
        ...

    def close_commands(self) -> None:
        """Closes the commands of runs that have ended: they will never be applied."""
        ...

    def claim_ready(self, poller: str, keys: Sequence[str], limit: int, lease: float) -> list[PolledTask]:
        """Claims ready tasks with one of these poll keys, if their time has come and their run is running.

        The run's row is locked FOR SHARE. The task becomes running, attempt + 1, holder = poller, with its history row
        (part 1 of the task's newest seq)."""
        ...

    def renew_attempts(
        self, poller: str, attempts: Sequence[tuple[str, int, int]], lease: float
    ) -> list[tuple[str, int, int]]:
        """Extends the leases of these (run_id, pos, attempt); returns those that are no longer the poller's."""
        ...

    def post_results(self, poller: str, results: Sequence[ExecutionResult]) -> None:
        """Leaves results for the runs' owners; wakes ``inbox``. A second post of the same attempt changes nothing."""
        ...

    def inbox_for(self, session_id: str, limit: int) -> list[InboxRow]:
        """Results waiting for runs that this session owns, oldest first."""
        ...

    def lapsed_attempts(self, session_id: str) -> list[tuple[str, int, int, str]]:
        """(run_id, pos, attempt, holder) of attempts in this session's runs that a poller holds but no longer keeps
        alive, and that have no result in the inbox."""
        ...
