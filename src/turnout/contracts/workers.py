"""What an executor whose places are elsewhere asks of the orchestrator, and the orchestrator of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import msgspec

from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.rows import Session
from turnout.model.spec import TaskSpec


class Place(msgspec.Struct, frozen=True):
    """Where an attempt will be: set aside before its start is committed."""

    holder: str
    """The session of who will hold it."""


class Assigner(Protocol):
    """An executor that has several holders, of which not every one can run every task."""

    def line(self, task: TaskSpec, labels: Mapping[str, str] | None) -> str:
        """The line in which such a task waits: tasks in one line want the same holders."""
        ...

    def assign(self, line: str) -> str | None:
        """Set a place aside and name its holder; None if there is none now."""
        ...

    def unassign(self, holder: str) -> None:
        """The place that was set aside will not be used."""
        ...

    def why_not(self, line: str) -> str:
        """The reason for which tasks in this line wait."""
        ...


class Given(msgspec.Struct, frozen=True):
    """What a handler elsewhere is told besides its arguments."""

    run_input: Mapping[str, Any]
    previous: Mapping[str, Any]
    """Outputs of the tasks that this one depends on, by name."""


class Holders(Protocol):
    """What the orchestrator knows, and keeps in the database, of workers and of what they hold."""

    async def joined(self, worker: Session, about: str) -> None:
        """The worker's session stands from now on, until it ends or is not renewed. ``about`` is for people."""
        ...

    async def renew(self, about: Mapping[str, str]) -> frozenset[str]:
        """Renew the sessions of these workers; returns those that count as dead."""
        ...

    async def left(self, worker_id: str) -> None: ...

    async def wanted(self, worker_id: str, attempts: Sequence[tuple[str, int]]) -> frozenset[tuple[str, int]]:
        """Which of these attempts (task id, attempt) somebody still waits for, from this worker."""
        ...

    async def post(self, worker_id: str, results: Sequence[ExecutionResult]) -> None:
        """Leave results for whoever owns their runs. What nobody waits for is dropped."""
        ...

    def may_begin(self, worker_id: str, task_id: str, attempt: int) -> bool:
        """Whether this orchestrator owns the attempt's run and the worker may begin it now."""
        ...

    def given(self, event: TaskReadyEvent) -> Given | None:
        """What a handler of this attempt is told, if it is in memory."""
        ...
