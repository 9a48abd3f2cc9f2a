"""Stores the lines of steps that workers run, acknowledges them when they are stored, and holds results until then.

A worker numbers the lines of a step and keeps them until they are acknowledged. So a hub that dies loses none: the
worker sends them to the next one, and a line that was stored already is stored once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import sys
from collections.abc import Callable, Sequence

import msgspec

from turnout.contracts.workers import NumberedLines
from turnout.errors import StoreError
from turnout.executors.workers.hub_services import BackgroundTasks, OrchestratorPorts, Pump
from turnout.executors.workers.in_flight import InFlightTable, attempt_of, event_of, token_of
from turnout.model.events import TaskReadyEvent
from turnout.model.logs import StoredLines, Stream
from turnout.model.texts import printable
from turnout.wire.hub_events import LinesReceived
from turnout.wire.hub_sessions import HubProtocol
from turnout.wire.messages import Line

log = logging.getLogger("turnout.hub")

MAX_CONFIRMED = 10_000
"""Steps of other hubs that are known to belong to their workers; above it, all are looked up again."""

MANY = 500
"""Lines of one message from which on they are stored without delay: their worker sends more when they are."""


class _Unstored(msgspec.Struct, eq=False):
    """A step with lines that are not stored yet."""

    worker_id: str
    received: int = 0
    """The number behind the newest of its lines."""
    actions: list[Callable[[], None]] = []
    """Called when all lines are stored."""


class StepLines:
    """The lines of the steps of all workers of a hub. Used on one event loop."""

    def __init__(
        self,
        protocol: HubProtocol,
        in_flight: InFlightTable,
        ports: OrchestratorPorts,
        *,
        background: BackgroundTasks,
        pump: Pump,
    ) -> None:
        self._protocol = protocol
        self._in_flight = in_flight
        self._ports = ports
        self._background = background
        self._pump = pump
        self._store: NumberedLines | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._unstored: dict[str, _Unstored] = {}
        """By token."""
        self._confirmed: set[tuple[str, str]] = set()
        """Worker and token of steps of other hubs that the database confirms."""
        self._confirming: set[tuple[str, str]] = set()

    def bind(self, store: NumberedLines) -> None:
        """Takes the store of lines, before the start. Without one, lines are acknowledged and dropped."""
        self._store = store
        store.on_stored(self._notify)

    # -- lines that come ----------------------------------------------------------------------------------------
    def receive(self, event: LinesReceived) -> None:
        flight = self._in_flight.get(event.token)
        if flight is not None and flight.event.holder == event.worker.id:
            wanted = flight.work is not None and flight.work.output is not None and not flight.event.shadow
            self._add(event, flight.event if wanted else None)
            return
        named = (event.worker.id, event.token)
        attempt = attempt_of(event.token)
        if attempt is None or named in self._confirmed:
            self._add(event, None if attempt is None else event_of(*attempt))
        elif named not in self._confirming:
            self._confirming.add(named)
            self._background.spawn(self._confirm(event, attempt))

    async def _confirm(self, event: LinesReceived, attempt: tuple[str, int]) -> None:
        """Adds lines of a step that another hub gave if the database confirms that it is this worker's. The worker
        sends them again if the database cannot be asked."""
        named = (event.worker.id, event.token)
        try:
            wanted = await self._ports.holders.extend_attempts(event.worker.id, [attempt])
        except StoreError as error:
            log.warning("lines of worker %s are not stored yet: %s", event.worker.id, error)
        else:
            if attempt in wanted:
                if len(self._confirmed) >= MAX_CONFIRMED:
                    self._confirmed.clear()
                self._confirmed.add(named)
            self._add(event, event_of(*attempt) if attempt in wanted else None)
            self._pump.run()
        finally:
            self._confirming.discard(named)

    def _add(self, event: LinesReceived, source: TaskReadyEvent | None) -> None:
        """Stores the lines; without ``source`` they are not needed."""
        store, token, end = self._store, event.token, event.first + len(event.lines)
        if store is None or source is None:
            self._protocol.logged(event.worker, token, end)
            return
        self._loop = asyncio.get_running_loop()
        unstored = self._unstored.get(token)
        if unstored is None:
            unstored = self._unstored[token] = _Unstored(event.worker.id, event.first, [])
        new = event.lines[max(0, unstored.received - event.first) :]
        unstored.worker_id, unstored.received = event.worker.id, max(unstored.received, end)
        store.add_numbered(source, end - len(new), [(line.stream, line.text) for line in new])
        if len(new) >= MANY:
            store.hurry()
        if store.echo:
            _show(new)

    # -- lines that are stored ----------------------------------------------------------------------------------
    def _notify(self, stored: Sequence[StoredLines]) -> None:
        """Called from any thread."""
        # A loop that is closed has no hub any more: the workers keep the lines for another.
        with contextlib.suppress(RuntimeError):
            if self._loop is not None:
                self._loop.call_soon_threadsafe(self._stored, stored)

    def _stored(self, stored: Sequence[StoredLines]) -> None:
        for each in stored:
            token = token_of(each.task_id, each.attempt)
            unstored = self._unstored.get(token)
            if unstored is None:
                continue
            if (worker := self._protocol.workers.get(unstored.worker_id)) is not None:
                self._protocol.logged(worker, token, each.next)
            if each.next >= unstored.received:
                self._release(token)
        self._pump.run()

    def is_pending(self, worker_id: str, token: str) -> bool:
        """True if it is not known yet whether lines of this step of another hub are to be stored."""
        return (worker_id, token) in self._confirming

    def has_unstored(self, token: str) -> bool:
        """True if lines of this step have come that are not stored yet."""
        return token in self._unstored

    def when_stored(self, token: str, action: Callable[[], None]) -> None:
        """Calls the action now, or as soon as all lines of this step that have come are stored."""
        unstored = self._unstored.get(token)
        if unstored is None or self._store is None:
            action()
        else:
            unstored.actions.append(action)
            self._store.hurry()

    async def stored(self, tokens: Sequence[str]) -> None:
        """Returns when all lines of these steps that have come are stored."""
        for token in tokens:
            if token in self._unstored:
                done = asyncio.Event()
                self.when_stored(token, done.set)
                await done.wait()

    def release_all(self) -> None:
        """Calls everything that waits for lines."""
        for token in list(self._unstored):
            self._release(token)

    def _release(self, token: str) -> None:
        for action in self._unstored.pop(token).actions:
            action()


def _show(lines: Sequence[Line]) -> None:
    for line in lines:
        if line.stream in (Stream.STDOUT, Stream.STDERR) and (target := getattr(sys, line.stream)) is not None:
            target.write(printable(f"{line.text}\n"))
