"""Child runs on both stores: how they start, end, fail, are stopped, and what their parent sees."""

from __future__ import annotations

from typing import Any

import pytest

from turnout import Context, Runner, TaskInfo, Workflow, current_task, task, task_failed, workflow
from turnout.errors import RunCancelled, RunFailed, RunTimedOut, WaitTimedOut
from turnout.model.children import child_run_id
from turnout.model.states import RunState
from turnout.model.verdict import Limits
from turnout.runner import EngineSettings, RunHandle

pytestmark = pytest.mark.timeout(90)


@task
def double(number: int) -> int:
    return 2 * number


@workflow
def quadruple(number: int) -> int:
    return double(double(number))


def only_child(runner: Runner, run: RunHandle[Any]) -> RunHandle[Any]:
    [child] = run.children()
    return runner.get(child.id)


def failure(run: RunHandle[Any]) -> Any:
    """The single failure of a run that failed."""
    with pytest.raises(RunFailed) as caught:
        run.result(30)
    [one] = caught.value.fields["failures"]
    return one


# -- it works --------------------------------------------------------------------------------------------------------
def test_a_child_gets_its_arguments_and_gives_its_result(runner, query, store_url):
    @workflow
    def parent(number: int) -> dict[str, int]:
        first = quadruple(number)
        return {"first": first, "second": quadruple(number=double(first))}

    run = runner.submit(parent, 1)
    assert run.result(30) == {"first": 4, "second": 32}
    first, second = run.children()
    assert {first.workflow, second.workflow} == {"public::embedded::quadruple"}
    assert first.parent_run == second.parent_run == run.id
    seen = {each.name: each for each in run.tasks()}
    child = child_run_id(run.id, 0, 1)
    assert (seen["quadruple"].executor, seen["quadruple"].decision) == ("child", f"child run {child}")
    assert child in {first.id, second.id}
    assert query(store_url, "select count(*) from inbox") == [(0,)], "what was taken is gone"


def test_children_of_children(runner):
    @workflow
    def middle(number: int) -> int:
        return quadruple(quadruple(number))

    @workflow
    def top(number: int) -> list[int]:
        return [middle(number), middle(double(number))]

    run = runner.submit(top, 1)
    assert run.result(30) == [16, 32]
    for child in run.children():
        assert len(runner.get(child.id).children()) == 2


def test_large_values_go_in_and_come_out(runner):
    @task
    def long(text: str) -> str:
        return text * 2

    @workflow
    def inner(text: str) -> str:
        return long(text)

    @task
    def length(text: str) -> int:
        return len(text)

    @workflow
    def outer(text: str) -> int:
        return length(inner(long(text)))

    assert runner.run(outer, "x" * 50_000) == 200_000


def test_a_child_run_for_each_item_of_a_list(runner):
    @task
    def numbers(count: int) -> list[int]:
        return list(range(count))

    @workflow
    def mapped(count: int) -> list[int]:
        return quadruple.map(quadruple.map(numbers(count)), max_parallel=3)

    run = runner.submit(mapped, 7)
    assert run.result(60) == [16 * number for number in range(7)]
    assert len(run.children()) == 14
    assert runner.run(mapped, 0) == []


def test_items_that_fail_are_tried_again_or_told_apart(runner):
    failures: list[int] = []

    @task
    def odd_once(number: int) -> int:
        if number % 2 and number not in failures:
            failures.append(number)
            raise ConnectionError("once")
        if number == 4:
            raise ValueError("never")
        return number

    @workflow
    def inner(number: int, by: int) -> int:
        return times(odd_once(number), by)

    @task
    def times(number: int, by: int) -> int:
        return number * by

    @workflow
    def mapped() -> list[Any]:
        return inner.options(retries=1).partial(by=10).map([1, 2, 3, 4], return_exceptions=True)

    run = runner.submit(mapped)
    *fine, failed = run.result(60)
    assert fine == [10, 20, 30]
    assert "ValueError: never" in failed["message"]
    assert len(run.children()) == 7, "1, 3 and 4 were tried twice"


def test_cancelling_a_run_cancels_the_children_of_all_items(runner, waiting, gate, until):
    @workflow
    def mapped() -> list[str]:
        return waits_for.map([1, 2, 3])

    @workflow
    def waits_for(number: int) -> str:
        return waiting.after(double(number))()

    run = runner.submit(mapped)
    until(lambda: len(run.children()) == 3, "all items have their child")
    run.cancel()
    assert run.wait(30) is RunState.CANCELLED
    assert {child.state for child in run.children()} == {"cancelled"}


def test_a_child_in_context_style(runner):
    @task
    def extract(context: Context) -> None:
        context["rows"] = [context["start"], 2]

    @task(depends_on=[extract])
    def total(context: Context) -> dict[str, int]:
        return {"total": sum(context["rows"])}

    etl = Workflow("etl", tasks=[extract, total])

    @workflow
    def report(start: int) -> int:
        return double(etl({"start": start}).total)

    assert runner.run(report, 5) == 14


def test_a_parent_in_context_style_shares_its_context_with_its_children(runner):
    @task
    def begin(context: Context) -> None:
        context["number"] = 3
        context["other"] = "kept"

    @workflow
    def named(number: int) -> dict[str, int]:
        return {"quadrupled": double(double(number))}

    @task
    def note(context: Context) -> None:
        context["noted"] = sorted(context)

    notes = Workflow("notes", tasks=[note])
    flow = Workflow("shared", tasks=[begin, named.options(depends_on=[begin]), notes.options(depends_on=["named"])])
    assert runner.run(flow) == {
        "number": 3,
        "other": "kept",
        "quadrupled": 12,
        "noted": ["number", "other", "quadrupled"],
    }


def test_a_child_needs_no_executor_place_and_does_not_inherit_a_selector(make_runner):
    from turnout.executors.thread import ThreadExecutor

    @workflow(worker_selector="local")
    def pinned(number: int) -> int:
        return quadruple(number)

    runner = make_runner(executors={"default": ThreadExecutor(threads=1)})
    runs = [runner.submit(pinned, number) for number in range(20)]
    assert [run.result(30) for run in runs] == [4 * number for number in range(20)]
    child = only_child(runner, runs[0])
    assert {each.decision for each in child.tasks()} == {"default executor"}


def test_parents_that_fill_the_orchestrator_do_not_keep_their_children_out(make_runner):
    @workflow
    def middle(number: int) -> int:
        return quadruple(quadruple(number))

    @workflow
    def parent(number: int) -> int:
        return middle(number)

    runner = make_runner(settings=EngineSettings(max_owned_runs=3, stop_grace=1.0, sweep=0.1))
    runs = [runner.submit(parent, number) for number in range(10)]
    assert [run.result(60) for run in runs] == [16 * number for number in range(10)]


def test_routes_of_children_are_explained_and_validated(make_runner):
    from turnout import RoutingConfig, RoutingRule

    @workflow
    def parent() -> int:
        return quadruple(1)

    runner = make_runner(routing=RoutingConfig("default", (RoutingRule("**::quadruple::*", "default"),)))
    [explained] = runner.explain(parent).values()
    assert explained.decision.executor_key == "child"
    assert "child run of public::embedded::quadruple" in explained.text()
    assert runner.run(parent) == 4


# -- it fails --------------------------------------------------------------------------------------------------------
@task
def fail(message: str) -> None:
    raise ValueError(message)


@workflow
def failing(message: str) -> None:
    fail(message)


def test_the_failure_of_a_child_fails_its_parent_with_the_childs_error(runner):
    @workflow
    def parent() -> None:
        failing("no money")

    run = runner.submit(parent)
    one = failure(run)
    child = only_child(runner, run)
    assert (one.task, one.type, one.code) == ("failing", "RunFailed", "child_failed")
    assert child.id in one.message and "task_failed:fail" in one.message and "ValueError: no money" in one.message
    assert "raise ValueError(message)" in one.traceback
    [seen] = run.tasks()
    assert (seen.reason, child.status().state) == ("child_failed", RunState.FAILED)


def test_a_trigger_rule_handles_the_failure_of_a_child(runner):
    @task
    def apologise() -> str:
        return "sorry"

    @workflow
    def parent() -> str:
        failed = failing("no")
        return apologise.after(failed).options(trigger_rule=task_failed(failed))()

    assert runner.run(parent) == "sorry"


def test_a_retry_runs_the_child_again_from_its_failures(runner):
    calls: list[str] = []

    @task
    def prepare() -> int:
        calls.append("prepare")
        return 1

    @task
    def flaky(number: int) -> int:
        calls.append("flaky")
        if calls.count("flaky") < 3:
            raise ConnectionError("try again")
        return number + 1

    @workflow
    def inner() -> int:
        return flaky(prepare())

    @workflow
    def outer() -> int:
        return double(inner.options(retries=2)())

    run = runner.submit(outer)
    assert run.result(30) == 4
    assert calls == ["prepare", "flaky", "flaky", "flaky"]
    children = run.children()
    assert [child.state for child in children] == ["failed", "failed", "completed"]
    assert [child.rerun_of for child in children] == [None, children[0].id, children[1].id]


def test_retry_on_sees_the_childs_exception(runner):
    @workflow
    def outer() -> None:
        failing.options(retries=3, retry_on=KeyError)("no")

    run = runner.submit(outer)
    failure(run)
    assert len(run.children()) == 1

    @workflow
    def other() -> None:
        failing.options(retries=1, retry_on=ValueError)("no")

    run = runner.submit(other)
    failure(run)
    assert len(run.children()) == 2


def test_a_rerun_of_the_parent_runs_its_child_from_the_failures(runner):
    calls: list[str] = []

    @task
    def steady() -> int:
        calls.append("steady")
        return 1

    @task
    def once_broken(number: int) -> int:
        calls.append("once_broken")
        if calls.count("once_broken") == 1:
            raise ValueError("no")
        return number

    @workflow
    def inner() -> int:
        return once_broken(steady())

    @workflow
    def outer() -> int:
        return double(inner())

    run = runner.submit(outer)
    failure(run)
    again = run.rerun()
    assert again.result(30) == 2
    assert calls == ["steady", "once_broken", "once_broken"]
    assert only_child(runner, again).status().rerun_of == only_child(runner, run).id


def test_a_childs_input_is_checked_like_a_submission_and_its_error_is_not_tried_again(runner):
    @task
    def nothing() -> dict[str, int]:
        return {}

    @workflow
    def outer() -> Any:
        return quadruple.options(retries=3)(nothing().missing)

    run = runner.submit(outer)
    one = failure(run)
    assert one.code == "child_input" and "cannot start" in one.message and "'missing'" in one.message
    assert (one.attempts, run.children()) == (1, [])

    inner = Workflow("context_only", tasks=[nothing])

    @workflow
    def wrong() -> Any:
        return inner(double(1))

    one = failure(runner.submit(wrong))
    assert one.code == "child_input" and "takes one dict" in one.message


def test_a_childs_result_that_cannot_be_found_fails_its_task(runner):
    @task
    def nothing() -> dict[str, int]:
        return {}

    @workflow
    def inner() -> Any:
        return nothing().missing

    @workflow
    def outer() -> Any:
        return inner()

    one = failure(runner.submit(outer))
    assert one.code == "child_result" and "'missing'" in one.message


def test_children_nest_no_deeper_than_the_limit(make_runner):
    @workflow
    def second(number: int) -> int:
        return quadruple(number)

    @workflow
    def first(number: int) -> int:
        return second(number)

    @workflow
    def top(number: int) -> int:
        return first(number)

    runner = make_runner(settings=EngineSettings(limits=Limits(depth=2), stop_grace=1.0))
    assert runner.run(first, 1) == 4
    with pytest.raises(RunFailed, match="3 runs deep, and the limit is 2"):
        runner.run(top, 1)


# -- it is stopped ---------------------------------------------------------------------------------------------------
@pytest.fixture
def waiting(gate) -> Any:
    """A workflow whose body waits at the gate, or for its cancellation."""

    @task
    def wait(info: TaskInfo) -> str:
        gate.entered.set()
        while not info.cancelled and not gate.opened.wait(0.005):
            pass
        return "done"

    @workflow
    def waits() -> str:
        return wait()

    return waits


@pytest.fixture
def parent(waiting) -> Any:
    @workflow
    def waits_for_child() -> str:
        return waiting.options(retries=1)()

    return waits_for_child


def test_a_child_that_is_cancelled_fails_its_parent_and_is_not_tried_again(runner, parent, gate):
    run = runner.submit(parent)
    assert gate.reached()
    only_child(runner, run).cancel("by hand")
    one = failure(run)
    assert one.code == "child_cancelled" and one.message.endswith("was cancelled: by hand")
    [seen] = run.tasks()
    assert (seen.reason, seen.attempt) == ("child_cancelled", 1)


def test_a_child_that_times_out_is_seen_with_its_reason(runner, waiting, gate):
    @workflow
    def impatient() -> str:
        return waiting.options(timeout=0.05)()

    run = runner.submit(impatient)
    one = failure(run)
    assert one.code == "child_timed_out" and one.message.endswith("exceeded its timeout of 0.05 s")
    child = only_child(runner, run).status()
    assert (child.state, child.reason) == ("failed", "run_timed_out")


def test_the_childs_own_timeout_counts_too(runner, gate):
    @task
    def stuck(info: TaskInfo) -> None:
        while not info.cancelled and not gate.opened.wait(0.005):
            pass

    @workflow(timeout=0.05)
    def limited() -> None:
        stuck()

    @workflow
    def outer() -> None:
        limited.options(timeout="1h")()

    assert failure(runner.submit(outer)).code == "child_timed_out"


def test_cancelling_the_parent_cancels_its_children_and_waits_for_them(runner, waiting, gate):
    @workflow
    def middle() -> str:
        return waiting()

    @workflow
    def top() -> str:
        return middle()

    run = runner.submit(top)
    assert gate.reached()
    run.cancel("not needed")
    with pytest.raises(RunCancelled, match="not needed"):
        run.result(30)
    child = only_child(runner, run)
    grandchild = only_child(runner, child)
    assert (child.status().state, grandchild.status().state) == ("cancelled", "cancelled")
    assert child.status().reason == "parent_cancelled: not needed"


def test_the_timeout_of_the_parent_cancels_its_children(runner, parent, gate):
    run = runner.submit_with(parent, timeout=0.05)
    with pytest.raises(RunTimedOut):
        run.result(30)
    assert [child.state for child in run.children()] in ([], ["cancelled"])


def test_a_parent_may_be_cancelled_before_its_child_has_started(make_runner, parent, until):
    here = make_runner(settings=EngineSettings(max_owned_runs=1, stop_grace=1.0))
    run = here.submit(parent)
    run.cancel()
    assert run.wait(30) is RunState.CANCELLED
    until(lambda: all(child.state == "cancelled" for child in run.children()), "no child is left")


def test_a_parent_is_cancelled_while_a_child_of_it_is_pending(make_runner, waiting, gate, until):
    @workflow
    def two() -> list[str]:
        return [waiting.named("one")(), waiting.named("two")()]

    # A full orchestrator takes one child of each parent; the other one stays for any that has room.
    runner = make_runner(settings=EngineSettings(max_owned_runs=1, stop_grace=1.0))
    run = runner.submit(two)
    assert gate.reached()
    until(lambda: len(run.children()) == 2, "both children are stored")
    assert sorted(child.state for child in run.children()) == ["pending", "running"]
    run.cancel()
    assert run.wait(30) is RunState.CANCELLED
    assert [child.state for child in run.children()] == ["cancelled", "cancelled"]


def test_a_pause_holds_the_children_too_and_a_resume_lets_them_go_on(runner, gate):
    started: list[str] = []

    @task
    def first() -> int:
        gate.pass_through()
        return 1

    @task
    def second(number: int) -> int:
        started.append("second")
        return number + 1

    @workflow
    def inner() -> int:
        return second(first())

    @workflow
    def outer() -> int:
        return inner()

    run = runner.submit(outer)
    assert gate.reached()
    run.pause()
    child = only_child(runner, run)
    assert (child.status().state, child.status().reason) == ("paused", "parent_paused")
    gate.open()
    with pytest.raises(WaitTimedOut):
        run.wait(0.2)
    assert started == []
    run.resume()
    assert run.result(30) == 2


def test_a_child_that_was_paused_by_hand_is_not_resumed_with_its_parent(runner, parent, gate):
    run = runner.submit(parent)
    assert gate.reached()
    child = only_child(runner, run)
    child.pause()
    run.pause()
    run.resume()
    gate.open()
    with pytest.raises(WaitTimedOut):
        run.wait(0.2)
    assert (child.status().state, child.status().reason) == ("paused", "paused")
    child.resume()
    assert run.result(30) == "done"


def test_a_child_whose_parent_does_not_wait_any_more_is_stopped_by_the_sweep(
    make_runner, parent, gate, until, change, store_url
):
    """As if the parent's owner had died between giving its attempt up and telling the child."""
    runner = make_runner(settings=EngineSettings(sweep=0.1, stop_grace=1.0))
    run = runner.submit(parent)
    assert gate.reached()
    child = only_child(runner, run)
    change(store_url, f"update task set state = 'failed' where run_id = '{run.id}'")
    until(lambda: child.status().state == "cancelled", "the orphan is cancelled")
    assert child.status().reason == "parent_gone"


# -- several Runners -------------------------------------------------------------------------------------------------
def test_two_runners_share_parents_and_children(make_runner, store_url, query):
    @workflow
    def shared(number: int) -> int:
        return double(quadruple(number))

    settings = EngineSettings(max_owned_runs=8, claim_batch=4, stop_grace=1.0)
    here = make_runner(workflows=[shared], settings=settings)
    there = make_runner(workflows=[shared], settings=settings)
    runs = [here.submit(shared, number) for number in range(30)] + [
        there.submit(shared, number) for number in range(30)
    ]
    assert [run.result(60) for run in runs] == [8 * number for number in range(30)] * 2
    assert query(store_url, "select count(*), count(distinct parent_run) from run where parent_run is not null") == [
        (60, 60)
    ]


async def forget(runner: Runner, run_id: str) -> None:
    """As an orchestrator does that hears that a run is another's."""
    runner.core.engine.runs.release(runner.core.engine.runs[run_id])


@pytest.fixture
def apart(make_runner, parent, gate, change, until, store_url) -> tuple[Runner, Runner, str]:
    """Two Runners: the first drives a child, the second has taken over its parent."""
    settings = EngineSettings(sweep=0.1, stop_grace=1.0)
    first = make_runner(workflows=[parent], settings=settings)
    run = first.submit(parent)
    assert gate.reached()
    second = make_runner(workflows=[parent], settings=settings)
    session = second._core.engine.session.id
    change(store_url, f"update run set owner = '{session}' where id = '{run.id}'")
    first.core.loop.call(forget(first, run.id)).result(20)
    until(lambda: second.owns(run.id), "the second has the parent")
    return first, second, run.id


def test_the_end_of_a_child_reaches_a_parent_that_another_runner_has_taken_over(apart, gate):
    first, second, run_id = apart
    [child] = second.get(run_id).children()
    assert first.owns(child.id) and not second.owns(child.id)
    gate.open()
    assert second.get(run_id).result(30) == "done"
    assert [each.id for each in second.get(run_id).children()] == [child.id]


def test_a_cancel_reaches_a_child_that_another_runner_drives(apart):
    _, second, run_id = apart
    second.get(run_id).cancel("from the other side")
    assert second.get(run_id).wait(30) is RunState.CANCELLED
    [child] = second.get(run_id).children()
    assert (child.state, child.reason) == ("cancelled", "parent_cancelled: from the other side")


def test_a_pause_reaches_a_child_that_another_runner_drives(apart, gate):
    _, second, run_id = apart
    second.get(run_id).pause()
    [child] = second.get(run_id).children()
    assert (child.state, child.reason) == ("paused", "parent_paused")
    second.get(run_id).resume()
    gate.open()
    assert second.get(run_id).result(30) == "done"


def test_runs_of_a_closed_program_go_on_with_their_children(make_runner, parent, gate):
    first = make_runner(workflows=[parent])
    run = first.submit(parent)
    assert gate.reached()
    first.close(timeout=0.0)
    gate.open()
    again = make_runner(workflows=[parent])
    assert again.get(run.id).result(30) == "done"
    assert len(again.get(run.id).children()) == 1


def test_a_child_whose_code_nobody_has_waits_with_the_reason(make_runner, until):
    """The parent was stored by a program that still had the child."""

    @workflow
    def outer() -> int:
        return quadruple(double(1))

    without = make_runner(settings=EngineSettings(sweep=0.1, stop_grace=1.0))
    core = without._core
    core.submitter.graph_of(outer)
    drawn = core.registry._today["public::embedded::outer"].children
    child = core.registry._today.pop("public::embedded::quadruple")
    drawn.clear()
    run = without.submit(outer)
    until(lambda: (run.tasks()[1].reason or "").startswith("no_orchestrator_has"), "it says why it waits")
    assert run.tasks()[1].reason == "no_orchestrator_has{public::embedded::quadruple}"
    assert run.tasks()[1].state == "ready"
    core.registry._today["public::embedded::quadruple"] = child
    assert run.result(30) == 8


# -- what waits in the inbox -----------------------------------------------------------------------------------------
def test_a_lost_wake_up_costs_no_more_than_a_sweep(make_runner, parent, gate):
    runner = make_runner(settings=EngineSettings(sweep=0.1, stop_grace=1.0))
    runner._core.engine.wakeups.announce = lambda topic: None
    run = runner.submit(parent)
    assert gate.reached()
    gate.open()
    assert run.result(30) == "done"


def test_the_end_of_a_child_is_found_although_its_inbox_row_was_lost(make_runner, parent, gate):
    runner = make_runner(settings=EngineSettings(sweep=0.1, stop_grace=1.0))
    store = runner._core.store
    real = store.inbox_for
    store.inbox_for = lambda session, limit: []
    try:
        run = runner.submit(parent)
        assert gate.reached()
        gate.open()
        assert run.result(30) == "done"
    finally:
        store.inbox_for = real


def test_polling_mode_has_children_too(make_runner, store_url):
    from turnout.runner import Poller

    @workflow
    def outer() -> int:
        return double(quadruple(1))

    runner = make_runner(dispatcher=None, workflows=[outer])
    with Poller(store_url, workflows=[outer, quadruple]):
        assert runner.run(outer) == 8


# -- runs of their own -----------------------------------------------------------------------------------------------
def test_a_body_starts_a_run_of_its_own_on_its_own_runner_once(runner):
    @task(retries=1)
    def announce(number: int, info: TaskInfo) -> str:
        submitted = quadruple.submit_with(number, key=info.idempotency_key)
        if info.attempt == 1:
            raise ConnectionError("after the submission")
        return submitted.id

    @workflow
    def outer(number: int) -> str:
        return announce(number)

    run = runner.submit(outer, 5)
    detached = runner.get(run.result(30))
    assert detached.result(30) == 20
    assert detached.status().parent_run is None
    assert run.children() == []
    assert len(runner.list(workflow="quadruple")) == 1


def test_a_body_may_submit_and_not_wait(runner):
    @task
    def fire() -> str:
        info = current_task()
        assert info is not None
        return quadruple.submit(2).id

    @workflow
    def outer() -> str:
        return fire()

    assert runner.get(runner.run(outer)).result(30) == 8
