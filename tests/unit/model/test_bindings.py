"""Bindings: what tasks get, what a run returns, and how contexts merge."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.errors import InvalidInput
from turnout.model.bindings import (
    ABSENT,
    context_for,
    merge_contexts,
    params_in,
    resolve,
    result_of,
    tasks_in,
)
from turnout.model.inputs import check_input
from turnout.model.spec import (
    Body,
    DictOf,
    FromParam,
    FromTask,
    ListOf,
    Literally,
    Param,
    TaskSpec,
    Template,
    WorkflowSpec,
)
from turnout.model.states import TaskState

BODY = Body("python", "m:f")
scalars = st.none() | st.booleans() | st.integers(-5, 5) | st.text("ab", max_size=2)
json_values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=8,
)
contexts = st.dictionaries(st.sampled_from("abc"), json_values, max_size=3)
templates: st.SearchStrategy[Template] = st.recursive(
    st.builds(Literally, json_values)
    | st.builds(FromParam, st.sampled_from("pq"))
    | st.builds(FromTask, st.sampled_from("tu")),
    lambda inner: (
        st.builds(lambda some: ListOf(tuple(some)), st.lists(inner, max_size=3))
        | st.builds(DictOf, st.dictionaries(st.sampled_from("xyz"), inner, max_size=3))
    ),
    max_leaves=8,
)


def flow(*tasks: tuple[str, tuple[str, ...]], **more: Any) -> WorkflowSpec:
    return WorkflowSpec("w", tuple(TaskSpec(name, BODY, depends_on=deps) for name, deps in tasks), **more)


def spec_task(spec: WorkflowSpec, name: str) -> TaskSpec:
    return next(task for task in spec.tasks if task.name == name)


@given(templates, json_values, json_values, json_values)
def test_resolving_asks_only_for_what_the_template_names(template: Template, p: Any, t: Any, u: Any) -> None:
    asked: list[str] = []

    def output_of(name: str) -> Any:
        asked.append(name)
        return {"t": t, "u": u}[name]

    params = {"p": p, "q": 1}
    value = resolve(template, params, output_of)
    assert set(asked) == set(tasks_in(template))
    assert resolve(template, {name: params[name] for name in params_in(template)}, output_of) == value


def test_paths_go_into_objects_and_lists() -> None:
    output = {"items": [{"id": 7}, {"id": 8}]}
    assert resolve(FromTask("t", ("items", -1, "id")), {}, lambda _: output) == 8
    assert resolve(FromParam("p", ("items", 0)), {"p": output}, lambda _: None) == {"id": 7}


@pytest.mark.parametrize("path", [("nope",), ("items", 2), ("items", "id"), ("items", 0, "id", "x"), (0,)])
def test_a_path_that_leads_nowhere_names_the_task_and_the_path(path: tuple[str | int, ...]) -> None:
    with pytest.raises(InvalidInput, match=r"the output of task 'charge' has nothing at \[") as caught:
        resolve(FromTask("charge", path), {}, lambda _: {"items": [{"id": 7}, {"id": 8}]})
    assert caught.value.code == "missing_path"
    assert caught.value.fields["path"] == list(path)


def test_a_literal_is_handed_out_as_a_copy() -> None:
    literal = Literally({"a": [1]})
    resolve(literal, {}, lambda _: None)["a"].append(2)
    assert literal.value == {"a": [1]}


def test_a_task_without_output_is_none_whatever_the_path() -> None:
    assert resolve(ListOf((FromTask("t"), FromTask("t", ("a", 0)))), {}, lambda _: ABSENT) == [None, None]


def test_a_parameter_without_value_is_named() -> None:
    with pytest.raises(InvalidInput, match="'p'"):
        resolve(FromParam("p"), {}, lambda _: None)


@given(st.lists(contexts, max_size=4))
def test_merging_changes_none_of_the_contexts_and_has_all_their_keys(some: list[dict[str, Any]]) -> None:
    before = copy.deepcopy(some)
    merged = merge_contexts(some)
    assert some == before
    assert merged.keys() == {key for each in some for key in each}


@given(contexts)
def test_merging_a_context_with_nothing_or_with_itself_changes_nothing(context: dict[str, Any]) -> None:
    assert merge_contexts([context]) == merge_contexts([{}, context]) == merge_contexts([context, {}]) == context
    assert merge_contexts([context, context]) == context


@given(contexts, contexts, contexts)
def test_merging_step_by_step_is_merging_at_once(a: dict[str, Any], b: dict[str, Any], c: dict[str, Any]) -> None:
    assert merge_contexts([merge_contexts([a, b]), c]) == merge_contexts([a, b, c])


def test_objects_merge_deep_lists_join_and_the_last_scalar_wins() -> None:
    merged = merge_contexts(
        [
            {"n": 1, "o": {"x": 1, "l": [1, {"k": 1}]}, "m": [1]},
            {"n": 2, "o": {"y": 2, "l": [{"k": 1}, True, 2]}, "m": "text"},
        ]
    )
    assert merged == {"n": 2, "o": {"x": 1, "y": 2, "l": [1, {"k": 1}, True, 2]}, "m": "text"}


def test_input_is_checked_and_defaults_are_filled_in() -> None:
    spec = flow(("a", ()), params=(Param("order"), Param("express", required=False, default=False)))
    assert check_input(spec, {"order": 1}) == {"order": 1, "express": False}
    assert check_input(spec, {"express": None, "order": 1}) == {"order": 1, "express": None}
    with pytest.raises(InvalidInput, match="'order'") as caught:
        check_input(spec, {})
    assert caught.value.code == "missing_parameter"
    with pytest.raises(InvalidInput, match="did you mean 'express'") as caught:
        check_input(spec, {"order": 1, "expres": True})
    assert caught.value.code == "unknown_parameter"


def test_a_context_takes_any_input() -> None:
    assert check_input(flow(("a", ()), context_style=True), {"any": 1}) == {"any": 1}


DIAMOND = flow(("root", ()), ("left", ("root",)), ("right", ("root",)), ("join", ("left", "right")), context_style=True)


def test_roots_get_the_input_and_others_what_their_dependencies_left() -> None:
    outputs = {"root": {"r": 1}, "left": {"r": 1, "l": [1]}, "right": {"r": 2, "l": [2]}}
    assert context_for(DIAMOND, spec_task(DIAMOND, "root"), {"i": 1}, outputs.__getitem__) == {"i": 1}
    join = spec_task(DIAMOND, "join")
    assert context_for(DIAMOND, join, {"i": 1}, outputs.__getitem__) == {"r": 2, "l": [1, 2]}


def test_a_dependency_that_did_not_complete_passes_on_what_it_got_and_yields_to_those_that_completed() -> None:
    outputs = {"root": {"r": 1, "n": 0}, "left": {"r": 1, "n": 5}, "right": ABSENT}
    join = spec_task(DIAMOND, "join")
    assert context_for(DIAMOND, join, {}, outputs.__getitem__) == {"r": 1, "n": 5}
    assert context_for(DIAMOND, join, {"i": 1}, lambda _: ABSENT) == {"i": 1}


def test_a_long_chain_of_skipped_tasks_does_not_exhaust_the_stack() -> None:
    names = [f"t{number}" for number in range(5000)]
    before = [(), *((name,) for name in names)]
    spec = flow(*zip(names, before, strict=False), context_style=True)
    assert context_for(spec, spec.tasks[-1], {"i": 1}, lambda _: ABSENT) == {"i": 1}


def test_the_result_in_context_style_merges_all_leaves() -> None:
    spec = flow(("a", ()), ("b", ("a",)), ("c", ("a",)), ("d", ("c",)), context_style=True)
    outputs = {"a": {"a": 1}, "b": {"b": 1}, "c": {"c": 1}, "d": {"d": 1}}
    states = dict.fromkeys("abcd", TaskState.COMPLETED)
    assert result_of(spec, {}, outputs.__getitem__, states) == {"b": 1, "d": 1}
    states["d"] = TaskState.SKIPPED
    assert result_of(spec, {}, outputs.__getitem__, states) == {"b": 1, "c": 1}


def test_the_result_in_data_flow_is_the_template_with_none_for_skipped_tasks() -> None:
    spec = flow(("a", ()), ("b", ()), result=DictOf({"a": FromTask("a"), "b": FromTask("b", ("x",))}))
    states = {"a": TaskState.COMPLETED, "b": TaskState.SKIPPED}
    assert result_of(spec, {}, {"a": 1}.__getitem__, states) == {"a": 1, "b": None}
    assert result_of(flow(("a", ())), {}, {"a": 1}.__getitem__, states) is None
