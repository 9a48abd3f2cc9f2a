"""Redelivery: an attempt that a dead orchestrator committed to a connected worker is given to it again."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from kit.dispatcher import FakeAssigner
from kit.parts import Parts
from kit.runs import graph_of, task

from turnout.model.rows import Holder, RunRow, Session
from turnout.model.states import RunState
from turnout.orchestration.active_runs import ActiveRun, RunCommand

GRAPH = graph_of(task("a"))
Build = Callable[..., Parts]


def held(build: Build, *, free: int = 1, slots: int = 1) -> tuple[Parts, ActiveRun, FakeAssigner]:
    """A claimed run whose attempt the worker ``one`` holds, which is connected here."""
    parts = build(GRAPH, hub=slots)
    parts.dispatcher.assigners["hub"] = assigner = FakeAssigner(one=free)
    parts.held_by(GRAPH, "one", owner=None)
    parts.store.known_holders["one"] = Holder(session=Session(id="one", kind="worker"), alive=True, lease=30.0)
    parts.loop.run(parts.claims.claim(["run-1"]))
    parts.drive()
    return parts, parts.runs["run-1"], assigner


def test_the_attempt_is_dispatched_again_to_its_own_holder(build: Build) -> None:
    parts, owned, assigner = held(build)
    assert parts.redelivery.takes(owned, 0, 1)
    ((key, event),) = parts.dispatcher.dispatched
    assert (key, event.holder, event.attempt, event.again) == ("hub", "one", 1, True)
    assert assigner.free == {"one": 0} and parts.journal == ["reserve", "dispatch"], "nothing is committed"


def test_a_holder_without_room_keeps_the_attempt_and_gets_nothing_yet(build: Build) -> None:
    parts, owned, _ = held(build, free=0)
    assert parts.redelivery.takes(owned, 0, 1) and parts.dispatcher.dispatched == []


def test_the_holders_place_is_free_again_if_the_executor_has_no_slot(build: Build) -> None:
    parts, owned, assigner = held(build, slots=0)
    assert parts.redelivery.takes(owned, 0, 1)
    assert assigner.free == {"one": 1} and parts.dispatcher.dispatched == []


def test_an_attempt_of_a_holder_that_is_not_connected_is_not_taken(build: Build) -> None:
    parts, owned, assigner = held(build)
    assigner.free.clear()
    assert not parts.redelivery.takes(owned, 0, 1)


@pytest.mark.parametrize(("pos", "attempt"), [(0, 2), (0, 0)])
def test_another_attempt_is_not_taken(build: Build, pos: int, attempt: int) -> None:
    parts, owned, _ = held(build)
    assert not parts.redelivery.takes(owned, pos, attempt) and parts.dispatcher.dispatched == []


def test_an_attempt_of_a_run_that_is_being_cancelled_is_not_taken(build: Build) -> None:
    parts, owned, _ = held(build)
    owned.machine.row = RunRow(state=RunState.CANCELLING)
    assert not parts.redelivery.takes(owned, 0, 1)


@pytest.mark.parametrize("why", ["paused", "an order waits", "fenced"])
def test_nothing_is_sent_while_nothing_may_begin_and_the_attempt_is_not_lost(build: Build, why: str) -> None:
    parts, owned, assigner = held(build)
    match why:
        case "paused":
            owned.machine.row = RunRow(state=RunState.PAUSED)
        case "an order waits":
            owned.commands.append(RunCommand("pause", None))
        case _:
            parts.session.keeper.fenced = True
    assert parts.redelivery.takes(owned, 0, 1)
    assert parts.dispatcher.dispatched == [] and assigner.free == {"one": 1}
