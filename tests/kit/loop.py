"""An event loop whose time only a test moves. Calls for threads run on the loop itself."""

from __future__ import annotations

import asyncio
import math
import selectors
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from turnout.orchestration.lanes import Lanes
from turnout.testing import ManualClock

T = TypeVar("T")


class Stuck(AssertionError):
    """What the test waits for depends on something that never happens."""


class ManualSelector(selectors.DefaultSelector):
    """Moves the clock where another selector waits, up to a horizon."""

    def __init__(self, clock: ManualClock) -> None:
        super().__init__()
        self._clock = clock
        self.horizon = math.inf
        self.idle: Callable[[], None] = lambda: None
        """Called when nothing is left to do before the horizon."""

    def select(self, timeout: float | None = None) -> Any:
        events = super().select(0)
        if events or timeout == 0:
            return events
        if timeout is not None and self._clock.passed + timeout <= self.horizon:
            self._clock.advance(timeout)
            return events
        if timeout is None and self.horizon == math.inf:
            raise Stuck("nothing is left to do, and what is waited for has not come")
        self._clock.passed = max(self._clock.passed, self.horizon)
        self.idle()
        return events


class LoopLanes(Lanes):
    """Makes commits on the manual loop, where ``holding`` keeps them back too."""

    def __init__(self, loop: ManualLoop) -> None:
        super().__init__(0)
        self._loop = loop

    def submit(self, work: Callable[[], None]) -> None:
        self._loop.run_in_executor(None, work)


class ManualLoop(asyncio.SelectorEventLoop):
    """Runs what is due, in order. ``run_in_executor`` makes no thread: calls are made on the loop, one by one, and
    wait while ``holding``."""

    def __init__(self, clock: ManualClock | None = None) -> None:
        self.clock = clock or ManualClock()
        self._manual = ManualSelector(self.clock)
        super().__init__(self._manual)
        self._manual.idle = self.stop
        self.holding = False
        """Calls for threads are kept back."""
        self._held: list[Callable[[], None]] = []

    def time(self) -> float:
        return self.clock.passed

    def run_in_executor(self, executor: Any, func: Callable[..., T], *args: Any) -> asyncio.Future[T]:
        answer: asyncio.Future[T] = self.create_future()

        def call() -> None:
            try:
                result = func(*args)
            except BaseException as error:
                answer.set_exception(error)
            else:
                answer.set_result(result)

        if self.holding:
            self._held.append(call)
        else:
            self.call_soon(call)
        return answer

    def let_go(self) -> None:
        """Makes the calls that were kept back, and no longer keeps any."""
        self.holding = False
        held, self._held = self._held, []
        for call in held:
            self.call_soon(call)
        self.settle()

    def step(self) -> None:
        """Runs one iteration of the loop."""
        self.call_soon(self.stop)
        self.run_forever()

    def settle(self) -> None:
        """Runs everything that is due now."""
        self.advance(0.0)

    def advance(self, seconds: float) -> None:
        """Lets so many seconds pass, and runs what is due on the way."""
        self._manual.horizon = self.clock.passed + seconds
        try:
            self.run_forever()
        finally:
            self._manual.horizon = math.inf

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Runs this to its end, however much time that takes, and then what is due. Raises Stuck if it never ends."""
        result = self.run_until_complete(work)
        self.settle()
        return result

    def start(self, work: Coroutine[Any, Any, T]) -> asyncio.Task[T]:
        """Runs this as far as it gets without any time passing."""
        task = self.create_task(work)
        self.settle()
        return task

    def finish(self) -> None:
        """Ends what still waits, and closes."""
        self.let_go()
        for task in asyncio.all_tasks(self):
            task.cancel()
        self.settle()
        self.close()
