"""Hooks: which end calls which, what they are told, and that they have no say in how the run ends."""

from __future__ import annotations

import pytest
from kit.runs import TinyRun, task

from turnout.model.events import ErrorInfo, ExecutionResult
from turnout.model.hooks import RunOutcome, TaskOutcome, hook_arguments
from turnout.model.names import hook_name, is_hook
from turnout.model.rows import TaskRow
from turnout.model.rules import task_failed
from turnout.model.spec import Hook, HookedOn, TaskSpec
from turnout.model.states import RunState, TaskState

ENDS: tuple[HookedOn, ...] = ("success", "failure", "cancel", "exit")


def hook(on: HookedOn, of: str = "", **more: object) -> TaskSpec:
    return task(hook_name(on, "tell", of), hook=Hook(on, of, takes_outcome=True), **more)


def hooks(of: str = "") -> tuple[TaskSpec, ...]:
    return tuple(hook(on, of) for on in ENDS)


def called(run: TinyRun, of: str = "") -> list[str]:
    """The ends whose hook ran or runs."""
    return [on for on in ENDS if run.row(hook_name(on, "tell", of)).attempt]


def let_hooks_run(run: TinyRun) -> None:
    while going := [name for name, state in run.states().items() if state == "running" and is_hook(name)]:
        run.complete(*going)


def settle(run: TinyRun) -> None:
    """One more turn: what the last one made ready is placed."""
    run.commit()


def outcome(run: TinyRun, name: str) -> RunOutcome | TaskOutcome:
    machine = run.machine
    outputs = {row.name: row.output for row in machine.tasks}
    (said,) = hook_arguments(
        run.graph, run.graph.position[name], "run-1", machine.row, machine.tasks.__getitem__, lambda name: outputs[name]
    )
    return said


def test_names_of_hooks_tell_that_they_are_hooks() -> None:
    assert hook_name("failure", "notify") == "on_failure.notify"
    assert hook_name("exit", "tidy", "charge") == "charge.on_exit.tidy"
    assert is_hook("on_failure.notify") and is_hook("charge.on_exit.tidy")
    assert not any(is_hook(name) for name in ("notify", "on_failure", "on_failure_notify", "a.b", "on_failure."))


# -- of a workflow ----------------------------------------------------------------------------------------------
def test_a_run_ends_only_after_its_hooks() -> None:
    run = TinyRun(task("a"), *hooks()).start()
    assert run.states() == {
        "a": "running",
        "on_success.tell": "pending",
        "on_failure.tell": "pending",
        "on_cancel.tell": "pending",
        "on_exit.tell": "pending",
    }
    run.complete("a")
    assert run.run_state is RunState.RUNNING
    settle(run)
    assert (run.state("on_success.tell"), run.state("on_exit.tell")) == (TaskState.RUNNING, TaskState.PENDING)
    assert (run.state("on_failure.tell"), run.row("on_failure.tell").reason) == (TaskState.SKIPPED, "not_called")
    run.complete("on_success.tell")
    settle(run)
    assert run.state("on_exit.tell") is TaskState.RUNNING, "the exit comes last"
    assert run.run_state is RunState.RUNNING
    run.complete("on_exit.tell")
    assert run.run_state is RunState.COMPLETED


def test_a_hook_that_is_not_called_costs_no_commit() -> None:
    run = TinyRun(task("a"), hook("failure")).start()
    run.complete("a")
    assert (run.run_state, run.state("on_failure.tell")) == (RunState.COMPLETED, TaskState.SKIPPED)


def test_a_failed_run_calls_on_failure_and_a_handled_failure_on_success() -> None:
    failed = TinyRun(task("a"), *hooks()).start()
    failed.fail("a")
    settle(failed)
    let_hooks_run(failed)
    settle(failed)
    let_hooks_run(failed)
    assert (called(failed), failed.run_state) == (["failure", "exit"], RunState.FAILED)
    handled = TinyRun(task("a"), task("b", "a", rule=task_failed("a")), *hooks()).start()
    handled.fail("a")
    handled.complete("b")
    settle(handled)
    let_hooks_run(handled)
    settle(handled)
    let_hooks_run(handled)
    assert (called(handled), handled.run_state) == (["success", "exit"], RunState.COMPLETED)


@pytest.mark.parametrize(
    ("reason", "expected", "state"),
    [("enough", ["cancel", "exit"], RunState.CANCELLED), ("run_timed_out", ["failure", "exit"], RunState.FAILED)],
)
def test_a_cancelled_run_calls_on_cancel_and_one_that_timed_out_on_failure_both_on_exit(
    reason: str, expected: list[str], state: RunState
) -> None:
    run = TinyRun(task("a"), task("b", "a"), *hooks()).start()
    run.commit(lambda transition: transition.cancel(reason))
    assert (run.state("b"), run.run_state) == (TaskState.CANCELLED, RunState.CANCELLING)
    run.answer(ExecutionResult.cancelled(run.events["a"]))
    settle(run)
    let_hooks_run(run)
    settle(run)
    let_hooks_run(run)
    assert (called(run), run.run_state) == (expected, state)
    assert all(run.state(hook_name(on, "tell")) is TaskState.COMPLETED for on in expected)


def test_a_failing_hook_is_seen_and_changes_nothing() -> None:
    for end in ("complete", "fail"):
        run = TinyRun(task("a"), *hooks()).start()
        getattr(run, end)("a")
        settle(run)
        first = "on_success.tell" if end == "complete" else "on_failure.tell"
        run.fail(first)
        settle(run)
        run.fail("on_exit.tell")
        assert (run.state(first), run.state("on_exit.tell")) == (TaskState.FAILED, TaskState.FAILED)
        assert run.run_state is (RunState.COMPLETED if end == "complete" else RunState.FAILED)
        assert run.table.run.reason == (None if end == "complete" else "task_failed:a")


def test_a_hook_is_retried_by_its_policy_also_while_the_run_is_cancelled() -> None:
    run = TinyRun(task("a"), hook("exit", attempts=2)).start()
    run.commit(lambda transition: transition.cancel("enough"))
    run.answer(ExecutionResult.cancelled(run.events["a"]))
    settle(run)
    run.fail("on_exit.tell")
    assert (run.state("on_exit.tell"), run.row("on_exit.tell").attempt) == (TaskState.RUNNING, 2)
    run.complete("on_exit.tell")
    assert run.run_state is RunState.CANCELLED


def test_a_second_order_to_cancel_ends_the_hooks_too() -> None:
    run = TinyRun(task("a"), hook("exit"), hook("exit", "a")).start()
    run.commit(lambda transition: transition.cancel("enough"))
    run.answer(ExecutionResult.cancelled(run.events["a"]))
    settle(run)
    assert (run.state("a.on_exit.tell"), run.state("on_exit.tell")) == (TaskState.RUNNING, TaskState.PENDING)
    asked: list[int] = []
    run.commit(lambda transition: asked.extend(transition.cancel("really")))
    assert asked == [run.graph.position["a.on_exit.tell"]], "its executor is asked to stop"
    assert (run.state("a.on_exit.tell"), run.state("on_exit.tell")) == (TaskState.CANCELLED, TaskState.CANCELLED)
    assert (run.run_state, run.table.run.reason) == (RunState.CANCELLED, "enough")


def test_hooks_may_take_longer_than_the_run_s_timeout() -> None:
    run = TinyRun(task("a"), hook("exit")).start()
    run.complete("a")
    settle(run)
    assert run.commit(lambda transition: transition.cancel("run_timed_out")).applied
    assert run.run_state is RunState.RUNNING
    run.complete("on_exit.tell")
    assert run.run_state is RunState.COMPLETED


def test_a_timeout_after_a_cancellation_is_no_second_order() -> None:
    run = TinyRun(task("a"), hook("exit")).start()
    run.commit(lambda transition: transition.cancel("enough"))
    run.answer(ExecutionResult.cancelled(run.events["a"]))
    run.commit(lambda transition: transition.cancel("run_timed_out"))
    settle(run)
    assert run.state("on_exit.tell") is TaskState.RUNNING


def test_cancelling_while_hooks_run_wins_and_lets_them_finish() -> None:
    run = TinyRun(task("a"), hook("success"), hook("exit")).start()
    run.complete("a")
    settle(run)
    run.commit(lambda transition: transition.cancel("enough"))
    assert (run.state("on_success.tell"), run.run_state) == (TaskState.RUNNING, RunState.CANCELLING)
    run.complete("on_success.tell")
    settle(run)
    run.complete("on_exit.tell")
    assert run.run_state is RunState.CANCELLED


def test_a_paused_run_calls_its_hooks_when_it_is_resumed() -> None:
    run = TinyRun(task("a"), hook("exit")).start()
    run.commit(lambda transition: transition.pause())
    run.complete("a")
    assert run.state("on_exit.tell") is TaskState.PENDING
    run.commit(lambda transition: transition.resume())
    settle(run)
    assert run.state("on_exit.tell") is TaskState.RUNNING


def test_data_that_the_database_refuses_ends_the_run_without_hooks() -> None:
    run = TinyRun(task("a"), *hooks(), *hooks("a")).start()
    run.commit(lambda transition: transition.reject(ErrorInfo("StoreRejected", "poison")))
    assert run.run_state is RunState.FAILED
    assert set(run.states().values()) <= {"cancelled", "skipped"}


# -- of a task --------------------------------------------------------------------------------------------------
def test_a_task_calls_its_hooks_when_it_has_reached_its_end_not_at_each_attempt() -> None:
    run = TinyRun(task("a", attempts=2), task("b", "a"), *hooks("a")).start()
    run.fail("a")
    assert called(run, "a") == []
    run.complete("a")
    settle(run)
    assert called(run, "a") == ["success", "exit"], "beside the tasks that come after"
    assert (run.state("b"), run.state("a.on_failure.tell")) == (TaskState.RUNNING, TaskState.SKIPPED)
    run.complete("b")
    assert run.run_state is RunState.RUNNING, "it ends after all of its hooks"
    let_hooks_run(run)
    assert run.run_state is RunState.COMPLETED


def test_a_failed_task_calls_on_failure_and_its_failure_is_not_excused_by_that() -> None:
    run = TinyRun(task("a"), *hooks("a")).start()
    run.fail("a")
    settle(run)
    let_hooks_run(run)
    assert (called(run, "a"), run.run_state) == (["failure", "exit"], RunState.FAILED)


def test_a_task_that_never_ran_calls_no_hook() -> None:
    skipped = TinyRun(task("a"), task("b", "a"), *hooks("b")).start()
    skipped.fail("a")
    assert (called(skipped, "b"), skipped.run_state) == ([], RunState.FAILED)
    cancelled = TinyRun(task("a"), task("b", "a"), *hooks("b")).start()
    cancelled.commit(lambda transition: transition.cancel("enough"))
    cancelled.complete("a")
    assert (called(cancelled, "b"), cancelled.run_state) == ([], RunState.CANCELLED)


def test_a_task_that_was_cancelled_while_it_ran_calls_on_cancel_and_on_exit() -> None:
    run = TinyRun(task("a"), *hooks("a")).start()
    run.commit(lambda transition: transition.cancel("enough"))
    run.answer(ExecutionResult.cancelled(run.events["a"]))
    settle(run)
    assert called(run, "a") == ["cancel", "exit"]
    let_hooks_run(run)
    assert run.run_state is RunState.CANCELLED


def test_the_workflow_s_hooks_wait_for_those_of_its_tasks() -> None:
    run = TinyRun(task("a"), hook("exit"), hook("exit", "a")).start()
    run.complete("a")
    settle(run)
    assert (run.state("a.on_exit.tell"), run.state("on_exit.tell")) == (TaskState.RUNNING, TaskState.PENDING)


def test_a_rerun_calls_no_hooks_of_tasks_whose_outputs_it_takes_over() -> None:
    reuse = TaskRow(pos=0, name="a", state=TaskState.COMPLETED, output="1", reason="reused:run-0")
    run = TinyRun(task("a"), task("b", "a"), *hooks("a"), *hooks("b"), reuse=[reuse], rerun_of="run-0").start()
    assert {run.state(hook_name(on, "tell", "a")) for on in ENDS} == {TaskState.SKIPPED}
    run.complete("b")
    settle(run)
    assert called(run, "b") == ["success", "exit"]


# -- what they are told -----------------------------------------------------------------------------------------
def test_a_hook_of_a_workflow_is_told_how_the_run_ends() -> None:
    run = TinyRun(task("a"), task("b", "a"), *hooks()).start()
    run.fail("a", ErrorInfo("ValueError", "no good"))
    assert outcome(run, "on_failure.tell") == {
        "run_id": "run-1",
        "workflow": "public::embedded::flow",
        "status": "failed",
        "reason": "task_failed:a",
        "failed": [{"task": "a", "type": "ValueError", "message": "no good", "attempts": 1}],
    }


def test_a_hook_of_a_task_is_told_how_the_task_ended() -> None:
    run = TinyRun(task("a"), task("b"), *hooks("a"), *hooks("b")).start()
    run.complete("a", output={"paid": 3})
    run.fail("b", ErrorInfo("ValueError", "no good"))
    said = outcome(run, "a.on_exit.tell")
    assert (said.get("task"), said.get("state"), said.get("output"), said.get("error")) == (
        "a",
        "completed",
        '{"paid":3}',
        None,
    )
    said = outcome(run, "b.on_failure.tell")
    assert (said.get("state"), said.get("output")) == ("failed", None)
    assert said.get("error") == {"task": "b", "type": "ValueError", "message": "no good", "attempts": 1}


def test_the_graph_of_a_workflow_without_hooks_has_none() -> None:
    graph = TinyRun(task("a")).graph
    assert (graph.hooks, graph.run_hooks, graph.task_hooks) == (frozenset(), (), {})
