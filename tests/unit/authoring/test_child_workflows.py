"""A workflow called inside another one draws a child run."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from turnout import Workflow, task, task_failed, workflow
from turnout.authoring.registry import Registry
from turnout.errors import DefinitionError, InvalidWorkflow
from turnout.model.spec import Body, FromParam, FromTask


@task
def charge(order: Any) -> Any:
    return order


@workflow
def payment(order: Any, currency: str = "EUR") -> Any:
    return charge(order)


@task
def ship(order: Any) -> None: ...


def test_it_is_a_task_whose_body_is_the_workflow() -> None:
    @workflow
    def shop(order: Any) -> Any:
        paid = payment(order.id, currency="USD")
        ship(paid.receipt)
        return paid

    child, shipped = shop.spec.tasks
    assert (child.name, child.body) == ("payment", Body("workflow", "public::embedded::payment"))
    assert child.full_name == "public::embedded::shop::payment"
    assert child.args == (FromParam("order", ("id",)),)
    assert shipped.args == (FromTask("payment", ("receipt",)),)
    assert shop.spec.result == FromTask("payment")


def test_the_child_is_one_of_the_parents_tenant() -> None:
    @workflow(package="sales")
    def inner() -> None:
        ship(1)

    @workflow
    def outer() -> None:
        inner()

    assert outer.spec_for("acme").tasks[0].body.ref == "acme::sales::inner"


def test_options_names_and_order_are_said_as_for_tasks() -> None:
    @workflow
    def shop(order: Any) -> Any:
        shipped = ship(order)
        payment.named("first").options(retries=2, timeout="5m").after(shipped)(order)
        payment.after("first")(order)
        late = ship.named("late").after(payment)
        late.options(trigger_rule=task_failed("payment"))(order)

    _, first, second, late = shop.spec.tasks
    assert (first.name, first.retry.attempts, first.timeout, first.depends_on) == ("first", 3, 300.0, ("ship",))
    assert (second.name, second.depends_on) == ("payment", ("first",))
    assert late.depends_on == ("first", "payment"), "both calls of the workflow"


def test_a_child_called_twice_gets_two_names() -> None:
    @workflow
    def twice() -> None:
        payment(payment(1))

    assert [each.name for each in twice.spec.tasks] == ["payment", "payment-2"]


def test_a_child_is_mapped_like_a_task() -> None:
    @workflow
    def shop(orders: Any) -> Any:
        return payment.partial(currency="USD").map(orders, max_parallel=2)

    [child] = shop.spec.tasks
    assert child.body.kind == "workflow" and child.map is not None and child.map.max_parallel == 2


def test_a_mapped_child_that_comes_back_to_its_parent_is_refused() -> None:
    @workflow
    def endless(numbers: Any) -> Any:
        return endless.map(numbers)

    with pytest.raises(InvalidWorkflow, match="calls itself"):
        _ = endless.spec


@pytest.mark.parametrize(
    "options", [{"executor": "gpu"}, {"worker_selector": "local"}, {"at_most_once": True}, {"retry_if": bool}]
)
def test_options_that_say_how_a_body_runs_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(InvalidWorkflow, match="give it to the tasks of workflow 'payment'") as caught:
        payment.options(**options)
    assert caught.value.code == "child_option"


def test_arguments_are_checked_against_the_childs_parameters() -> None:
    @workflow
    def wrong() -> None:
        payment(ordr=1)  # type: ignore

    with pytest.raises(InvalidWorkflow, match="ordr") as caught:
        _ = wrong.spec
    assert caught.value.code == "bad_call"


def test_a_mistake_in_the_child_shows_in_its_parent() -> None:
    @workflow
    def broken() -> None: ...

    @workflow
    def outer() -> None:
        broken()

    with pytest.raises(InvalidWorkflow, match="'broken' has no tasks"):
        _ = outer.spec


def test_a_workflow_that_calls_itself_is_refused() -> None:
    @workflow
    def endless(n: int) -> int:
        return endless(n)

    with pytest.raises(InvalidWorkflow, match=r"'endless' calls itself \(endless → endless\)") as caught:
        _ = endless.spec
    assert caught.value.code == "recursive_workflow"


def test_workflows_that_call_one_another_are_refused_whoever_is_drawn_first_and_in_any_thread() -> None:
    @workflow
    def ping() -> Any:
        return pong()

    @workflow
    def pong() -> Any:
        return ping()

    found: list[str] = []

    def draw(each: Workflow[..., Any]) -> None:
        with pytest.raises(InvalidWorkflow) as caught:
            _ = each.spec
        found.append(caught.value.code)

    threads = [threading.Thread(target=draw, args=(each,)) for each in (ping, pong) * 4]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert found == ["recursive_workflow"] * 8


@pytest.mark.parametrize("method", ["run", "submit", "submit_with"])
def test_starting_a_run_while_drawing_is_refused_with_the_way_out(method: str) -> None:
    @workflow
    def outer() -> None:
        getattr(payment, method)(1)

    with pytest.raises(DefinitionError, match=r"call payment\(…\) for a child run") as caught:
        _ = outer.spec
    assert caught.value.code == "child_workflow"


def test_in_context_style_a_workflow_is_a_task_among_others() -> None:
    def extract() -> None: ...

    def load() -> None: ...

    inner = Workflow("clean", tasks=[task(load)])
    etl = Workflow(
        "etl", tasks=[extract, inner.options(depends_on=[extract]), task(depends_on=[inner, payment])(load), payment]
    )
    child = etl.spec.tasks[1]
    assert (child.name, child.body.kind, child.depends_on, child.uses_context) == (
        "clean",
        "workflow",
        ("extract",),
        True,
    )
    assert etl.spec.tasks[2].depends_on == ("clean", "payment")


def test_a_registry_has_the_children_of_what_it_has() -> None:
    @workflow
    def middle() -> Any:
        return payment(1)

    @workflow
    def outer() -> Any:
        return middle()

    registry = Registry()
    registry.add(outer, "acme")
    assert set(registry.workflows) == {f"acme::embedded::{name}" for name in ("outer", "middle", "payment")}
    assert {spec.name for spec in registry.family_of(outer, "acme")} == {"outer", "middle", "payment"}


def test_a_workflow_whose_child_cannot_be_told_apart_is_not_registered() -> None:
    @workflow(name="same")
    def one() -> None:
        ship(1)

    @workflow(name="same")
    def other() -> None:
        ship(2)

    @workflow
    def outer() -> None:
        one()

    registry = Registry()
    registry.add(other)
    with pytest.raises(DefinitionError, match="two workflows are named"):
        registry.add(outer)
    assert "public::embedded::outer" not in registry.workflows
