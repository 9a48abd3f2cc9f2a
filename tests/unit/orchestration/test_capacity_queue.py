"""Who is next when an executor has room: priority first, then how long a run has waited."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from kit.dispatcher import FakeAssigner, FakeDispatcher
from kit.parts import HeldSession
from kit.runs import graph_of, new_run, task

from turnout.model.events import DispatchDecision
from turnout.model.labels import WORKER_LABEL
from turnout.model.run_machine import RunMachine
from turnout.model.verdict import Limits
from turnout.orchestration.active_runs import ActiveRun
from turnout.orchestration.stages.capacity import OVERTAKE_TIMEOUT, CapacityQueue, Reservations, SelectorQueue

GRAPH = graph_of(task("a"))


def owned(name: str = "run", priority: int = 0) -> ActiveRun:
    return ActiveRun(RunMachine.create(GRAPH, new_run(run_id=name, priority=priority), Limits()))


def names(runs: list[ActiveRun]) -> list[str]:
    return [run.run_id for run in runs]


def test_runs_of_one_priority_leave_in_the_order_in_which_they_came() -> None:
    queue = CapacityQueue()
    for number in range(5):
        queue.add(owned(f"run-{number}"), "default", now=float(number))
    assert names(queue.next("default", 2)) == ["run-0", "run-1"]
    assert names(queue.next("default", 9)) == ["run-2", "run-3", "run-4"]
    assert queue.next("default", 9) == []


def test_a_higher_priority_goes_first_however_late_it_came() -> None:
    queue = CapacityQueue()
    for number, priority in enumerate((0, 5, -1, 5)):
        queue.add(owned(f"run-{number}", priority), "default", now=float(number))
    assert names(queue.next("default", 9)) == ["run-1", "run-3", "run-0", "run-2"]


def test_a_run_that_could_not_be_placed_keeps_its_rank() -> None:
    queue = CapacityQueue()
    first, second = owned("first"), owned("second")
    queue.add(first, "default", now=1.0)
    queue.add(second, "default", now=2.0)
    (taken,) = queue.next("default", 1)
    queue.add(taken, "default", now=9.0)
    assert names(queue.next("default", 9)) == ["first", "second"]


def test_a_run_stands_once_in_each_line() -> None:
    queue = CapacityQueue()
    run = owned()
    queue.add(run, "default", now=1.0)
    queue.add(run, "default", now=2.0)
    queue.add(run, "gpu", now=3.0)
    assert len(queue) == 2
    assert run.queued_for == {"default", "gpu"}
    assert names(queue.next("default", 9)) == ["run"]
    assert run.queued_for == {"gpu"}
    assert names(queue.next("gpu", 9)) == ["run"]


def test_dropped_runs_are_passed_over_and_do_not_use_up_the_limit() -> None:
    queue = CapacityQueue()
    runs = [owned(f"run-{number}") for number in range(4)]
    for number, run in enumerate(runs):
        queue.add(run, "default", now=float(number))
    runs[0].dropped = runs[2].dropped = True
    assert names(queue.next("default", 2)) == ["run-1", "run-3"]
    assert len(queue) == 0


def test_lines_of_different_executors_do_not_meet() -> None:
    queue = CapacityQueue()
    queue.add(owned("a", priority=9), "gpu", now=0.0)
    assert queue.next("default", 9) == []
    assert not queue.must_queue(owned("b"), "default", now=100.0)


def test_a_run_goes_straight_on_until_somebody_has_waited_too_long() -> None:
    queue = CapacityQueue()
    queue.add(owned("waiting"), "default", now=10.0)
    going_on = owned("going-on")
    assert not queue.must_queue(going_on, "default", now=10.0 + OVERTAKE_TIMEOUT)
    assert queue.must_queue(going_on, "default", now=10.0 + OVERTAKE_TIMEOUT + 0.01)


def test_the_first_in_line_and_one_that_has_waited_longer_need_not_queue() -> None:
    queue = CapacityQueue()
    first = owned("first")
    queue.add(first, "default", now=10.0)
    assert not queue.must_queue(first, "default", now=99.0)
    older = owned("older")
    older.waiting_since["default"] = 5.0
    assert not queue.must_queue(older, "default", now=99.0)


def test_a_place_at_one_executor_leaves_the_rank_at_another_as_it_is() -> None:
    queue = CapacityQueue()
    first, second = owned("first"), owned("second")
    queue.add(first, "odd", now=10.0)
    queue.add(second, "odd", now=11.0)
    first.waiting_since.pop("default", None)
    assert queue.next("odd", 1) == [first]
    assert not queue.must_queue(first, "odd", now=99.0)


def test_a_run_always_queues_behind_a_higher_priority_and_never_behind_a_lower_one() -> None:
    queue = CapacityQueue()
    queue.add(owned("high", priority=1), "default", now=10.0)
    assert queue.must_queue(owned("low"), "default", now=10.0)
    assert not queue.must_queue(owned("higher", priority=2), "default", now=99.0)


@given(st.lists(st.tuples(st.integers(-2, 2), st.integers(1, 3)), min_size=1, max_size=20), st.integers(1, 4))
def test_everybody_gets_a_place_and_none_is_passed_by_a_later_one_of_its_priority(
    arrivals: list[tuple[int, int]], room: int
) -> None:
    """Runs with several tasks each and little room: those of one priority finish in order of arrival."""
    queue = CapacityQueue()
    left = {}
    for number, (priority, tasks) in enumerate(arrivals):
        run = owned(f"run-{number}", priority)
        left[run.run_id] = tasks
        queue.add(run, "default", now=float(number))
    ended: list[ActiveRun] = []
    for now in range(1_000):
        free = room
        for run in queue.next("default", 64):
            placed = min(free, left[run.run_id])
            free -= placed
            left[run.run_id] -= placed
            if left[run.run_id]:
                queue.add(run, "default", now=100.0 + now)
            else:
                ended.append(run)
        if not len(queue):
            break
    assert len(ended) == len(arrivals)
    ranks = [(-run.machine.new.priority, run.waiting_since["default"]) for run in ended]
    assert ranks == sorted(ranks)


def test_the_runs_of_each_selector_queue_are_known() -> None:
    queue = CapacityQueue()
    first, second, gone = owned("first"), owned("second"), owned("gone")
    keys = SelectorQueue("workers", "a"), SelectorQueue("workers", "b")
    for run, queue_key in ((first, keys[0]), (second, keys[0]), (gone, keys[1]), (first, "workers")):
        queue.add(run, queue_key, now=0.0)
    queue.add(second, "default", now=0.0)
    gone.dropped = True
    assert {queue_key: names(runs) for queue_key, runs in queue.selector_queues("workers").items()} == {
        keys[0]: ["first", "second"]
    }
    queue.next(keys[0], 9)
    assert queue.selector_queues("workers") == {}


def test_the_queue_of_a_first_attempt_is_that_of_its_row_and_follows_a_new_decision() -> None:
    machine = RunMachine.create(GRAPH, new_run(), Limits())
    dispatcher = FakeDispatcher(hub=1)
    dispatcher.assigners["hub"] = FakeAssigner()
    reservations = Reservations(dispatcher, HeldSession())
    any_worker, one = DispatchDecision("hub", "any"), DispatchDecision("hub", "one", {WORKER_LABEL: "one"})
    for decision, selector in ((any_worker, "any"), (one, "one"), (any_worker, "any")):
        found = [reservations.first_queue_key(GRAPH.tasks[0], decision) for _ in range(2)]
        assert found == [SelectorQueue("hub", selector)] * 2
        assert found[0] == reservations.queue_key(machine, machine.tasks[0], decision)
    assert reservations.first_queue_key(GRAPH.tasks[0], DispatchDecision("default", "local")) == "default"
