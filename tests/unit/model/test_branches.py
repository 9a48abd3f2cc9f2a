"""Branches: the chosen dependents run, the others are skipped, and what comes after follows the default rule."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.runs import TinyRun, graph_of, new_run, task

from turnout import Branch, always
from turnout import task as authored
from turnout.errors import InvalidInput
from turnout.model.branches import unchosen
from turnout.model.deferral import read_memo
from turnout.model.events import ExecutionResult
from turnout.model.rows import TaskRow
from turnout.model.run_machine import RunMachine
from turnout.model.spec import TaskSpec
from turnout.model.states import RunState, TaskState
from turnout.model.transition import Transition
from turnout.model.verdict import Limits


def forked(*more: TaskSpec) -> TinyRun:
    return TinyRun(task("decide"), task("ship", "decide"), task("hold", "decide"), *more).start()


def test_only_the_chosen_dependents_run_and_the_others_say_who_chose() -> None:
    run = forked()
    run.complete("decide", output=Branch("ship"))
    assert run.states() == {"decide": "completed", "ship": "running", "hold": "skipped"}
    assert run.row("hold").reason == "not_chosen:decide"
    run.complete("ship")
    assert run.run_state is RunState.COMPLETED


def test_several_may_be_chosen_and_so_may_none() -> None:
    both, neither = forked(), forked()
    both.complete("decide", output=Branch("ship", "hold"))
    assert both.states() == {"decide": "completed", "ship": "running", "hold": "running"}
    neither.complete("decide", output=Branch())
    assert neither.states() == {"decide": "completed", "ship": "skipped", "hold": "skipped"}
    assert neither.run_state is RunState.COMPLETED


def test_the_value_is_the_output_and_the_choice_is_kept_and_told() -> None:
    run = forked()
    run.complete("decide", output=Branch("ship", value={"weight": 3}))
    row = run.row("decide")
    assert (row.output, read_memo(row.memo).chosen) == ('{"weight":3}', ("ship",))
    details = [move.detail for move in run.table.history if move.pos == 0 and move.new == "completed"]
    assert [json.loads(each or "null") for each in details] == [{"chosen": ["ship"]}]


def test_a_join_after_a_branch_runs_if_one_of_its_dependencies_completed() -> None:
    run = forked(task("done", "ship", "hold"))
    run.complete("decide", output=Branch("hold"))
    run.complete("hold")
    assert run.state("done") is TaskState.RUNNING


def test_what_comes_only_after_a_task_that_was_left_out_is_left_out_too() -> None:
    run = forked(task("label", "ship"), task("post", "label"))
    run.complete("decide", output=Branch("hold"))
    assert (run.state("label"), run.row("post").reason) == (TaskState.SKIPPED, "not_chosen:decide")


def test_a_failure_on_the_chosen_way_skips_the_join() -> None:
    run = forked(task("done", "ship", "hold"))
    run.complete("decide", output=Branch("ship"))
    run.fail("ship")
    assert run.row("done").reason == "dependency_failed:ship"
    assert run.run_state is RunState.FAILED


def test_a_join_that_takes_the_branch_s_own_value_is_not_skipped_by_the_choice() -> None:
    run = forked(task("done", "decide", "ship", "hold"))
    run.complete("decide", output=Branch("ship"))
    assert run.state("done") is TaskState.PENDING
    run.complete("ship")
    assert run.state("done") is TaskState.RUNNING


def test_a_dependent_that_is_left_out_does_not_wait_for_its_other_dependencies() -> None:
    run = TinyRun(task("decide"), task("slow"), task("ship", "decide"), task("hold", "decide", "slow")).start()
    run.complete("decide", output=Branch("ship"))
    assert (run.state("hold"), run.state("slow")) == (TaskState.SKIPPED, TaskState.RUNNING)
    run.complete("slow")
    run.complete("ship")
    assert run.run_state is RunState.COMPLETED


def test_a_choice_is_stronger_than_a_trigger_rule() -> None:
    run = TinyRun(task("decide"), task("ship", "decide"), task("tidy", "decide", rule=always())).start()
    run.complete("decide", output=Branch("ship"))
    assert run.state("tidy") is TaskState.SKIPPED


def test_a_name_that_is_no_dependent_fails_the_task_for_good() -> None:
    run = TinyRun(task("decide", attempts=3), task("ship", "decide"), task("later", "ship")).start()
    run.complete("decide", output=Branch("shipp", "later"))
    row = run.row("decide")
    assert row.error is not None and row.error.code == "unknown_branch"
    assert "'shipp', 'later'" in row.error.message and "did you mean 'ship'?" in row.error.message
    assert run.states() == {"decide": "failed", "ship": "skipped", "later": "skipped"}
    assert run.run_state is RunState.FAILED


def test_a_choice_while_the_run_is_cancelled_counts_as_done_and_starts_nothing() -> None:
    run = forked()
    event = run.events["decide"]
    run.commit(lambda transition: transition.cancel("enough"))
    run.answer(ExecutionResult.success(event, Branch("ship")))
    assert run.states() == {"decide": "completed", "ship": "cancelled", "hold": "cancelled"}
    assert read_memo(run.row("decide").memo).chosen == ("ship",)


def test_a_rerun_keeps_the_choice_of_a_branch_whose_output_it_takes_over() -> None:
    before = forked()
    before.complete("decide", output=Branch("ship"))
    done = before.row("decide")
    reuse = TaskRow(pos=0, name="decide", state=TaskState.COMPLETED, output=done.output, memo=done.memo)
    run = TinyRun(*before.graph.tasks, reuse=[reuse], rerun_of="run-0").start()
    assert run.states() == {"decide": "completed", "ship": "running", "hold": "skipped"}


def test_a_choice_survives_the_owner() -> None:
    run = forked(task("done", "ship", "hold"))
    run.complete("decide", output=Branch("ship"))
    machine = run.table.adopt("owner-2", run.graph, run.new, Limits())
    transition = Transition(machine, 1.0)
    transition.begin()
    assert transition.empty
    assert machine.tasks[2].reason == "not_chosen:decide"


def test_a_task_may_be_named_by_itself() -> None:
    @authored
    def ship() -> None: ...

    def plain() -> None: ...

    assert Branch(ship, ship.named("other"), plain, "ship").chosen == ("ship", "other", "plain")
    assert Branch("a") == Branch("a") != Branch("a", value=1)
    assert repr(Branch("a", "b")) == "Branch('a', 'b')"


@pytest.mark.parametrize("wrong", [42, None, ["ship"]])
def test_what_names_no_task_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidInput, match="names no task") as caught:
        Branch(wrong)
    assert caught.value.code == "bad_branch"


@st.composite
def graphs(draw: st.DrawFn) -> tuple[TaskSpec, ...]:
    tasks = [task("t0")]
    for number in range(1, draw(st.integers(2, 8))):
        after = draw(st.lists(st.sampled_from([each.name for each in tasks]), unique=True, min_size=1, max_size=3))
        tasks.append(task(f"t{number}", *after))
    return tuple(tasks)


@given(graphs(), st.data())
def test_whatever_is_chosen_the_run_ends_and_exactly_the_others_were_left_out(
    tasks: tuple[TaskSpec, ...], data: st.DataObject
) -> None:
    graph = graph_of(*tasks)
    names = [tasks[pos].name for pos in graph.dependents[0]]
    chosen = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    run = TinyRun(*tasks).start()
    run.complete("t0", output=Branch(*chosen))
    expected = {tasks[pos].name for pos in unchosen(graph, 0, chosen)}
    assert {name for name in names if run.row(name).reason == "not_chosen:t0"} >= expected
    assert not expected & set(chosen)
    while run.run_state is not RunState.COMPLETED:
        going = [name for name, state in run.states().items() if state == "running"]
        assert going, "nothing runs and the run has not ended"
        run.complete(*going)
    for name in chosen:
        others = [dep for dep in graph.tasks[graph.position[name]].depends_on if run.state(dep) is TaskState.SKIPPED]
        assert run.state(name) is (TaskState.COMPLETED), f"{name} was chosen; {others} were skipped"


def test_a_new_machine_knows_nothing_of_choices_it_has_not_seen() -> None:
    machine = RunMachine.create(graph_of(task("a"), task("b", "a")), new_run(), Limits())
    assert [row.memo for row in machine.tasks] == [None, None]
