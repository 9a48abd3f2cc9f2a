"""Which workers come and go? Each has a session in the database, and what it holds from elsewhere finds an owner."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from functools import partial
from math import inf
from typing import TYPE_CHECKING

import msgspec

from turnout.errors import StoreError, WorkerInUse
from turnout.executors.workers.flights import attempt_of
from turnout.executors.workers.gate import Gate
from turnout.executors.workers.refusals import Refusals
from turnout.executors.workers.settings import is_loopback
from turnout.executors.workers.watching import name_of
from turnout.model.durations import seconds
from turnout.wire.happenings import Greeted, Left
from turnout.wire.messages import Error
from turnout.wire.roster import WorkerEntry

if TYPE_CHECKING:
    from turnout.executors.workers.executor import WorkersExecutor

log = logging.getLogger("turnout.hub")

LOOK_EVERY = 0.25
"""Seconds between two looks at the list of keys."""
LOOKED_UP = 1_000
"""Attempts asked for in one statement."""
RENEWALS = 2
"""In the time of one heartbeat of a worker."""


class Reception:
    """Lets workers in, keeps their sessions, and sees them off."""

    def __init__(self, hub: WorkersExecutor) -> None:
        self._hub = hub
        self._refusals = Refusals() if hub.gate is None else hub.gate.refusals
        self.renewed = -inf
        """When sessions were last renewed, on this machine's clock."""

    def open(self) -> None:
        hub, gate = self._hub, self._hub.gate
        pause = seconds(hub.settings.heartbeat) / RENEWALS
        hub.spawn(hub.repeat(pause, self._keep_sessions, "the renewal of the workers' sessions"))
        if gate is not None:
            hub.spawn(hub.repeat(LOOK_EVERY, partial(self._watch_the_list, gate), "the look at the list of keys"))

    async def let_in(self, event: Greeted) -> None:
        """Its session stands in the database before it is given anything."""
        worker = event.worker
        self._hub.watch.joined(worker)
        try:
            drain = await self._hub.holders.joined(self._hub.roll.session_of(worker), self._hub.roll.about(worker))
            wanted = await self._wanted(worker, [held.token for held in event.unknown])
        except WorkerInUse as error:
            self._refuse(worker, error)
            return
        except Exception as error:
            mistake = None if isinstance(error, StoreError) else error
            log.warning("worker %s has to wait: %s", worker.id, error, exc_info=mistake)
            self._hub.protocol.forget(worker)
            self._hub.carry_on()
            return
        release = [each.token for each in event.unknown if each.token not in wanted]
        self._keep(worker, wanted)
        self._hub.protocol.welcome(worker, release)
        if drain is not None:
            self._drain(worker, drain)
        if worker.session:
            log.info("worker %s has joined: %s", worker.id, self._hub.roll.introduction(worker))
        self._hub.carry_on()

    def _refuse(self, worker: WorkerEntry, error: WorkerInUse) -> None:
        """Its id belongs to another key. The database knows sessions of other hubs, and from before a restart."""
        self._refusals.note(f"worker {name_of(worker)}", f"{error.code}: {error.message}")
        self._hub.protocol.expel(worker, error.message, Error(error.code, error.message, retry=False))
        self._hub.carry_on()

    def left(self, event: Left) -> None:
        log.info("worker %s has left: %s", event.worker.id, event.reason)
        self._hub.watch.left(event.worker)
        self._hub.roll.changed()
        if event.graceful:
            self._hub.spawn(self._say_goodbye(event.worker.id))

    async def _say_goodbye(self, worker_id: str) -> None:
        try:
            await self._hub.holders.left(worker_id)
        except StoreError as error:
            log.warning("the session of worker %s will run out instead: %s", worker_id, error)

    async def _watch_the_list(self, gate: Gate) -> None:
        """Those whose keys are no longer listed, or no longer allow what they claim, have to go."""
        # Away from the loop: the file may be on a disk that does not answer.
        if await asyncio.to_thread(gate.allowed.look):
            for worker in list(self._hub.protocol.workers.values()):
                error = gate.permission(worker.key, worker.hello)
                if error is not None:
                    self._hub.protocol.expel(worker, error.message, error)
            self._hub.carry_on()

    async def _keep_sessions(self) -> None:
        """Renew the sessions of those who are there."""
        workers = [worker for worker in self._hub.protocol.workers.values() if worker.session]
        if workers:
            await self._renew(workers)
            await self._look_for_hubs()
            self._hub.carry_on()

    async def keep_if_late(self) -> None:
        """For whoever is about to take sessions that were not renewed for dead ones."""
        if time.monotonic() - self.renewed > seconds(self._hub.settings.lease) / 2:
            await self._keep_sessions()

    async def _renew(self, workers: Sequence[WorkerEntry]) -> None:
        """Tell them what has changed, and what nobody waits for any more."""
        began = time.monotonic()
        renewed = await self._hub.holders.renew({worker.id: self._hub.roll.about(worker) for worker in workers})
        self.renewed = began
        for worker in workers:
            if (drain := renewed.draining.get(worker.id)) is not None and not worker.draining:
                self._drain(worker, drain)
            if worker.id in renewed.dead:
                self._hub.protocol.expel(worker, "its session was declared dead")
            elif worker.foreign:
                await self._check_foreign(worker)

    def _drain(self, worker: WorkerEntry, reason: str) -> None:
        log.info("worker %s is to leave: %s", name_of(worker), reason)
        self._hub.protocol.drain(worker, reason)
        self._hub.roll.changed()

    async def _check_foreign(self, worker: WorkerEntry) -> None:
        asked = list(worker.foreign)
        wanted = await self._wanted(worker, asked)
        gone = [token for token in asked if token not in wanted]
        self._keep(worker, wanted)
        if gone:
            self._hub.protocol.acknowledge(worker, gone)

    async def _wanted(self, worker: WorkerEntry, tokens: Sequence[str]) -> dict[str, tuple[str, int]]:
        """Those of these tokens that somebody waits for, with their attempts. A worker may list any number: they are
        looked up some at a time."""
        found: dict[str, tuple[str, int]] = {}
        for start in range(0, len(tokens), LOOKED_UP):
            some = tokens[start : start + LOOKED_UP]
            held = {token: attempt for token in some if (attempt := attempt_of(token)) is not None}
            kept = await self._hub.holders.keep(worker.id, sorted(held.values())) if held else frozenset()
            found.update((token, attempt) for token, attempt in held.items() if attempt in kept)
        return found

    def _keep(self, worker: WorkerEntry, held: Mapping[str, tuple[str, int]]) -> None:
        """Take over what belongs to runs that are driven here; what others drive is theirs to take over."""
        owns = self._hub.holders.owns
        self._hub.protocol.keep(worker, [token for token, (task_id, _) in held.items() if owns(task_id)])

    async def _look_for_hubs(self) -> None:
        """Workers may connect to all hubs; one that only its own machine can reach is named nowhere else."""
        here = is_loopback(self._hub.address)
        found = await self._hub.holders.hubs()
        others = (each for each, near in found.items() if not is_loopback(each) or (near and here))
        hubs = tuple(sorted({self._hub.address, *others}))
        self._hub.protocol.facts = msgspec.structs.replace(self._hub.protocol.facts, hubs=hubs)
