"""Declares what an executor with remote holders asks of the orchestrator, and the orchestrator of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Protocol, runtime_checkable

from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.logs import StoredLines
from turnout.model.resources import Resources
from turnout.model.rows import Renewal, Session
from turnout.model.spec import TaskSpec
from turnout.model.workers import HubStatus


class Assigner(Protocol):
    """An executor that has several holders, of which not every one can run every task."""

    def selector(
        self,
        task: TaskSpec,
        labels: Mapping[str, str] | None,
        exclusive: bool = False,
        others: Sequence[TaskSpec] = (),
        resources: Resources | None = None,
    ) -> str:
        """Returns what such a task asks of a holder: tasks with the same selector wait for the same holders. The holder
        must be able to run the ``others`` too, and has the ``resources`` of the decision where it knows of any."""
        ...

    def assign(self, selector: str) -> str | None:
        """Reserves a slot and returns its holder; None if there is none now."""
        ...

    @property
    def listening(self) -> bool:
        """False if no holder can connect here now."""
        ...

    def has_holder(self, holder: str) -> bool:
        """True if this holder is here."""
        ...

    def is_leaving(self, holder: str) -> bool:
        """True if this holder is here and takes nothing new, since it was asked to leave."""
        ...

    def assign_again(self, event: TaskReadyEvent) -> bool:
        """Reserves a slot of its holder, which is here, for an attempt that was committed to it before; False if
        there is none now, or the holder has said that it has the attempt."""
        ...

    def unassign(self, holder: str) -> None:
        """Releases a reserved slot of this holder."""
        ...

    def wait_reason(self, selector: str) -> str:
        """Returns the reason for which tasks with this selector wait."""
        ...

    def name_of(self, holder: str) -> str:
        """Returns the display name of this holder."""
        ...

    def seen(self) -> HubStatus:
        """Returns the status of its holders."""
        ...

    async def keep_holders(self) -> None:
        """Renews the sessions of connected holders if that is late. Called before sessions are declared dead."""
        ...


class ResultHolder(Protocol):
    """An executor that keeps results until they are acknowledged."""

    def acknowledge(self, results: Sequence[ExecutionResult]) -> None:
        """Acknowledges results that are durable or that no run waits for; those of other executors are among them."""
        ...

    def reassign(self, results: Sequence[ExecutionResult]) -> None:
        """Leaves these results, of runs that are not driven here, to the owners of their runs."""
        ...

    def disown(self) -> None:
        """Called when other orchestrators drive the runs of everything in flight: it goes on, and its results are
        theirs."""
        ...

    def holders_died(self, holders: Collection[str]) -> None:
        """Called when these sessions have ended; those of other executors are among them."""
        ...


class RunNumbers(Protocol):
    """Numbers of runs, where a protocol knows them by integers."""

    async def numbers_of(self, run_ids: Sequence[str]) -> Mapping[str, int]:
        """Returns the number of each run, the same on every orchestrator and after every restart."""
        ...


class NumbersRuns(Protocol):
    """An executor that needs the numbers of runs."""

    def bind_numbers(self, numbers: RunNumbers) -> None: ...


@runtime_checkable
class UsesHub(Protocol):
    """An executor that starts workers, which connect to the hub."""

    def bind_hub(self, hub: object) -> None:
        """Takes the hub, before the start; None if there is none. Raises InvalidSetting if it needs another."""
        ...


class NumberedLines(Protocol):
    """Stores lines that holders number themselves: one that is added twice, here or by another process, is stored
    once."""

    @property
    def echo(self) -> bool:
        """True if lines are also shown on this program's own stdout and stderr."""
        ...

    def add_numbered(self, source: TaskReadyEvent, first: int, lines: Sequence[tuple[str, str]]) -> None:
        """Stores lines (stream, text) of an attempt, numbered from ``first`` on. Never waits, and never raises."""
        ...

    def hurry(self) -> None:
        """Makes it store what was added before now without delay."""
        ...

    def on_stored(self, callback: Callable[[Sequence[StoredLines]], object]) -> None:
        """Takes a function that is called, from any thread, after each addition and when more lines are stored."""
        ...


class HolderPorts(Protocol):
    """An executor whose holders have sessions in the database."""

    @property
    def holder_lease(self) -> float:
        """Seconds for which the session of a holder lasts without a renewal."""
        ...

    def bind_holders(self, holders: Holders) -> None:
        """Takes the store's side of its holders, before the start."""
        ...

    def bind_lines(self, store: NumberedLines) -> None:
        """Takes the store of the lines of its holders, before the start."""
        ...


class Holders(Protocol):
    """The orchestrator's side of workers: their sessions in the database, and the attempts that they hold."""

    async def open_session(self, worker: Session, about: str) -> str | None:
        """Opens the worker's session, which lasts until it ends or is not renewed. ``about`` is for people. Returns
        why it is to leave, if a drain was requested. Raises WorkerInUse if its id belongs to another key."""
        ...

    async def renew(self, about: Mapping[str, str]) -> Renewal:
        """Renews the sessions of these workers. Returns which count as dead, and which are to leave."""
        ...

    async def end_session(self, worker_id: str) -> None: ...

    async def keys_of(self, worker_ids: Sequence[str]) -> Mapping[str, str]:
        """Returns the public keys with which the sessions of these workers were opened, ended ones included; none for
        other sessions, and for those that ended long ago."""
        ...

    async def extend_attempts(self, worker_id: str, attempts: Sequence[tuple[str, int]]) -> frozenset[tuple[str, int]]:
        """Extends these attempts (task id, attempt) of the worker; returns those that a run waits for."""
        ...

    def drives(self, task_id: str) -> bool:
        """True if this orchestrator drives the run of this task."""
        ...

    async def hubs(self) -> Mapping[str, bool]:
        """Returns the addresses of all hubs of this database that are alive, and whether each is on this machine."""
        ...

    async def post(self, worker_id: str, results: Sequence[ExecutionResult]) -> None:
        """Leaves results for the owners of their runs. What no run waits for is dropped."""
        ...

    def may_begin(self, worker_id: str, task_id: str, attempt: int) -> bool:
        """True if this orchestrator owns the attempt's run and the worker may begin it now."""
        ...
