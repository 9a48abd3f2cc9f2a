"""What a rerun keeps: a pure decision between an old run and the workflow of today."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.runs import graph_of, task

from turnout.errors import InvalidInput
from turnout.model.graph import Graph
from turnout.model.rerun import changed_parameters, kept_tasks, new_input, same_work
from turnout.model.retry import RetryPolicy
from turnout.model.rows import TaskRow
from turnout.model.rules import context_value
from turnout.model.spec import Body, FromParam, FromTask, Literally, Param, TaskSpec, WorkflowSpec
from turnout.model.states import TaskState

DONE = TaskState.COMPLETED


def rows_of(graph: Graph, **states: TaskState | tuple[TaskState, str]) -> dict[int, TaskRow]:
    """All completed, but for those given."""
    rows: dict[int, TaskRow] = {}
    for pos, each in enumerate(graph.tasks):
        given = states.get(each.name, DONE)
        state, reason = given if isinstance(given, tuple) else (given, None)
        rows[pos] = TaskRow(pos=pos, name=each.name, state=state, reason=reason)
    return rows


def kept(graph: Graph, rows: dict[int, TaskRow], new: Graph | None = None, **how: Any) -> set[str]:
    new = new or graph
    return {new.tasks[pos].name for pos in kept_tasks(graph, rows, new, **how)}


CHAIN = (task("a"), task("b", "a"), task("c", "b"), task("side"))


def test_by_default_what_did_not_complete_runs_again_and_what_follows_it() -> None:
    graph = graph_of(*CHAIN)
    rows = rows_of(graph, b=TaskState.FAILED, c=(TaskState.SKIPPED, "dependency_failed:b"))
    assert kept(graph, rows) == {"a", "side"}


def test_a_run_in_which_all_completed_keeps_all() -> None:
    graph = graph_of(*CHAIN)
    assert kept(graph, rows_of(graph)) == {"a", "b", "c", "side"}


def test_from_a_task_it_and_what_follows_runs_again() -> None:
    graph = graph_of(*CHAIN)
    assert kept(graph, rows_of(graph), from_task="b") == {"a", "side"}


def test_what_a_branch_left_out_stays_left_out() -> None:
    graph = graph_of(task("choose"), task("yes", "choose"), task("no", "choose"), task("join", "yes", "no"))
    rows = rows_of(graph, no=(TaskState.SKIPPED, "not_chosen"), join=TaskState.FAILED)
    assert kept(graph, rows) == {"choose", "yes", "no"}
    assert kept(graph, rows, from_task="choose") == set()


def test_a_task_that_changed_runs_again_and_what_follows_it() -> None:
    old = graph_of(*CHAIN)
    changed = msgspec.structs.replace(CHAIN[1], args=(Literally(7),))
    assert kept(old, rows_of(old), graph_of(CHAIN[0], changed, *CHAIN[2:])) == {"a", "side"}


def test_a_new_task_runs_and_one_that_is_gone_is_forgotten() -> None:
    old = graph_of(*CHAIN)
    new = graph_of(task("a"), task("between", "a"), task("c", "between"))
    assert kept(old, rows_of(old), new) == {"a"}


def test_positions_may_differ_between_then_and_now() -> None:
    old, new = graph_of(*CHAIN), graph_of(*reversed(CHAIN))
    assert kept_tasks(old, rows_of(old), new) == {0: 3, 1: 2, 2: 1, 3: 0}


def test_how_often_and_where_a_task_runs_is_no_change_of_its_work() -> None:
    before = task("a")
    for change in (
        {"retry": RetryPolicy(attempts=5)},
        {"timeout": 3.0},
        {"priority": 2},
        {"executor": "gpu"},
        {"worker_selector": {"gpu": "true"}},
        {"full_name": "x::a"},
    ):
        assert same_work(before, msgspec.structs.replace(before, **change)), change
    for change in (
        {"body": Body("python", "other:f")},
        {"args": (Literally(1),)},
        {"kwargs": {"x": Literally(1)}},
        {"depends_on": ("z",)},
        {"rule": context_value("k")},
        {"uses_context": True},
    ):
        assert not same_work(before, msgspec.structs.replace(before, **change)), change


def test_a_changed_parameter_runs_the_tasks_that_take_it_and_what_follows_them() -> None:
    graph = graph_of(
        task("a", args=(FromParam("x"),)),
        task("b", kwargs={"y": FromParam("y", ("deep", 0))}),
        task("c", "b", args=(FromTask("b"),)),
    )
    assert kept(graph, rows_of(graph), changed={"y"}) == {"a"}
    assert kept(graph, rows_of(graph), changed={"x"}) == {"b", "c"}
    assert kept(graph, rows_of(graph), changed={"unused"}) == {"a", "b", "c"}


def test_in_context_style_a_changed_input_runs_everything_again() -> None:
    graph = graph_of(task("a", uses_context=True), task("b", "a", uses_context=True))
    assert kept(graph, rows_of(graph), changed={"x"}) == set()


def test_a_rule_that_looks_at_the_input_is_asked_again_if_the_input_changed() -> None:
    graph = graph_of(task("a", rule=context_value("x", "==", 1)), task("b"))
    assert kept(graph, rows_of(graph), changed={"x"}) == {"b"}


def test_an_unknown_task_is_refused_with_what_was_probably_meant() -> None:
    graph = graph_of(*CHAIN)
    with pytest.raises(InvalidInput, match="did you mean 'side'") as caught:
        kept(graph, rows_of(graph), from_task="sied")
    assert caught.value.code == "unknown_task"


def test_which_parameters_changed() -> None:
    assert changed_parameters({"a": 1, "b": {"x": [1]}, "c": 1}, {"a": True, "b": {"x": [1]}, "d": 1}) == {
        "a",
        "c",
        "d",
    }


def test_the_old_input_counts_as_far_as_the_workflow_still_takes_it() -> None:
    spec = WorkflowSpec("flow", CHAIN, params=(Param("kept"), Param("new", required=False)))
    assert new_input(spec, {"kept": 1, "gone": 2}, {"given": 3}) == {"kept": 1, "given": 3}
    style = msgspec.structs.replace(spec, context_style=True, params=())
    assert new_input(style, {"kept": 1, "gone": 2}, {"gone": 3}) == {"kept": 1, "gone": 3}


# -- whatever the workflow is ---------------------------------------------------------------------------------------
@st.composite
def reruns(draw: st.DrawFn) -> tuple[Graph, dict[int, TaskRow], Graph, frozenset[str], str | None]:
    """A random run and a version of its workflow in which tasks changed, came or went."""

    def specs(names: list[str]) -> list[TaskSpec]:
        made: list[TaskSpec] = []
        for name in names:
            known = [each.name for each in made]
            after = draw(st.lists(st.sampled_from(known), unique=True, max_size=3)) if known else []
            params = draw(st.lists(st.sampled_from("xy"), max_size=2, unique=True))
            made.append(task(name, *after, args=tuple(FromParam(each) for each in params)))
        return made

    old = specs([f"t{number}" for number in range(draw(st.integers(1, 7)))])
    new = [each for each in old if draw(st.integers(0, 9))]
    names = {each.name for each in new}
    new = [
        msgspec.structs.replace(
            each,
            depends_on=tuple(name for name in each.depends_on if name in names),
            body=Body("python", "new:f") if draw(st.integers(0, 9)) == 0 else each.body,
        )
        for each in new
    ]
    new += [task("added", *draw(st.lists(st.sampled_from(sorted(names)), unique=True, max_size=2)))] if names else []
    graph = graph_of(*old)
    state = st.sampled_from([DONE, DONE, DONE, TaskState.FAILED, TaskState.SKIPPED, TaskState.CANCELLED])
    rows = {pos: TaskRow(pos=pos, name=each.name, state=draw(state)) for pos, each in enumerate(old)}
    start = draw(st.none() | st.sampled_from([each.name for each in new])) if new else None
    return graph, rows, graph_of(*new), draw(st.frozensets(st.sampled_from("xyz"))), start


@given(reruns())
def test_what_is_kept_was_finished_is_the_same_and_stands_on_nothing_that_runs_again(
    case: tuple[Graph, dict[int, TaskRow], Graph, frozenset[str], str | None],
) -> None:
    old, rows, new, changed, start = case
    found = kept_tasks(old, rows, new, changed=changed, from_task=start)
    for pos, was in found.items():
        now = new.tasks[pos]
        assert now.name == old.tasks[was].name != start
        assert rows[was].state is DONE
        assert same_work(now, old.tasks[was])
        assert all(dep in found for dep in new.deps[pos])
        assert not changed & {each.name for each in now.args if isinstance(each, FromParam)}
    for pos, now in enumerate(new.tasks):
        if pos not in found:
            # It runs again for one of the reasons that there are.
            was = old.position.get(now.name)
            assert (
                was is None
                or now.name == start
                or rows[was].state is not DONE
                or not same_work(now, old.tasks[was])
                or any(dep not in found for dep in new.deps[pos])
                or changed & {each.name for each in now.args if isinstance(each, FromParam)}
            )
