"""How is the picture of ``turnout top`` kept up to date? One thread looks, the other draws and hears the keys."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Generic, TypeVar

import msgspec

from turnout.cli.dashboard import frame
from turnout.cli.keyboard import LEAVE, key_presses
from turnout.cli.opening import store_if_there
from turnout.cli.output import coloured
from turnout.cli.watch import as_text
from turnout.contracts.store import Store
from turnout.errors import TurnoutError
from turnout.model.health import Orchestrator
from turnout.runner.drivers import NONE_OPEN, OpenCounts, open_counts
from turnout.runner.open_runs import NO_RUNS, OpenRuns, open_runs
from turnout.runner.orchestrators import live_orchestrators

T = TypeVar("T")

LOOK = 1.0
DRAW = 0.5


class Picture(msgspec.Struct, frozen=True):
    """What ``turnout top`` shows."""

    orchestrators: Sequence[Orchestrator]
    runs: OpenRuns = NO_RUNS


class Source:
    """The orchestrators on a database; the project's own may not be there yet."""

    def __init__(self, database: str | None) -> None:
        self._database = database
        self._store: Store | None = None
        self._open = ExitStack()

    def look(self) -> list[Orchestrator]:
        if self._store is None:
            self._store = self._open.enter_context(store_if_there(self._database))
            if self._store is None:
                self._open.close()
        return [] if self._store is None else live_orchestrators(self._store)

    def picture(self) -> Picture:
        """The orchestrators, and the runs that have not ended."""
        found = self.look()
        return Picture(found, NO_RUNS if self._store is None else open_runs(self._store))

    def counts(self) -> OpenCounts:
        """The runs that have not ended, by what is known of their drivers; to be asked after a look."""
        return NONE_OPEN if self._store is None else open_counts(self._store)

    def close(self) -> None:
        self._open.close()


class Observation(Generic[T]):
    """What was last seen. Looks in a thread of its own, so that a database that hangs does not hold up the keys."""

    def __init__(self, look: Callable[[], T], first: T) -> None:
        self.found = first
        self.note: str | None = None
        self._look = look
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep_looking, name="turnout-top", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> bool:
        """Whether it has stopped: one that waits for the database is left behind."""
        self._stop.set()
        self._thread.join(LOOK)
        return not self._thread.is_alive()

    def _keep_looking(self) -> None:
        while not self._stop.wait(LOOK):
            try:
                self.found, self.note = self._look(), None
            except TurnoutError as error:
                self.note = f"{error.message}; what follows was seen before"


def observe(source: Source, first: Picture) -> None:
    """Draw until somebody leaves."""
    from rich.console import Console
    from rich.live import Live

    console = Console(no_color=not coloured(), highlight=False)
    seen = Observation(source.picture, first)

    with ExitStack() as stack:
        stack.enter_context(_ended_by_signal())
        pressed = stack.enter_context(key_presses())
        live = stack.enter_context(Live(console=console, screen=True, auto_refresh=False))
        seen.start()
        try:
            while True:
                width, height = console.size
                found, now = seen.found, time.time()
                shown = frame(found.orchestrators, now, found.runs, width=width, height=height, note=seen.note)
                live.update(as_text(shown), refresh=True)
                if LEAVE in pressed(DRAW).lower():
                    break
        except KeyboardInterrupt:
            pass
    if seen.stop():
        source.close()


@contextmanager
def _ended_by_signal() -> Iterator[None]:
    """SIGTERM leaves too, by the door: the terminal must not stay as it is now."""

    def leave(number: int, _: FrameType | None) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
