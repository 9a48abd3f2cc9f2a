"""The registry: how stored tasks find their functions again."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from turnout import Context, Workflow, task, workflow
from turnout.authoring.registry import Registry
from turnout.errors import DefinitionError
from turnout.model.spec import Body, TaskSpec


def worth_it(error: BaseException) -> bool:
    return False


@task(retry_if=worth_it)
def charge(order: Any) -> Any: ...


@task
def ship(order: Any) -> Any: ...


@workflow
def fulfil(order: Any) -> None:
    charge(order)
    charge(order)
    ship(order)


def test_bodies_are_found_by_workflow_and_task_name_first() -> None:
    registry = Registry()
    spec = registry.add(fulfil)
    assert registry.add(fulfil) is spec
    assert [registry.body_of(spec.full_name, each) for each in spec.tasks] == [
        charge.function,
        charge.function,
        ship.function,
    ]
    moved = msgspec.structs.replace(spec.tasks[2], body=Body("python", "old.module:ship"))
    assert registry.body_of(spec.full_name, moved) is ship.function
    assert registry.predicate_of(spec.full_name, spec.tasks[1]) is worth_it
    assert registry.predicate_of(spec.full_name, spec.tasks[2]) is None
    assert registry.workflows == {"public::embedded::fulfil": fulfil}
    assert registry.spec_of("public::embedded::fulfil") is spec
    assert registry.spec_of("nobody") is None


def test_a_task_that_is_gone_from_the_workflow_is_found_by_its_reference() -> None:
    registry = Registry()
    registry.add(fulfil)
    gone = TaskSpec("charge-9", Body("python", charge.ref))
    assert registry.body_of("public::embedded::fulfil", gone) is charge.function
    assert registry.body_of("public::embedded::other", gone) is charge.function
    assert registry.body_of("public::embedded::fulfil", TaskSpec("x", Body("python", "m:x"))) is None
    assert registry.body_of("public::embedded::fulfil", TaskSpec("ship", Body("handler", "Ship"))) is None
    registry.add_task(task(worth_it))
    assert registry.body_of("w", TaskSpec("x", Body("python", f"{__name__}:worth_it"))) is worth_it


def test_functions_of_the_main_script_are_named_after_it() -> None:
    def body() -> None: ...

    body.__module__, body.__qualname__ = "__main__", "charge"
    assert task(body).ref == "__main__:charge"


def test_a_tenant_has_names_of_its_own() -> None:
    registry = Registry()
    spec = registry.add(fulfil, tenant="acme")
    assert spec.full_name == "acme::embedded::fulfil"
    assert spec.tasks[0].full_name == "acme::embedded::fulfil::charge"
    assert registry.body_of("acme::embedded::fulfil", spec.tasks[0]) is charge.function


def test_two_workflows_of_one_name_are_refused_but_one_defined_anew_replaces_itself() -> None:
    def define(body: Any) -> Any:
        @workflow(name="same")
        def flow(order: Any) -> None:
            body(order)

        return flow

    registry = Registry()
    registry.add(define(charge))
    again = define(ship)
    registry.add(again)
    assert registry.workflows["public::embedded::same"] is again

    @workflow(name="same")
    def other(order: Any) -> None:
        ship(order)

    with pytest.raises(DefinitionError, match="two workflows") as caught:
        registry.add(other)
    assert caught.value.code == "duplicate_workflow"


def test_context_style_workflows_are_registered_alike() -> None:
    def extract(context: Context) -> None: ...

    registry = Registry()
    spec = registry.add(Workflow("etl", tasks=[extract]))
    assert registry.body_of(spec.full_name, spec.tasks[0]) is extract
