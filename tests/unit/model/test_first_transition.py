"""Runs that begin together share their first transition: it must be the one that each would have made by itself."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.runs import HERE, OWNER, graph_of, new_run, task

from turnout.model.events import DispatchDecision, TaskReadyEvent
from turnout.model.first_transition import FirstTransition
from turnout.model.graph import Graph
from turnout.model.rows import RunRow, RunWrite
from turnout.model.run_machine import RunMachine
from turnout.model.states import RunState
from turnout.model.transition import Transition
from turnout.model.verdict import Limits

ROOTS = graph_of(task("a"), task("b"), task("c", "a", "b"))


def machine_of(graph: Graph, run_id: str, **new: Any) -> RunMachine:
    return RunMachine.create(graph, new_run(run_id=run_id, **new), Limits())


def begun(machine: RunMachine, slots: int = 9, *, insert: bool = True) -> tuple[Transition, RunWrite, list[Any]]:
    """The first transition of a run, made by itself."""
    transition = Transition(machine, 1.0)
    transition.begin()
    events = [transition.start(pos, HERE, OWNER) for pos in transition.due[:slots]]
    del transition.due[:slots]
    transition.finish()
    return transition, transition.insert(OWNER) if insert else transition.write(), events


def first_of(machine: RunMachine, **how: Any) -> FirstTransition | None:
    before = list(machine.tasks)
    transition, write, events = begun(machine, **how)
    return FirstTransition.of(before, transition, write, events)


def state_of(machine: RunMachine) -> Any:
    return machine.row, machine.tasks, machine.open, machine.remaining, machine.ready, machine.seq


@given(st.integers(1, 4), st.booleans(), st.integers(-3, 3))
def test_a_repeated_transition_is_the_one_that_the_run_would_make(roots: int, insert: bool, priority: int) -> None:
    graph = graph_of(*(task(f"t{number}") for number in range(roots)), task("last", "t0"))
    first = first_of(machine_of(graph, "run-1"), insert=insert)
    assert first is not None
    alone, other = machine_of(graph, "run-2", priority=priority), machine_of(graph, "run-2", priority=priority)
    transition, write, events = begun(alone, insert=insert)
    assert first.fits(other)
    assert [first.event(start, other) for start in first.starts] == events
    assert first.written(other) == write
    repeated = first.repeated(other, lambda: 0.0)
    assert not repeated.empty and repeated.open_after == transition.open_after
    alone.apply(transition)
    other.apply(repeated)
    assert state_of(other) == state_of(alone)


def test_what_becomes_of_one_run_does_not_change_another() -> None:
    one, two = machine_of(ROOTS, "run-1"), machine_of(ROOTS, "run-2")
    first = first_of(one)
    assert first is not None
    one.apply(first.transition)
    repeated = first.repeated(two, lambda: 0.0)
    two.apply(repeated)
    after = Transition(one, 2.0)
    after.cancel("enough")
    one.apply(after)
    assert [row.state for row in two.tasks] == ["running", "running", "pending"]
    assert two.row.state is RunState.RUNNING and first.fits(machine_of(ROOTS, "run-3"))


@pytest.mark.parametrize(
    "other",
    [
        machine_of(ROOTS, "run-2", rerun_of="run-0"),
        machine_of(ROOTS, "run-2", parent_run="run-0", parent_pos=0, parent_attempt=1),
        RunMachine(
            ROOTS, new_run(), RunRow(state=RunState.PAUSED), list(ROOTS.waiting), epoch=1, seq=0, limits=Limits()
        ),
        RunMachine(
            ROOTS, new_run(), RunRow(state=RunState.RUNNING), list(ROOTS.waiting), epoch=2, seq=0, limits=Limits()
        ),
        RunMachine(
            ROOTS, new_run(), RunRow(state=RunState.RUNNING), list(ROOTS.waiting), epoch=1, seq=4, limits=Limits()
        ),
    ],
    ids=["rerun", "child", "paused", "later epoch", "later move"],
)
def test_a_run_that_begins_otherwise_does_not_repeat_it(other: RunMachine) -> None:
    first = first_of(machine_of(ROOTS, "run-1"))
    assert first is not None and not first.fits(other)


def test_a_run_whose_rows_have_changed_does_not_repeat_it() -> None:
    first, other = first_of(machine_of(ROOTS, "run-1")), machine_of(ROOTS, "run-2")
    other.tasks[1] = msgspec.structs.replace(other.tasks[1], losses=1)
    assert first is not None and not first.fits(other)


def test_a_transition_that_leaves_a_task_ready_is_not_repeated() -> None:
    assert first_of(machine_of(ROOTS, "run-1"), slots=1) is None


def test_a_start_is_repeated_for_the_same_decision_only() -> None:
    first = first_of(machine_of(ROOTS, "run-1"))
    assert first is not None
    start = first.starts[0]
    assert start.is_by(DispatchDecision(HERE.executor_key, HERE.reason, HERE.labels))
    assert not start.is_by(DispatchDecision("elsewhere", HERE.reason, HERE.labels))
    assert not start.is_by(DispatchDecision(HERE.executor_key, "a newer rule", HERE.labels))
    assert not start.is_by(DispatchDecision(HERE.executor_key, HERE.reason, {"gpu": "true"}))
    assert isinstance(start.event, TaskReadyEvent)
