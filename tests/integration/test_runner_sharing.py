"""Several Runners on one database share its runs, and take over from one another."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from tests.kit.waiting import until
from turnout import TaskInfo, task, workflow
from turnout.executors.thread import ThreadExecutor
from turnout.model.states import RunState
from turnout.runner import EngineSettings

pytestmark = pytest.mark.timeout(60)

QUICK = EngineSettings(heartbeat=0.4, lease=6.0, self_fence=4.0, sweep=0.2, stop_grace=1.0)
"""Reports its room several times a second."""


@task
def double(number: int) -> int:
    return 2 * number


@workflow
def doubled(number: int) -> int:
    return double(number)


def test_a_run_that_one_runner_drives_is_seen_and_awaited_by_another(make_runner, gate):
    @task
    def held() -> int:
        gate.pass_through()
        return 7

    @workflow
    def holding() -> int:
        return held()

    one, other = make_runner(), make_runner()
    run = one.submit(holding)
    assert gate.reached()
    seen = other.get(run.id)
    assert seen.status().state is RunState.RUNNING
    assert [view.id for view in other.list()] == [run.id]
    gate.open()
    assert seen.result(20) == 7
    assert run.result(20) == 7


def test_both_runners_submit_and_finish_their_runs(make_runner):
    runners = [make_runner(), make_runner()]
    handles = [runners[number % 2].submit(doubled, number) for number in range(40)]
    assert [handle.result(20) for handle in handles] == [2 * number for number in range(40)]


def test_runs_that_one_cannot_hold_are_shared_and_each_body_runs_once(make_runner):
    calls: list[int] = []
    both = threading.Barrier(2)

    @task
    def note(number: int, info: TaskInfo) -> int:
        if number < 2:
            both.wait(20)
        calls.append(number)
        return number

    @workflow
    def noted(number: int) -> int:
        return note(number)

    def options() -> dict[str, Any]:
        return {
            "workflows": [noted],
            "settings": EngineSettings(max_owned_runs=1, sweep=0.2, stop_grace=1.0),
            "executors": {"default": ThreadExecutor(threads=1, max_backlog=0)},
        }

    one, _ = make_runner(**options()), make_runner(**options())
    handles = one.submit_many(noted, [{"number": number} for number in range(30)])
    assert [handle.result(20) for handle in handles] == list(range(30))
    assert sorted(calls) == list(range(30)), "the first two ran at once, so both Runners took part"


def test_runs_that_wait_for_a_full_runner_are_given_to_one_with_room(make_runner):
    begun: list[int] = []
    all_four = threading.Barrier(4)

    @task
    def meet(number: int) -> int:
        begun.append(number)
        if number < 4:
            all_four.wait(30)
        return number

    @workflow
    def meeting(number: int) -> int:
        return meet(number)

    def options() -> dict[str, Any]:
        return {"workflows": [meeting], "settings": QUICK, "executors": {"default": ThreadExecutor(threads=2)}}

    one, _ = make_runner(**options()), make_runner(**options())
    handles = one.submit_many(meeting, [{"number": number} for number in range(40)])
    assert [handle.result(40) for handle in handles] == list(range(40)), "four bodies ran at once, in two Runners"
    assert sorted(begun) == list(range(40)), "each body ran once"
    assert "turnout_given_runs_total" in one.metrics()
    assert one.core.engine.rebalance.given >= 2


def test_runs_stay_where_they_wait_if_nobody_has_room_or_the_code(make_runner, gate):
    @task
    def hold(number: int) -> int:
        gate.pass_through()
        return number

    @workflow
    def holding(number: int) -> int:
        return hold(number)

    def options(workflows: list[Any]) -> dict[str, Any]:
        return {"workflows": workflows, "settings": QUICK, "executors": {"default": ThreadExecutor(threads=1)}}

    one, full, _ = (
        make_runner(**options([holding])),
        make_runner(**options([holding])),
        make_runner(**options([doubled])),
    )
    there = full.submit_many(holding, [{"number": number} for number in range(2)])
    here = one.submit_many(holding, [{"number": number} for number in range(5)])
    time.sleep(3.0)  # MIN_WAIT, and several reports of each
    assert [len(runner.core.engine.runs) for runner in (one, full)] == [5, 2], "nothing has moved"
    gate.open()
    assert [handle.result(30) for handle in [*there, *here]] == [0, 1, 0, 1, 2, 3, 4]


def test_a_run_that_was_given_away_is_still_awaited_and_cancelled_where_it_was_submitted(make_runner, gate):
    @task
    def hold(number: int) -> int:
        gate.pass_through()
        return number

    @workflow
    def holding(number: int) -> int:
        return hold(number)

    def options() -> dict[str, Any]:
        return {"workflows": [holding], "settings": QUICK, "executors": {"default": ThreadExecutor(threads=1)}}

    one, other = make_runner(**options()), make_runner(**options())
    handles = one.submit_many(holding, [{"number": number} for number in range(3)])
    (moved,) = until(lambda: [handle for handle in handles if other.owns(handle.id)])
    moved.cancel("not needed")
    gate.open()
    assert moved.wait(30) is RunState.CANCELLED
    assert all(handle.wait(30) is RunState.COMPLETED for handle in handles if handle is not moved)


def test_a_runner_that_closes_hands_its_runs_over(make_runner):
    failed = threading.Event()
    attempts: list[int] = []

    @task(retries=1, retry_delay=0.2)
    def later(info: TaskInfo) -> int:
        attempts.append(info.attempt)
        failed.set()
        if info.attempt == 1:
            raise ValueError("again")
        return info.attempt

    @workflow
    def waiting() -> int:
        return double(later())

    one = make_runner(workflows=[waiting])
    other = make_runner(workflows=[waiting])
    run = one.submit(waiting)
    assert failed.wait(20)
    one.close()
    assert other.get(run.id).result(20) == 4
    assert attempts == [1, 2]


def test_a_body_that_outlives_the_grace_is_run_again_by_the_next_runner(make_runner, gate):
    attempts: list[int] = []

    @task
    def long(info: TaskInfo) -> int:
        attempts.append(info.attempt)
        if info.attempt == 1:
            gate.pass_through()
        return info.attempt

    @workflow
    def lasting() -> int:
        return long()

    one = make_runner(workflows=[lasting])
    run = one.submit(lasting)
    assert gate.reached()
    one.close(timeout=0.1)
    other = make_runner(workflows=[lasting])
    assert other.get(run.id).result(20) == 2
    gate.open()
    assert other.get(run.id).tasks()[0].attempt == 2
    assert attempts == [1, 2]


def test_a_task_that_may_run_at_most_once_is_not_run_again(make_runner, gate):
    attempts: list[int] = []

    @task(at_most_once=True)
    def pay(info: TaskInfo) -> int:
        attempts.append(info.attempt)
        gate.pass_through()
        return info.attempt

    @workflow
    def paying() -> int:
        return pay()

    one = make_runner(workflows=[paying])
    run = one.submit(paying)
    assert gate.reached()
    one.close(timeout=0.1)
    other = make_runner(workflows=[paying])
    again = other.get(run.id)
    assert again.wait(20) is RunState.FAILED
    assert again.tasks()[0].reason == "lost_at_most_once"
    assert attempts == [1]


def test_runs_of_a_closed_program_go_on_when_it_is_started_again(make_runner, gate):
    calls: list[str] = []

    @task
    def first() -> int:
        calls.append("first")
        return 1

    @task
    def second(number: int, info: TaskInfo) -> int:
        calls.append("second")
        if info.attempt == 1:
            gate.pass_through()
        return number + 1

    @workflow
    def resumed() -> int:
        return second(first())

    before = make_runner(workflows=[resumed])
    run = before.submit(resumed)
    assert gate.reached()
    before.close(timeout=0.1)
    after = make_runner(workflows=[resumed])
    assert after.get(run.id).result(20) == 2
    assert calls == ["first", "second", "second"], "what was recorded did not run again"


def test_a_runner_leaves_alone_what_it_has_no_code_for(make_runner, gate, until):
    @task
    def known() -> int:
        return 1

    @workflow
    def theirs() -> int:
        return known()

    settings = EngineSettings(max_owned_runs=1, sweep=0.1, stop_grace=1.0)

    @task
    def held() -> None:
        gate.pass_through()

    @workflow
    def holding() -> None:
        held()

    one = make_runner(settings=settings)
    stranger = make_runner(workflows=[doubled], settings=settings)
    one.submit(holding)
    assert gate.reached()
    run = one.submit(theirs)
    assert stranger.run(doubled, 2) == 4
    assert run.status().state is RunState.PENDING
    gate.open()
    assert run.result(20) == 1
