"""Whether a task waits longer than usual."""

from __future__ import annotations

import pytest

from turnout.model.usual_waits import (
    FACTOR,
    FEWEST_WAITS,
    LEAST_WAIT,
    NOTHING_KNOWN,
    UNKNOWN_WAIT,
    EarlierTask,
    UsualWaits,
    is_asked_for,
    waits_of,
)


def ran(name: str, started: float, *on: str, attempt: int = 1, took: float = 1.0) -> EarlierTask:
    return EarlierTask(name, on, attempt, started, started + took)


def test_a_wait_lasts_from_the_end_of_the_last_dependency_or_the_submission() -> None:
    tasks = [ran("a", 103.0, took=2.0), ran("b", 101.0, took=9.0), ran("c", 112.5, "a", "b")]
    assert waits_of([(100.0, tasks)]).by_task == {"a": [3.0], "b": [1.0], "c": [2.5]}


def test_retried_tasks_and_tasks_that_never_began_tell_nothing() -> None:
    tasks = [ran("a", 103.0, attempt=2), EarlierTask("b", (), 0, None, None)]
    assert waits_of([(100.0, tasks)]).by_task == {}


def test_a_wait_is_never_below_zero() -> None:
    assert waits_of([(100.0, [ran("a", 99.0)])]).by_task == {"a": [0.0]}


def test_the_bound_is_a_multiple_of_the_usual_wait_of_the_task() -> None:
    known = UsualWaits({"slow": [100.0] * FEWEST_WAITS, "quick": [0.1] * FEWEST_WAITS})
    assert known.bound("slow") == (100.0, FACTOR * 100.0)
    usual, bound = known.bound("quick")
    assert usual == pytest.approx(0.1) and bound == LEAST_WAIT


def test_few_waits_of_a_task_are_completed_by_those_of_its_workflow() -> None:
    known = UsualWaits({"rare": [500.0], "other": [40.0] * 20})
    usual, bound = known.bound("rare")
    assert usual is not None and 40.0 <= usual < 500.0 and bound >= FACTOR * 40.0
    assert NOTHING_KNOWN.bound("rare") == (None, UNKNOWN_WAIT)
    assert UsualWaits({"rare": [1.0]}).bound("rare") == (None, UNKNOWN_WAIT)


@pytest.mark.parametrize(
    ("reason", "retry_in", "asked"),
    [
        ("paused", None, True),
        ("retry_at", 50.0, True),
        ("retry_at", -5.0, True),
        ("retry_at", -100.0, False),
        ("deferred:until_noon", 3_600.0, True),
        ("an executor's own words", 10.0, True),
        ("no_capacity", None, False),
        ("no_capacity", -1.0, False),
        ("no_worker_matches{gpu=true} handler train", None, False),
        (None, None, False),
    ],
)
def test_a_wait_that_was_asked_for_is_no_trouble_until_it_is_overdue(
    reason: str | None, retry_in: float | None, asked: bool
) -> None:
    assert is_asked_for(reason, retry_in) is asked
