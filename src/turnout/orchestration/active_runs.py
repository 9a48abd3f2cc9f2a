"""Holds the runs that this orchestrator owns: their state, what has come in for each of them, and their timers."""

from __future__ import annotations

import asyncio
import math
import time
from collections.abc import Hashable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from turnout.authoring.registry import Registry
from turnout.contracts.clock import boot_time
from turnout.contracts.dispatcher import Delivery
from turnout.errors import StoreUnreachable
from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.names import split_task_id
from turnout.model.reasons import RUN_TIMED_OUT
from turnout.model.rows import TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.states import RUN_RUNNING, RUN_TERMINAL, TaskState
from turnout.orchestration.background import Background
from turnout.orchestration.stages.stage import Stage, WorkQueue

STUCK = "stuck"
NO_REASONS: Mapping[Hashable, str] = MappingProxyType({})


class PendingResult(msgspec.Struct, frozen=True, gc=False):
    """A result that waits for the run's next transition. A poller's has its inbox row and its holder."""

    pos: int
    result: ExecutionResult
    inbox: int | None = None
    holder: str | None = None


def first_results(results: list[PendingResult], max_characters: int) -> list[PendingResult]:
    """Returns the first results whose outputs have at most this many characters together, and at least one."""
    total = 0
    for number, pending in enumerate(results):
        total += len(pending.result.output or "")
        if total > max_characters and number:
            return results[:number]
    return results


class StepSlot(msgspec.Struct, frozen=True, gc=False):
    """The slots of the limits of a task for one attempt."""

    attempt: int
    begin_by: float
    """The ``boot_time`` until which the attempt may begin; infinite without a rate."""


class OwnedSlots:
    """The slots of the tasks of one run."""

    __slots__ = ("held", "requested")

    def __init__(self) -> None:
        self.held: dict[int, StepSlot] = {}
        self.requested: dict[int, int] = {}
        """By position: the attempt that slots were requested for."""

    def stands(self, pos: int, attempt: int) -> bool:
        """True if the task has its slots for this attempt, which may still begin."""
        slot = self.held.get(pos)
        return slot is not None and slot.attempt == attempt and boot_time() < slot.begin_by

    def begin_by(self, pos: int, attempt: int) -> float:
        """Returns the ``boot_time`` until which this attempt may begin."""
        slot = self.held.get(pos)
        return slot.begin_by if slot is not None and slot.attempt == attempt else math.inf

    def forget(self, pos: int) -> None:
        self.held.pop(pos, None)
        self.requested.pop(pos, None)


class RunCommand:
    """A command that waits for the run's next transition: from another process (a row) or from this one (a future).
    That of a timer, ``stuck``, has the name of a hook as its reason."""

    __slots__ = ("done", "ends_hooks", "kind", "reason", "row", "withdrawal")

    def __init__(
        self, kind: str, reason: str | None, *, row: int | None = None, done: asyncio.Future[None] | None = None
    ) -> None:
        self.kind = kind
        self.reason = reason
        self.row = row
        self.done = done
        self.ends_hooks: bool | None = None
        """Of a cancel that was applied once: True if the run was being cancelled already."""
        self.withdrawal: asyncio.Future[None] | None = None
        """Of a pause or cancel: done when every attempt of the run has begun or never will."""

    def acknowledge(self) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_result(None)

    def fail(self, error: BaseException) -> None:
        if self.done is not None and not self.done.done():
            self.done.set_exception(error)


def failure_site(error: BaseException) -> str:
    """Returns the exception's type and the line that raised it. Messages may differ from one time to the next."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    where = "" if last is None else f" in {last.tb_frame.f_code.co_filename}:{last.tb_lineno}"
    return f"{type(error).__name__}{where}"


class ActiveRun(msgspec.Struct, eq=False):
    """A run that this orchestrator owns: its machine, what has come in for it, and where it is queued."""

    machine: RunMachine
    results: list[PendingResult] = []
    """In order of arrival."""
    commands: list[RunCommand] = []
    queued: bool = False
    """True if it is in the queue of a stage. A run is in one queue at a time, and in none while it is busy."""
    busy: bool = False
    """True if one of its transitions is in the ledger."""
    just_claimed: bool = False
    """True until the first transition after a claim, which resumes what an earlier owner left undone."""
    grace: dict[tuple[int, int], float] = {}
    """By position and attempt of what workers or pollers held when it was claimed: the ``boot_time`` until which it is
    not lost because a lease is over."""
    has_lost_attempts: bool = False
    """True if an attempt of it was lost: some of its tasks may have to run exclusively."""
    awaits_slots: bool = False
    """True if it was claimed before its turn, for a command: nothing of it starts until it has its limits."""
    slots: OwnedSlots | None = None
    """The slots of its tasks; None before one of them needs any."""
    dropped: bool = False
    last_failure: str = ""
    """Where its last transition raised; empty once one was applied."""
    queued_for: set[Hashable] = set()
    """Keys of the capacity queues that it is in."""
    wait_reasons: Mapping[Hashable, str] = NO_REASONS
    """By queue key: the reason last recorded for its waiting tasks. A queue without one: for capacity."""
    waiting_since: dict[Hashable, float] = {}
    """By queue key: since when it waits, which is its rank there until it gets a slot."""
    timer: Any = None
    stuck_timers: Sequence[asyncio.TimerHandle] = ()
    """Those of the hooks that are called if it does not end in time."""
    ends_at: float | None = None
    """The monotonic time at which its timeout is over."""

    @property
    def begins_anew(self) -> bool:
        """True if it is a run of a plain workflow that goes on, and nothing has come in for it."""
        machine = self.machine
        return machine.graph.plain and machine.row.state is RUN_RUNNING and not (self.results or self.commands)

    def is_repeated_failure(self, error: BaseException) -> bool:
        """True if the same exception was raised at the same line the time before."""
        site = failure_site(error)
        repeated, self.last_failure = site == self.last_failure, site
        return repeated

    @property
    def run_id(self) -> str:
        return self.machine.new.run_id


class ActiveRuns(Mapping[str, ActiveRun]):
    """Owned runs by id. A run that has something to do is put into the queue of one stage."""

    def __init__(self, registry: Registry, delivery: Delivery, queues: Mapping[Stage, WorkQueue]) -> None:
        self._registry = registry
        self._delivery = delivery
        self._start_queue = queues[Stage.START]
        self._result_queue = queues[Stage.RESULT]
        self._finish_queue = queues[Stage.FINISH]
        self._runs: dict[str, ActiveRun] = {}
        self.gated: set[str] = set()
        """Runs that await the slots of their limits; some may not be owned any more."""
        self.get = self._runs.get
        """The dict's own method: every result looks its run up."""

    def __getitem__(self, run_id: str) -> ActiveRun:
        return self._runs[run_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def __contains__(self, run_id: object) -> bool:
        return run_id in self._runs

    def add(self, owned: ActiveRun) -> None:
        """Drives this run from now on, in place of an earlier state of the same run."""
        self._runs[owned.run_id] = owned

    def enqueue(self, owned: ActiveRun) -> None:
        """Puts a run into the queue of the stage that computes its next transition: one for runs with results or
        commands, one for runs with tasks to start. A run that is queued or in the ledger is enqueued after that."""
        if not (owned.queued or owned.busy or owned.dropped):
            owned.queued = True
            (self._result_queue if owned.results or owned.commands else self._start_queue).put(owned)

    def deliver(
        self,
        owned: ActiveRun,
        pos: int,
        result: ExecutionResult,
        *,
        inbox: int | None = None,
        holder: str | None = None,
    ) -> None:
        """Gives a run the result of one of its attempts."""
        owned.results.append(PendingResult(pos, result, inbox, holder))
        self.enqueue(owned)

    def command(self, owned: ActiveRun, command: RunCommand) -> None:
        """Gives a run a command to pause, resume or cancel."""
        owned.commands.append(command)
        self.enqueue(owned)

    def finish(self, owned: ActiveRun) -> None:
        """Puts a run that has ended into the queue of the last stage."""
        owned.dropped = True
        self._finish_queue.put(owned)

    def release(self, owned: ActiveRun) -> None:
        """Stops driving a run: it has ended, or has another owner."""
        owned.dropped = True
        run_id = owned.machine.new.run_id
        if self._runs.get(run_id) is owned:
            del self._runs[run_id]
        ended = owned.machine.row.state in RUN_TERMINAL
        if ended:
            self._registry.forget(run_id)
        if owned.timer is not None:
            owned.timer.cancel()
        for timer in owned.stuck_timers:
            timer.cancel()
        if owned.results and self._delivery.acknowledges:
            self._delivery.reassign([pending.result for pending in owned.results])
        for command in owned.commands:
            if ended:
                command.acknowledge()
            else:
                command.fail(StoreUnreachable("the run has another owner now; retry"))

    def discard(self, run_id: str) -> None:
        """Forgets a run that was never stored."""
        self._runs.pop(run_id, None)


class RunTimers:
    """Sets the timers of the runs that are driven here. A run's next owner sets them again from what is stored."""

    def __init__(self, runs: ActiveRuns, background: Background, cancel_grace: float) -> None:
        self._runs = runs
        self._background = background
        self._cancel_grace = cancel_grace

    def retry(self, owned: ActiveRun, row: TaskRow) -> None:
        """Enqueues the run when this ready task may be retried."""

        def due() -> None:
            if not owned.dropped:
                owned.machine.clear_delay(row.pos)
                self._runs.enqueue(owned)

        self._background.later(row.retry_in or 0.0, due)

    def deadline(self, owned: ActiveRun, age: float) -> None:
        """Cancels the run when its timeout is over."""
        timeout = owned.machine.new.timeout
        if timeout is not None and not owned.machine.row.state.terminal:
            command, remaining = RunCommand("cancel", RUN_TIMED_OUT), max(0.0, timeout - age)
            owned.ends_at = time.monotonic() + remaining
            owned.timer = self._background.later(remaining, lambda: self._runs.command(owned, command))

    def stuck(self, owned: ActiveRun, age: float) -> None:
        """Calls the run's hooks on ``stuck`` when the time of each is over, unless the run has ended by then."""
        machine = owned.machine

        def timer(pos: int, after: float) -> asyncio.TimerHandle:
            command = RunCommand(STUCK, machine.graph.tasks[pos].name)
            return self._background.later(max(0.0, after - age), lambda: self._runs.command(owned, command))

        owned.stuck_timers = [
            timer(pos, after)
            for pos, after in machine.graph.stuck_hooks
            if machine.tasks[pos].state is TaskState.PENDING
        ]

    def cancel_timeout(self, owned: ActiveRun, event: TaskReadyEvent) -> None:
        """Ends a cancelled attempt that does not stop within the grace period."""

        def overdue() -> None:
            if not owned.dropped:
                self._runs.deliver(owned, split_task_id(event.task_id)[1], ExecutionResult.cancelled(event))

        self._background.later(self._cancel_grace, overdue)
