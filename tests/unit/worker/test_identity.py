"""A worker says which process it is, in the words of the orchestrator that looks for it."""

from __future__ import annotations

from turnout.orchestration.lease import seen_dead, this_session
from turnout.worker.identity import Identity, identity


def test_a_worker_says_the_same_of_its_process_as_an_orchestrator_would() -> None:
    session = this_session(())
    assert identity() == Identity(session.boot_id, session.pid_namespace, session.process_started)
    assert not seen_dead(session)
