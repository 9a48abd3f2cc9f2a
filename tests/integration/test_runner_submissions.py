"""Idempotency keys, lists of runs, and priorities."""

from __future__ import annotations

import gc
import threading
import weakref
from typing import Any

import pytest

from turnout import task, workflow
from turnout.errors import IdempotencyConflict
from turnout.executors.thread import ThreadExecutor
from turnout.model.states import RunState
from turnout.runner.submitter import Options

pytestmark = pytest.mark.timeout(60)


class Counted:
    """A workflow that counts how often its body ran."""

    def __init__(self) -> None:
        self.calls: list[Any] = []

        @task
        def note(order: Any) -> Any:
            self.calls.append(order)
            return order

        @workflow
        def counted(order: Any, extra: int = 0) -> Any:
            return note(order)

        @workflow
        def other(order: Any) -> Any:
            return note(order)

        self.workflow, self.other = counted, other


@pytest.fixture
def counted() -> Counted:
    return Counted()


# -- idempotency keys -----------------------------------------------------------------------------------------------


def test_the_same_key_and_input_give_the_same_run(runner, counted):
    first = runner.submit_with(counted.workflow, {"id": 1, "b": 2}, key="order-1")
    second = runner.submit_with(counted.workflow, {"b": 2, "id": 1}, key="order-1")
    assert first.id == second.id
    assert first.result(20) == second.result(20) == {"id": 1, "b": 2}
    third = runner.submit_with(counted.workflow, input={"order": {"id": 1, "b": 2}, "extra": 0}, key="order-1")
    assert third.id == first.id
    assert third.result(20) == {"id": 1, "b": 2}
    assert counted.calls == [{"id": 1, "b": 2}]
    assert first.status().key == "order-1"


def test_the_same_key_with_another_input_is_a_conflict_and_nothing_is_written(runner, counted, rows_in, store_url):
    first = runner.submit_with(counted.workflow, 1, key="order-1")
    first.wait(20)
    before = rows_in(store_url)
    with pytest.raises(IdempotencyConflict) as caught:
        runner.submit_with(counted.workflow, 2, key="order-1")
    assert caught.value.code == "idempotency_conflict"
    assert "order-1" in str(caught.value) and first.id in str(caught.value)
    assert caught.value.fields == {"run_id": first.id, "key": "order-1"}
    assert rows_in(store_url) == before
    assert counted.calls == [1]


def test_a_key_belongs_to_its_workflow(runner, counted):
    one = runner.submit_with(counted.workflow, 1, key="k")
    other = runner.submit_with(counted.other, 2, key="k")
    assert one.id != other.id
    assert (one.result(20), other.result(20)) == (1, 2)


def test_a_key_is_kept_when_its_run_has_failed(runner):
    @task
    def breaks() -> None:
        raise ValueError("no")

    @workflow
    def failing() -> None:
        breaks()

    first = runner.submit_with(failing, key="k")
    assert first.wait(20) is RunState.FAILED
    assert runner.submit_with(failing, key="k").id == first.id


def test_many_submissions_of_one_key_at_once_make_one_run(make_runner, counted):
    runners = [make_runner(), make_runner()]
    together = threading.Barrier(8)
    ids: list[str] = []

    def submit(number: int) -> None:
        together.wait(20)
        run = runners[number % 2].submit_with(counted.workflow, 7, key="same")
        assert run.result(20) == 7
        ids.append(run.id)

    threads = [threading.Thread(target=submit, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(ids) == 8 and len(set(ids)) == 1
    assert counted.calls == [7]


def test_runs_without_a_key_are_all_different(runner, counted):
    assert runner.submit(counted.workflow, 1).id != runner.submit(counted.workflow, 1).id


# -- lists ----------------------------------------------------------------------------------------------------------


def test_runs_are_listed_newest_first_and_page_by_page(runner, counted):
    handles = [runner.submit(counted.workflow, number) for number in range(7)]
    for handle in handles:
        handle.wait(20)
    newest_first = [handle.id for handle in reversed(handles)]
    assert [run.id for run in runner.list()] == newest_first
    first = runner.list(limit=3)
    second = runner.list(limit=3, before=first[-1].id)
    third = runner.list(limit=3, before=second[-1].id)
    assert [run.id for run in (*first, *second, *third)] == newest_first
    assert len(third) == 1
    assert runner.list(limit=3, before=third[-1].id) == []


def test_a_list_is_filtered_by_workflow_and_state(runner, counted, gate):
    @task
    def waits() -> None:
        gate.pass_through()

    @workflow
    def waiting() -> None:
        waits()

    done = runner.submit(counted.workflow, 1)
    done.wait(20)
    held = runner.submit(waiting)
    assert [run.id for run in runner.list(workflow="waiting")] == [held.id]
    assert [run.id for run in runner.list(workflow="public::embedded::counted")] == [done.id]
    assert runner.list(workflow="wait") == []
    assert [run.id for run in runner.list(states=[RunState.RUNNING])] == [held.id]
    assert [run.id for run in runner.list(states=[RunState.COMPLETED, RunState.FAILED])] == [done.id]
    assert runner.list(workflow="counted", states=[RunState.RUNNING]) == []
    assert len(runner.list(states=[RunState.RUNNING, RunState.COMPLETED])) == 2


def test_an_empty_database_has_no_runs(runner):
    assert runner.list() == []


# -- priorities -----------------------------------------------------------------------------------------------------


def test_of_the_runs_that_wait_the_one_with_the_highest_priority_goes_first(make_runner, counted, gate):
    @task
    def blocks() -> None:
        gate.pass_through()

    @workflow
    def blocking() -> None:
        blocks()

    runner = make_runner(executors={"default": ThreadExecutor(threads=1, max_backlog=0)})
    runner.submit(blocking)
    assert gate.reached()
    handles = [
        runner.submit_with(counted.workflow, name, priority=priority)
        for name, priority in [("low", -5), ("first", 0), ("second", 0), ("high", 10), ("higher", 20)]
    ]
    assert {each.tasks()[0].reason for each in handles} == {"no_capacity"}
    gate.open()
    for handle in handles:
        handle.wait(20)
    assert counted.calls == ["higher", "high", "first", "second", "low"]
    assert [handle.status().priority for handle in handles] == [-5, 0, 0, 10, 20]


def test_of_the_tasks_of_a_run_that_wait_the_one_with_the_highest_priority_goes_first(make_runner, gate):
    ran: list[str] = []

    @task
    def blocks() -> None:
        gate.pass_through()

    @task
    def note(name: str) -> None:
        ran.append(name)

    @workflow
    def blocking() -> None:
        blocks()

    @workflow
    def several() -> None:
        note.options(priority=-1)("low")
        note("middle")
        note.options(priority=7)("high")

    runner = make_runner(executors={"default": ThreadExecutor(threads=1, max_backlog=0)})
    runner.submit(blocking)
    assert gate.reached()
    run = runner.submit(several)
    gate.open()
    run.wait(20)
    assert ran == ["high", "middle", "low"]


def test_runs_that_are_not_owned_yet_are_claimed_by_priority(make_runner, counted, gate):
    from turnout.runner import EngineSettings

    @task
    def blocks() -> None:
        gate.pass_through()

    @workflow
    def blocking() -> None:
        blocks()

    runner = make_runner(
        workflows=[counted.workflow, blocking], settings=EngineSettings(max_owned_runs=1, claim_batch=1, stop_grace=1.0)
    )
    runner.submit(blocking)
    assert gate.reached()
    handles = [
        runner.submit_with(counted.workflow, name, priority=priority)
        for name, priority in [("low", -5), ("first", 0), ("second", 0), ("high", 10)]
    ]
    assert {each.status().state for each in handles} == {RunState.PENDING}
    gate.open()
    for handle in handles:
        handle.wait(20)
    assert counted.calls == ["high", "first", "second", "low"]


def test_a_submission_that_was_refused_leaves_nothing_in_memory(runner, counted):
    core = runner._core
    runner.submit_with(counted.workflow, 1, key="taken")

    def refused() -> list[weakref.ref[Any]]:
        request = core.submitter.request(counted.workflow, (2,), {}, Options(key="taken"))
        with pytest.raises(IdempotencyConflict):
            core.submitter.submit([request])
            request.accepted.result()
        return [weakref.ref(request.accepted), weakref.ref(request.final)]

    left = [each for _ in range(5) for each in refused()]
    gc.collect()
    # The engine may hold what it did last for as long as it has nothing else to do.
    assert sum(each() is not None for each in left) <= 2
