"""A Runner runs workflows: submission, handles, results, and what can be seen of a run."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import pytest

from turnout import TaskInfo, TurnoutError, current_task, task, workflow
from turnout.errors import RunNotFound, StoreUnreachable, WaitTimedOut
from turnout.model.states import RUN_MOVES, TASK_MOVES, RunState, TaskState
from turnout.orchestration.commit_channels import CommitChannels

pytestmark = pytest.mark.timeout(60)


@task
def double(number: int) -> int:
    return 2 * number


@task
def add(one: int, other: int = 100) -> int:
    return one + other


@task
def order_of(name: str) -> dict[str, Any]:
    return {"name": name, "lines": [{"sku": "tea", "count": 3}, {"sku": "cup", "count": 1}]}


def test_a_run_returns_what_the_workflow_function_returns(runner):
    @workflow
    def arithmetic(number: int) -> int:
        return add(double(number), double(double(number)))

    assert runner.run(arithmetic, 3) == 6 + 12


def test_a_result_may_be_a_dict_or_a_list_of_task_results_and_parameters(sqlite_runner):
    @workflow
    def shaped(number: int, name: str = "ada") -> Any:
        doubled = double(number)
        return {"both": (doubled, double(doubled)), "given": {"name": name, "number": number}, "fixed": [1, "x", None]}

    assert sqlite_runner.run(shaped, 5) == {
        "both": [10, 20],
        "given": {"name": "ada", "number": 5},
        "fixed": [1, "x", None],
    }


def test_a_workflow_that_returns_nothing_gives_none(sqlite_runner):
    @workflow
    def quiet() -> None:
        double(1)

    assert sqlite_runner.run(quiet) is None


def test_arguments_are_taken_from_inside_results_and_parameters(sqlite_runner):
    @workflow
    def picks(customer: Any) -> Any:
        order = order_of(customer["name"])
        return [add(order["lines"][0]["count"], order.lines[-1]["count"]), order.name, customer.name]

    assert sqlite_runner.run(picks, {"name": "Ada"}) == [4, "Ada", "Ada"]


def test_parameters_may_be_given_by_name_and_have_defaults(sqlite_runner):
    @workflow
    def named(one: int, other: int = 7) -> int:
        return add(one, other=other)

    assert sqlite_runner.run(named, 1) == 8
    assert sqlite_runner.run(named, other=2, one=1) == 3


def test_options_and_names_of_a_call_do_not_touch_the_task(sqlite_runner):
    @workflow
    def several() -> Any:
        return [double(1), double(2), double.named("third")(3), double.options(priority=3)(4)]

    run = sqlite_runner.submit(several)
    assert run.result(20) == [2, 4, 6, 8]
    assert [each.name for each in run.tasks()] == ["double", "double-2", "third", "double-3"]


def test_after_orders_tasks_without_passing_data(runner):
    done: list[str] = []

    @task
    def first() -> str:
        done.append("first")
        return "ignored"

    @task
    def second(word: str) -> str:
        done.append("second")
        return word

    @workflow
    def ordered(word: str) -> str:
        return second.after(first())(word)

    assert runner.run(ordered, "hello") == "hello"
    assert done == ["first", "second"]


def test_a_task_called_outside_of_a_workflow_is_the_plain_function():
    assert double(4) == 8


def test_independent_tasks_run_at_the_same_time(sqlite_runner):
    together = threading.Barrier(4)

    @task
    def meet(number: int) -> int:
        together.wait(20)
        return number

    @workflow
    def meeting() -> Any:
        return [meet(number) for number in range(4)]

    assert sqlite_runner.run(meeting) == [0, 1, 2, 3]


def test_sync_and_async_bodies_run_side_by_side(runner):
    sync_runs, async_runs = threading.Event(), threading.Event()

    @task
    def in_a_thread() -> str:
        sync_runs.set()
        assert async_runs.wait(20)
        return "sync"

    @task
    async def on_a_loop() -> str:
        async_runs.set()
        assert await asyncio.to_thread(sync_runs.wait, 20)
        return "async"

    @workflow
    def both() -> Any:
        return [in_a_thread(), on_a_loop(), on_a_loop()]

    assert runner.run(both) == ["sync", "async", "async"]


def test_a_body_learns_about_its_attempt(runner):
    seen: list[TaskInfo] = []

    @task(retries=1)
    def told(word: str, info: TaskInfo) -> str:
        assert current_task() is info
        seen.append(info)
        if info.attempt == 1:
            raise ValueError("again")
        return word

    @workflow(package="pack")
    def informed(word: str) -> str:
        return told(word)

    run = runner.submit(informed, "hello")
    assert run.result(20) == "hello"
    first, second = seen
    assert first.run_id == run.id and first.task_name == "public::pack::informed::told"
    assert [first.attempt, second.attempt] == [1, 2] and second.max_attempts == 2
    assert first.idempotency_key == second.idempotency_key != ""
    assert first.token != second.token
    assert current_task() is None


def test_outputs_that_are_not_kept_in_memory_reach_tasks_and_results(runner):
    @task
    def write(size: int) -> dict[str, Any]:
        return {"text": "é" * size, "size": size}

    @task
    def measure(text: str, size: int) -> int:
        assert len(text) == size
        return size

    @workflow
    def large(size: int) -> Any:
        text = write(size)
        return {"text": text.text, "sizes": [measure(text["text"], text["size"]), measure(text.text, text.size)]}

    assert runner.run(large, 200_000) == {"text": "é" * 200_000, "sizes": [200_000, 200_000]}


def test_a_body_may_change_what_it_is_given_without_changing_it_for_others(sqlite_runner):
    @task
    def spoil(items: list[int]) -> int:
        items.clear()
        return 0

    @task
    def total(items: list[int]) -> int:
        return sum(items)

    @workflow
    def careful(items: Any) -> Any:
        spoiled = spoil(items)
        return total.after(spoiled)(items)

    assert sqlite_runner.run(careful, [1, 2, 3]) == 6


def test_a_handle_waits_and_tells_the_state(runner, gate):
    @task
    def held() -> int:
        gate.pass_through()
        return 1

    @workflow
    def holding() -> int:
        return held()

    run = runner.submit(holding)
    assert gate.reached()
    with pytest.raises(WaitTimedOut) as caught:
        run.wait(timeout=0.05)
    assert caught.value.code == "wait_timed_out" and run.id in str(caught.value)
    assert isinstance(caught.value, TimeoutError)
    status = run.status()
    assert (status.state, status.workflow, status.finished_at) == (RunState.RUNNING, "public::embedded::holding", None)
    [seen] = run.tasks()
    assert (seen.name, seen.state, seen.attempt, seen.executor) == ("held", TaskState.RUNNING, 1, "default")
    gate.open()
    assert run.wait(20) is RunState.COMPLETED
    assert run.result() == 1
    status = run.status()
    assert status.state is RunState.COMPLETED and status.owner is None
    assert status.created_at <= status.started_at <= status.finished_at


def test_a_task_tells_where_it_ran_and_why_and_when(sqlite_runner):
    @workflow
    def placed() -> int:
        return double(1)

    run = sqlite_runner.submit(placed)
    run.wait(20)
    [seen] = run.tasks()
    assert (seen.executor, seen.decision, seen.attempt) == ("default", "default executor", 1)
    assert seen.dispatched_at is not None and seen.started_at is not None and seen.finished_at is not None
    assert seen.started_at <= seen.finished_at


def test_the_history_of_a_run_holds_every_move_in_order_and_only_legal_ones(runner):
    @task(retries=2)
    def unsteady(info: TaskInfo) -> int:
        if info.attempt < 3:
            raise ValueError("not yet")
        return info.attempt

    @workflow
    def told() -> int:
        return double(unsteady())

    run = runner.submit(told)
    assert run.result(20) == 6
    history = run.history()
    times = [at for at, _ in history]
    rows = [row for _, row in history]
    assert times == sorted(times)
    assert [row.seq for row in rows] == sorted(row.seq for row in rows)
    moves = {pos: [(row.old, row.new) for row in rows if row.pos == pos] for pos in (-1, 0, 1)}
    assert moves[-1][0][0] is None and moves[-1][-1][1] == "completed"
    assert [new for _, new in moves[0]] == ["running", "ready", "running", "ready", "running", "completed"]
    assert [new for _, new in moves[1]] == ["running", "completed"]
    for pos, some in moves.items():
        legal = RUN_MOVES if pos == -1 else TASK_MOVES
        for old, new in some:
            assert old is None or new in legal[type(next(iter(legal)))(old)]
        for (_, before), (old, _) in pairwise(some):
            assert before == old


def test_many_runs_are_submitted_at_once_and_answer_in_order(runner):
    @workflow
    def doubled(number: int) -> int:
        return double(number)

    handles = runner.submit_many(doubled, [{"number": number} for number in range(50)])
    assert [handle.result(20) for handle in handles] == [2 * number for number in range(50)]
    assert len({handle.id for handle in handles}) == 50
    assert runner.submit_many(doubled, []) == []


def test_runs_may_be_submitted_from_many_threads(runner):
    results: dict[int, int] = {}

    @workflow
    def doubled(number: int) -> int:
        return double(number)

    def work(number: int) -> None:
        results[number] = runner.run(doubled, number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert results == {number: 2 * number for number in range(16)}


def test_a_run_is_found_again_by_its_id(runner):
    @workflow
    def doubled(number: int) -> int:
        return double(number)

    first = runner.submit(doubled, 4)
    first.wait(20)
    again = runner.get(first.id)
    assert again.result(20) == 8
    assert again.status() == first.status()


def test_an_unknown_run_is_an_error_that_names_it(runner):
    for unknown in ("00000000-0000-7000-8000-000000000000", "nonsense"):
        with pytest.raises(RunNotFound) as caught:
            runner.get(unknown)
        assert caught.value.code == "run_not_found" and unknown in str(caught.value)


def test_a_wide_run_completes(runner):
    @task
    def total(numbers: list[int]) -> int:
        return sum(numbers)

    @workflow
    def wide() -> int:
        first = double(0)
        return total([double.after(first)(number) for number in range(300)])

    assert runner.run(wide) == sum(2 * number for number in range(300))


def test_a_workflow_of_one_thousand_steps_in_a_row_completes(make_sqlite_runner):
    @workflow
    def deep() -> int:
        value = add(0, 1)
        for _ in range(999):
            value = add(value, 1)
        return value

    assert make_sqlite_runner().run(deep) == 1000


def test_a_closed_runner_says_so(make_runner):
    @workflow
    def doubled(number: int) -> int:
        return double(number)

    runner = make_runner()
    runner.close()
    runner.close()
    with pytest.raises(TurnoutError) as caught:
        runner.submit(doubled, 1)
    assert caught.value.code == "runner_closed"


def test_who_waits_for_a_run_is_told_when_the_runner_closes(make_runner, gate):
    @task(retries=1, retry_delay="1h")
    def fails() -> None:
        gate.entered.set()
        raise ValueError("later")

    @workflow
    def waiting() -> None:
        fails()

    runner = make_runner()
    run = runner.submit(waiting)
    assert gate.reached()
    runner.close()
    with pytest.raises(TurnoutError) as caught:
        run.result(20)
    assert caught.value.code == "runner_closed"


def test_who_submits_is_answered_when_the_runner_closes_before_the_database_has_answered(make_runner, monkeypatch):
    @workflow
    def doubled(number: int) -> int:
        return double(number)

    runner = make_runner()
    runner.run(doubled, 1)
    asked, answer = threading.Event(), threading.Event()
    commit = runner._core.store.commit

    def slow(*args, **kwargs):
        asked.set()
        answer.wait(20)
        return commit(*args, **kwargs)

    monkeypatch.setattr(runner._core.store, "commit", slow)
    monkeypatch.setattr(CommitChannels, "send", lambda *_: False)
    with ThreadPoolExecutor(1) as pool:
        submitting = pool.submit(runner.submit, doubled, 2)
        assert asked.wait(20)
        runner.close(timeout=0.1)
        with pytest.raises(StoreUnreachable, match="whether the run was stored will show"):
            submitting.result(20)
        answer.set()


def test_a_run_lives_in_memory_if_that_is_asked_for(make_sqlite_runner):
    @workflow
    def doubled(number: int) -> int:
        return double(number)

    assert make_sqlite_runner("sqlite:///:memory:").run(doubled, 21) == 42


def test_the_graph_can_be_drawn(sqlite_runner):
    @workflow
    def drawn(number: int) -> int:
        return add(double(number), double(number))

    lines = sqlite_runner.draw(drawn).splitlines()
    assert [line.split()[0] for line in lines] == ["double", "double-2", "add"]


def test_the_full_name_carries_tenant_and_package(make_runner):
    @workflow(package="shop")
    def doubled(number: int) -> int:
        return double(number)

    runner = make_runner(tenant="acme")
    run = runner.submit(doubled, 1)
    run.wait(20)
    assert run.status().workflow == "acme::shop::doubled"


def test_the_handles_of_a_closed_runner_say_so_instead_of_waiting(make_runner, gate):
    @task
    def held() -> None:
        gate.pass_through()

    @workflow
    def holding() -> None:
        held()

    runner = make_runner()
    run = runner.get(runner.submit(holding).id)
    assert gate.reached()
    runner.close(timeout=0.1)
    for ask in (run.result, run.wait, run.cancel, run.pause, run.resume):
        with pytest.raises(TurnoutError) as caught:
            ask()
        assert caught.value.code == "runner_closed"
