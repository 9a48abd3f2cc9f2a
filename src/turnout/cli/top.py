"""``turnout top``: one thread reads the database, the main thread draws and reads the keys."""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Generic, TypeVar

import typer

from turnout.cli.options import Database
from turnout.errors import TurnoutError

if TYPE_CHECKING:
    from turnout.cli.database import Snapshot, StatusReader

T = TypeVar("T")

POLL_INTERVAL = 1.0
DRAW_INTERVAL = 0.5
QUIT_KEY = "q"


def top(
    once: Annotated[bool, typer.Option("--once", help="Print one picture and end, as in a pipe.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print what was seen once, as JSON.")] = False,
    database: Database = None,
) -> None:
    """Show runs, orchestrators, pools and executors, live.

    `q` or Ctrl-C leaves. Orchestrators say how they are with every heartbeat, so the picture is a few seconds old at
    most; what several of them do is summed up. `running` is how many attempts an executor or a worker runs, of
    how many it can run at once; `waiting` what it has in hand besides. In the names of pools "task" means run and
    "step" means task.

    \b
    turnout top
    turnout top --once                     one picture, also for a pipe
    turnout top --json                     every figure, once
    """
    from turnout.cli.dashboard import frame
    from turnout.cli.database import StatusReader
    from turnout.cli.output import is_terminal, plain, print_json, print_line, width_of

    source = StatusReader(database)
    found = source.snapshot()
    if not (once or as_json) and is_terminal():
        show_live(source, found)
        return
    source.close()
    if as_json:
        print_json(
            [
                {**plain(one), "condition": one.status.condition, "troubles": plain(one.status.troubles)}
                for one in found.orchestrators
            ]
        )
        return
    for line in frame(found.orchestrators, time.time(), found.runs, width=width_of()):
        print_line(line)


class Refresher(Generic[T]):
    """Holds the latest result of ``read``, called in a thread so that a database that hangs does not block the keys."""

    def __init__(self, read: Callable[[], T], first: T) -> None:
        self.latest = first
        self.note: str | None = None
        self._read = read
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._refresh, name="turnout-top", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> bool:
        """Returns False if the thread is still waiting for the database; it is then abandoned."""
        self._stop.set()
        self._thread.join(POLL_INTERVAL)
        return not self._thread.is_alive()

    def _refresh(self) -> None:
        while not self._stop.wait(POLL_INTERVAL):
            try:
                self.latest, self.note = self._read(), None
            except TurnoutError as error:
                self.note = f"{error.message}; what follows was seen before"


def show_live(source: StatusReader, first: Snapshot) -> None:
    """Draws until the quit key, Ctrl-C or SIGTERM."""
    from rich.console import Console
    from rich.live import Live

    from turnout.cli.dashboard import frame
    from turnout.cli.output import coloured
    from turnout.cli.watch import as_text

    console = Console(no_color=not coloured(), highlight=False)
    refresher = Refresher(source.snapshot, first)

    with ExitStack() as stack:
        stack.enter_context(_exit_on_sigterm())
        pressed = stack.enter_context(key_presses())
        live = stack.enter_context(Live(console=console, screen=True, auto_refresh=False))
        refresher.start()
        try:
            while True:
                width, height = console.size
                found, now = refresher.latest, time.time()
                lines = frame(found.orchestrators, now, found.runs, width=width, height=height, note=refresher.note)
                live.update(as_text(lines), refresh=True)
                if QUIT_KEY in pressed(DRAW_INTERVAL).lower():
                    break
        except KeyboardInterrupt:
            pass
    if refresher.stop():
        source.close()


@contextmanager
def _exit_on_sigterm() -> Iterator[None]:
    """Makes SIGTERM raise SystemExit, so that the terminal is restored."""

    def exit_process(number: int, _: FrameType | None) -> None:
        sys.exit(128 + number)

    before = signal.signal(signal.SIGTERM, exit_process)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def key_presses() -> Iterator[Callable[[float], str]]:
    """Yields a function that waits for keys for at most the given seconds and returns them."""
    try:
        import termios
        import tty
    except ImportError:  # Windows: Ctrl-C is the only key
        yield _no_keys
        return
    if not sys.stdin.isatty():
        yield _no_keys
        return
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal)
    try:
        yield partial(_pressed, terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _pressed(terminal: int, seconds: float) -> str:
    ready, _, _ = select.select([terminal], [], [], seconds)
    if not ready:
        return ""
    try:
        # An empty read of a ready terminal means that the terminal is gone.
        return os.read(terminal, 64).decode(errors="ignore") or QUIT_KEY
    except OSError:
        return QUIT_KEY


def _no_keys(seconds: float) -> str:
    time.sleep(seconds)
    return ""
