"""Who holds an attempt decides how long it is left alone by whoever claims its run."""

from __future__ import annotations

import pytest

from turnout.model.rows import Holder, Session
from turnout.orchestration.stages.takeover import MIN_GRACE, grace


@pytest.mark.parametrize("kind", ["worker", "poller"])
@pytest.mark.parametrize("alive", [True, False])
def test_workers_and_pollers_have_one_lease_to_come_back(kind: str, alive: bool) -> None:
    assert grace(Holder(session=Session(id="h", kind=kind), alive=alive, lease=15.0), gone=False) == 15.0


def test_a_short_lease_leaves_time_for_the_next_try_of_a_worker() -> None:
    assert grace(Holder(session=Session(id="h", kind="worker"), alive=False, lease=0.5), gone=False) == MIN_GRACE


@pytest.mark.parametrize("kind", ["orchestrator", "bystander"])
def test_what_an_orchestrator_held_itself_is_lost_at_once(kind: str) -> None:
    assert grace(Holder(session=Session(id="h", kind=kind), alive=False, lease=15.0), gone=False) == 0.0


def test_a_process_that_is_known_to_have_died_does_not_come_back() -> None:
    assert grace(Holder(session=Session(id="h", kind="worker"), alive=True, lease=15.0), gone=True) == 0.0


def test_what_nobody_is_known_to_hold_is_lost_at_once() -> None:
    assert grace(None, gone=False) == 0.0
