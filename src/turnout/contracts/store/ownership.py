"""Declares how sessions own runs: leases, claims and the end of sessions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from turnout.model.rows import (
    Glance,
    HeldAttempt,
    Holder,
    Lease,
    LoadedRun,
    LostSession,
    Renewal,
    Session,
    SessionHealth,
)


class OwnershipStore(Protocol):
    """Knows the sessions that are alive, and which of them owns which run."""

    def start_session(self, session: Session, lease: float) -> None: ...

    def renew_session(self, session_id: str, lease: float, health: str | None = None) -> Lease:
        """Renews the session on a connection of its own. A session that was declared dead stays dead."""
        ...

    def join_worker(self, worker: Session, lease: float, about: str) -> str | None:
        """Opens the worker's session, also if it was declared dead before: what it held then is fenced by attempt.
        Returns why it is to leave, if a drain was requested. Raises WorkerInUse if the id belongs to another key, or to
        a session of another kind."""
        ...

    def renew_workers(self, about: Mapping[str, str], lease: float) -> Renewal:
        """Renews the sessions of these workers and stores the description of each."""
        ...

    def run_numbers(self, run_ids: Sequence[str]) -> dict[str, int]:
        """A number for each of these runs that exists, from 1: the same on every call and on every orchestrator, and
        never given to another run, also after the run was deleted."""
        ...

    def drain_worker(self, worker_id: str, reason: str) -> bool:
        """Requests that this worker finishes what it has and leaves: every hub learns of it with the next renewal. The
        first request stays. False: no such worker is alive."""
        ...

    def held_by(self, holder: str) -> list[HeldAttempt]:
        """Returns the running attempts that this session holds, the oldest first."""
        ...

    def release_runs(self, session_id: str, run_ids: Sequence[str]) -> None:
        """Hands over those of these runs that the session owns: they become unowned at once; wakes ``runs``."""
        ...

    def give_runs(self, session_id: str, receiver: str, run_ids: Sequence[str]) -> list[str]:
        """Makes another session, if it is alive, the owner of those of these runs that the session owns; wakes
        ``given``. Returns them. The receiver takes them up with ``claim_listed``."""
        ...

    def end_session(self, session_id: str) -> None:
        """Ends the session; its runs become unowned at once."""
        ...

    def bury_sessions(self, *, gone: Sequence[str] = (), grace: float = 0.0, spare_holders: bool = False) -> list[str]:
        """Declares dead every session whose lease is over by more than ``grace``, and those in ``gone`` (seen dead on
        this machine): their runs become unowned; attempts they hold stay as they are. Returns the buried sessions' ids.
        Gives one lease of grace after the database itself has just started. With ``spare_holders``, workers and pollers
        are not judged by their leases."""
        ...

    def lost_workers(self, since: float, limit: int) -> list[LostSession]:
        """Returns the workers that were declared dead since a time and have not come back, the latest first. Sessions
        are kept for a day."""
        ...

    def live_sessions(self) -> list[Session]: ...

    def glance(self, session_id: str) -> Glance:
        """Returns whether there is anything to do for this session, and which sessions are alive, by one statement."""
        ...

    def session_health(self) -> list[SessionHealth]:
        """The live sessions in the order in which they started, each with what it last said of itself."""
        ...

    def unclaimed_versions(self, workflows: Sequence[str]) -> list[str]:
        """The versions of unowned, non-terminal runs of all workflows but these."""
        ...

    def claim_runs(
        self, session_id: str, workflows: Sequence[str], limit: int, inline: int, versions: Sequence[str] = ()
    ) -> list[LoadedRun]:
        """Takes up to ``limit`` unowned, non-terminal runs of these workflows, or of these versions (highest priority,
        then oldest).

        In one transaction: owner, epoch + 1 on the run and on all its non-terminal task rows, and pending becomes
        running with its history row; then the tasks are read in a later statement. Outputs longer than ``inline``
        stay behind."""
        ...

    def claim_listed(self, session_id: str, run_ids: Sequence[str], inline: int) -> list[LoadedRun]:
        """Takes those of these runs that are unowned, or its own already (a reload), under a new epoch, in one
        transaction. Returns them."""
        ...

    def holders(self, ids: Sequence[str]) -> dict[str, Holder]:
        """Returns what is known of these sessions, ended ones included. A session that is missing ended long ago."""
        ...

    def holders_alive(self, holders: Sequence[str]) -> frozenset[str]:
        """Returns those of these sessions (orchestrators or pollers) that are alive."""
        ...
