"""What ``turnout dev`` runs beside the server: Python files that are loaded again when they change, and one worker."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import TracebackType

from turnout.errors import TurnoutError
from turnout.runtime.supervised_process import SupervisedProcess, command_child

log = logging.getLogger("turnout.definitions")

POLL_INTERVAL = 0.5
"""Seconds between two looks at the files."""
STOP_TIMEOUT = 10.0
"""Seconds that the worker gets to leave before it is killed."""
CHECK_TIMEOUT = 30.0
"""Seconds that the imports of a new worker may take."""


class DevCompanion:
    """Watches files in a thread of its own: when one changes, it is reloaded and the worker is started anew.

    A process of its own first imports what the new worker would: if that fails, the old worker stays with what it has.
    The worker is under a supervisor, so it ends with this process however that ends.
    """

    def __init__(
        self,
        reloaded: Sequence[Path],
        watched: Sequence[Path],
        reload: Callable[[Path], object],
        worker: Sequence[str] = (),
        check: Sequence[str] = (),
        *,
        quiet: bool = False,
    ) -> None:
        self._reloaded = frozenset(reloaded)
        self._watched = tuple(dict.fromkeys((*reloaded, *watched)))
        self._reload = reload
        self._command = tuple(worker)
        """The worker's command line; empty for none."""
        self._check = tuple(check)
        """The command line that imports what the worker does; empty if it imports nothing."""
        self._output = _drop if quiet else _echo
        self._process: SupervisedProcess | None = None
        self._stop = asyncio.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="turnout-dev", daemon=True)

    def __enter__(self) -> DevCompanion:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with contextlib.suppress(RuntimeError):  # it has ended by itself
            self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(STOP_TIMEOUT + 5.0)

    def _run(self) -> None:
        with contextlib.closing(self._loop):
            self._loop.run_until_complete(self._watch())

    async def _watch(self) -> None:
        before = _stamps(self._watched)
        self._start_worker()
        try:
            while not await self._stopped():
                now = _stamps(self._watched)
                changed = [path for path in self._watched if now[path] != before[path]]
                before = now
                if changed:
                    self._reload_all(changed)
                    await self._replace_worker()
        finally:
            await self._end_worker()

    async def _stopped(self) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(POLL_INTERVAL):
                await self._stop.wait()
        return self._stop.is_set()

    def _reload_all(self, changed: Sequence[Path]) -> None:
        for path in changed:
            if path in self._reloaded:
                try:
                    self._reload(path)
                except TurnoutError as error:
                    log.warning("%s: %s; what was loaded before stays in force", path, error)
                else:
                    log.info("%s was loaded again", path)

    async def _replace_worker(self) -> None:
        """Starts a worker with the files as they are now, if they can be imported."""
        if not self._command:
            return
        if self._check and not await self._imports():
            log.warning("the local worker keeps what it loaded before, until the files can be imported again")
            return
        await self._end_worker()
        self._start_worker()

    async def _imports(self) -> bool:
        """True if all that a worker imports can be imported. Why not is logged by the server, which imports it too."""
        check = SupervisedProcess(command_child(self._check, None), output=_drop, grace=0.0)
        stop = asyncio.ensure_future(self._stop.wait())
        try:
            await asyncio.wait((check.gone, stop), timeout=CHECK_TIMEOUT, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stop.cancel()
        if not check.gone.done():
            check.stop(0.0)
            await check.gone
            return False
        return check.ended.done() and check.ended.result() == 0

    def _start_worker(self) -> None:
        if self._command:
            child = command_child(self._command, None)
            self._process = SupervisedProcess(child, output=self._output, grace=STOP_TIMEOUT)

    async def _end_worker(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.stop(STOP_TIMEOUT)
            await process.gone


def _stamps(paths: Sequence[Path]) -> dict[Path, tuple[int, int] | None]:
    return {path: _stamp(path) for path in paths}


def _stamp(path: Path) -> tuple[int, int] | None:
    try:
        facts = path.stat()
    except OSError:
        return None  # an editor that replaces a file removes it for a moment
    return facts.st_mtime_ns, facts.st_size


def _drop(stream: str, data: bytes) -> None:
    """Takes output that is not shown: that of a check, which the worker would print as well, and of a quiet worker."""


def _echo(stream: str, data: bytes) -> None:
    """Passes the worker's output on: it says what it does on stderr, and prints what its tasks print."""
    sys.stderr.buffer.write(data)
    sys.stderr.flush()
