"""Admits workers, renews and ends their sessions, and finds the owners of attempts that they hold from other hubs."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping, Sequence
from functools import partial
from math import inf

import msgspec

from turnout.errors import StoreError, WorkerInUse
from turnout.executors.workers.curve_auth import CurveAuthenticator, refusal_log
from turnout.executors.workers.hub_services import BackgroundTasks, OrchestratorPorts, Pump
from turnout.executors.workers.in_flight import attempt_of
from turnout.executors.workers.settings import HubSettings, is_loopback
from turnout.executors.workers.worker_breakers import WorkerBreakers, name_of
from turnout.executors.workers.worker_pool import WorkerPool
from turnout.model.durations import seconds
from turnout.wire.hub_events import HelloReceived, WorkerLeft
from turnout.wire.hub_sessions import HubProtocol
from turnout.wire.messages import Error
from turnout.wire.worker_entries import WorkerEntry

log = logging.getLogger("turnout.hub")

ALLOW_LIST_INTERVAL = 0.25
"""Seconds between two checks of the list of keys."""
LOOKUP_BATCH = 1_000
"""Attempts looked up in one statement."""
RENEWALS = 2
"""Renewals of sessions per heartbeat interval of a worker."""


class Membership:
    """Admits workers, renews their sessions, and ends them."""

    def __init__(
        self,
        protocol: HubProtocol,
        pool: WorkerPool,
        breakers: WorkerBreakers,
        ports: OrchestratorPorts,
        authenticator: CurveAuthenticator | None,
        settings: HubSettings,
        *,
        background: BackgroundTasks,
        pump: Pump,
    ) -> None:
        self._protocol = protocol
        self._pool = pool
        self._breakers = breakers
        self._ports = ports
        self._authenticator = authenticator
        self._settings = settings
        self._background = background
        self._pump = pump
        self._address = ""
        self._refusals = refusal_log() if authenticator is None else authenticator.refusals
        self.renewed = -inf
        """The time of the last renewal, by the monotonic clock."""

    def open(self, address: str) -> None:
        """Starts the renewals of a hub that workers reach at this address."""
        self._address = address
        repeat, interval = self._background.repeat, seconds(self._settings.heartbeat) / RENEWALS
        repeat(lambda: interval, self._keep_sessions, "the renewal of the workers' sessions")
        if self._authenticator is not None:
            repeat(
                lambda: ALLOW_LIST_INTERVAL,
                partial(self._reload_allow_list, self._authenticator),
                "the check of the list of keys",
            )

    async def admit(self, event: HelloReceived) -> None:
        """Opens the worker's session in the database, then welcomes the worker."""
        worker = event.worker
        self._breakers.joined(worker)
        try:
            drain = await self._ports.holders.open_session(self._pool.session_of(worker), self._pool.about(worker))
            wanted = await self._wanted(worker, [held.token for held in event.unknown])
        except WorkerInUse as error:
            self._refuse(worker, error)
            return
        except Exception as error:
            mistake = None if isinstance(error, StoreError) else error
            log.warning("worker %s is not admitted yet: %s", worker.id, error, exc_info=mistake)
            self._protocol.forget(worker)
            self._pump.run()
            return
        release = [each.token for each in event.unknown if each.token not in wanted]
        self._keep(worker, wanted)
        self._protocol.welcome(worker, release)
        if drain is not None:
            self._drain(worker, drain)
        if worker.session:
            log.info("worker %s has joined: %s", worker.id, self._pool.introduction(worker))
        self._pump.run()

    def _refuse(self, worker: WorkerEntry, error: WorkerInUse) -> None:
        """Refuses a worker whose id belongs to another key. The database knows the sessions of all hubs, and those from
        before a restart."""
        self._refusals.note(f"worker {name_of(worker)}", f"{error.code}: {error.message}")
        self._protocol.expel(worker, error.message, Error(error.code, error.message, retry=False))
        self._pump.run()

    def on_left(self, event: WorkerLeft) -> None:
        log.info("worker %s has left: %s", event.worker.id, event.reason)
        self._breakers.left(event.worker)
        self._pool.changed()
        if event.graceful:
            self._background.spawn(self.end_session(event.worker.id))

    async def end_session(self, worker_id: str) -> None:
        try:
            await self._ports.holders.end_session(worker_id)
        except StoreError as error:
            log.warning("the session of worker %s will run out instead: %s", worker_id, error)

    async def _reload_allow_list(self, authenticator: CurveAuthenticator) -> None:
        """Expels workers whose keys are no longer listed, or no longer allow what they claim."""
        # In a thread: the file may be on a disk that does not answer.
        if await asyncio.to_thread(authenticator.allowed.look):
            for worker in list(self._protocol.workers.values()):
                error = authenticator.permission(worker.key, worker.hello)
                if error is not None:
                    self._protocol.expel(worker, error.message, error)
            self._pump.run()

    async def _keep_sessions(self) -> None:
        """Renews the sessions of connected workers."""
        workers = [worker for worker in self._protocol.workers.values() if worker.session]
        if workers:
            await self._renew(workers)
            await self._look_for_hubs()
            self._pump.run()

    async def keep_if_late(self) -> None:
        """Called before sessions that were not renewed are declared dead."""
        if time.monotonic() - self.renewed > seconds(self._settings.lease) / 2:
            await self._keep_sessions()

    async def _renew(self, workers: Sequence[WorkerEntry]) -> None:
        """Renews sessions, and releases what no run waits for any more."""
        began = time.monotonic()
        renewed = await self._ports.holders.renew({worker.id: self._pool.about(worker) for worker in workers})
        self.renewed = began
        for worker in workers:
            if (drain := renewed.draining.get(worker.id)) is not None and not worker.draining:
                self._drain(worker, drain)
            if worker.id in renewed.dead:
                self._protocol.expel(worker, "its session was declared dead")
            elif worker.foreign:
                await self._check_foreign(worker)

    def _drain(self, worker: WorkerEntry, reason: str) -> None:
        log.info("worker %s is to leave: %s", name_of(worker), reason)
        self._protocol.drain(worker, reason)
        self._pool.changed()

    async def _check_foreign(self, worker: WorkerEntry) -> None:
        asked = list(worker.foreign)
        wanted = await self._wanted(worker, asked)
        gone = [token for token in asked if token not in wanted]
        self._keep(worker, wanted)
        if gone:
            self._protocol.acknowledge(worker, gone)

    async def _wanted(self, worker: WorkerEntry, tokens: Sequence[str]) -> dict[str, tuple[str, int]]:
        """Returns those of these tokens that a run waits for, with their attempts. A worker may list any number:
        they are looked up in batches."""
        found: dict[str, tuple[str, int]] = {}
        for start in range(0, len(tokens), LOOKUP_BATCH):
            batch = tokens[start : start + LOOKUP_BATCH]
            held = {token: attempt for token in batch if (attempt := attempt_of(token)) is not None}
            kept = await self._ports.holders.extend_attempts(worker.id, sorted(held.values())) if held else frozenset()
            found.update((token, attempt) for token, attempt in held.items() if attempt in kept)
        return found

    def _keep(self, worker: WorkerEntry, held: Mapping[str, tuple[str, int]]) -> None:
        """Takes over the attempts of runs that are driven here; other orchestrators take over theirs."""
        owns = self._ports.holders.drives
        self._protocol.keep(worker, [token for token, (task_id, _) in held.items() if owns(task_id)])

    async def _look_for_hubs(self) -> None:
        """Updates the addresses of hubs that workers are sent. A loopback address is sent on its own machine only."""
        here = is_loopback(self._address)
        found = await self._ports.holders.hubs()
        others = (each for each, near in found.items() if not is_loopback(each) or (near and here))
        hubs = tuple(sorted({self._address, *others}))
        self._protocol.facts = msgspec.structs.replace(self._protocol.facts, hubs=hubs)
