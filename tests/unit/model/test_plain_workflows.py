"""Plain workflows take a short path through a transition: it must come to the same rows and moves as the long one."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.runs import HERE, OWNER, graph_of, new_run, task

from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.names import split_task_id
from turnout.model.rows import RunWrite, TaskRow
from turnout.model.rules import always
from turnout.model.run_machine import RunMachine
from turnout.model.spec import Hook
from turnout.model.states import RunState, TaskState
from turnout.model.transition import Transition
from turnout.model.verdict import Limits

OUTCOMES = ("completed", "completed", "completed", "failed", "retried")


@st.composite
def graphs(draw: st.DrawFn) -> tuple[Graph, Graph]:
    """The same random workflow twice: one takes the short path, the other does not."""
    count = draw(st.integers(1, 7))
    tasks = [
        task(
            f"t{pos}",
            *sorted({f"t{draw(st.integers(0, pos - 1))}" for _ in range(draw(st.integers(0, 3)))} if pos else ()),
        )
        for pos in range(count)
    ]
    short, long = graph_of(*tasks), graph_of(*tasks)
    assert short.plain
    long.plain = False
    return short, long


class Side:
    """One run that is driven by transitions, with as many slots as it is given."""

    def __init__(self, graph: Graph) -> None:
        self.machine = RunMachine.create(graph, new_run(), Limits())
        self.events: dict[int, TaskReadyEvent] = {}
        transition = Transition(self.machine, 1.0)
        transition.begin()
        self.write = self._finish(transition, slots=2, insert=True)

    def results(self, ends: list[tuple[int, str]], slots: int, command: str) -> RunWrite:
        transition = Transition(self.machine, 2.0)
        for pos, end in ends:
            event = self.events.pop(pos)
            result = ExecutionResult.success(event, pos) if end == "completed" else ExecutionResult.failed(event, "no")
            if end == "retried":
                result = ExecutionResult.returned(event, "no_capacity")
            assert transition.result(result, pos)
        if command == "cancel":
            transition.cancel("enough")
        elif command == "pause":
            transition.pause()
        return self._finish(transition, slots)

    def _finish(self, transition: Transition, slots: int, *, insert: bool = False) -> RunWrite:
        due = list(transition.due) if transition.run_row.state is RunState.RUNNING else []
        for pos in due[:slots]:
            self._start(transition, pos)
        transition.due = transition.due[len(due[:slots]) :]
        for pos in transition.ready()[: slots - len(due[:slots])]:
            self._start(transition, pos)
        transition.finish()
        write = transition.insert(OWNER) if insert else transition.write()
        self.machine.apply(transition)
        return write

    def _start(self, transition: Transition, pos: int) -> None:
        event = transition.start(pos, HERE, OWNER)
        self.events[split_task_id(event.task_id)[1]] = event


@given(graphs(), st.data())
def test_the_short_path_comes_to_the_same_rows_and_moves_as_the_long_one(
    pair: tuple[Graph, Graph], data: st.DataObject
) -> None:
    short, long = Side(pair[0]), Side(pair[1])
    assert comparable(short.write) == comparable(long.write)
    for _ in range(12):
        both = sorted(short.events.keys() & long.events.keys())
        assert short.events.keys() == long.events.keys()
        if not both or short.machine.row.state.terminal:
            break
        ended = data.draw(st.lists(st.sampled_from(both), min_size=1, unique=True))
        ends = [(pos, data.draw(st.sampled_from(OUTCOMES))) for pos in ended]
        # Which of several tasks gets the last slot may differ, so that either all start or none.
        slots = data.draw(st.sampled_from([0, 9]))
        command = data.draw(st.sampled_from(["", "", "", "", "cancel", "pause"]))
        writes = short.results(ends, slots, command), long.results(ends, slots, command)
        assert comparable(writes[0]) == comparable(writes[1])
        assert [move.seq for move in writes[0].history] == sorted({move.seq for move in writes[0].history})
        if command:
            break
    assert short.machine.row == long.machine.row
    assert (short.machine.open, short.machine.remaining) == (long.machine.open, long.machine.remaining)
    assert set(short.machine.ready) == set(long.machine.ready)


def comparable(write: RunWrite) -> Any:
    """Returns the write without the order of moves, since the short path numbers ends before starts."""
    rows = sorted((msgspec.structs.replace(row, seq=0) for row in write.tasks), key=lambda row: row.pos)
    moves = sorted((move.pos, str(move.old), move.new, move.attempt, move.detail) for move in write.history)
    return rows, moves, write.run


@pytest.mark.parametrize(
    "tasks",
    [
        (task("a", priority=1), task("b", "a")),
        (task("a"), task("b", "a", rule=always())),
        (task("a"), task("on_exit.b", hook=Hook("exit"))),
    ],
    ids=["priority", "rule", "hook"],
)
def test_a_workflow_with_more_than_dependencies_is_not_plain(tasks: tuple[Any, ...]) -> None:
    assert not graph_of(*tasks).plain


def test_a_task_that_is_due_and_finds_no_slot_is_ready() -> None:
    side = Side(graph_of(task("a"), task("b", "a")))
    write = side.results([(0, "completed")], 0, "")
    assert [(row.pos, row.state) for row in write.tasks] == [(0, TaskState.COMPLETED), (1, TaskState.READY)]
    assert list(side.machine.ready) == [1]


def test_a_task_that_is_due_is_seen_as_ready() -> None:
    machine = RunMachine.create(graph_of(task("a")), new_run(), Limits())
    transition = Transition(machine, 1.0)
    transition.begin()
    assert transition.due == [0]
    row: TaskRow = transition.task(0)
    assert row.state is TaskState.READY and not transition.due
