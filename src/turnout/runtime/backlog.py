"""Holds attempts that the executor of threads has accepted and not begun."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Sequence

from turnout.runtime.attempt import Attempt, Key
from turnout.runtime.deadlines import Deadlines
from turnout.runtime.thread_capacity import HORIZON, ThreadCapacity

MAX_WAIT = 4 * HORIZON
"""Seconds after which an attempt that has not begun is returned: the estimate was wrong, and another executor may
begin it."""


class Backlog:
    """Each attempt leaves once: it begins, or it is taken out, and then it never begins.

    Attempts that have waited behind bodies that last longer than estimated, and would have to wait on, are handed to
    ``overdue``. That takes two checks in a row. A check that is late itself does not count: the interpreter or the
    process was held up then, and so were the threads.
    """

    def __init__(self, capacity: ThreadCapacity, overdue: Callable[[list[Attempt]], None], name: str) -> None:
        self._capacity = capacity
        self._overdue = overdue
        self._waiting: dict[Key, Attempt] = {}
        """In order of arrival."""
        self._lock = threading.Lock()
        self._due: float | None = None
        """When the next check is due; None: nothing waits for a thread."""
        self._overloaded = False
        """True if the last check found that attempts wait for too long."""
        self._checks: Deadlines[None] = Deadlines(lambda _: self._check(), f"{name}-backlog")

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, attempts: Sequence[Attempt], *, for_thread: bool) -> None:
        now = time.monotonic()
        for attempt in attempts:
            attempt.arrived = now
            self._waiting[attempt.key] = attempt
        self._capacity.wait(attempts, for_thread=for_thread)
        if self._due is None and self._capacity.crowded:
            self._schedule_check()

    def take(self, attempt: Attempt) -> bool:
        """Takes the attempt out because it begins, or never will. True for the first call."""
        if self._waiting.pop(attempt.key, None) is None:
            return False
        self._capacity.waited(attempt)
        return True

    def withdraw(self, keys: Iterable[Key]) -> list[Attempt]:
        """Takes out those of these attempts that have not begun."""
        found = [attempt for key in keys if (attempt := self._waiting.get(key)) is not None]
        return [attempt for attempt in found if self.take(attempt)]

    def withdraw_all(self) -> list[Attempt]:
        return self.withdraw(list(self._waiting))

    def close(self) -> None:
        with self._lock:
            self._due = None
        self._checks.close()

    def _schedule_check(self) -> None:
        with self._lock:
            if self._due is None:
                self._due = time.monotonic() + HORIZON
                self._checks.add(HORIZON, None)

    def _check(self) -> None:
        now = time.monotonic()
        with self._lock:
            late = self._due is None or now - self._due > HORIZON
            self._due = None
        waiting = [attempt for attempt in list(self._waiting.values()) if not attempt.loading]
        overloaded = not late and self._capacity.seconds_of(waiting) > MAX_WAIT
        if overloaded and self._overloaded:
            since = now - MAX_WAIT
            old = [attempt.key for attempt in waiting if attempt.arrived < since]
            if old:
                self._overdue(self.withdraw(old))
        self._overloaded = overloaded
        if self._waiting:
            self._schedule_check()
