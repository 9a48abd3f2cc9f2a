"""Preconditions that skip a task from within an attempt, and ends after which dependents run all the same."""

from __future__ import annotations

import pytest
from kit.runs import TinyRun, mapped, task

from turnout.model.events import ErrorInfo, ExecutionResult
from turnout.model.reasons import CONTINUED
from turnout.model.retry import RetryPolicy, backoff_delay
from turnout.model.spec import ContinueOn
from turnout.model.states import RunState, TaskState


def skip(run: TinyRun, name: str, why: str = "test -f data") -> None:
    run.answer(ExecutionResult.skipped(run.events[name], why))


def test_an_attempt_whose_preconditions_do_not_hold_skips_its_task_and_what_depends_on_it() -> None:
    run = TinyRun(task("a"), task("b", "a"), task("c", "b"), task("d")).start()
    skip(run, "a")
    assert run.states() == {"a": "skipped", "b": "skipped", "c": "skipped", "d": "running"}
    assert run.row("a").reason == "precondition:test -f data"
    assert run.row("b").reason == "dependency_skipped:a"
    assert run.moves("a") == ["pending→running", "running→skipped"]
    run.complete("d")
    assert run.run_state is RunState.COMPLETED


@pytest.mark.parametrize(
    ("on", "end", "continues"),
    [
        (None, "failed", False),
        (None, "skipped", False),
        (ContinueOn(failure=True), "failed", True),
        (ContinueOn(failure=True), "skipped", False),
        (ContinueOn(skipped=True), "skipped", True),
        (ContinueOn(skipped=True), "failed", False),
        (ContinueOn(), CONTINUED, True),
        (ContinueOn(), "failed", False),
        (None, CONTINUED, False),
    ],
)
def test_continue_on_decides_after_which_ends_the_dependents_run(
    on: ContinueOn | None, end: str, continues: bool
) -> None:
    run = TinyRun(task("a", continue_on=on), task("b", "a")).start()
    if end == "skipped":
        skip(run, "a")
    else:
        run.fail("a", ErrorInfo("CommandFailed", "exit code 3", code=end))
    assert run.state("b") is (TaskState.RUNNING if continues else TaskState.SKIPPED)
    if continues:
        run.complete("b")
    assert run.run_state is (RunState.COMPLETED if continues or end == "skipped" else RunState.FAILED)


def test_a_tolerated_failure_without_dependents_does_not_fail_the_run() -> None:
    run = TinyRun(task("a", continue_on=ContinueOn(failure=True), attempts=2), task("b")).start()
    run.complete("b")
    run.fail("a")
    assert run.run_state is RunState.RUNNING
    run.fail("a")
    assert (run.state("a"), run.run_state) == (TaskState.FAILED, RunState.COMPLETED)


def test_continue_on_holds_for_a_task_that_a_dependency_skipped() -> None:
    run = TinyRun(task("a"), task("b", "a", continue_on=ContinueOn(skipped=True)), task("c", "b")).start()
    skip(run, "a")
    assert run.states() == {"a": "skipped", "b": "skipped", "c": "running"}


def test_of_two_dependencies_the_one_that_is_not_tolerated_is_the_reason() -> None:
    run = TinyRun(task("a", continue_on=ContinueOn(failure=True)), task("b"), task("c", "a", "b")).start()
    run.fail("a")
    run.fail("b")
    assert (run.state("c"), run.row("c").reason) == (TaskState.SKIPPED, "dependency_failed:b")


def test_a_mapped_task_is_skipped_if_the_preconditions_of_all_items_are_unmet_and_completes_if_some_hold() -> None:
    run = TinyRun(mapped("m", over=[1, 2]), task("after", "m")).start()
    skip(run, "m[0]")
    skip(run, "m[1]")
    assert (run.state("m"), run.state("after")) == (TaskState.SKIPPED, TaskState.SKIPPED)
    run = TinyRun(mapped("m", over=[1, 2]), task("after", "m")).start()
    skip(run, "m[0]")
    run.complete("m[1]")
    assert (run.state("m"), run.state("after")) == (TaskState.COMPLETED, TaskState.RUNNING)


def test_a_skip_that_comes_while_the_run_is_cancelled_stays_a_skip() -> None:
    run = TinyRun(task("a"), task("b", "a")).start()
    run.commit(lambda transition: transition.cancel("enough"))
    skip(run, "a")
    assert (run.state("a"), run.run_state) == (TaskState.SKIPPED, RunState.CANCELLED)


@pytest.mark.parametrize(
    ("factor", "delays"), [(2.0, [5, 10, 20, 40]), (3.0, [5, 15, 45, 135]), (1.0, [5, 5, 5, 5]), (1.5, [5, 7.5, 11.25])]
)
def test_the_factor_of_exponential_backoff_multiplies_each_delay(factor: float, delays: list[float]) -> None:
    policy = RetryPolicy(attempts=9, backoff="exponential", delay=5.0, factor=factor)
    assert [backoff_delay(policy, failures, 0.0) for failures in range(1, len(delays) + 1)] == delays


@pytest.mark.parametrize("factor", [1.0, 1.01, 2.0, 100.0])
def test_no_number_of_failures_overflows_a_delay(factor: float) -> None:
    policy = RetryPolicy(attempts=9, backoff="exponential", delay=1e6, factor=factor)
    assert backoff_delay(policy, 10**9, 0.0) >= 1e6
