"""The session of one orchestrator: its lease, and whether new attempts may start under it."""

from __future__ import annotations

from collections.abc import Callable

from turnout.contracts.store import OwnershipStore
from turnout.model.rows import Session
from turnout.orchestration.lease import LeaseKeeper, this_session
from turnout.orchestration.settings import EngineSettings


class OrchestratorSession:
    """Opens a session, keeps its lease, and opens the next one after it was declared dead."""

    def __init__(
        self,
        store: OwnershipStore,
        settings: EngineSettings,
        *,
        workflows: Callable[[], tuple[str, ...]],
        drives: bool,
        lost: Callable[[], None],
        health: Callable[[], str | None],
    ) -> None:
        self._store = store
        self._settings = settings
        self._workflows = workflows
        self._lost = lost
        self._health = health
        self.drives = drives
        """False: it starts nothing and claims nothing by itself. What is submitted to it is stored for others."""
        self.stopping = False
        self._keeper: LeaseKeeper | None = None

    def open(self) -> None:
        """Starts a new session. Blocks."""
        settings = self._settings
        keeper = LeaseKeeper(
            self._store,
            this_session(self._workflows(), kind="orchestrator" if self.drives else "bystander"),
            heartbeat=settings.heartbeat,
            lease=settings.lease,
            self_fence=settings.self_fence,
            lost=self._lost,
            health=self._health if self.drives else None,
        )
        keeper.start()
        self._keeper = keeper

    def end(self) -> None:
        """Ends the session in the store: its runs become unowned at once. Blocks."""
        self._store.end_session(self.id)

    def stop_renewing(self) -> None:
        self.keeper.stop()

    def begin_stopping(self) -> None:
        """Nothing starts from now on."""
        self.stopping = True

    @property
    def keeper(self) -> LeaseKeeper:
        assert self._keeper is not None, "the session is opened before anything uses it"
        return self._keeper

    @property
    def current(self) -> Session:
        return self.keeper.session

    @property
    def id(self) -> str:
        return self.keeper.session.id

    @property
    def peers(self) -> int:
        """The other sessions that were alive at the last renewal."""
        return self.keeper.peers

    @property
    def fenced(self) -> bool:
        """True if the lease was not renewed for so long that others may soon take over."""
        return self.keeper.fenced

    def begin_by(self) -> float:
        """Until when, by ``boot_time``, attempts may begin if the lease is not renewed again."""
        return self.keeper.begin_by

    @property
    def may_start(self) -> bool:
        """True if new attempts may begin here."""
        return self.drives and not self.stopping and not self.keeper.fenced
