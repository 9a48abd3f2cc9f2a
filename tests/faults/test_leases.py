"""User code that holds everything up does not cost its process the runs."""

from __future__ import annotations

import pytest

from tests.faults.children import Children, eventually
from tests.faults.guarantees import query
from tests.faults.outcomes import each_ran_once
from tests.faults.scale import FULL, scaled

RUNS = scaled(1, 2)
HOLD = 10.0 if FULL else 3.0
SETTINGS = {} if FULL else {"heartbeat": 1.5, "self_fence": 4.0, "lease": 5.0, "sweep": 0.3}
"""The defaults, or much the same in smaller."""


@pytest.mark.parametrize(("workflow", "task"), [("blocking", "block_the_loop"), ("holding", "hold_the_interpreter")])
def test_an_orchestrator_whose_bodies_block_keeps_its_lease(children: Children, workflow: str, task: str) -> None:
    other = children.start("serve", settings=SETTINGS)
    other.wait_for("ready")
    child = children.start("submit", workflow=workflow, runs=RUNS, window=1, seconds=HOLD, settings=SETTINGS)
    eventually("the body runs", lambda: children.executions.by(child.pid))
    assert child.finished() == {"completed": RUNS}
    each_ran_once(children.executions, RUNS, (task, "last"))
    assert not children.executions.by(other.pid), "the other process took over"
    epochs = query(children.url, "select distinct epoch from run")
    assert epochs == [(1,)], f"a run changed hands: {epochs}"
    sessions = query(children.url, f"select id from session where pid = {child.pid}")
    assert len(sessions) == 1, "the session did not survive"
    assert "was declared dead" not in child.log.read_text()
