"""The lease of one session, renewed in a thread of its own."""

from __future__ import annotations

import logging
import math
import os
import socket
import threading
import uuid
from collections.abc import Callable

from turnout.contracts.clock import boot_time
from turnout.contracts.store import OwnershipStore
from turnout.errors import StoreError
from turnout.model.rows import Session
from turnout.rate_limited_log import RateLimitedLog
from turnout.runtime.process_info import boot_id, pid_namespace, process_started

log = logging.getLogger("turnout.lease")

INITIAL_RENEWAL_INTERVAL = 0.5
"""Seconds until the next renewal while there is no status to store: others are to see the first one soon."""


class LeaseKeeper:
    """Renews one session from a thread and a connection of its own, so that nothing else can keep it from doing so.

    It renews at half of the heartbeat: code that holds the interpreter for ten seconds then still leaves time to
    renew a lease of fifteen.
    """

    def __init__(
        self,
        store: OwnershipStore,
        session: Session,
        *,
        heartbeat: float,
        lease: float,
        self_fence: float,
        lost: Callable[[], None],
        health: Callable[[], str | None] | None = None,
    ) -> None:
        self._store = store
        self.session = session
        self._every = heartbeat / 2
        self._lease = lease
        self._self_fence = self_fence
        self._lost = lost
        self._rate_limited_log = RateLimitedLog(log)
        self._stop = threading.Event()
        self._renewed = -math.inf
        self.peers = 0
        self._health = health
        """Says how this orchestrator is, in this thread; None: it has not been looked at yet."""
        self._thread = threading.Thread(target=self._keep, name="turnout-lease", daemon=True)

    def start(self) -> None:
        asked = boot_time()
        self._store.start_session(self.session, self._lease)
        self._renewed = asked
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(2.0)

    @property
    def fenced(self) -> bool:
        """No session, or so long out of contact that others may soon take over: start nothing, acknowledge nothing."""
        return boot_time() > self.begin_by

    @property
    def begin_by(self) -> float:
        """Until when, by ``boot_time``, attempts may begin if the lease is not renewed again."""
        return self._renewed + self._self_fence

    def _keep(self) -> None:
        pause = 0.0
        while not self._stop.wait(pause):
            pause = self._every
            asked = boot_time()
            said = None
            if self._health is not None and (said := self._health()) is None:
                pause = min(INITIAL_RENEWAL_INTERVAL, self._every)
            try:
                answer = self._store.renew_session(self.session.id, self._lease, said)
            except StoreError as error:
                self._rate_limited_log.failure("lease of %s not renewed: %s", self.session.id, error)
                pause = min(1.0, self._every)
                continue
            if not answer.held:
                self._renewed = -math.inf
                self._lost()
                return
            self._rate_limited_log.recovered("lease of %s renewed again", self.session.id)
            self._renewed = asked
            self.peers = answer.peers


def this_session(workflows: tuple[str, ...], kind: str = "orchestrator") -> Session:
    """A new session of this process."""
    return Session(
        id=str(uuid.uuid4()),
        kind=kind,
        host=socket.gethostname(),
        boot_id=boot_id(),
        pid_namespace=pid_namespace(),
        pid=os.getpid(),
        process_started=process_started(os.getpid()) or "",
        workflows=workflows,
    )


def seen_dead(session: Session) -> bool:
    """Whether this machine can tell for certain that the session's process is gone. Elsewhere its lease decides."""
    if not session.boot_id or session.boot_id != boot_id() or session.pid_namespace != pid_namespace():
        return False
    return process_started(session.pid) != session.process_started


def on_this_machine(session: Session) -> bool:
    """Whether its process runs where this one does."""
    return bool(session.boot_id) and session.boot_id == boot_id()
