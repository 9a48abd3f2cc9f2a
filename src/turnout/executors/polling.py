"""Runs ready tasks without a dispatcher: claims them from the store and posts results to its inbox."""

from __future__ import annotations

import asyncio
import logging
import math
import os
import socket
import threading
import time
import uuid
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any

import msgspec

from turnout.contracts.clock import boot_time
from turnout.contracts.executor import BatchExecutor, Loader, Work
from turnout.contracts.store import Store
from turnout.errors import InvalidSetting, StoreError
from turnout.executors.outbox import Outbox
from turnout.executors.thread import ThreadExecutor
from turnout.model.events import ExecutionResult, ExecutorMetrics, TaskReadyEvent
from turnout.model.names import split_task_id, task_id
from turnout.model.retry import last_attempt
from turnout.model.rows import PolledTask, Session
from turnout.model.spec import WorkflowSpec, decode_spec
from turnout.model.texts import MAX_NAME_LENGTH, checked_text

log = logging.getLogger(__name__)

WAKING_TOPICS = frozenset({"ready", "any"})
FENCE = 0.8
"""After this share of the lease without a renewal nothing new is claimed, and no attempt begins."""


class Held(msgspec.Struct, gc=False):
    """An attempt that a poller has claimed, until the store has taken its result."""

    event: TaskReadyEvent
    holder: str
    """The session that claimed it."""
    renewed: float
    """The time at which its lease was requested, by ``boot_time``."""


class HeldLoader:
    """Loads what the poller holds, fenced by the lease of each attempt."""

    def __init__(self, loader: Loader, begin_by: Callable[[TaskReadyEvent], float]) -> None:
        self._loader = loader
        self._begin_by = begin_by

    async def load(self, event: TaskReadyEvent) -> Work:
        return self._fenced(await self._loader.load(event))

    def load_now(self, event: TaskReadyEvent) -> Work | None:
        work = self._loader.load_now(event)
        return None if work is None else self._fenced(work)

    def load_blocking(self, event: TaskReadyEvent) -> Work:
        return self._fenced(self._loader.load_blocking(event))

    def _fenced(self, work: Work) -> Work:
        own, begin_by = work.fence, partial(self._begin_by, work.event)
        fence = begin_by if own is None else lambda: min(own(), begin_by())
        return msgspec.structs.replace(work, fence=fence)


class PollingExecutor:
    """Claims ready tasks of its keys in batches, as many as its inner executor has room for, in this or any process.

    It keeps what it holds alive by heartbeats, and holds an attempt until the store has taken its result. An attempt
    that is no longer its own (its run was cancelled, or the poller was declared dead) is cancelled and dropped.
    """

    def __init__(
        self,
        store: Store,
        loader: Loader,
        executor: BatchExecutor | None = None,
        keys: Sequence[str] = ("polling",),
        *,
        session: Session | None = None,
        lease: float = 15.0,
        poll: float = 2.0,
        batch: int = 500,
    ) -> None:
        if not keys or lease <= 0 or poll <= 0 or batch < 1:
            raise InvalidSetting("a PollingExecutor needs a key, and a positive lease, poll interval and batch")
        for key in keys:
            checked_text(key, "a poller's key", longest=MAX_NAME_LENGTH, error=InvalidSetting)
        self._store: Store = store
        self._inner: BatchExecutor = executor or ThreadExecutor(name="polling")
        self._inner.bind(HeldLoader(loader, self._begin_by))
        self._keys: tuple[str, ...] = tuple(keys)
        self._lease: float = lease
        self._poll: float = poll
        self._batch: int = batch
        self.session: Session = session or _session()
        self._held: dict[tuple[str, int], Held] = {}
        """By (task_id, attempt)."""
        self._hungry: bool = True
        """True if more may wait than was claimed last: the next claim follows as soon as there is capacity."""
        self._renewed: float = 0.0
        self._wake: threading.Event = threading.Event()
        self._stopping: threading.Event = threading.Event()
        self._ended: threading.Event = threading.Event()
        self._outbox: Outbox = Outbox(store, self._accepted)
        self._specs: dict[str, WorkflowSpec] = {}
        self._threads: list[threading.Thread] = []
        self._unlisten: Callable[[], None] = lambda: None
        self._inner.on_capacity(self._room)

    # -- start and stop ---------------------------------------------------------------------------------------------
    def start(self) -> None:
        """Registers with the store and begins to claim. Blocks for one round trip; raises what the store raises."""
        asked = boot_time()
        self._store.start_session(self.session, self._lease)
        self._renewed = asked
        _complete(self._inner.start())
        self._stopping.clear()
        self._ended.clear()
        self._wake.set()
        self._outbox.start()
        self._unlisten = self._store.listen(self._woken)
        self._threads = [
            threading.Thread(target=work, name=f"turnout-poller-{what}", daemon=True)
            for what, work in (("claim", self._claim_loop), ("heartbeat", self._heartbeat_loop))
        ]
        for thread in self._threads:
            thread.start()

    def stop(self, timeout: float = 10.0) -> None:
        """Stops claiming, hands back what has not started, gives the rest its grace, and posts the results.

        What still runs then is declared lost by the runs' owners as soon as the session has ended.
        """
        until = time.monotonic() + timeout
        self._stopping.set()
        self._wake.set()
        self._unlisten()
        # What has not begun goes back at once, also what a claim that is under way still hands over.
        _complete(self._inner.stop(max(0.0, until - time.monotonic())))
        for thread in self._threads[:1]:
            thread.join(max(1.0, until - time.monotonic()))
        self._outbox.stop(max(1.0, until - time.monotonic()))
        self._ended.set()
        try:
            self._store.end_session(self.session.id)
        except StoreError as error:
            log.warning("the session of poller %s could not be ended: %s", self.session.id, error)

    def metrics(self) -> ExecutorMetrics:
        return self._inner.metrics()

    # -- claiming ---------------------------------------------------------------------------------------------------
    def _woken(self, topic: str) -> None:
        if topic in WAKING_TOPICS:
            self._wake.set()

    def _claim_loop(self) -> None:
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                more = self._claim()
            except StoreError as error:
                log.warning("poller %s could not claim: %s", self.session.id, error)
                more = False
            except Exception:
                log.exception("poller %s could not claim", self.session.id)
                more = False
            if not more:
                self._wake.wait(self._poll)

    def _claim(self) -> bool:
        """Claims as many tasks as there are slots for; True if more may wait."""
        capacity = self._inner.capacity
        room = int(self._inner.has_capacity()) if capacity is None else min(self._batch, capacity - len(self._held))
        self._hungry = True
        if room <= 0 or boot_time() - self._renewed > FENCE * self._lease:
            return False
        holder = self.session.id
        asked = boot_time()
        claimed = self._store.claim_ready(holder, self._keys, room, self._lease)
        self._hungry = len(claimed) == room
        events: list[TaskReadyEvent] = []
        for task in claimed:
            spec = self._spec(task)
            event = _event(task, spec)
            self._held[event.task_id, event.attempt] = Held(event, holder, asked)
            if spec is None:
                self._report(ExecutionResult.returned(event, "code_missing"))
            else:
                events.append(event)
        if events:
            self._inner.execute_many(events, self._report)
        return self._hungry

    def _spec(self, task: PolledTask) -> WorkflowSpec | None:
        spec = self._specs.get(task.version)
        if spec is None:
            try:
                text = self._store.workflow(task.version)
                spec = decode_spec(text) if text is not None else None
            except (StoreError, msgspec.MsgspecError) as error:
                log.warning("workflow version %s cannot be read: %s", task.version, error)
            if spec is not None:
                self._specs[task.version] = spec
        return spec

    # -- reporting --------------------------------------------------------------------------------------------------
    def _report(self, result: ExecutionResult) -> None:
        held = self._held.get((result.task_id, result.attempt))
        if held is not None:
            self._outbox.put(held.holder, result)

    def _accepted(self, results: Sequence[ExecutionResult]) -> None:
        for result in results:
            self._held.pop((result.task_id, result.attempt), None)
        self._room()

    def _room(self) -> None:
        if self._hungry:
            self._wake.set()

    # -- heartbeats -------------------------------------------------------------------------------------------------
    def _heartbeat_loop(self) -> None:
        while not self._ended.wait(self._lease / 3):
            try:
                self._heartbeat()
            except StoreError as error:
                log.warning("poller %s could not renew its lease: %s", self.session.id, error)
            except Exception:
                log.exception("poller %s could not renew its lease", self.session.id)

    def _heartbeat(self) -> None:
        asked = boot_time()
        if not self._store.renew_session(self.session.id, self._lease).held:
            # It was declared dead. What it holds may still be its own, attempt by attempt; new claims need a new
            # session.
            self.session = msgspec.structs.replace(self.session, id=str(uuid.uuid4()))
            self._store.start_session(self.session, self._lease)
        self._renewed = asked
        self._room()  # a late renewal may have kept it from claiming
        by_holder: dict[str, list[Held]] = {}
        for held in list(self._held.values()):
            by_holder.setdefault(held.holder, []).append(held)
        for holder, attempts in by_holder.items():
            self._renew(holder, attempts)

    def _renew(self, holder: str, attempts: Sequence[Held]) -> None:
        asked = boot_time()
        keys = [(*split_task_id(held.event.task_id), held.event.attempt) for held in attempts]
        lost = {(task_id(run_id, pos), n) for run_id, pos, n in self._store.renew_attempts(holder, keys, self._lease)}
        for held in attempts:
            if (held.event.task_id, held.event.attempt) in lost:
                self._lose(held.event)
            else:
                held.renewed = asked

    def _begin_by(self, event: TaskReadyEvent) -> float:
        """Returns the time until which an attempt may begin here: until then its lease and that of its session hold."""
        renewed = self._renewed  # before the session: a new one comes first, and then its lease
        held = self._held.get((event.task_id, event.attempt))
        if held is None or held.holder != self.session.id:
            return -math.inf
        return min(renewed, held.renewed) + FENCE * self._lease

    def _lose(self, event: TaskReadyEvent) -> None:
        if self._held.pop((event.task_id, event.attempt), None) is not None:
            log.info("attempt %d of %s is no longer held by this poller", event.attempt, event.task_id)
            self._inner.cancel(event)


def _event(task: PolledTask, spec: WorkflowSpec | None) -> TaskReadyEvent:
    pos = task.pos if task.group is None else task.group
    known = spec.tasks[pos] if spec is not None and pos < len(spec.tasks) else None
    return TaskReadyEvent(
        run_id=task.run_id,
        task_id=task_id(task.run_id, task.pos),
        task_name=known.full_name if known is not None else task.workflow,
        attempt=task.attempt,
        max_attempts=task.attempt if known is None else last_attempt(known.retry, task.attempt, task.failures),
        body=known.body.ref if known is not None else "",
    )


def _complete(coroutine: Coroutine[Any, Any, None]) -> None:
    """Runs the coroutine to its end in a thread of its own: the caller may have an event loop."""
    thread = threading.Thread(target=asyncio.run, args=(coroutine,), name="turnout-poller-life")
    thread.start()
    thread.join()


def _session() -> Session:
    """Returns a session that expires by its lease alone. One with the process's identity is declared dead within a
    second."""
    return Session(id=str(uuid.uuid4()), kind="poller", host=socket.gethostname(), pid=os.getpid())
