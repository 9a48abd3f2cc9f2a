"""Fan-out at run time, on a real Runner and both databases."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.conftest import Gate
from turnout import (
    Branch,
    Defer,
    RoutingConfig,
    RoutingRule,
    Runner,
    TaskInfo,
    context_value,
    shell,
    task,
    task_failed,
    workflow,
)
from turnout.errors import RunCancelled, RunFailed, RunTimedOut
from turnout.executors.thread import ThreadExecutor
from turnout.model.verdict import Limits
from turnout.runner import EngineSettings, Poller
from turnout.testing import inline, run_inline


@task
def numbers(count: int) -> list[int]:
    return list(range(count))


@task
def double(number: int) -> int:
    return 2 * number


@task
def scale(number: int, rate: int, offset: int = 0) -> int:
    return number * rate + offset


@task
def total(values: list[int]) -> int:
    return sum(values)


@task
def even_only(number: int) -> int:
    if number % 2:
        raise ValueError(f"{number} is odd")
    return number


def limited(**limits: Any) -> EngineSettings:
    return EngineSettings(stop_grace=1.0, limits=Limits(**limits))


# -- results ----------------------------------------------------------------------------------------------------------
def test_a_list_that_a_task_returned_is_mapped_and_collected_in_order(runner: Runner) -> None:
    @workflow
    def flow(count: int) -> Any:
        doubled = double.map(numbers(count))
        return {"sum": total(doubled), "all": doubled, "third": doubled[2]}

    assert runner.run(flow, 5) == {"sum": 20, "all": [0, 2, 4, 6, 8], "third": 4}


def test_lists_are_gone_through_side_by_side_with_fixed_arguments(runner: Runner) -> None:
    @workflow
    def flow(count: int, rates: list[int], offset: int) -> Any:
        return scale.partial(offset=offset).map(numbers(count), rate=rates)

    assert runner.run(flow, 3, [1, 10, 100], 5) == [5, 15, 205]


def test_lists_may_be_written_out_and_hold_results(runner: Runner) -> None:
    @workflow
    def flow(count: int) -> Any:
        return double.map([double(count), 1, double(count)])

    assert runner.run(flow, 4) == [16, 2, 16]


def test_an_empty_list_gives_an_empty_list(runner: Runner) -> None:
    @workflow
    def flow(items: list[int]) -> Any:
        first = double.map(items)
        return [first, double.map(first), total(first)]

    run = runner.submit(flow, [])
    assert run.result() == [[], [], 0]
    assert {view.state for view in run.tasks()} == {"completed"}


def test_maps_of_maps_and_of_parts_of_maps(runner: Runner) -> None:
    @workflow
    def flow(counts: list[int]) -> Any:
        lists = numbers.map(counts)
        return {"totals": double.map(total.map(lists)), "last": double.map(lists[1])}

    assert runner.run(flow, [2, 3]) == {"totals": [2, 6], "last": [0, 2, 4]}


def test_an_item_knows_which_one_it_is_and_has_keys_of_its_own(runner: Runner) -> None:
    @task
    def which(letter: str, info: TaskInfo) -> list[Any]:
        return [letter, info.index, info.task_name.rpartition("::")[2], info.idempotency_key]

    @workflow
    def flow() -> Any:
        return which.map(["a", "b"])

    first, second = runner.run(flow)
    assert (first[:3], second[:3]) == (["a", 0, "which"], ["b", 1, "which"])
    assert first[3] != second[3]


def test_bodies_may_change_what_they_are_given(runner: Runner) -> None:
    @task
    def lists() -> list[list[int]]:
        return [[1], [2]]

    @task
    def append(to: list[int], shared: list[int]) -> list[int]:
        to.append(0)
        shared.append(len(shared))
        return [*to, *shared]

    @workflow
    def flow(shared: list[int]) -> Any:
        made = lists()
        return [append.partial(shared=shared).map(made), append.partial(shared=shared).map([[3], [4]]), made]

    assert runner.run(flow, []) == [[[1, 0, 0], [2, 0, 0]], [[3, 0, 0], [4, 0, 0]], [[1], [2]]]


def test_large_lists_and_large_items_are_read_from_the_store(make_runner: Callable[..., Runner]) -> None:
    runner = make_runner(settings=limited(inline_output=10))

    @task
    def pages(count: int) -> list[str]:
        return [str(n) * 100 for n in range(count)]

    @task
    def shout(page: str) -> str:
        return page + "!"

    @task
    def late(count: int) -> int:
        return count

    @workflow
    def flow(count: int, words: list[str]) -> Any:
        made = pages(count)
        waits = shout.after(late(late(count))).map(made)
        return [waits, shout.map(shout.map(made)), shout.map(words)]

    made = [str(n) * 100 for n in range(3)]
    words = ["word" * 100, "other" * 100]
    assert runner.run(flow, 3, words) == [
        [page + "!" for page in made],
        [page + "!!" for page in made],
        [word + "!" for word in words],
    ]


def test_what_is_collected_is_not_bound_by_the_limit_of_an_output(make_runner: Callable[..., Runner]) -> None:
    runner = make_runner(max_output_bytes=2_000)

    @task
    def page(number: int) -> str:
        return str(number) * 1_000

    @task
    def length(pages: list[str]) -> int:
        return sum(map(len, pages))

    @workflow
    def flow() -> Any:
        pages = page.map([1, 2, 3, 4, 5])
        return [length(pages), pages]

    assert runner.run(flow) == [5_000, [str(n) * 1_000 for n in range(1, 6)]]


def test_the_collected_list_is_stored_once(
    runner: Runner, store_url: str, query: Callable[..., list[tuple[Any, ...]]]
) -> None:
    @workflow
    def flow() -> Any:
        return double.map([3, 4])

    run = runner.submit(flow)
    assert run.result() == [6, 8]
    rows = query(store_url, "select name, output, item_of, item_index from task order by pos")
    assert rows == [("double", "2", None, None), ("double[0]", "6", 0, 0), ("double[1]", "8", 0, 1)]


def test_views_say_whose_items_they_are(runner: Runner) -> None:
    @workflow
    def flow() -> Any:
        return double.map([1])

    run = runner.submit(flow)
    run.wait()
    assert [(view.name, view.group, view.index) for view in run.tasks()] == [
        ("double", None, None),
        ("double[0]", "double", 0),
    ]
    assert runner.explain(flow)["double"].text().startswith("public::embedded::flow::double[…] → default")


def test_items_are_routed_by_their_tasks_name_and_keep_their_decision(make_runner: Callable[..., Runner]) -> None:
    rule = RoutingRule("**::double", "gpu")
    runner = make_runner(
        routing=RoutingConfig("default", (rule,)), executors={"gpu": ThreadExecutor(threads=2, name="gpu")}
    )

    @workflow
    def flow(count: int) -> Any:
        return double.map(numbers(count))

    run = runner.submit(flow, 3)
    assert run.result() == [0, 2, 4]
    assert {view.name: view.executor for view in run.tasks()} == {
        "numbers": "default",
        "double": None,
        "double[0]": "gpu",
        "double[1]": "gpu",
        "double[2]": "gpu",
    }


# -- failures ---------------------------------------------------------------------------------------------------------
def test_a_failed_item_fails_the_run_after_the_others_have_ended(runner: Runner) -> None:
    @workflow
    def flow() -> Any:
        return total(even_only.map([0, 1, 2, 3]))

    run = runner.submit(flow)
    with pytest.raises(RunFailed, match=r"2 of 4 items failed: even_only\[1\], even_only\[3\]"):
        run.result()
    states = {view.name: view.state for view in run.tasks()}
    assert states == {
        "even_only": "failed",
        "total": "skipped",
        "even_only[0]": "completed",
        "even_only[1]": "failed",
        "even_only[2]": "completed",
        "even_only[3]": "failed",
    }
    assert run.status().reason == "task_failed:even_only"


def test_return_exceptions_gives_values_in_place_of_failed_items(runner: Runner) -> None:
    @workflow
    def flow() -> Any:
        return even_only.map([0, 1, 2], return_exceptions=True)

    assert runner.run(flow) == [0, {"type": "ValueError", "message": "1 is odd"}, 2]


def test_a_failed_map_can_be_handled_and_a_rule_can_look_into_one(runner: Runner) -> None:
    @task
    def mend(nothing: None) -> str:
        return "mended"

    @workflow
    def flow() -> Any:
        failed = even_only.map([1])
        fine = even_only.map([0, 2])
        seen = double.options(trigger_rule=context_value("even_only-2", "contains", 2)).after(fine)(21)
        return [mend.options(trigger_rule=task_failed(failed))(failed), seen]

    assert runner.run(flow) == ["mended", 42]


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ([1, 2, 3], [1], "its lists have unequal lengths: list 1 has 3, 'rate' has 1"),
        (list(range(9)), list(range(9)), r"9 items are more than the limit of 8"),
        ({"a": 1}, [1], "list 1 is a value of type dict"),
    ],
)
def test_lists_that_do_not_fit_fail_the_run_and_say_why(
    make_runner: Callable[..., Runner], first: Any, second: list[int], said: str
) -> None:
    runner = make_runner(settings=limited(map_items=8))

    @workflow
    def flow(first: Any, second: list[int]) -> Any:
        return scale.map(first, rate=second)

    with pytest.raises(RunFailed, match=said):
        runner.run(flow, first, second)


def test_items_are_retried_one_by_one(runner: Runner) -> None:
    @task(retries=1)
    def shaky(number: int, info: TaskInfo) -> int:
        if number % 3 == 0 and info.attempt == 1:
            raise ConnectionError("once")
        return number

    @workflow
    def flow() -> Any:
        return shaky.map([0, 1, 2, 3])

    run = runner.submit(flow)
    assert run.result() == [0, 1, 2, 3]
    assert [view.attempt for view in run.tasks()] == [1, 2, 1, 1, 2]


def test_ten_thousand_items_of_which_one_percent_fail_once(runner: Runner) -> None:
    failed: set[int] = set()

    @task(retries=1)
    def square(number: int) -> int:
        # Not by the attempt's number: an attempt that was handed back before it began has one too.
        if number % 100 == 7 and number not in failed:
            failed.add(number)
            raise ConnectionError("once")
        return number * number

    @workflow
    def flow(count: int) -> Any:
        return square.map(numbers(count))

    run = runner.submit(flow, 10_000)
    assert run.result(250) == [n * n for n in range(10_000)]
    views = run.tasks()
    assert len(failed) == 100
    assert all(view.attempt > 1 for view in views if view.name in {f"square[{number}]" for number in failed})
    assert len(views) == 10_002


# -- what else tasks can do -------------------------------------------------------------------------------------------
def test_a_hook_of_a_mapped_task_is_told_of_the_whole(runner: Runner) -> None:
    told: list[Any] = []

    def tell(outcome: dict[str, Any]) -> None:
        told.append(outcome["output"] or outcome["error"]["type"])

    @task(on_success=tell, on_failure=tell)
    def halved(number: int) -> int:
        return even_only(number) // 2

    @workflow
    def flow(items: list[int]) -> Any:
        return halved.map(items)

    assert runner.run(flow, [2, 4]) == [1, 2]
    with pytest.raises(RunFailed):
        runner.run(flow, [2, 3])
    assert told == [[1, 2], "ItemsFailed"]


def test_an_item_may_put_itself_off_and_finds_what_it_saved(runner: Runner) -> None:
    @task
    def patient(number: int, info: TaskInfo) -> int:
        if info.saved is None:
            raise Defer(seconds=0.01, save=number * 10)
        return info.saved

    @workflow
    def flow() -> Any:
        return patient.map([1, 2, 3], max_parallel=1)

    assert runner.run(flow) == [10, 20, 30]


def test_an_item_cannot_choose_a_branch(runner: Runner) -> None:
    @task
    def chooses(number: int) -> Any:
        return Branch("total")

    @workflow
    def flow() -> Any:
        return total(chooses.map([1]))

    with pytest.raises(RunFailed, match="an item of a mapped task returned a Branch"):
        runner.run(flow)


def test_a_branch_can_leave_a_map_out(runner: Runner) -> None:
    @task
    def chooses(many: bool) -> Any:
        return Branch("double" if many else "numbers")

    @workflow
    def flow(many: bool) -> Any:
        first = chooses(many)
        return [double.after(first).map([1, 2]), numbers.after(first)(1)]

    assert runner.run(flow, True) == [[2, 4], None]
    assert runner.run(flow, False) == [None, [0]]


def test_commands_can_be_mapped(runner: Runner) -> None:
    @workflow
    def flow(words: list[str]) -> Any:
        return shell(["echo", "{word}"]).map(word=words)

    assert [each["stdout"] for each in runner.run(flow, ["one", "two"])] == ["one\n", "two\n"]


# -- limits and pipes -------------------------------------------------------------------------------------------------
def test_no_more_than_max_parallel_items_run_at_once(make_runner: Callable[..., Runner]) -> None:
    runner = make_runner(executors={"default": ThreadExecutor(threads=8)})
    lock, running, most = threading.Lock(), 0, 0
    both = threading.Barrier(2)

    @task
    def watched(number: int) -> int:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        both.wait(20)  # two at a time must be there, or nobody goes on
        with lock:
            running -= 1
        return number

    @workflow
    def flow() -> Any:
        return watched.map(list(range(10)), max_parallel=2)

    assert runner.run(flow) == list(range(10))
    assert most == 2


def test_an_item_goes_on_while_others_of_the_map_before_it_still_run(
    make_runner: Callable[..., Runner], gate: Gate
) -> None:
    runner = make_runner(executors={"default": ThreadExecutor(threads=4)})
    followed = threading.Event()

    @task
    def first(number: int) -> int:
        if number == 0:
            gate.pass_through()
        return number

    @task
    def second(number: int) -> int:
        followed.set()
        return number + 10

    @workflow
    def flow() -> Any:
        return second.map(first.map([0, 1]))

    run = runner.submit(flow)
    assert gate.reached() and followed.wait(20)
    gate.open()
    assert run.result() == [10, 11]


# -- control ----------------------------------------------------------------------------------------------------------
def test_cancelling_in_the_middle_of_a_map_ends_all_of_it(make_runner: Callable[..., Runner], gate: Gate) -> None:
    runner = make_runner(executors={"default": ThreadExecutor(threads=2)})

    @task
    def wait(number: int) -> int:
        gate.pass_through()
        return number

    @workflow
    def flow() -> Any:
        return total(wait.map(list(range(50))))

    run = runner.submit(flow)
    assert gate.reached()
    run.cancel("enough")
    gate.open()
    with pytest.raises(RunCancelled, match="enough"):
        run.result()
    states = {view.name: view.state for view in run.tasks()}
    assert (states["wait"], states["total"]) == ("cancelled", "cancelled")
    assert set(states.values()) <= {"completed", "cancelled"}


def test_a_run_timeout_ends_a_map(make_runner: Callable[..., Runner]) -> None:
    runner = make_runner(settings=EngineSettings(stop_grace=1.0, cancel_grace=0.2))
    forever = threading.Event()

    @task
    async def wait(number: int) -> int:
        while not forever.is_set():
            await asyncio.sleep(0.01)
        return number

    @workflow
    def flow() -> Any:
        return wait.map([1, 2])

    run = runner.submit_with(flow, timeout=0.2)
    try:
        with pytest.raises(RunTimedOut):
            run.result(30)
    finally:
        forever.set()
    assert {view.state for view in run.tasks()} == {"cancelled"}


def test_a_paused_map_starts_nothing_until_it_is_resumed(
    make_runner: Callable[..., Runner], gate: Gate, until: Callable[..., None]
) -> None:
    runner = make_runner(executors={"default": ThreadExecutor(threads=1)})
    started: list[int] = []

    @task
    def wait(number: int) -> int:
        started.append(number)
        gate.pass_through()
        return number

    @workflow
    def flow() -> Any:
        return wait.map([0, 1, 2], max_parallel=1)

    run = runner.submit(flow)
    assert gate.reached()
    run.pause()
    gate.open()
    until(lambda: [view.state for view in run.tasks()].count("completed") == 1, "the first item has ended")
    assert started == [0]
    run.resume()
    assert run.result() == [0, 1, 2]


# -- reruns, pollers, several Runners ---------------------------------------------------------------------------------
def test_a_rerun_reuses_a_completed_map_with_its_items(runner: Runner) -> None:
    broken = threading.Event()
    broken.set()
    calls: list[int] = []

    @task
    def counted(number: int) -> int:
        calls.append(number)
        if number == 1:
            raise ValueError("one")
        return number

    @task
    def last(values: list[Any]) -> list[Any]:
        if broken.is_set():
            raise RuntimeError("not yet")
        return values

    @workflow
    def flow() -> Any:
        kept = counted.map([0, 1, 2], return_exceptions=True)
        return [last(kept), double.map([5])]

    run = runner.submit(flow)
    with pytest.raises(RunFailed):
        run.result()
    broken.clear()
    again = run.rerun()
    assert again.result() == [[0, {"type": "ValueError", "message": "one"}, 2], [10]]
    assert sorted(calls) == [0, 1, 2]
    assert {view.name for view in again.tasks() if (view.reason or "").startswith("reused:")} == {
        "counted",
        "counted[0]",
        "counted[1]",
        "counted[2]",
        "double",
        "double[0]",
    }
    from_map = run.rerun(from_task="counted")
    assert from_map.result() == [[0, {"type": "ValueError", "message": "one"}, 2], [10]]
    assert sorted(calls) == [0, 0, 1, 1, 2, 2]


def test_a_failed_map_runs_again_as_a_whole(runner: Runner) -> None:
    broken = threading.Event()
    broken.set()

    @task
    def shaky(number: int) -> int:
        if number == 1 and broken.is_set():
            raise ValueError("one")
        return number

    @workflow
    def flow(count: int) -> Any:
        return double.map(shaky.map(numbers(count)))

    run = runner.submit(flow, 3)
    with pytest.raises(RunFailed):
        run.result()
    broken.clear()
    assert run.rerun().result() == [0, 2, 4]


@pytest.mark.parametrize("limit", [None, 2])
def test_items_are_left_to_pollers(make_runner: Callable[..., Runner], store_url: str, limit: int | None) -> None:
    @workflow
    def flow(count: int, rates: list[int]) -> Any:
        made = numbers(count)
        first = scale.partial(offset=1).map(made, rates, max_parallel=limit)
        return [total(first), double.map(first), even_only.map(made, return_exceptions=True)]

    runner = make_runner(dispatcher=None)
    with Poller(store_url, workflows=[flow], poll=0.05):
        assert runner.run(flow, 5, [1, 2, 3, 4, 5]) == [
            45,
            [2, 6, 14, 26, 42],
            [0, {"type": "ValueError", "message": "1 is odd"}, 2, {"type": "ValueError", "message": "3 is odd"}, 4],
        ]


def test_another_runner_goes_on_with_a_map_whose_owner_left(make_runner: Callable[..., Runner], gate: Gate) -> None:
    @task
    def wait(number: int) -> int:
        gate.pass_through()
        return number

    @workflow
    def flow(count: int) -> Any:
        return double.map(wait.map(numbers(count), max_parallel=2))

    settings = EngineSettings(stop_grace=0.2, sweep=0.1)
    one = make_runner(workflows=[flow], settings=settings)
    run = one.submit(flow, 5)
    assert gate.reached()
    one.close(0.2)
    other = make_runner(workflows=[flow], settings=settings)
    gate.open()
    assert other.get(run.id).result(30) == [0, 2, 4, 6, 8]


# -- in tests ---------------------------------------------------------------------------------------------------------
def test_maps_run_inline_as_they_run_durably() -> None:
    @workflow
    def flow(count: int) -> Any:
        doubled = double.map(numbers(count), max_parallel=2)
        return {"sum": total(doubled), "all": scale.partial(rate=10).map(doubled), "some": double.map(doubled[1])}

    fakes = {double: lambda number: [number], total: lambda values: len(values), scale: lambda number, rate: number}
    assert run_inline(flow, 3, fakes=fakes) == {"sum": 3, "all": [[0], [1], [2]], "some": [[1]]}
    plain = inline(mapped_twice, 3)
    assert plain.result() == [0, 4, 8]
    assert (plain.tasks["double"].output, plain.tasks["double[2]"].output) == ([0, 2, 4], 4)


@workflow
def mapped_twice(count: int) -> Any:
    return double.map(double.map(numbers(count)))
