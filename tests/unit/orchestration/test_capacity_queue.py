"""Who is next when an executor has room: priority first, then how long a run has waited."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from kit.runs import graph_of, new_run, task

from turnout.model.run_machine import RunMachine
from turnout.model.verdict import Limits
from turnout.orchestration.active_run import ActiveRun
from turnout.orchestration.capacity_queue import PATIENCE, CapacityQueue

GRAPH = graph_of(task("a"))


def owned(name: str = "run", priority: int = 0) -> ActiveRun:
    return ActiveRun(RunMachine.create(GRAPH, new_run(run_id=name, priority=priority), Limits()))


def names(runs: list[ActiveRun]) -> list[str]:
    return [run.run_id for run in runs]


def test_runs_of_one_priority_leave_in_the_order_in_which_they_came() -> None:
    parking = CapacityQueue()
    for number in range(5):
        parking.add(owned(f"run-{number}"), "default", now=float(number))
    assert names(parking.next("default", 2)) == ["run-0", "run-1"]
    assert names(parking.next("default", 9)) == ["run-2", "run-3", "run-4"]
    assert parking.next("default", 9) == []


def test_a_higher_priority_goes_first_however_late_it_came() -> None:
    parking = CapacityQueue()
    for number, priority in enumerate((0, 5, -1, 5)):
        parking.add(owned(f"run-{number}", priority), "default", now=float(number))
    assert names(parking.next("default", 9)) == ["run-1", "run-3", "run-0", "run-2"]


def test_a_run_that_could_not_be_placed_keeps_its_rank() -> None:
    parking = CapacityQueue()
    first, second = owned("first"), owned("second")
    parking.add(first, "default", now=1.0)
    parking.add(second, "default", now=2.0)
    (taken,) = parking.next("default", 1)
    parking.add(taken, "default", now=9.0)
    assert names(parking.next("default", 9)) == ["first", "second"]


def test_a_run_stands_once_in_each_line() -> None:
    parking = CapacityQueue()
    run = owned()
    parking.add(run, "default", now=1.0)
    parking.add(run, "default", now=2.0)
    parking.add(run, "gpu", now=3.0)
    assert len(parking) == 2
    assert run.queued_for == {"default", "gpu"}
    assert names(parking.next("default", 9)) == ["run"]
    assert run.queued_for == {"gpu"}
    assert names(parking.next("gpu", 9)) == ["run"]


def test_dropped_runs_are_passed_over_and_do_not_use_up_the_limit() -> None:
    parking = CapacityQueue()
    runs = [owned(f"run-{number}") for number in range(4)]
    for number, run in enumerate(runs):
        parking.add(run, "default", now=float(number))
    runs[0].dropped = runs[2].dropped = True
    assert names(parking.next("default", 2)) == ["run-1", "run-3"]
    assert len(parking) == 0


def test_lines_of_different_executors_do_not_meet() -> None:
    parking = CapacityQueue()
    parking.add(owned("a", priority=9), "gpu", now=0.0)
    assert parking.next("default", 9) == []
    assert not parking.must_queue(owned("b"), "default", now=100.0)


def test_a_run_goes_straight_on_until_somebody_has_waited_too_long() -> None:
    parking = CapacityQueue()
    parking.add(owned("waiting"), "default", now=10.0)
    going_on = owned("going-on")
    assert not parking.must_queue(going_on, "default", now=10.0 + PATIENCE)
    assert parking.must_queue(going_on, "default", now=10.0 + PATIENCE + 0.01)


def test_the_first_in_line_and_one_that_has_waited_longer_need_not_queue() -> None:
    parking = CapacityQueue()
    first = owned("first")
    parking.add(first, "default", now=10.0)
    assert not parking.must_queue(first, "default", now=99.0)
    older = owned("older")
    older.waiting_since["default"] = 5.0
    assert not parking.must_queue(older, "default", now=99.0)


def test_a_place_at_one_executor_leaves_the_rank_at_another_as_it_is() -> None:
    parking = CapacityQueue()
    first, second = owned("first"), owned("second")
    parking.add(first, "odd", now=10.0)
    parking.add(second, "odd", now=11.0)
    first.waiting_since.pop("default", None)
    assert parking.next("odd", 1) == [first]
    assert not parking.must_queue(first, "odd", now=99.0)


def test_a_run_always_queues_behind_a_higher_priority_and_never_behind_a_lower_one() -> None:
    parking = CapacityQueue()
    parking.add(owned("high", priority=1), "default", now=10.0)
    assert parking.must_queue(owned("low"), "default", now=10.0)
    assert not parking.must_queue(owned("higher", priority=2), "default", now=99.0)


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(1, 3)), min_size=1, max_size=20), st.integers(1, 4))
def test_everybody_gets_a_place_and_none_is_passed_by_a_later_one_of_its_priority(
    arrivals: list[tuple[int, int]], room: int
) -> None:
    """Runs with several tasks each and little room: those of one priority finish in order of arrival."""
    parking = CapacityQueue()
    left = {}
    for number, (priority, tasks) in enumerate(arrivals):
        run = owned(f"run-{number}", priority)
        left[run.run_id] = tasks
        parking.add(run, "default", now=float(number))
    ended: list[ActiveRun] = []
    for now in range(1_000):
        free = room
        for run in parking.next("default", 64):
            placed = min(free, left[run.run_id])
            free -= placed
            left[run.run_id] -= placed
            if left[run.run_id]:
                parking.add(run, "default", now=100.0 + now)
            else:
                ended.append(run)
        if not len(parking):
            break
    assert len(ended) == len(arrivals)
    ranks = [(-run.machine.new.priority, run.waiting_since["default"]) for run in ended]
    assert ranks == sorted(ranks)


def test_who_stands_in_which_of_several_lines_is_known() -> None:
    parking = CapacityQueue()
    first, second, gone = owned("first"), owned("second"), owned("gone")
    for run, line in ((first, "workers a"), (second, "workers a"), (gone, "workers b"), (first, "workers")):
        parking.add(run, line, now=0.0)
    parking.add(second, "default", now=0.0)
    gone.dropped = True
    assert {line: names(runs) for line, runs in parking.waited_for("workers").items()} == {
        "workers a": ["first", "second"]
    }
    parking.next("workers a", 9)
    assert parking.waited_for("workers") == {}
