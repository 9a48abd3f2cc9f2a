"""One function says whether a run is driven."""

from __future__ import annotations

import pytest

from turnout.model.driver import Driver, driver
from turnout.model.rows import Holder, Session
from turnout.model.states import RunState


def owner(kind: str = "orchestrator", *, alive: bool = True) -> Holder:
    return Holder(session=Session(id="s", kind=kind), alive=alive, lease=15.0)


@pytest.mark.parametrize("state", [state for state in RunState if not state.terminal])
def test_a_run_is_driven_by_an_orchestrator_that_is_alive_and_by_nobody_else(state: RunState) -> None:
    assert driver(state, owner()) is Driver.DRIVEN
    assert driver(state, None) is Driver.NOT_DRIVEN
    assert driver(state, owner(alive=False)) is Driver.NOT_DRIVEN
    assert driver(state, owner(), gone=True) is Driver.NOT_DRIVEN, "its lease is not over, and its process has died"
    assert driver(state, owner("bystander")) is Driver.NOT_DRIVEN, "it only gives a command"


@pytest.mark.parametrize("state", [state for state in RunState if state.terminal])
def test_a_run_that_has_ended_needs_nobody(state: RunState) -> None:
    assert driver(state, None) is driver(state, owner()) is Driver.NOT_NEEDED
