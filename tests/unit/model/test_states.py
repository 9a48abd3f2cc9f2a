"""The table of moves: what follows from it for every state."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from itertools import pairwise
from typing import TypeVar

import pytest

from turnout.model.states import (
    RUN_FOLDED,
    RUN_MOVES,
    RUN_TERMINAL,
    TASK_FOLDED,
    TASK_MOVES,
    TASK_TERMINAL,
    RunState,
    TaskState,
    run_writes,
    task_writes,
)

S = TypeVar("S", bound=StrEnum)

tables = pytest.mark.parametrize(
    ("states", "moves", "terminal"), [(TaskState, TASK_MOVES, TASK_TERMINAL), (RunState, RUN_MOVES, RUN_TERMINAL)]
)
compositions = pytest.mark.parametrize(
    ("moves", "folded"), [(TASK_MOVES, TASK_FOLDED), (RUN_MOVES, RUN_FOLDED)], ids=["task", "run"]
)


def reachable(moves: Mapping[S, frozenset[S]], start: S) -> set[S]:
    found, open_ = {start}, [start]
    while open_:
        for state in moves[open_.pop()] - found:
            found.add(state)
            open_.append(state)
    return found


@tables
def test_every_state_has_its_line_in_the_table(states, moves, terminal) -> None:
    assert set(moves) == set(states)


@tables
def test_exactly_the_terminal_states_have_no_moves_out(states, moves, terminal) -> None:
    assert {state for state in states if not moves[state]} == terminal
    assert {state for state in states if state.terminal} == terminal


@tables
def test_every_state_is_reachable_from_pending(states, moves, terminal) -> None:
    assert reachable(moves, states.PENDING) == set(states)


@tables
def test_an_end_is_reachable_from_every_state(states, moves, terminal) -> None:
    for state in states:
        assert reachable(moves, state) & terminal


@tables
def test_nothing_returns_to_pending_or_moves_to_itself(states, moves, terminal) -> None:
    for state, targets in moves.items():
        assert states.PENDING not in targets
        assert state not in targets


@compositions
def test_a_folded_composition_consists_of_legal_single_moves(moves, folded) -> None:
    for (first, last), path in folded.items():
        assert (path[0], path[-1]) == (first, last)
        assert len(path) > 2
        for old, new in pairwise(path):
            assert new in moves[old]


@compositions
def test_a_folded_composition_is_not_a_single_move_already(moves, folded) -> None:
    assert not [(old, new) for old, new in folded if new in moves[old]]


def test_a_task_starts_once_it_is_ready_or_in_the_commit_that_makes_it_so_and_ends_by_a_result_only_from_running() -> (
    None
):
    assert [old for old, new in TASK_MOVES.items() if TaskState.RUNNING in new] == [TaskState.PENDING, TaskState.READY]
    for end in (TaskState.COMPLETED, TaskState.FAILED):
        assert [old for old, new in TASK_MOVES.items() if end in new] == [TaskState.RUNNING]


def test_a_run_is_cancelled_only_by_way_of_cancelling() -> None:
    assert [old for old, new in RUN_MOVES.items() if RunState.CANCELLED in new] == [RunState.CANCELLING]
    for state in set(RunState) - RUN_TERMINAL - {RunState.CANCELLING}:
        assert RunState.CANCELLING in RUN_MOVES[state]


def test_the_writes_are_the_single_moves_and_the_compositions_and_leave_no_terminal_state() -> None:
    assert len(task_writes()) == sum(map(len, TASK_MOVES.values())) + len(TASK_FOLDED)
    assert len(run_writes()) == sum(map(len, RUN_MOVES.values())) + len(RUN_FOLDED)
    assert not [old for old, _ in task_writes() if old.terminal]
    assert not [old for old, _ in run_writes() if old.terminal]
