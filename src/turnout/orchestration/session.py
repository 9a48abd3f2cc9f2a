"""Holds the session of one orchestrator: its lease, renewed in a thread, and whether attempts may start under it."""

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
from turnout.orchestration.settings import EngineSettings
from turnout.rate_limited_log import RateLimitedLog
from turnout.runtime.process_info import boot_id, pid_namespace, process_started

log = logging.getLogger("turnout.lease")

INITIAL_RENEWAL_INTERVAL = 0.5
"""Seconds until the next renewal while there is no status to store, so that the first one is visible soon."""


class LeaseKeeper:
    """Renews one session from a thread and a connection of its own, so that nothing else can delay it.

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
        on_lost: Callable[[], None],
        health: Callable[[], str | None] | None = None,
    ) -> None:
        self._store = store
        self.session = session
        self._interval = heartbeat / 2
        self._lease = lease
        self._self_fence = self_fence
        self.begin_by = -math.inf
        """The ``boot_time`` until which attempts may begin if the lease is not renewed again."""
        self._on_lost = on_lost
        self._rate_limited_log = RateLimitedLog(log)
        self._stop = threading.Event()
        self.peers = 1
        """Other sessions that are alive. There may be some until the first renewal has counted them."""
        self._opened = 0
        """Sessions of others that were opened, as far as they were announced."""
        self._health = health
        """Returns the status of this orchestrator as text, in this thread; None before the first one."""
        self._thread = threading.Thread(target=self._keep, name="turnout-lease", daemon=True)

    def start(self) -> None:
        asked = boot_time()
        self._store.start_session(self.session, self._lease)
        self.begin_by = asked + self._self_fence
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(2.0)

    def peer_opened(self) -> None:
        """Called when another session was opened: it may wait for announcements before the next renewal counts it."""
        self._opened += 1
        self.peers = max(1, self.peers)

    @property
    def fenced(self) -> bool:
        """True without a session, or if the lease was not renewed for so long that others may soon take over."""
        return boot_time() > self.begin_by

    def _keep(self) -> None:
        pause = 0.0
        while not self._stop.wait(pause):
            pause = self._interval
            asked, opened = boot_time(), self._opened
            status = None
            if self._health is not None and (status := self._health()) is None:
                pause = min(INITIAL_RENEWAL_INTERVAL, self._interval)
            try:
                lease = self._store.renew_session(self.session.id, self._lease, status)
            except StoreError as error:
                self._rate_limited_log.failure("lease of %s not renewed: %s", self.session.id, error)
                pause = min(1.0, self._interval)
                continue
            if not lease.held:
                self.begin_by = -math.inf
                self._on_lost()
                return
            self._rate_limited_log.recovered("lease of %s renewed again", self.session.id)
            self.begin_by = asked + self._self_fence
            # One that was opened meanwhile may not be counted yet.
            self.peers = max(lease.peers, int(opened != self._opened))


def this_session(workflows: tuple[str, ...], kind: str = "orchestrator") -> Session:
    """Returns a new session of this process."""
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


def process_is_gone(session: Session) -> bool:
    """True if the session's process ran on this machine and is gone. On other machines the lease decides."""
    if not session.boot_id or session.boot_id != boot_id() or session.pid_namespace != pid_namespace():
        return False
    return process_started(session.pid) != session.process_started


def on_this_machine(session: Session) -> bool:
    """True if the session's process runs on this machine."""
    return bool(session.boot_id) and session.boot_id == boot_id()


class OrchestratorSession:
    """Opens a session, keeps its lease, and opens the next one after it was declared dead."""

    def __init__(
        self,
        store: OwnershipStore,
        settings: EngineSettings,
        *,
        workflows: Callable[[], tuple[str, ...]],
        drives: bool,
        on_lost: Callable[[], None],
        health: Callable[[], str | None],
    ) -> None:
        self._store = store
        self._settings = settings
        self._workflows = workflows
        self._on_lost = on_lost
        self._health = health
        self.drives = drives
        """False: it starts nothing and claims nothing by itself. What is submitted to it is stored for others."""
        self.stopping = False
        self.keeper: LeaseKeeper
        """Set by ``open``: the session is opened before anything uses it."""

    def open(self) -> None:
        """Starts a new session. Blocks."""
        settings = self._settings
        keeper = LeaseKeeper(
            self._store,
            this_session(self._workflows(), kind="orchestrator" if self.drives else "bystander"),
            heartbeat=settings.heartbeat,
            lease=settings.lease,
            self_fence=settings.self_fence,
            on_lost=self._on_lost,
            health=self._health if self.drives else None,
        )
        keeper.start()
        self.keeper = keeper

    def end(self) -> None:
        """Ends the session in the store: its runs become unowned at once. Blocks."""
        self._store.end_session(self.id)

    def stop_renewing(self) -> None:
        self.keeper.stop()

    def begin_stopping(self) -> None:
        """Lets nothing start from now on."""
        self.stopping = True

    @property
    def current(self) -> Session:
        return self.keeper.session

    @property
    def id(self) -> str:
        return self.keeper.session.id

    @property
    def peers(self) -> int:
        """The number of other sessions that were alive at the last renewal, or that there may be since."""
        return self.keeper.peers

    def peer_opened(self) -> None:
        """Called when another session was opened."""
        self.keeper.peer_opened()

    @property
    def fenced(self) -> bool:
        """True if the lease was not renewed for so long that others may soon take over."""
        return self.keeper.fenced

    def begin_by(self) -> float:
        """Returns the ``boot_time`` until which attempts may begin if the lease is not renewed again."""
        return self.keeper.begin_by

    @property
    def may_start(self) -> bool:
        """True if new attempts may begin here."""
        return self.drives and not self.stopping and not self.keeper.fenced
