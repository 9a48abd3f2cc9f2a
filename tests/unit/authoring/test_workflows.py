"""Workflow functions: the graph that calls draw, the result, the parameters."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from turnout import Context, Workflow, task, task_failed, workflow
from turnout.authoring import default_runner as runners
from turnout.errors import DefinitionError, InvalidInput, InvalidWorkflow
from turnout.model.spec import DictOf, FromParam, FromTask, ListOf, Literally, Param, WorkflowSpec


@task
def charge(order: Any, amount: int = 0) -> Any: ...


@task
def audit(order: Any) -> Any: ...


@task
def ship(order: Any, payment: Any = None) -> Any: ...


def test_data_flow_and_order_make_the_graph() -> None:
    @workflow
    def fulfil(order: Any, express: bool = False) -> Any:
        audited = audit(order)
        return ship.after(audited)(order, payment=charge(order, 5))

    spec = fulfil.spec
    assert [(each.name, each.depends_on) for each in spec.tasks] == [
        ("audit", ()),
        ("charge", ()),
        ("ship", ("charge", "audit")),
    ]
    assert spec.tasks[1].args == (FromParam("order"), Literally(5))
    assert spec.tasks[2].kwargs == {"payment": FromTask("charge")}
    assert spec.params == (
        Param("order", type="Any"),
        Param("express", required=False, default=False, type="bool", schema={"type": "boolean"}),
    )
    assert spec.result == FromTask("ship")
    assert spec.full_name == "public::embedded::fulfil"
    assert not spec.context_style
    assert msgspec.json.decode(msgspec.json.encode(spec), type=WorkflowSpec) == spec


def test_a_task_called_twice_is_numbered_in_call_order() -> None:
    @workflow
    def flow(order: Any) -> Any:
        charge.named("charge-2")(order)
        charge(order)
        charge(order)
        return audit.after(charge)(order)

    assert [each.name for each in flow.spec.tasks] == ["charge-2", "charge", "charge-3", "audit"]
    assert flow.spec.tasks[3].depends_on == ("charge-2", "charge", "charge-3")


def test_names_given_explicitly_can_collide() -> None:
    @workflow
    def flow(order: Any) -> None:
        charge(order)
        audit.named("charge")(order)

    with pytest.raises(InvalidWorkflow, match=r"test_workflows\.py:") as caught:
        _ = flow.spec
    assert caught.value.code == "duplicate_task"


def test_after_takes_results_tasks_and_names() -> None:
    @workflow
    def flow(order: Any) -> None:
        first = charge.named("first")
        one = first(order)
        audit(order)
        ship.after(one.part, audit).after("first")(order)

    assert flow.spec.tasks[2].depends_on == ("first", "audit")


@pytest.mark.parametrize(
    ("other", "says"),
    [
        (lambda order: order, "is a parameter"),
        (lambda order: audit, "not called before"),
        (lambda order: audit.named("x"), "not called before"),
        (lambda order: "chrge", "did you mean 'charge'"),
        (lambda order: STRAY[0], "another workflow"),
    ],
)
def test_after_something_that_is_no_task_here_is_refused(other: Any, says: str) -> None:
    @workflow
    def flow(order: Any) -> None:
        charge(order)
        ship.after(other(order))(order)

    with pytest.raises(InvalidWorkflow, match=says) as caught:
        _ = flow.spec
    assert caught.value.code == "unknown_dependency"


STRAY: list[Any] = []
UNFIT = object()


@workflow
def elsewhere(order: Any) -> None:
    STRAY.append(charge(order))


_ = elsewhere.spec


def test_a_result_of_another_workflow_is_refused() -> None:
    @workflow
    def flow() -> None:
        charge(STRAY[0])

    with pytest.raises(InvalidWorkflow, match="'elsewhere'") as caught:
        _ = flow.spec
    assert caught.value.code == "foreign_reference"


def test_placeholders_work_inside_lists_and_dicts_and_the_rest_stays_literal() -> None:
    @workflow
    def flow(order: Any) -> Any:
        paid = charge([1, (2, 3)])
        audit({"all": [paid.id, order], "plain": {"k": (1, 2)}})

    first, second = flow.spec.tasks
    assert first.args == (Literally([1, [2, 3]]),)
    assert second.args == (
        DictOf(
            {
                "all": ListOf((FromTask("charge", ("id",)), FromParam("order"))),
                "plain": Literally({"k": [1, 2]}),
            }
        ),
    )
    assert second.depends_on == ("charge",)


@pytest.mark.parametrize(
    ("make", "result"),
    [
        (lambda x: None, None),
        (lambda x: x, FromTask("audit")),
        (lambda x: (x, x.a), ListOf((FromTask("audit"), FromTask("audit", ("a",))))),
        (lambda x: [x], ListOf((FromTask("audit"),))),
        (lambda x: {"x": x, "n": 1}, DictOf({"x": FromTask("audit"), "n": Literally(1)})),
        (lambda x: 5, Literally(5)),
    ],
)
def test_what_the_function_returns_is_the_result(make: Any, result: Any) -> None:
    @workflow
    def flow(order: Any) -> Any:
        return make(audit(order))

    assert flow.spec.result == result


@pytest.mark.parametrize(
    ("draw", "code", "says"),
    [
        (lambda: None, "empty_workflow", "no tasks"),
        (lambda: charge(), "bad_call", "missing a required argument: 'order'"),
        (lambda: charge(1, 2, 3), "bad_call", "too many positional"),
        (lambda: charge(1, amuont=3), "bad_call", "amuont"),  # pyright: ignore
        (lambda: charge(object()), "not_json", "argument 1 of 'charge'"),
        (lambda: charge(order=float("nan")), "not_json", "argument 'order' of 'charge'"),
        (lambda: charge({1: audit(1)}), "not_json", "key 1"),
        (lambda: charge({audit(1): 1}), "not_json", "key"),
        (lambda: task(depends_on=["charge"])(lambda: None).named("x")(), "mixed_styles", "depends_on"),
        (lambda: contextual(Context()), "mixed_styles", "Context"),
        (lambda: ship.options(trigger_rule=task_failed("charge"))(charge.named("c")(1)), "rule_task", "'charge'"),
        (lambda: ship.options(executor=None)(1) and None, None, ""),
    ],
)
def test_a_graph_that_cannot_work_is_refused_where_it_is_drawn(draw: Any, code: str | None, says: str) -> None:
    @workflow
    def flow() -> None:
        draw()

    with pytest.raises(DefinitionError) as caught:
        _ = flow.spec
    assert caught.value.code == (code or "not_yet_a_value")
    assert says in caught.value.message


@task
def contextual(context: Context) -> None: ...


def test_the_function_is_executed_once_when_first_needed() -> None:
    calls: list[int] = []

    @workflow
    def flow(order: Any) -> None:
        calls.append(1)
        charge(order)

    assert calls == []
    threads = [threading.Thread(target=lambda: flow.spec) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert flow.spec is flow.spec
    assert flow.spec_for("other").full_name == "other::embedded::flow"
    assert calls == [1]


def test_an_error_in_the_function_names_the_workflow_and_its_line_and_may_be_mended() -> None:
    broken = [True]

    @workflow
    def flow(order: Any) -> None:
        if broken:
            raise KeyError("mine")
        charge(order)

    with pytest.raises(InvalidWorkflow) as caught:
        _ = flow.spec
    assert caught.value.code == "drawing_failed" and isinstance(caught.value.__cause__, KeyError)
    said = caught.value.message
    assert "workflow 'flow'" in said and "raised KeyError while its graph was drawn: 'mine'" in said
    assert "test_workflows.py:" in said and '(raise KeyError("mine"))' in said
    broken.clear()
    assert charge(1) is None, "the drawing is closed again"
    assert len(flow.spec.tasks) == 1


def test_parameters_that_a_run_cannot_have_are_refused() -> None:
    with pytest.raises(InvalidWorkflow, match=r"\*orders"):

        @workflow
        def variable(*orders: Any) -> None: ...

    with pytest.raises(InvalidWorkflow, match="'order'"):

        @workflow
        def unfit(order: Any = UNFIT) -> None: ...

    with pytest.raises(InvalidWorkflow, match="async"):

        @workflow
        async def later() -> None: ...


def test_binding_names_the_arguments_and_fills_in_defaults() -> None:
    @workflow
    def flow(order: Any, express: bool = False, *, note: str = "") -> None:
        charge(order)

    assert flow.bind(7) == {"order": 7, "express": False, "note": ""}
    assert flow.bind(order=7, note="x") == {"order": 7, "express": False, "note": "x"}
    for args, kwargs, code in (
        ((), {}, "missing_parameter"),
        ((1, 2, 3), {}, "unknown_parameter"),
        ((1,), {"ordr": 2}, "unknown_parameter"),
        ((1,), {"order": 2}, "duplicate_parameter"),
    ):
        with pytest.raises(InvalidInput) as caught:
            flow.bind(*args, **kwargs)
        assert caught.value.code == code


@pytest.fixture
def runner() -> Iterator[list[Any]]:
    calls: list[Any] = []

    class Fake:
        def run(self, workflow: Any, /, *args: Any, **kwargs: Any) -> Any:
            calls.append((workflow, workflow.bind(*args, **kwargs)))
            return "done"

    before = runners._slot.factory  # pyright: ignore[reportPrivateUsage]
    runners.set_default_runner_factory(Fake)
    yield calls
    runners.set_default_runner_factory(before)


def test_calling_a_workflow_runs_it_on_the_default_runner(runner: list[Any]) -> None:
    @workflow
    def flow(order: Any) -> Any:
        return charge(order)

    assert flow(7) == "done"
    assert flow.run(order=8) == "done"
    assert runner == [(flow, {"order": 7}), (flow, {"order": 8})]
    assert runners.default_runner() is runners.default_runner()


def test_without_a_runner_the_message_says_what_to_use(runner: list[Any]) -> None:
    runners.set_default_runner_factory(None)
    with pytest.raises(DefinitionError, match="Runner"):
        elsewhere(1)


def test_options_of_the_workflow_arrive_in_the_spec() -> None:
    @workflow(name="other", package="ml", timeout="1h", worker_selector={"gpu": "true"})
    def flow(order: Any) -> None:
        charge(order)

    spec = flow.spec
    assert (spec.full_name, spec.timeout, spec.worker_selector) == ("public::ml::other", 3600.0, {"gpu": "true"})
    assert flow.__name__ == "flow"
    assert isinstance(flow, Workflow)
