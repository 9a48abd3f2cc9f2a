"""Mapped tasks by example: items come, run within their limits, follow one another, and end the whole."""

from __future__ import annotations

import msgspec
import pytest
from kit.runs import SOON, TinyRun, mapped, task

from turnout.model.events import ErrorInfo, ExecutionResult
from turnout.model.rules import always, context_value, task_failed
from turnout.model.spec import FromParam, FromTask, Hook, ListOf
from turnout.model.states import RunState, TaskState
from turnout.model.transition import Transition
from turnout.model.verdict import Limits

ITEMS = FromTask("list")


def running(run: TinyRun) -> list[str]:
    return [row.name for row in run.table.tasks.values() if row.state is TaskState.RUNNING and row.group is not None]


# -- items ------------------------------------------------------------------------------------------------------------
def test_a_list_that_a_task_returned_becomes_items_that_run_in_the_same_commit() -> None:
    run = TinyRun(task("list"), mapped("double", over=ITEMS), task("sum", "double")).start()
    run.complete("list", output=[1, 2])
    assert run.states() == {
        "list": "completed",
        "double": "running",
        "sum": "pending",
        "double[0]": "running",
        "double[1]": "running",
    }
    assert (run.row("double").holder, run.row("double").attempt) == (None, 1)
    assert [(row.group, row.index) for row in run.machine.tasks[3:]] == [(1, 0), (1, 1)]
    assert run.events["double[1]"].task_name == "public::embedded::flow::double"


def test_the_last_item_completes_the_whole_and_starts_what_follows() -> None:
    run = TinyRun(mapped("double", over=[1, 2]), task("sum", "double")).start()
    run.complete("double[1]", output=4)
    assert (run.state("double"), run.state("sum")) == (TaskState.RUNNING, TaskState.PENDING)
    run.complete("double[0]", output=2)
    assert (run.state("double"), run.state("sum")) == (TaskState.COMPLETED, TaskState.RUNNING)
    assert run.row("double").output == "2", "the list is not stored a second time"
    run.complete("sum")
    assert run.run_state is RunState.COMPLETED


def test_an_empty_list_completes_at_once() -> None:
    run = TinyRun(task("list"), mapped("double", over=ITEMS), task("sum", "double")).start()
    run.complete("list", output=[])
    assert run.states() == {"list": "completed", "double": "completed", "sum": "running"}
    assert run.moves("double") == ["pending→running", "running→completed"]


def test_an_empty_map_alone_is_a_whole_run_in_one_commit() -> None:
    run = TinyRun(mapped("double", over=[])).start()
    assert run.run_state is RunState.COMPLETED
    run.table.check()


def test_lists_can_be_parameters_and_lists_of_results() -> None:
    of_results = ListOf((FromTask("a"), FromTask("a")))
    run = TinyRun(
        task("a"),
        mapped("p", over=FromParam("orders", ("new",))),
        mapped("q", "a", over=of_results),
        input='{"orders": {"new": [7, 8, 9]}}',
    ).start()
    assert running(run) == ["p[0]", "p[1]", "p[2]"]
    run.complete("a")
    assert running(run)[3:] == ["q[0]", "q[1]"]


@pytest.mark.parametrize(
    ("over", "output", "code", "said"),
    [
        (ITEMS, 5, "not_a_list", "list 1 is a value of type int"),
        (ITEMS, None, "not_a_list", "NoneType"),
        ((ITEMS, [1, 2]), [1, 2, 3], "unequal_lists", "list 1 has 3, list 2 has 2"),
        (ITEMS, list(range(11)), "too_many_items", "11 items are more than the limit of 10"),
        (FromTask("list", ("no",)), {"yes": [1]}, "missing_path", "'yes'"),
    ],
)
def test_lists_that_do_not_fit_fail_the_whole_before_any_item_starts(over, output, code, said) -> None:
    run = TinyRun(task("list"), mapped("double", over=over), limits=Limits(map_items=10)).start()
    run.complete("list", output=output)
    assert run.states() == {"list": "completed", "double": "failed"}
    error = run.row("double").error
    assert error is not None and error.code == code and said in error.message
    assert run.run_state is RunState.FAILED
    assert run.moves("double") == ["pending→running", "running→failed"]


def test_a_list_skipped_by_choice_skips_the_map_and_lets_others_go_on() -> None:
    never = context_value("never", "exists")
    run = TinyRun(
        task("list", rule=never), task("other"), mapped("double", "other", over=ITEMS), task("end", "double", "other")
    ).start()
    run.complete("other")
    assert (run.state("list"), run.state("double"), run.state("end")) == ("skipped", "skipped", "running")
    run.complete("end")
    assert run.run_state is RunState.COMPLETED


def test_a_map_whose_rule_says_go_without_a_list_fails_and_says_so() -> None:
    run = TinyRun(task("list"), mapped("double", over=ITEMS, rule=always())).start()
    run.fail("list")
    error = run.row("double").error
    assert error is not None and error.code == "not_a_list"


def test_a_list_is_kept_in_memory_until_it_is_counted_whatever_its_size() -> None:
    run = TinyRun(task("list"), task("late"), mapped("m", "late", over=ITEMS), limits=Limits(inline_output=4)).start()
    run.complete("list", output=["long", "list"])
    assert run.machine.tasks[0].output is not None
    run.complete("late")
    assert running(run) == ["m[0]", "m[1]"]
    assert run.machine.tasks[0].output is None


# -- failing items ----------------------------------------------------------------------------------------------------
def test_a_failed_item_fails_the_whole_after_the_rest_have_ended() -> None:
    run = TinyRun(mapped("m", over=[1, 2, 3]), task("after", "m")).start()
    run.fail("m[1]", ValueError("odd"))
    assert run.state("m") is TaskState.RUNNING
    run.complete("m[0]", "m[2]")
    assert (run.state("m"), run.state("after"), run.run_state) == ("failed", "skipped", "failed")
    error = run.row("m").error
    assert error is not None and error.message == "1 of 3 items failed: m[1]; m[1]: ValueError: odd"
    assert run.table.run.reason == "task_failed:m"


def test_return_exceptions_completes_the_whole_whatever_its_items_did() -> None:
    run = TinyRun(mapped("m", over=[1, 2], return_exceptions=True), task("after", "m")).start()
    run.fail("m[0]", ValueError("odd"))
    run.complete("m[1]", output=4)
    assert run.state("after") is TaskState.RUNNING
    assert run.machine.outputs().value(0, {row.pos: row.output or "" for row in run.machine.tasks}) == [
        {"type": "ValueError", "message": "odd"},
        4,
    ]
    run.complete("after")
    assert run.run_state is RunState.COMPLETED


def test_a_group_all_of_whose_items_failed_can_be_handled_by_a_rule() -> None:
    run = TinyRun(mapped("m", over=[1, 2]), task("mend", "m", rule=task_failed("m"))).start()
    run.fail("m[0]")
    run.fail("m[1]")
    assert (run.state("m"), run.state("mend")) == ("failed", "running")
    run.complete("mend")
    assert run.run_state is RunState.COMPLETED


def test_a_rule_can_look_into_what_a_map_collected() -> None:
    rule = context_value("m", "contains", 4)
    run = TinyRun(mapped("m", over=[1, 2]), task("after", "m", rule=rule), limits=Limits(inline_output=0)).start()
    run.complete("m[0]", output=2)
    run.complete("m[1]", output=4)
    assert run.state("after") is TaskState.RUNNING


def test_an_item_is_tried_again_by_its_tasks_policy() -> None:
    run = TinyRun(mapped("m", over=[1, 2], attempts=2)).start()
    run.fail("m[0]")
    assert (run.state("m[0]"), run.row("m[0]").attempt, run.row("m[0]").failures) == ("running", 2, 1)
    assert (run.row("m[0]").group, run.row("m[0]").index) == (0, 0)
    run.complete("m[0]", "m[1]")
    assert run.run_state is RunState.COMPLETED


def test_a_result_that_names_the_mapped_task_itself_is_refused() -> None:
    run = TinyRun(mapped("m", over=[1])).start()
    run.answer(ExecutionResult.success(run.machine.event(0), 9))
    assert run.state("m") is TaskState.RUNNING


# -- max_parallel -----------------------------------------------------------------------------------------------------
def test_no_more_items_run_at_once_than_max_parallel_and_the_next_starts_in_the_same_commit() -> None:
    run = TinyRun(mapped("m", over=[1, 2, 3], max_parallel=1)).start()
    seen = []
    for _ in range(3):
        (name,) = running(run)
        seen.append(name)
        run.complete(name)
    assert seen == ["m[0]", "m[1]", "m[2]"]
    assert run.run_state is RunState.COMPLETED


def test_an_item_that_waits_for_its_retry_leaves_its_place_to_others() -> None:
    run = TinyRun(mapped("m", over=[1, 2, 3], max_parallel=1, attempts=2, delay=SOON)).start()
    run.fail("m[0]")
    assert running(run) == ["m[1]"]
    run.due("m[0]")
    assert running(run) == ["m[1]"], "its time has come, but not its turn"
    run.complete("m[1]")
    assert len(running(run)) == 1


def test_items_held_back_are_remembered_by_an_adopter_whose_first_turn_changes_nothing() -> None:
    run = TinyRun(mapped("m", over=[1, 2, 3], max_parallel=1)).start()
    run.adopt()
    assert run.last.empty
    assert running(run) == ["m[0]"]
    run.complete("m[0]")
    assert running(run) == ["m[1]"]
    run.adopt()
    run.complete("m[1]")
    run.complete("m[2]")
    assert run.run_state is RunState.COMPLETED


def test_an_item_that_its_limit_holds_back_says_so() -> None:
    run = TinyRun(mapped("m", over=[1, 2], max_parallel=1)).start()
    assert (run.state("m[1]"), run.row("m[1]").reason) == (TaskState.READY, "limit")


# -- pipes ------------------------------------------------------------------------------------------------------------
def pipeline(*more, **options) -> TinyRun:
    return TinyRun(mapped("f", over=[1, 2]), mapped("g", over=FromTask("f"), piped=("f",), **options), *more).start()


def test_an_item_follows_its_counterpart_without_waiting_for_the_whole() -> None:
    run = pipeline()
    assert run.states() == {
        "f": "running",
        "g": "running",
        "f[0]": "running",
        "f[1]": "running",
        "g[0]": "pending",
        "g[1]": "pending",
    }
    run.complete("f[1]", output=1)
    assert (run.state("g[0]"), run.state("g[1]")) == ("pending", "running")
    run.complete("g[1]")
    run.complete("f[0]", output=1)
    assert (run.state("f"), run.state("g")) == ("completed", "running")
    run.complete("g[0]")
    assert run.run_state is RunState.COMPLETED


def test_what_follows_a_failed_item_is_skipped_and_the_run_fails_for_the_first_failure_only() -> None:
    run = pipeline(task("end", "g"))
    run.fail("f[0]")
    assert (run.state("g[0]"), run.row("g[0]").reason) == ("skipped", "dependency_failed:f[0]")
    run.complete("f[1]", output=1)
    run.complete("g[1]")
    assert (run.state("f"), run.state("g"), run.state("end")) == ("failed", "failed", "skipped")
    assert (run.row("g").reason, run.row("g").error) == ("dependency_failed:f", None)
    assert (run.run_state, run.table.run.reason) == ("failed", "task_failed:f")


def test_a_failure_that_is_handled_is_handled_for_those_that_followed_it_too() -> None:
    run = pipeline(task("mend", "f", rule=task_failed("f")))
    run.fail("f[0]")
    run.fail("f[1]")
    run.complete("mend")
    assert (run.state("g"), run.run_state) == ("failed", "completed")


def test_an_error_that_is_returned_as_a_value_is_passed_on_in_a_pipe() -> None:
    run = TinyRun(
        mapped("f", over=[1, 2], return_exceptions=True), mapped("g", over=FromTask("f"), piped=("f",))
    ).start()
    run.fail("f[0]")
    assert run.state("g[0]") is TaskState.RUNNING


def test_a_pipe_waits_for_its_other_dependencies_and_takes_up_what_has_ended_meanwhile() -> None:
    run = TinyRun(
        mapped("f", over=[1, 2]), task("slow"), mapped("g", "slow", over=(FromTask("f"), ["a", "b"]), piped=("f",))
    ).start()
    run.complete("f[0]", output=1)
    assert run.state("g") is TaskState.PENDING
    run.complete("slow")
    assert (run.state("g"), run.state("g[0]"), run.state("g[1]")) == ("running", "running", "pending")


def test_a_long_row_of_pipes_opens_and_fails_without_a_deep_stack() -> None:
    maps = [
        mapped("m0", over=[1]),
        *(mapped(f"m{n}", over=FromTask(f"m{n - 1}"), piped=(f"m{n - 1}",)) for n in range(1, 600)),
    ]
    run = TinyRun(*maps).start()
    assert run.state("m599") is TaskState.RUNNING
    run.fail("m0[0]")
    assert (run.state("m599[0]"), run.run_state) == ("skipped", "failed")


def test_an_adopter_goes_on_in_the_middle_of_a_pipe() -> None:
    run = pipeline(max_parallel=1)
    run.complete("f[0]", output=1)
    run.adopt()
    run.complete("f[1]", output=1)
    assert (run.state("g[0]"), run.state("g[1]")) == ("running", "ready")
    run.adopt()
    run.complete("g[0]")
    run.complete("g[1]")
    assert run.run_state is RunState.COMPLETED


# -- the run's own ends -----------------------------------------------------------------------------------------------
def test_cancelling_ends_the_whole_with_the_last_item_that_stops() -> None:
    run = TinyRun(mapped("m", over=[1, 2, 3], max_parallel=2)).start()
    asked: list[int] = []
    run.commit(lambda transition: asked.extend(transition.cancel("enough")))
    assert asked == [run.pos("m[0]"), run.pos("m[1]")]
    assert (run.state("m"), run.state("m[2]")) == ("running", "cancelled")
    run.answer(ExecutionResult.cancelled(run.events["m[0]"]))
    run.complete("m[1]")
    assert (run.state("m"), run.state("m[1]"), run.run_state) == ("cancelled", "completed", "cancelled")


def test_a_map_with_nothing_started_is_cancelled_at_once() -> None:
    run = TinyRun(task("list"), mapped("m", over=ITEMS)).start()
    run.commit(
        lambda transition: transition.result(ExecutionResult.success(run.events["list"], [1, 2]), 0), place=False
    )
    run.commit(lambda transition: transition.cancel("enough"))
    assert set(run.states().values()) == {"completed", "cancelled"}
    assert run.run_state is RunState.CANCELLED


def test_hooks_are_called_when_items_come_and_are_cancelled_in_one_turn() -> None:
    hook = msgspec.structs.replace(task("on_exit.tell"), hook=Hook(on="exit", of="", takes_outcome=False))
    run = TinyRun(task("list"), mapped("m", over=ITEMS), hook).start()

    def list_and_cancel(transition: Transition) -> None:
        transition.result(ExecutionResult.success(run.events["list"], [1, 2]), 0)
        transition.cancel("enough")

    run.commit(list_and_cancel)
    assert (run.state("m[0]"), run.state("m"), run.run_state) == ("cancelled", "cancelled", "cancelling")
    run.commit(lambda transition: None)
    run.complete("on_exit.tell")
    assert run.run_state is RunState.CANCELLED


def test_a_paused_run_may_get_its_items_but_starts_none() -> None:
    run = TinyRun(task("list"), mapped("m", over=ITEMS)).start()
    run.commit(lambda transition: transition.pause())
    run.complete("list", output=[1, 2])
    assert (run.state("m"), run.state("m[0]")) == ("running", "ready")
    run.commit(lambda transition: transition.resume())
    assert running(run) == ["m[0]", "m[1]"]


def test_a_run_that_the_store_rejects_ends_with_all_of_its_items() -> None:
    run = TinyRun(mapped("m", over=[1, 2])).start()
    run.commit(lambda transition: transition.reject(ErrorInfo("StoreRejected", "poison")))
    assert set(run.states().values()) == {"cancelled"}
    assert run.run_state is RunState.FAILED


def test_a_thousand_items_become_one_write() -> None:
    run = TinyRun(task("list"), mapped("m", over=ITEMS, max_parallel=10)).start()
    run.complete("list", output=list(range(1_000)))
    assert (len(running(run)), len(run.machine.tasks)) == (10, 1_002)
