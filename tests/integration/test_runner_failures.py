"""What follows from a failure: who is skipped, who handles it, how the run ends, and what is told of it."""

from __future__ import annotations

from typing import Any

import pytest

from turnout import all_, always, any_, context_value, none_, task, task_failed, task_skipped, task_success, workflow
from turnout.errors import RunFailed
from turnout.model.states import RunState

pytestmark = pytest.mark.timeout(60)


@task
def works(value: Any = "fine") -> Any:
    return value


@task
def breaks(*_: Any) -> Any:
    raise ValueError("broken on purpose")


@task
def takes(*values: Any) -> list[Any]:
    return list(values)


def ends(run: Any) -> dict[str, str]:
    run.wait(20)
    return {each.name: str(each.state) for each in run.tasks()}


def reasons(run: Any) -> dict[str, str | None]:
    return {each.name: each.reason for each in run.tasks()}


def test_what_depends_on_a_failure_is_skipped_all_the_way_and_the_rest_goes_on(runner):
    @workflow
    def branches() -> Any:
        broken = breaks.named("broken")()
        first = takes.named("first")(broken)
        second = takes.named("second")(first)
        return [second, works.named("apart")("x")]

    run = runner.submit(branches)
    assert ends(run) == {"broken": "failed", "first": "skipped", "second": "skipped", "apart": "completed"}
    assert reasons(run) == {
        "broken": None,
        "first": "dependency_failed:broken",
        "second": "dependency_skipped:first",
        "apart": None,
    }
    assert run.status().state is RunState.FAILED
    assert run.status().reason == "task_failed:broken"


def test_a_task_whose_rule_names_the_failure_handles_it_and_the_run_completes(runner):
    @workflow
    def handled() -> Any:
        broken = breaks.named("broken")()
        return takes.named("mended").options(trigger_rule=task_failed(broken))(broken, "instead")

    run = runner.submit(handled)
    assert run.result(20) == [None, "instead"]
    assert ends(run) == {"broken": "failed", "mended": "completed"}


def test_a_handler_is_skipped_when_nothing_failed(sqlite_runner):
    @workflow
    def handled() -> Any:
        fine = works.named("fine")()
        return [fine, takes.named("mended").options(trigger_rule=task_failed("fine")).after(fine)("instead")]

    run = sqlite_runner.submit(handled)
    assert run.result(20) == ["fine", None]
    assert reasons(run)["mended"] == "trigger_rule"


def test_a_failure_is_not_excused_by_a_handler_that_fails_itself(sqlite_runner):
    @workflow
    def helpless() -> Any:
        broken = breaks.named("broken")()
        return breaks.named("handler").options(trigger_rule=task_failed("broken")).after(broken)()

    with pytest.raises(RunFailed) as caught:
        sqlite_runner.run(helpless)
    assert [failure.task for failure in caught.value.fields["failures"]] == ["broken", "handler"]


def test_always_runs_after_a_failure_but_does_not_excuse_it(sqlite_runner):
    @workflow
    def tidy() -> Any:
        broken = breaks.named("broken")()
        return takes.named("tidied").options(trigger_rule=always()).after(broken)("up")

    run = sqlite_runner.submit(tidy)
    assert ends(run) == {"broken": "failed", "tidied": "completed"}
    assert run.status().state is RunState.FAILED


def test_one_handler_may_name_several_failures_and_each_needs_to_be_named(sqlite_runner):
    @workflow
    def both() -> Any:
        one, other = breaks.named("one")(), breaks.named("other")()
        rule = any_(task_failed("one"), task_failed("other"))
        return takes.named("handler").options(trigger_rule=rule).after(one, other)("ok")

    @workflow
    def only_one() -> Any:
        one, other = breaks.named("one")(), breaks.named("other")()
        return takes.named("handler").options(trigger_rule=task_failed("one")).after(one, other)("ok")

    assert sqlite_runner.run(both) == ["ok"]
    run = sqlite_runner.submit(only_one)
    assert ends(run)["handler"] == "completed"
    assert run.status().reason == "task_failed:other"


def test_a_skip_by_choice_is_forgiven_if_something_else_completed(runner):
    @workflow
    def choice(mode: str) -> Any:
        start = works.named("start")("begun")
        quick = works.named("quick").options(trigger_rule=context_value("mode", "==", "quick")).after(start)("q")
        full = works.named("full").options(trigger_rule=context_value("mode", "==", "full")).after(start)("f")
        return takes.named("join")(quick, full)

    assert runner.run(choice, "quick") == ["q", None]
    assert runner.run(choice, "full") == [None, "f"]
    run = runner.submit(choice, "neither")
    assert ends(run) == {"start": "completed", "quick": "skipped", "full": "skipped", "join": "skipped"}
    assert run.status().state is RunState.COMPLETED
    assert run.result() is None


def test_rules_nest_and_see_how_tasks_ended_and_what_they_left(sqlite_runner):
    @workflow
    def nested(amount: int) -> Any:
        paid = works.named("paid")({"amount": amount})
        large = works.named("large").options(trigger_rule=context_value("amount", ">", 100)).after(paid)("large")
        rule = all_(task_success("paid"), none_(task_success("large"), task_failed("large")), task_skipped("large"))
        small = works.named("small").options(trigger_rule=rule).after(paid, large)("small")
        return [large, small]

    assert sqlite_runner.run(nested, 500) == ["large", None]
    assert sqlite_runner.run(nested, 5) == [None, "small"]


def test_a_failed_run_tells_type_message_and_traceback_of_each_failed_task(runner):
    class Refused(Exception):
        pass

    @task
    def charge() -> None:
        raise Refused("card expired")

    @task(retries=1)
    def look_up() -> None:
        return {}["customer"]

    @workflow
    def failing() -> None:
        charge()
        look_up()

    with pytest.raises(RunFailed) as caught:
        runner.run(failing)
    error = caught.value
    assert error.code == "run_failed"
    first, second = error.fields["failures"]
    assert (first.task, first.message, first.attempts) == ("charge", "card expired", 1)
    assert first.type.endswith("Refused")
    assert 'raise Refused("card expired")' in first.traceback and __file__ in first.traceback
    assert (second.task, second.type, second.message, second.attempts) == ("look_up", "KeyError", "'customer'", 2)
    assert 'return {}["customer"]' in second.traceback
    for failure in (first, second):
        assert failure.task in str(error) and failure.message in str(error) and failure.type in str(error)
        assert "turnout/executors" not in failure.traceback, "our own frames help nobody"
    assert error.fields["run_id"] in str(error)


def test_a_failure_reads_the_same_from_another_runner(make_runner):
    @workflow
    def failing() -> Any:
        return breaks()

    run = make_runner().submit(failing)
    run.wait(20)
    with pytest.raises(RunFailed) as caught:
        make_runner().get(run.id).result(20)
    [failure] = caught.value.fields["failures"]
    assert (failure.type, failure.message) == ("ValueError", "broken on purpose")
    assert "raise ValueError" in failure.traceback


def test_an_exception_with_text_that_no_database_takes_is_still_told(runner):
    class Silent(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no text")

    @task
    def odd() -> None:
        raise ValueError("a\x00b \ud800 c")

    @task
    def huge() -> None:
        raise ValueError("x" * 5_000_000)

    @task
    def silent() -> None:
        raise Silent

    @workflow
    def failing() -> None:
        odd()
        huge()
        silent()

    with pytest.raises(RunFailed) as caught:
        runner.run(failing)
    first, second, third = caught.value.fields["failures"]
    assert first.message.startswith("a") and "\x00" not in first.message
    assert len(second.message) < 100_000
    assert third.type.endswith("Silent")


def test_a_path_that_is_not_there_fails_the_task_that_asked_for_it(sqlite_runner):
    @workflow
    def picks() -> Any:
        return takes(works({"a": 1})["b"])

    with pytest.raises(RunFailed) as caught:
        sqlite_runner.run(picks)
    [failure] = caught.value.fields["failures"]
    assert failure.task == "takes"
    assert "'b'" in failure.message and "'a'" in failure.message


def test_the_failure_of_one_run_does_not_touch_another(runner):
    @workflow
    def fragile(good: bool) -> Any:
        return maybe(good)

    handles = runner.submit_many(fragile, [{"good": number % 2 == 0} for number in range(20)])
    states = [handle.wait(20) for handle in handles]
    assert states == [RunState.COMPLETED, RunState.FAILED] * 10


@task
def maybe(good: bool) -> str:
    if not good:
        raise ValueError("bad")
    return "good"
