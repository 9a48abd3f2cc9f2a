"""The run machine by example: results and commands in, changes out."""

from __future__ import annotations

import msgspec
import pytest
from kit.runs import HERE, OWNER, SOON, TinyRun, graph_of, new_run, task

from turnout.errors import PermanentFailure, RetryAfter
from turnout.model.events import (
    DispatchDecision,
    ErrorInfo,
    ExecutionResult,
    ExecutionStatus,
    TaskReadyEvent,
    error_info,
)
from turnout.model.reasons import NOT_CHOSEN, TRIGGER_RULE
from turnout.model.retry import RetryPolicy
from turnout.model.rows import TaskRow, WriteOutcome
from turnout.model.rules import all_, always, any_, context_value, none_, task_failed, task_skipped, task_success
from turnout.model.run_machine import RunMachine
from turnout.model.states import RunState, TaskState
from turnout.model.transition import Transition
from turnout.model.verdict import Limits

POLLED = DispatchDecision("pollers", "a rule")


def lost(event: TaskReadyEvent) -> ExecutionResult:
    return ExecutionResult.lost(event, "its holder died")


def crashed(event: TaskReadyEvent) -> ExecutionResult:
    return ExecutionResult.crashed(event, "signal 9")


def diamond(**of_join: object) -> TinyRun:
    return TinyRun(task("a"), task("b", "a"), task("c", "a"), task("d", "b", "c", **of_join)).start()


# -- readiness --------------------------------------------------------------------------------------------------
def test_a_new_run_is_stored_with_its_roots_running_in_one_commit() -> None:
    run = TinyRun(task("a"), task("b"), task("c", "a")).start()
    assert run.states() == {"a": "running", "b": "running", "c": "pending"}
    assert run.run_state is RunState.RUNNING
    assert run.table.owner == OWNER
    assert [(move.pos, move.old, move.new) for move in run.table.history] == [
        (-1, None, "running"),
        (0, "pending", "running"),
        (1, "pending", "running"),
    ]
    run.table.check()


def test_a_new_run_for_any_claimer_is_stored_pending_and_untouched() -> None:
    machine = RunMachine.create(graph_of(task("a")), new_run(), Limits())
    write = Transition(machine, 1.0).insert(None)
    assert write.run is not None and write.run.state is RunState.PENDING and write.owner is None
    assert [row.state for row in write.tasks] == [TaskState.PENDING]
    assert [(move.old, move.new) for move in write.history] == [(None, "pending")]


def test_a_chain_takes_one_commit_for_each_hop() -> None:
    run = TinyRun(task("a"), task("b", "a"), task("c", "b")).start()
    for done, following in (("a", "b"), ("b", "c")):
        run.complete(done)
        assert (run.state(done), run.state(following)) == (TaskState.COMPLETED, TaskState.RUNNING)
        assert {row.pos: row.was for row in run.last.rows.values()} == {
            run.graph.position[done]: TaskState.RUNNING,
            run.graph.position[following]: TaskState.PENDING,
        }
    run.complete("c", output={"x": 1})
    assert run.run_state is RunState.COMPLETED
    assert run.row("c").output == '{"x":1}'
    assert run.table.owner is None


def test_a_diamond_joins_after_its_last_branch_and_not_before() -> None:
    run = diamond()
    run.complete("a")
    run.complete("b")
    assert run.state("d") is TaskState.PENDING
    run.complete("c")
    assert run.state("d") is TaskState.RUNNING


def test_both_branches_that_end_in_one_turn_make_the_join_ready_once() -> None:
    run = diamond()
    run.complete("a")
    run.complete("b", "c")
    assert run.moves("d") == ["pending→running"]


def test_a_task_that_returns_nothing_has_the_output_null() -> None:
    run = TinyRun(task("a")).start()
    run.answer(ExecutionResult(run_id="run-1", task_id="run-1.0", attempt=1, status=ExecutionStatus.COMPLETED))
    assert run.row("a").output == "null"


def test_ready_tasks_come_oldest_first_and_stay_ready_until_placed() -> None:
    run = TinyRun(task("a"), task("b", "a"), task("c")).start()
    run.commit(
        lambda transition: transition.result(ExecutionResult.returned(run.events["c"], "no_capacity"), 2),
        lambda transition: transition.result(ExecutionResult.success(run.events["a"]), 0),
        place=False,
    )
    assert list(run.transition().ready()) == [1]
    run.machine.clear_delay(2)
    assert list(run.transition().ready()) == [1, 2]


def test_a_reason_is_only_noted_on_a_task_that_the_turn_itself_makes_ready() -> None:
    run = TinyRun(task("a"), task("b", "a")).start()
    run.commit(
        lambda transition: transition.result(ExecutionResult.success(run.events["a"]), 0),
        lambda transition: transition.set_wait_reason(1, "no_capacity"),
        place=False,
    )
    assert run.row("b").reason == "no_capacity"
    transition = run.transition()
    transition.set_wait_reason(1, "breaker_open")
    assert transition.empty


def test_a_reason_that_people_look_for_is_worth_a_commit_of_its_own_but_only_once_and_moves_nothing() -> None:
    run = TinyRun(task("a"), task("b", "a"), task("c", "a")).start()
    run.commit(lambda transition: transition.result(ExecutionResult.success(run.events["a"]), 0), place=False)
    seq = run.machine.seq
    run.commit(lambda transition: transition.update_wait_reason(1, "breaker_open"), place=False)
    row = run.row("b")
    assert (row.state, row.reason, row.was, row.attempt) == (TaskState.READY, "breaker_open", TaskState.READY, 0)
    assert list(run.transition().ready()) == [1, 2]
    assert run.machine.seq == seq
    transition = run.transition()
    transition.update_wait_reason(1, "breaker_open")
    transition.update_wait_reason(0, "breaker_open")
    assert transition.empty


def test_outputs_above_the_inline_limit_are_not_kept_in_memory_unless_a_rule_reads_them() -> None:
    rule = context_value("size", "exists")
    run = TinyRun(task("a"), task("b"), task("c", "b", rule=rule), limits=Limits(inline_output=10)).start()
    run.complete("a", "b", output={"size": "x" * 20})
    assert run.machine.tasks[0].output is None
    assert run.machine.tasks[1].output == run.row("b").output
    assert run.row("a").output is not None


def test_the_event_says_how_many_attempts_are_left_and_which_number_this_one_has() -> None:
    run = TinyRun(task("a", attempts=3)).start()
    assert (run.events["a"].attempt, run.events["a"].max_attempts) == (1, 3)
    run.answer(lost(run.events["a"]))
    assert (run.events["a"].attempt, run.events["a"].max_attempts) == (2, 4)
    run.fail("a")
    assert (run.events["a"].attempt, run.events["a"].max_attempts) == (3, 4)


def test_reused_rows_of_another_run_count_as_finished() -> None:
    done = TaskRow(pos=0, name="a", state=TaskState.COMPLETED, output="1")
    run = TinyRun(task("a"), task("b", "a"), reuse=[done]).start()
    assert run.states() == {"a": "completed", "b": "running"}
    run.complete("b")
    assert run.run_state is RunState.COMPLETED


def test_a_run_of_which_everything_is_reused_ends_with_its_first_commit() -> None:
    run = TinyRun(task("a"), reuse=[TaskRow(pos=0, name="a", state=TaskState.COMPLETED, output="1")]).start()
    assert run.run_state is RunState.COMPLETED
    assert run.table.owner is None


# -- retries and budgets ----------------------------------------------------------------------------------------
def test_a_retry_with_a_delay_waits_as_ready_and_starts_when_it_is_due() -> None:
    run = TinyRun(task("a", attempts=2, delay=SOON)).start()
    run.fail("a")
    row = run.row("a")
    assert (row.state, row.reason, row.retry_in, row.failures, row.attempt) == (TaskState.READY, "retry_at", SOON, 1, 1)
    assert list(run.transition().ready()) == []
    run.due("a")
    assert run.moves("a") == ["pending→running", "running→ready", "ready→running"]
    assert (run.state("a"), run.row("a").attempt) == (TaskState.RUNNING, 2)


def test_a_retry_at_once_is_one_row_write_with_two_history_rows() -> None:
    run = TinyRun(task("a", attempts=2)).start()
    run.fail("a")
    (row,) = run.last.rows.values()
    assert (row.was, row.was_attempt, row.state, row.attempt) == (TaskState.RUNNING, 1, TaskState.RUNNING, 2)
    assert [(move.old, move.new, move.attempt) for move in run.last.history] == [
        ("running", "ready", 1),
        ("ready", "running", 2),
    ]
    assert row.error is not None and row.error.message == "broken"


def test_the_last_attempt_fails_the_task_and_the_run_with_its_error() -> None:
    run = TinyRun(task("a", attempts=3)).start()
    for attempt in (1, 2, 3):
        assert run.row("a").attempt == attempt
        run.fail("a", ValueError("no"))
    assert (run.state("a"), run.row("a").failures) == (TaskState.FAILED, 3)
    assert run.run_state is RunState.FAILED
    assert run.table.run.reason == "task_failed:a"
    assert run.table.run.error is not None and run.table.run.error.message == "no"


def test_jitter_comes_from_the_turn_and_nowhere_else() -> None:
    run = TinyRun(task("a", retry=RetryPolicy(attempts=2, delay=10.0, jitter=1.0))).start()
    transition = Transition(run.machine, 0.0, lambda: 0.25)
    transition.result(ExecutionResult.failed(run.events["a"], "x"), 0)
    assert transition.rows[0].retry_in == 7.5


def test_a_permanent_failure_is_not_tried_again() -> None:
    run = TinyRun(task("a", attempts=5)).start()
    run.fail("a", PermanentFailure("never"))
    assert run.state("a") is TaskState.FAILED


def test_a_failure_that_is_not_retryable_is_not_tried_again() -> None:
    run = TinyRun(task("a", attempts=5)).start()
    run.fail("a", retryable=False)
    assert run.state("a") is TaskState.FAILED


def test_retry_after_sets_the_delay_but_does_not_add_attempts() -> None:
    run = TinyRun(task("a", attempts=2, delay=1.0)).start()
    run.fail("a", RetryAfter(7.0), retry_after=7.0)
    assert run.row("a").retry_in == 7.0
    run.due("a")
    run.fail("a", RetryAfter(7.0), retry_after=7.0)
    assert run.state("a") is TaskState.FAILED


def test_a_timeout_is_a_failure_of_the_retry_policy() -> None:
    run = TinyRun(task("a", attempts=2)).start()
    run.answer(ExecutionResult.timed_out(run.events["a"], 3.0))
    assert (run.row("a").failures, run.state("a")) == (1, TaskState.RUNNING)
    run.answer(ExecutionResult.timed_out(run.events["a"], 3.0))
    assert run.state("a") is TaskState.FAILED


def test_the_third_crash_fails_a_task_and_no_crash_uses_up_retries() -> None:
    run = TinyRun(task("a")).start()
    for crashes in (1, 2):
        run.answer(crashed(run.events["a"]))
        assert (run.row("a").crashes, run.row("a").failures, run.state("a")) == (crashes, 0, TaskState.RUNNING)
    run.answer(crashed(run.events["a"]))
    assert (run.state("a"), run.row("a").reason) == (TaskState.FAILED, "crashed_too_often")


def test_the_twentieth_loss_fails_a_task_and_no_loss_uses_up_retries() -> None:
    run = TinyRun(task("a")).start()
    for losses in range(1, 20):
        run.answer(lost(run.events["a"]))
        assert (run.row("a").losses, run.row("a").failures, run.state("a")) == (losses, 0, TaskState.RUNNING)
    run.answer(lost(run.events["a"]))
    assert (run.state("a"), run.row("a").reason) == (TaskState.FAILED, "lost_too_often")
    assert run.row("a").attempt == 20


def test_the_three_budgets_are_counted_apart() -> None:
    run = TinyRun(task("a", attempts=2)).start()
    for result in (lost, crashed, lost, crashed):
        run.answer(result(run.events["a"]))
    run.fail("a")
    row = run.row("a")
    assert (row.failures, row.crashes, row.losses, row.attempt) == (1, 2, 2, 6)
    assert row.state is TaskState.RUNNING


@pytest.mark.parametrize("end", [lost, crashed])
def test_an_at_most_once_task_that_may_have_run_fails(end) -> None:
    run = TinyRun(task("a", at_most_once=True)).start()
    run.answer(end(run.events["a"]))
    assert run.state("a") is TaskState.FAILED
    assert run.row("a").attempt == 1


def test_a_returned_attempt_costs_no_budget_even_at_most_once() -> None:
    run = TinyRun(task("a", at_most_once=True)).start()
    for _ in range(30):
        run.answer(ExecutionResult.returned(run.events["a"], "no_capacity"))
        row = run.row("a")
        assert (row.state, row.reason, row.retry_in) == (TaskState.READY, "no_capacity", Limits().refused_delay)
        assert (row.failures, row.crashes, row.losses) == (0, 0, 0)
        run.due("a")
    assert run.row("a").attempt == 31


def test_a_returned_attempt_keeps_the_error_of_the_one_before_it() -> None:
    run = TinyRun(task("a", attempts=2)).start()
    run.fail("a", "first")
    run.answer(ExecutionResult.returned(run.events["a"], "no_capacity"))
    error = run.row("a").error
    assert error is not None and error.message == "first"


def test_an_attempt_that_says_cancelled_though_nobody_asked_is_a_failure() -> None:
    run = TinyRun(task("a", attempts=2)).start()
    run.answer(ExecutionResult.cancelled(run.events["a"]))
    assert (run.state("a"), run.row("a").failures) == (TaskState.RUNNING, 1)


# -- trigger rules and the end of a run -------------------------------------------------------------------------
def test_a_failure_skips_everything_behind_it_and_the_run_fails() -> None:
    run = TinyRun(task("a"), task("b", "a"), task("c", "b"), task("other"), task("d", "c", "other")).start()
    run.fail("a")
    assert run.run_state is RunState.RUNNING
    assert run.states() == {"a": "failed", "b": "skipped", "c": "skipped", "other": "running", "d": "pending"}
    assert run.row("b").reason == "dependency_failed:a"
    assert run.row("c").reason == "dependency_skipped:b"
    run.complete("other")
    assert (run.state("d"), run.run_state) == (TaskState.SKIPPED, RunState.FAILED)


def test_a_skip_cascades_through_a_chain_longer_than_the_stack_is_deep() -> None:
    names = [f"t{number}" for number in range(3_000)]
    chain = [task(name, *names[max(0, number - 1) : number]) for number, name in enumerate(names)]
    run = TinyRun(*chain).start()
    transition = run.transition()
    transition.result(ExecutionResult.failed(run.events["t0"], "broken"), 0)
    transition.finish()
    assert {row.state for row in transition.rows.values()} == {TaskState.FAILED, TaskState.SKIPPED}
    assert len(transition.rows) == 3_000
    assert transition.run is not None and transition.run.state is RunState.FAILED


def test_a_failure_is_excused_by_a_completed_dependent_whose_rule_names_it() -> None:
    run = TinyRun(task("a"), task("mend", "a", rule=task_failed("a"))).start()
    run.fail("a")
    assert run.state("mend") is TaskState.RUNNING
    run.complete("mend")
    assert run.run_state is RunState.COMPLETED


def test_a_handler_that_fails_itself_excuses_nothing() -> None:
    run = TinyRun(task("a"), task("mend", "a", rule=task_failed("a"))).start()
    run.fail("a")
    run.fail("mend")
    assert run.run_state is RunState.FAILED
    assert run.table.run.reason == "task_failed:a"


def test_a_completed_dependent_whose_rule_does_not_name_the_failure_excuses_nothing() -> None:
    run = TinyRun(task("a"), task("clean", "a", rule=always())).start()
    run.fail("a")
    run.complete("clean")
    assert run.run_state is RunState.FAILED


def test_each_failure_needs_an_excuse_of_its_own() -> None:
    mend = task("mend", "a", "b", rule=any_(task_failed("a"), task_success("b")))
    run = TinyRun(task("a"), task("b"), mend).start()
    run.fail("a")
    run.fail("b")
    run.complete("mend")
    assert run.run_state is RunState.FAILED
    assert run.table.run.reason == "task_failed:b"


def test_a_handler_that_was_not_needed_is_skipped_by_choice_and_its_followers_go_on() -> None:
    run = TinyRun(task("a"), task("mend", "a", rule=task_failed("a")), task("end", "a", "mend")).start()
    run.complete("a")
    assert run.row("mend").reason == TRIGGER_RULE
    assert run.state("end") is TaskState.RUNNING


def test_a_task_all_of_whose_dependencies_were_skipped_by_choice_is_skipped() -> None:
    run = TinyRun(task("a"), task("mend", "a", rule=task_failed("a")), task("after", "mend")).start()
    run.complete("a")
    assert run.states() == {"a": "completed", "mend": "skipped", "after": "skipped"}
    assert run.run_state is RunState.COMPLETED


def test_a_dependency_that_a_branch_did_not_choose_is_forgiven() -> None:
    not_chosen = TaskRow(pos=0, name="a", state=TaskState.SKIPPED, reason=NOT_CHOSEN)
    for_failure = TaskRow(pos=0, name="a", state=TaskState.SKIPPED, reason="dependency_failed:x")
    for row, expected in ((not_chosen, TaskState.RUNNING), (for_failure, TaskState.SKIPPED)):
        run = TinyRun(task("a"), task("b"), task("c", "a", "b"), reuse=[row]).start()
        run.complete("b")
        assert run.state("c") is expected


@pytest.mark.parametrize(
    ("rule", "goes"),
    [
        (all_(task_success("a"), task_failed("b")), True),
        (all_(task_success("a"), task_success("b")), False),
        (none_(task_failed("a"), task_skipped("b")), True),
        (any_(task_failed("a"), all_(always(), task_failed("b"))), True),
        (none_(task_failed("b")), False),
    ],
)
def test_a_rule_is_asked_once_when_all_its_dependencies_have_ended(rule, goes) -> None:
    run = TinyRun(task("a"), task("b"), task("c", "a", "b", rule=rule)).start()
    run.fail("b")
    assert run.state("c") is TaskState.PENDING
    run.complete("a")
    assert run.state("c") is (TaskState.RUNNING if goes else TaskState.SKIPPED)


@pytest.mark.parametrize(
    ("rule", "goes"),
    [
        (context_value("score", ">", 5), True),
        (context_value("score", "<", 5), False),
        (context_value("region", "==", "eu"), True),
        (context_value("b", "contains", 2), True),
        (context_value("missing"), False),
    ],
)
def test_a_context_value_rule_sees_the_input_and_what_the_dependencies_left(rule, goes) -> None:
    run = TinyRun(task("a"), task("b"), task("c", "a", "b", rule=rule), input='{"region":"eu","score":1}').start()
    run.complete("a", output={"score": 9})
    run.complete("b", output=[1, 2])
    assert run.state("c") is (TaskState.RUNNING if goes else TaskState.SKIPPED)


def test_a_context_value_rule_of_a_task_without_dependencies_sees_the_input() -> None:
    for value, expected in ((True, TaskState.RUNNING), (False, TaskState.SKIPPED)):
        root = task("a", rule=context_value("express", "==", True))
        run = TinyRun(root, task("b"), input=msgspec.json.encode({"express": value}).decode()).start()
        assert run.state("a") is expected


# -- cancel, pause, resume --------------------------------------------------------------------------------------
def test_cancel_ends_what_has_not_started_and_names_what_must_be_stopped() -> None:
    run = TinyRun(task("a"), task("b", "a"), task("c", attempts=2, delay=SOON)).start()
    run.fail("c")
    running: list[int] = []
    run.commit(lambda transition: running.extend(transition.cancel("enough")))
    assert running == [0]
    assert run.states() == {"a": "running", "b": "cancelled", "c": "cancelled"}
    assert run.run_state is RunState.CANCELLING
    run.answer(ExecutionResult.cancelled(run.events["a"]))
    assert (run.state("a"), run.run_state, run.table.run.reason) == (TaskState.CANCELLED, RunState.CANCELLED, "enough")


def test_cancel_with_nothing_running_ends_the_run_in_one_commit() -> None:
    run = TinyRun(task("a", attempts=2, delay=SOON)).start()
    run.fail("a")
    run.commit(lambda transition: transition.cancel("enough"))
    assert run.run_state is RunState.CANCELLED
    assert [move.new for move in run.table.history if move.pos == -1] == ["running", "cancelling", "cancelled"]


def test_a_second_cancel_changes_nothing() -> None:
    run = TinyRun(task("a")).start()
    run.commit(lambda transition: transition.cancel("first"))
    transition = run.transition()
    assert transition.cancel("second") == []
    assert transition.empty


@pytest.mark.parametrize(
    ("end", "state"),
    [
        (lambda event: ExecutionResult.success(event, 1), TaskState.COMPLETED),
        (lambda event: ExecutionResult.failed(event, "x"), TaskState.FAILED),
        (lambda event: ExecutionResult.returned(event, "no_capacity"), TaskState.CANCELLED),
        (lost, TaskState.CANCELLED),
        (crashed, TaskState.CANCELLED),
    ],
)
def test_while_cancelling_a_running_task_ends_as_it_says_but_nothing_starts_again(end, state) -> None:
    run = TinyRun(task("a", attempts=5), task("b", "a")).start()
    run.commit(lambda transition: transition.cancel("enough"))
    run.answer(end(run.events["a"]))
    assert run.states() == {"a": state.value, "b": "cancelled"}
    assert run.run_state is RunState.CANCELLED


def test_an_attempt_that_does_not_answer_a_cancellation_can_be_ended_without_it() -> None:
    run = TinyRun(task("a")).start()
    run.commit(lambda transition: transition.cancel("enough"))
    run.commit(lambda transition: transition.stop_running(0, "no answer"))
    assert (run.row("a").reason, run.run_state) == ("no answer", RunState.CANCELLED)
    transition = run.transition()
    transition.stop_running(0, "again")
    assert transition.empty


def test_a_result_and_a_cancel_in_one_turn_leave_nothing_ready() -> None:
    run = TinyRun(task("a"), task("b", "a"), task("c", attempts=2)).start()
    run.commit(
        lambda transition: transition.result(ExecutionResult.success(run.events["a"]), 0),
        lambda transition: transition.result(ExecutionResult.failed(run.events["c"], "x"), 2),
        lambda transition: transition.cancel("enough"),
    )
    assert run.states() == {"a": "completed", "b": "cancelled", "c": "cancelled"}
    assert run.run_state is RunState.CANCELLED


def test_a_run_that_timed_out_ends_failed() -> None:
    run = TinyRun(task("a"), task("b", "a")).start()
    run.commit(lambda transition: transition.cancel("run_timed_out"))
    run.answer(ExecutionResult.cancelled(run.events["a"]))
    assert (run.run_state, run.table.run.reason) == (RunState.FAILED, "run_timed_out")


def test_a_paused_run_takes_results_but_starts_nothing_until_resumed() -> None:
    run = TinyRun(task("a"), task("b", "a")).start()
    run.commit(lambda transition: transition.pause())
    assert (run.run_state, run.table.run.reason) == (RunState.PAUSED, "paused")
    run.complete("a")
    assert run.states() == {"a": "completed", "b": "ready"}
    run.commit(lambda transition: transition.resume())
    assert (run.run_state, run.state("b")) == (RunState.RUNNING, TaskState.RUNNING)


def test_tasks_that_wait_because_their_run_is_paused_say_so_until_it_is_resumed() -> None:
    run = TinyRun(task("a"), task("b", "a"), task("c", "a"), task("d", "b")).start()
    run.answer(ExecutionResult.success(run.events["a"], "1"), place=False)
    run.commit(lambda transition: transition.pause())
    assert (run.row("b").reason, run.row("c").reason) == ("paused", "paused")
    run.commit(lambda transition: transition.resume(), place=False)
    assert (run.row("b").reason, run.row("c").reason) == (None, None)
    run.commit(lambda transition: None)
    run.commit(lambda transition: transition.pause())
    run.complete("b")
    assert (run.row("d").state, run.row("d").reason) == (TaskState.READY, "paused")


def test_a_paused_run_whose_tasks_have_all_ended_ends_when_resumed() -> None:
    run = TinyRun(task("a")).start()
    run.commit(lambda transition: transition.pause())
    run.complete("a")
    assert run.run_state is RunState.PAUSED
    run.commit(lambda transition: transition.resume())
    assert run.run_state is RunState.COMPLETED


def test_a_paused_run_can_be_cancelled() -> None:
    run = TinyRun(task("a")).start()
    run.commit(lambda transition: transition.pause())
    run.commit(lambda transition: transition.cancel("enough"), lambda transition: transition.stop_running(0, "enough"))
    assert run.run_state is RunState.CANCELLED


def test_pause_and_resume_in_one_turn_are_a_legal_write_with_both_moves_recorded() -> None:
    run = TinyRun(task("a")).start()
    run.commit(lambda transition: transition.pause(), lambda transition: transition.resume())
    assert run.run_state is RunState.RUNNING
    run.commit(lambda transition: transition.pause())
    run.commit(lambda transition: transition.resume(), lambda transition: transition.pause())
    assert run.run_state is RunState.PAUSED
    assert [move.new for move in run.table.history if move.pos == -1] == [
        *("running", "paused", "running", "paused", "running", "paused")
    ]


def test_resume_of_a_run_that_is_not_paused_and_pause_of_one_that_is_cancelling_change_nothing() -> None:
    run = TinyRun(task("a")).start()
    transition = run.transition()
    transition.resume()
    assert transition.empty
    run.commit(lambda transition: transition.cancel("enough"))
    transition = run.transition()
    transition.pause()
    transition.resume()
    assert transition.empty


# -- what comes late, twice or from elsewhere -------------------------------------------------------------------
def test_a_result_that_comes_twice_counts_once() -> None:
    run = TinyRun(task("a"), task("b", "a")).start()
    first = ExecutionResult.success(run.events["a"], 1)
    run.answer(first, ExecutionResult.success(run.events["a"], 2))
    assert run.row("a").output == "1"
    transition = run.transition()
    assert not transition.result(ExecutionResult.failed(run.events["a"], "late"), 0)
    assert transition.empty


def test_a_result_of_an_older_attempt_changes_nothing() -> None:
    run = TinyRun(task("a", attempts=2)).start()
    old = run.events["a"]
    run.fail("a")
    transition = run.transition()
    assert not transition.result(ExecutionResult.success(old, 1), 0)
    assert transition.empty


def test_a_result_of_an_attempt_that_waits_for_its_retry_changes_nothing() -> None:
    run = TinyRun(task("a", attempts=2, delay=SOON)).start()
    run.fail("a")
    transition = run.transition()
    assert not transition.result(ExecutionResult.success(run.events["a"], 1), 0)
    assert transition.empty


def test_a_shadow_result_changes_nothing() -> None:
    run = TinyRun(task("a")).start()
    transition = run.transition()
    shadow = msgspec.structs.replace(run.machine.event(0), shadow=True)
    assert not transition.result(ExecutionResult.success(shadow, 1), 0)
    assert transition.empty and transition.open_after == 1


def test_a_turn_that_did_not_apply_is_forgotten() -> None:
    run = TinyRun(task("a"), task("b", "a")).start()
    lost_turn = run.transition()
    lost_turn.result(ExecutionResult.success(run.events["a"], 1), 0)
    lost_write = lost_turn.write()
    run.complete("a", output=2)
    assert run.row("a").output == "2"
    assert run.table.commit(lost_write) == WriteOutcome("run-1", (0, 1))


def test_a_fenced_owner_changes_nothing() -> None:
    run = TinyRun(task("a"), task("b", "a")).start()
    zombie, before = run.machine, msgspec.json.encode(list(run.table.tasks.values()))
    run.machine = run.table.adopt("owner-2", run.graph, run.new, run.limits)
    for step in (
        lambda transition: transition.result(ExecutionResult.success(run.events["a"]), 0),
        lambda transition: transition.cancel("enough"),
        lambda transition: transition.pause(),
    ):
        transition = Transition(zombie, 1.0)
        step(transition)
        transition.finish()
        assert set(run.table.commit(transition.write()).stale) >= {*transition.rows, *([-1] if transition.run else [])}
    assert msgspec.json.encode(list(run.table.tasks.values())) == before


def test_an_adopter_goes_on_where_the_dead_owner_stopped() -> None:
    run = TinyRun(task("a"), task("b", "a")).start()
    run.machine = run.table.adopt("owner-2", run.graph, run.new, run.limits)
    run.answer(lost(run.machine.event(0)))
    assert (run.row("a").attempt, run.row("a").losses) == (2, 1)
    run.complete("a")
    run.complete("b")
    assert run.run_state is RunState.COMPLETED


def test_an_adopter_of_a_run_that_nobody_had_begun_starts_its_roots() -> None:
    run = TinyRun(task("a"), task("b", "a"))
    run.table.insert(run.transition().insert(None))
    run.machine = run.table.adopt(OWNER, run.graph, run.new, run.limits)
    run.commit(lambda transition: transition.begin())
    assert (run.run_state, run.states()) == (RunState.RUNNING, {"a": "running", "b": "pending"})


# -- pollers ----------------------------------------------------------------------------------------------------
def offered() -> TinyRun:
    """``a`` completed, ``b`` offered to pollers."""
    run = TinyRun(task("a"), task("b", "a"), task("c", "b")).start()
    run.commit(
        lambda transition: transition.result(ExecutionResult.success(run.events["a"]), 0),
        lambda transition: transition.offer(1, POLLED),
    )
    return run


def test_an_offered_task_stays_ready_with_its_decision_and_is_never_placed_here() -> None:
    run = offered()
    row = run.row("b")
    assert (row.state, row.poll_key, row.executor, row.reason) == (
        TaskState.READY,
        "pollers",
        "pollers",
        "waiting_for_poller",
    )
    assert list(run.transition().ready()) == []
    assert run.moves("b") == ["pending→ready"]


def test_a_pollers_claim_and_result_pass_the_same_door() -> None:
    run = offered()
    assert run.table.claim_ready(1, "poller-1") == 1
    run.machine.observe_claim(1, 1, "poller-1")
    assert run.row("b").holder == "poller-1"
    run.answer(ExecutionResult.success(run.machine.event(1), 5))
    assert (run.row("b").output, run.row("b").holder) == ("5", "poller-1")
    assert run.state("c") is TaskState.RUNNING


def test_a_claim_is_only_observed_on_an_offered_task_and_for_its_next_attempt() -> None:
    run = offered()
    run.machine.observe_claim(1, 2, "poller-1")
    assert run.machine.tasks[1].state is TaskState.READY
    run.machine.observe_claim(0, 2, "poller-1")
    assert run.machine.tasks[0].state is TaskState.COMPLETED
    run.machine.observe_claim(1, 1, "poller-1")
    run.machine.observe_claim(1, 2, "poller-2")
    assert (run.machine.tasks[1].attempt, run.machine.tasks[1].holder) == (1, "poller-1")


def test_a_pollers_result_without_its_claim_changes_nothing() -> None:
    run = offered()
    run.table.claim_ready(1, "poller-1")
    transition = run.transition()
    event = msgspec.structs.replace(run.machine.event(1), attempt=1)
    assert not transition.result(ExecutionResult.success(event, 5), 1)


def test_a_retry_of_a_polled_task_that_is_offered_again_waits_for_its_time() -> None:
    run = TinyRun(task("a", attempts=2, delay=SOON))
    transition = run.transition()
    transition.begin()
    transition.offer(0, POLLED)
    run.table.insert(transition.insert(OWNER))
    run.machine.apply(transition)
    run.table.claim_ready(0, "poller-1")
    run.machine.observe_claim(0, 1, "poller-1")
    result = ExecutionResult.failed(run.machine.event(0), "broken")
    run.commit(lambda transition: transition.result(result, 0), lambda transition: transition.offer(0, POLLED))
    assert (run.row("a").poll_key, run.row("a").retry_in, run.row("a").was) == ("pollers", SOON, TaskState.RUNNING)
    assert run.table.claim_ready(0, "poller-1") is None
    run.table.waited(0)
    run.machine.clear_delay(0)
    assert list(run.transition().ready()) == []
    assert run.table.claim_ready(0, "poller-1") == 2


def test_a_cancel_that_crosses_a_pollers_claim_does_not_end_the_run_over_the_running_attempt() -> None:
    run = offered()
    run.table.claim_ready(1, "poller-1")
    outcome = run.commit(lambda transition: transition.cancel("enough"))
    assert outcome.stale == (1,)
    assert run.table.run.state is RunState.CANCELLING
    run.machine = run.table.adopt(OWNER, run.graph, run.new, run.limits)
    run.commit(lambda transition: [transition.stop_running(pos, "enough") for pos in transition.go_on_cancelling()])
    assert run.run_state is RunState.CANCELLED
    assert run.states() == {"a": "completed", "b": "cancelled", "c": "cancelled"}


def test_a_cancel_of_an_offered_task_ends_the_run_only_when_it_is_known_to_be_applied() -> None:
    run = offered()
    run.commit(lambda transition: transition.cancel("enough"))
    assert (run.run_state, run.state("b")) == (RunState.CANCELLING, TaskState.CANCELLED)
    run.commit()
    assert run.run_state is RunState.CANCELLED


# -- refused by the store ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("before", [None, "pause", "cancel"])
def test_a_run_that_the_store_rejects_fails_with_everything_open_cancelled(before) -> None:
    run = TinyRun(task("a"), task("b", "a"), task("c", "a", rule=always()), task("d", attempts=2, delay=SOON)).start()
    run.fail("d")
    if before == "pause":
        run.commit(lambda transition: transition.pause())
    elif before == "cancel":
        run.commit(lambda transition: transition.cancel("enough"))
    run.commit(lambda transition: transition.reject(ErrorInfo("StoreRejected", "poison")), place=False)
    assert set(run.states().values()) == {"cancelled"}
    assert (run.run_state, run.table.run.reason) == (RunState.FAILED, "store_rejected")
    assert run.table.run.error == ErrorInfo("StoreRejected", "poison")


def test_a_placed_attempt_records_its_decision_holder_and_time() -> None:
    run = TinyRun(task("a", attempts=2)).start()
    row = run.row("a")
    assert (row.executor, row.decision, row.holder, row.dispatched_at) == (HERE.executor_key, HERE.reason, OWNER, 100.0)
    result = ExecutionResult.success(run.events["a"], 1, started_at=101.0, finished_at=102.0)
    run.answer(result)
    row = run.row("a")
    assert (row.dispatched_at, row.started_at, row.finished_at) == (100.0, 101.0, 102.0)


def test_history_keeps_when_the_body_of_a_retried_attempt_began() -> None:
    run = TinyRun(task("a", attempts=2)).start()
    error = error_info(ValueError("no"))
    run.answer(ExecutionResult.of(run.events["a"], ExecutionStatus.RETRY, error=error, started_at=101.25))
    run.answer(ExecutionResult.success(run.events["a"], 1, started_at=103.0, finished_at=104.0))
    first, second = [move.detail for move in run.table.history if move.pos == 0 and move.old == "running"]
    assert first is not None and msgspec.json.decode(first)["started_at"] == 101.25
    assert second is None, "the row has the times of the newest attempt"


def test_history_says_why_an_attempt_ended() -> None:
    run = TinyRun(task("a", attempts=2)).start()
    run.fail("a", error_info(ValueError("no")))
    details = [move.detail for move in run.table.history if move.pos == 0 and move.old == "running"]
    assert [msgspec.json.decode(detail) for detail in details if detail] == [
        {
            "status": "retry",
            "reason": "retry_at",
            "error": "ValueError: no",
            "traceback": "ValueError: no\n",
            "retry_in": 0.0,
        }
    ]
