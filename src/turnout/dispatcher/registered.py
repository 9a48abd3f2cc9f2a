"""What does the dispatcher know of one executor: its places, and what passed through it?"""

from __future__ import annotations

import asyncio
import inspect
import logging
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from turnout.contracts.executor import Loader, Report, TaskExecutor
from turnout.contracts.workers import Assigner
from turnout.dispatcher.guard import Guard
from turnout.dispatcher.solitude import Solitude
from turnout.errors import InvalidRouting
from turnout.model.events import TaskReadyEvent
from turnout.model.spec import TaskSpec

log = logging.getLogger("turnout.dispatcher")

FIRST_HOLD = 0.05
LONGEST_HOLD = 2.0

_MEMBERS = ("name", "local", "kinds", "bind", "execute", "has_capacity", "metrics")


class DispatcherMetrics(msgspec.Struct, frozen=True, kw_only=True):
    """What passed between the dispatcher and one executor since the start."""

    dispatched: int = 0
    results: dict[str, int] = {}
    """By status; for each attempt that was handed over exactly one."""
    in_flight: int = 0
    reserved: int = 0
    dropped: int = 0
    """Results that no attempt was waiting for: duplicates, late ones, nonsense."""


class RegisteredExecutor:
    """An executor under its key, with the places that are set aside or taken. Used on the engine's event loop only."""

    __slots__ = (
        "asked",
        "assigner",
        "by_status",
        "capacity_of",
        "dispatched",
        "dropped",
        "enforces_timeouts",
        "execute_many",
        "executor",
        "flying",
        "guard",
        "held_until",
        "hold",
        "isolates",
        "key",
        "limited",
        "outlives",
        "ready",
        "refused",
        "report",
        "reserved",
        "solitude",
        "starting",
        "trusted",
    )

    def __init__(self, key: str, executor: TaskExecutor, guard: Guard | None = None) -> None:
        missing = [name for name in _MEMBERS if not hasattr(executor, name)]
        if missing:
            raise InvalidRouting(
                f'executor "{key}" ({type(executor).__name__}) lacks {", ".join(missing)}; '
                "see turnout.dispatcher.TaskExecutor",
                code="not_an_executor",
                executor=key,
                missing=missing,
            )
        self.key = key
        self.executor = executor
        self.guard = guard or Guard(key)
        many = getattr(executor, "execute_many", None)
        self.execute_many = cast("Callable[[Sequence[TaskReadyEvent], Report], None] | None", many)
        self.assigner = cast("Assigner", executor) if callable(getattr(executor, "assign", None)) else None
        self.limited: bool = getattr(executor, "capacity", None) is not None
        self.capacity_of = cast("Callable[[str], int] | None", getattr(executor, "capacity_of", None))
        self.enforces_timeouts: bool = bool(getattr(executor, "enforces_timeouts", False))
        self.trusted: bool = bool(getattr(executor, "trusted", False))
        self.outlives: bool = bool(getattr(executor, "outlives", False))
        self.isolates: bool = bool(getattr(executor, "isolates", False))
        self.solitude: Solitude | None = None
        """Set while somebody runs, or waits to run, alone here."""
        self.ready: bool = True
        self.reserved: int = 0
        self.flying: int = 0
        self.starting: int = 0
        self.refused: bool = False
        """Somebody was told no since capacity was last announced."""
        self.hold: float = 0.0
        self.held_until: float = 0.0
        self.report: Report
        self.dispatched: int = 0
        self.dropped: int = 0
        self.by_status: dict[str, int] = {}
        self.asked: set[asyncio.Future[Any]] = set()

    def has_place(self) -> bool:
        """Whether one more attempt may be committed to this executor."""
        return self.free_places() > 0

    def free_places(self, body: str | None = None) -> int:
        """How many more attempts, with this body if it is named, may be committed to this executor."""
        if not self.ready or (self.held_until and time.monotonic() < self.held_until):
            return 0
        if self.solitude is not None and self.solitude.closed_to_others(time.monotonic()):
            return 0
        return self._places(body)

    def reserve(self, body: str | None = None) -> bool:
        """Set a place aside."""
        if self.free_places(body) <= 0:
            if self.solitude is not None:
                self.solitude.turn_away()
            return False
        self.reserved += 1
        if self.guard.shut:
            self.guard.reserved()
        return True

    def release(self, holder: str) -> None:
        """Give back a place that was set aside."""
        self.reserved -= 1
        self.not_taken(holder)
        if self.guard.shut:
            self.guard.released(self.reserved)
        self.vacated()

    def not_taken(self, holder: str) -> None:
        """What it had a place for will not come: whoever was to hold it has room."""
        if self.assigner is not None:
            self.assigner.unassign(holder)

    def reserve_alone(self, body: str | None = None) -> bool:
        """Set a place aside for an attempt that nothing else may run beside. In an executor that isolates its attempts
        from one another that is any place."""
        if not self.ready or self.isolates:
            return self.reserve(body)
        self.solitude = self.solitude or Solitude()
        empty = not self.reserved and not self.flying
        granted = not self.solitude.taken and self._places() > 0 and self.solitude.ask(time.monotonic(), empty)
        if granted:
            self.reserved += 1
            if self.guard.shut:
                self.guard.reserved()
        return granted

    def vacated(self) -> None:
        """An attempt has ended, or will not come."""
        if self.solitude is not None and not self.reserved and not self.flying:
            now = time.monotonic()
            self.solitude.left(now)
            if self.solitude.over(now):
                self.solitude = None

    def _places(self, body: str | None = None) -> int:
        if self.guard.shut and not self.guard.room():
            return 0
        try:
            if self.limited:
                if body is None or self.capacity_of is None:
                    capacity = int(cast("Any", self.executor).capacity)
                else:
                    capacity = self.capacity_of(body)
                places = capacity - self.reserved - self.flying
                return min(places, self.guard.room()) if self.guard.shut else places
            # Without a number, each hand-over must be visible to has_capacity() before the next question.
            return int(not self.reserved and not self.starting and bool(self.executor.has_capacity()))
        except Exception:
            log.exception("executor %s could not say whether it has capacity", self.key)
            return 0

    def can_run(self, task: TaskSpec) -> bool:
        """Whether the task's body is of a kind that it runs, and it does not refuse it."""
        refuses = self.optional("refuses")
        return task.body.kind in self.executor.kinds and (refuses is None or refuses(task) is None)

    def bind(self, loader: Loader) -> None:
        self.executor.bind(loader)

    def optional(self, name: str) -> Callable[..., Any] | None:
        """An optional method of the executor, if it has it."""
        found = getattr(self.executor, name, None)
        return found if callable(found) else None

    async def start(self) -> None:
        """Runs the executor's own start, if it has one."""
        start = self.optional("start")
        if start is not None:
            waiting = start()
            if inspect.isawaitable(waiting):
                await waiting
        self.ready = True

    async def stop(self, timeout: float) -> None:
        """Runs the executor's own stop, if it has one."""
        stop = self.optional("stop")
        if stop is not None:
            waiting = stop(timeout)
            if inspect.isawaitable(waiting):
                await waiting

    def ask_to_stop(self, event: TaskReadyEvent) -> bool:
        """Asks for a running attempt to stop; False if the executor cannot be asked."""
        cancel = self.optional("cancel")
        if cancel is None:
            return False
        try:
            waiting = cancel(event)
            if inspect.isawaitable(waiting):
                asked = asyncio.ensure_future(waiting)
                self.asked.add(asked)
                asked.add_done_callback(self._was_asked)
        except Exception:
            log.exception("executor %s could not cancel %s", self.key, event.task_id)
            return False
        return True

    def withdraw(self, events: Sequence[TaskReadyEvent], reason: str) -> asyncio.Future[Any] | None:
        """Takes back what has not begun; returns what to wait for, if anything. Only for executors that have it."""
        try:
            waiting = cast("Any", self.executor).withdraw(events, reason)
            return asyncio.ensure_future(waiting) if inspect.isawaitable(waiting) else None
        except Exception:
            log.exception("executor %s could not withdraw %d attempts", self.key, len(events))
            return None

    def _was_asked(self, asked: asyncio.Future[Any]) -> None:
        self.asked.discard(asked)
        if not asked.cancelled() and (error := asked.exception()) is not None:
            log.error("executor %s failed to cancel an attempt", self.key, exc_info=error)

    def hold_off(self) -> float:
        """It refused what it had a place for: offers it nothing for a while, longer each time in a row."""
        self.hold = min(self.hold * 2 or FIRST_HOLD, LONGEST_HOLD)
        self.held_until = time.monotonic() + self.hold
        return self.hold

    def answered(self) -> None:
        """It gave a real answer: whatever was held back may come."""
        self.hold = self.held_until = 0.0

    def metrics(self) -> DispatcherMetrics:
        return DispatcherMetrics(
            dispatched=self.dispatched,
            results=dict(self.by_status),
            in_flight=self.flying,
            reserved=self.reserved,
            dropped=self.dropped,
        )
