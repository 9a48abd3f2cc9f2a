"""Limits on a whole Runner: runs and tasks wait for slots, in order, and say for what they wait."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.kit.waiting import until
from turnout import Limit, Runner, task, workflow
from turnout.errors import InvalidInput, InvalidLimit
from turnout.model.reasons import LIMIT, MAX_ACTIVE_STEPS
from turnout.model.states import RunState, TaskState

pytestmark = pytest.mark.timeout(60)


class Counted:
    """Bodies that count how many of them are at work at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.now = self.most = 0
        self.began: list[float] = []

    def work(self, seconds: float = 0.01, meet: threading.Barrier | None = None) -> None:
        """With ``meet``, a body is at work until as many are as the barrier asks for."""
        with self._lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.began.append(time.monotonic())
        if meet is None:
            time.sleep(seconds)
        else:
            meet.wait(60)
        with self._lock:
            self.now -= 1


@pytest.fixture
def counted() -> Counted:
    return Counted()


def test_no_more_runs_are_at_work_than_their_limits_allow(runner: Runner, counted: Counted) -> None:
    @task
    def body(customer: str) -> str:
        counted.work()
        return customer

    @workflow(limits=[Limit("customer-${customer}", at_most=2), Limit("all", at_most=3)])
    def limited(customer: str) -> str:
        return body(customer)

    runs = [runner.submit(limited, customer) for customer in "aaaabbbbcc"]
    assert [run.result(20) for run in runs] == list("aaaabbbbcc")
    assert 1 < counted.most <= 3


def test_max_active_runs_of_a_workflow(runner: Runner, counted: Counted) -> None:
    @task
    def body(number: int) -> int:
        counted.work()
        return number

    @workflow(max_active_runs=1)
    def single(number: int) -> int:
        return body(number)

    runs = [runner.submit(single, number) for number in range(6)]
    assert [run.result(20) for run in runs] == list(range(6)) and counted.most == 1


def test_no_more_tasks_of_a_run_are_at_work_than_max_active_steps(runner: Runner, counted: Counted, gate: Any) -> None:
    @task
    def body(number: int) -> int:
        counted.work()
        return number

    @task
    def first() -> int:
        gate.pass_through()
        return 0

    @workflow(max_active_steps=2)
    def narrow() -> list[int]:
        first()
        return body.map([1, 2, 3, 4, 5])

    run = runner.submit(narrow)
    assert gate.reached()
    waits = [each.reason for each in run.tasks() if each.state is TaskState.READY]
    assert set(waits) <= {MAX_ACTIVE_STEPS}
    gate.open()
    assert run.result(20) == [1, 2, 3, 4, 5] and counted.most <= 2


def test_tasks_of_different_runs_share_a_limit(runner: Runner, counted: Counted) -> None:
    @task(limits=[Limit("mail", at_most=2)])
    def send(number: int) -> int:
        counted.work()
        return number

    @workflow
    def newsletter(numbers: list[int]) -> list[int]:
        return send.map(numbers)

    runs = [runner.submit(newsletter, [1, 2, 3, 4]) for _ in range(3)]
    assert [run.result(20) for run in runs] == [[1, 2, 3, 4]] * 3 and counted.most == 2


def test_a_task_holds_no_slot_between_its_attempts(runner: Runner) -> None:
    failed, other_ran = threading.Event(), threading.Event()

    @task(limits=[Limit("one", at_most=1)], retries=1, retry_delay=0.2)
    def fails_once() -> str:
        if not failed.is_set():
            failed.set()
            raise ValueError("once")
        assert other_ran.is_set(), "the other task had the slot while this one waited for its retry"
        return "a"

    @task(limits=[Limit("one", at_most=1)])
    def other() -> str:
        other_ran.set()
        return "b"

    @workflow
    def retried() -> str:
        return fails_once()

    @workflow
    def once() -> str:
        return other()

    first = runner.submit(retried)
    assert failed.wait(10)
    second = runner.submit(once)
    assert (second.result(20), first.result(20)) == ("b", "a")


def test_a_rate_holds_in_every_window(runner: Runner, counted: Counted) -> None:
    @task(limits=[Limit("paced", rate=3, per=0.3)])
    def body(number: int) -> int:
        counted.work(0.0)
        return number

    @workflow
    def paced() -> list[int]:
        return body.map(list(range(8)))

    assert runner.run(paced) == list(range(8))
    began = sorted(counted.began)
    assert all(later - earlier >= 0.3 for earlier, later in zip(began, began[3:], strict=False))


class Waiting:
    """A workflow of which one run holds the only slot while its gate is closed."""

    def __init__(self, runner: Runner, gate: Any, name: str) -> None:
        self.order: list[int] = []

        @task
        def body(number: int) -> int:
            self.order.append(number)
            if number == 0:
                gate.pass_through()
            return number

        @workflow(name=name, max_active_runs=1)
        def single(number: int) -> int:
            return body(number)

        self.workflow, self._runner = single, runner
        self.holder = runner.submit(single, 0)
        assert gate.reached()

    def submit(self, number: int, **options: Any) -> Any:
        return self._runner.submit_with(self.workflow, number, **options)


@pytest.fixture
def waiting(runner: Runner, gate: Any) -> Waiting:
    return Waiting(runner, gate, "single_file")


def test_waiting_runs_start_by_priority_and_then_by_age(waiting: Waiting, gate: Any) -> None:
    runs = [waiting.submit(1), waiting.submit(2, priority=5), waiting.submit(3), waiting.submit(4, priority=5)]
    gate.open()
    for run in runs:
        run.result(20)
    assert waiting.order == [0, 2, 4, 1, 3]


def test_a_waiting_run_says_so_and_is_cancelled_without_ever_starting(
    runner: Runner, waiting: Waiting, gate: Any
) -> None:
    run, last = waiting.submit(1), waiting.submit(2)
    view = next(each for each in runner.list() if each.id == run.id)
    assert (view.state, view.reason) == (RunState.PENDING, LIMIT)
    (found,) = runner.core.store.limits_of(last.id)
    assert (found.name, found.held, found.position) == ("workflow:public::embedded::single_file", False, 2)
    run.cancel("not needed")
    assert run.wait(20) is RunState.CANCELLED
    (found,) = runner.core.store.limits_of(last.id)
    assert found.position in (1, 2)
    gate.open()
    assert last.result(20) == 2 and waiting.order == [0, 2]


def test_a_waiting_run_that_is_paused_and_resumed_still_waits_for_its_turn(
    runner: Runner, waiting: Waiting, gate: Any
) -> None:
    paused, other = waiting.submit(1), waiting.submit(2)
    paused.pause()
    paused.resume()
    stored = runner.core.store.run(paused.id)
    assert stored is not None and stored.row.state is RunState.RUNNING
    assert runner.core.store.runs_without_slots([paused.id]) == {paused.id} and waiting.order == [0]
    gate.open()
    assert {paused.result(20), other.result(20)} == {1, 2}


def test_the_timeout_of_a_run_does_not_count_the_time_that_it_waits(
    runner: Runner, waiting: Waiting, gate: Any
) -> None:
    run = waiting.submit(1, timeout=0.6)
    while (stored := runner.core.store.run(run.id)) is not None and stored.age < 0.7:
        time.sleep(0.02)
    gate.open()
    assert run.result(20) == 1


def test_a_run_whose_limit_has_no_name_or_no_size_is_refused_and_nothing_is_stored(runner: Runner) -> None:
    @task
    def body(customer: str | None) -> str:
        return customer or ""

    @workflow(limits=[Limit("customer-${customer}", at_most=2)])
    def keyed(customer: str | None) -> str:
        return body(customer)

    @workflow(queue="nightly")
    def queued() -> str:
        return body("a")

    @task(limits=["unheard-of"])
    def limited() -> None: ...

    @workflow
    def unsized() -> None:
        limited()

    for submit, code in (
        (lambda: runner.submit(keyed, None), "no_limit_key"),
        (lambda: runner.submit(queued), "unknown_queue"),
        (lambda: runner.submit(unsized), "unknown_limit"),
    ):
        with pytest.raises(InvalidLimit) as raised:
            submit()
        assert raised.value.code == code
    assert runner.list() == []


def test_queues_and_limits_of_the_configuration(
    store_url: str, tmp_path: Path, counted: Counted, caplog: pytest.LogCaptureFixture
) -> None:
    @task(limits=["disk"])
    def body(number: int) -> int:
        counted.work()
        return number

    @workflow(queue="nightly", limits=[Limit("declared", at_most=1)])
    def configured(number: int) -> int:
        return body(number)

    config = tmp_path / "turnout.toml"
    config.write_text(
        "[queues.nightly]\nmax_active_runs = 4\n[limits.declared]\nat_most = 5\n[limits.disk]\nat_most = 2\n"
    )
    with Runner(store_url, workflows=[configured], config=config) as runner:
        runs = [runner.submit(configured, number) for number in range(8)]
        assert [run.result(20) for run in runs] == list(range(8)) and counted.most <= 2
        found = {view.name: view.at_most for view in runner.core.store.limits()}
        assert found == {"queue:nightly": 4, "declared": 5, "disk": 2}


def test_a_limit_is_shared_by_two_runners(make_runner: Callable[..., Runner], counted: Counted) -> None:
    pair = threading.Barrier(2)

    @task
    def body(number: int) -> int:
        counted.work(meet=pair)
        return number

    @workflow(limits=[Limit("shared", at_most=2)])
    def shared(number: int) -> int:
        return body(number)

    runners = [make_runner(workflows=[shared]) for _ in range(2)]
    runs = [runners[number % 2].submit(shared, number) for number in range(12)]
    assert [run.result(60) for run in runs] == list(range(12)) and counted.most == 2


# -- child runs ---------------------------------------------------------------------------------------------------
def test_a_child_run_shares_the_slot_of_its_parent(runner: Runner, counted: Counted) -> None:
    one = Limit("family", at_most=1)

    @task
    def body(number: int) -> int:
        counted.work()
        return number

    @workflow(limits=[one])
    def inner(number: int) -> int:
        return body.options(limits=[one])(number)

    @workflow(limits=[one])
    def outer(numbers: list[int]) -> list[int]:
        return inner.map(numbers)

    runs = [runner.submit(outer, [1, 2, 3]) for _ in range(3)]
    assert [run.result(30) for run in runs] == [[1, 2, 3]] * 3 and counted.most == 1


def test_runs_that_wait_for_one_anothers_limits_say_so_until_one_is_cancelled(runner: Runner) -> None:
    both = threading.Barrier(2)

    @task
    def meet(number: int) -> int:
        both.wait(30)
        return number

    @task
    def body(number: int) -> int:
        return number

    @workflow(limits=[Limit("right", at_most=1)])
    def needs_right(number: int) -> int:
        return body(number)

    @workflow(limits=[Limit("left", at_most=1)])
    def holds_left(number: int) -> int:
        return needs_right(meet(number))

    @workflow(limits=[Limit("left", at_most=1)])
    def needs_left(number: int) -> int:
        return body(number)

    @workflow(limits=[Limit("right", at_most=1)])
    def holds_right(number: int) -> int:
        return needs_left(meet(number))

    first, second = runner.submit(holds_left, 1), runner.submit(holds_right, 2)
    store = runner.core.store
    until(lambda: len(store.limit_deadlocks().waiters) == 2)
    waiting = {
        each.name: each.deadlocked_with
        for run in store.runs(limit=10)
        for each in store.limits_of(run.new.run_id)
        if not each.held
    }
    assert waiting == {"right": [second.id], "left": [first.id]}
    assert first.id in store.limit_deadlocks().sentence()
    first.cancel()
    assert second.result(30) == 2
    assert not store.limit_deadlocks().waiters


def test_a_workflow_that_calls_another_of_the_same_queue_does_not_wait_for_itself(
    store_url: str, tmp_path: Path
) -> None:
    @task
    def body(number: int) -> int:
        return number + 1

    @workflow(queue="nightly", max_active_runs=1)
    def inner(number: int) -> int:
        return body(number)

    @workflow(queue="nightly", max_active_runs=1)
    def outer(number: int) -> int:
        return inner(inner(number))

    config = tmp_path / "turnout.toml"
    config.write_text("[queues.nightly]\nmax_active_runs = 1\n")
    with Runner(store_url, workflows=[outer], config=config) as runner:
        runs = [runner.submit(outer, number) for number in range(3)]
        assert [run.result(30) for run in runs] == [2, 3, 4]


@pytest.mark.parametrize("together", [True, False], ids=["one program", "two programs"])
def test_the_smallest_declared_size_holds_for_workflows_that_declare_more(
    make_runner: Callable[..., Runner], counted: Counted, caplog: pytest.LogCaptureFixture, together: bool
) -> None:
    @task
    def body() -> None:
        counted.work(0.05)

    @workflow(limits=[Limit("db", at_most=1)])
    def one() -> None:
        body()

    @workflow(limits=[Limit("db", at_most=3)])
    def three() -> None:
        body()

    if together:
        runner = make_runner(workflows=[one, three])
    else:
        make_runner(workflows=[one])
        runner = make_runner(workflows=[three])
    for run in [runner.submit(three) for _ in range(4)]:
        run.result(20)
    assert counted.most == 1
    said = [each.getMessage() for each in caplog.records if "different sizes" in each.getMessage()]
    assert len(said) == 1 and "1 at once by workflow 'one'; 3 at once by workflow 'three'" in said[0]


def test_a_priority_beyond_the_bound_of_all_others_is_refused(runner: Runner) -> None:
    @task
    def body() -> None: ...

    @workflow
    def urgent() -> None:
        body()

    with pytest.raises(InvalidInput) as raised:
        runner.submit_with(urgent, priority=1_001)
    assert raised.value.code == "bad_priority"
