"""What waits inside the executor of threads: little, of known bodies, and behind whatever has the higher priority."""

from __future__ import annotations

import threading

import pytest

from turnout import task, workflow
from turnout.executors.thread import ThreadExecutor
from turnout.model.states import RunState

pytestmark = pytest.mark.timeout(60)

SLOW = 50
THREADS = 2
COROUTINES = 3


def test_quick_bodies_let_no_slow_ones_in_and_the_highest_priority_is_next(
    make_sqlite_runner, sqlite_url, query, until
):
    permits, begun = threading.Semaphore(0), []

    @task
    def quick() -> None:
        pass

    @task
    def slow(number: int) -> None:
        begun.append(number)
        assert permits.acquire(timeout=20)

    @task
    def urgent() -> None:
        begun.append("urgent")

    @workflow
    def quickly() -> None:
        quick()

    @workflow
    def slowly(number: int) -> None:
        slow(number)

    @workflow
    def urgently() -> None:
        urgent()

    runner = make_sqlite_runner(executors={"default": ThreadExecutor(threads=THREADS)})
    for run in runner.submit_many(quickly, [{}] * 200):
        assert run.wait(20) is RunState.COMPLETED
    runs = runner.submit_many(slowly, [{"number": number} for number in range(SLOW)])
    until(lambda: len(begun) == THREADS, "the first bodies")
    waiting = "select count(*) from task where state = 'ready' and reason = 'no_capacity'"
    until(lambda: query(sqlite_url, waiting) == [(SLOW - THREADS,)], "the others wait outside")
    first = runner.submit_with(urgently, priority=100)
    until(lambda: first.status().state is RunState.RUNNING, "the urgent run")
    permits.release()
    assert first.wait(20) is RunState.COMPLETED
    assert begun[THREADS] == "urgent"
    for _ in range(SLOW):
        permits.release()
    assert all(run.wait(20) is RunState.COMPLETED for run in runs)


def test_the_figure_for_capacity_stays_what_was_set_up_whatever_waits(make_sqlite_runner):
    """Quick bodies open a backlog: the executor takes more than it has threads, and says how many wait."""

    @task
    def quick(number: int) -> int:
        return number

    @task
    async def gentle(number: int) -> int:
        return number

    @workflow
    def quickly() -> int:
        return quick(gentle(1))

    executor = ThreadExecutor(threads=THREADS, coroutines=COROUTINES)
    runner = make_sqlite_runner(executors={"default": executor})
    runs = runner.submit_many(quickly, [{}] * 500)
    taken, seen, left = 0, set(), True
    while left:
        left = runner.list(states=[RunState.RUNNING, RunState.PENDING], limit=1)
        status = runner.core.admin.orchestrators()[0].status.executors["default"]
        figures, taken = executor.metrics(), max(taken, executor.capacity)
        seen |= {(status.capacity, status.async_capacity), (figures.capacity, figures.async_capacity)}
        assert max(figures.running, status.running) <= THREADS
        assert max(figures.async_running, status.async_running) <= COROUTINES
        assert status.waiting <= status.active
    assert taken > THREADS, "more than fit into the threads are taken"
    assert seen == {(THREADS, COROUTINES)}
    assert {run.wait(20) for run in runs} == {RunState.COMPLETED}
