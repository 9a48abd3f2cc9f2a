"""The registry: how stored tasks find their functions again."""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import pytest

from turnout import Context, Workflow, shell, task, workflow
from turnout.authoring.registry import Registry
from turnout.errors import DefinitionError, InvalidWorkflow
from turnout.model.retention import KeepRule
from turnout.model.rows import NewRun
from turnout.model.spec import Body, TaskSpec


def worth_it(error: BaseException) -> bool:
    return False


def run_of(workflow: str, run_id: str = "run", created_at: float | None = None) -> NewRun:
    at = time.time() if created_at is None else created_at
    return NewRun(run_id=run_id, workflow=workflow, version="v", input="{}", created_at=at)


def body_of(registry: Registry, workflow: str, task: TaskSpec) -> Callable[..., Any] | None:
    found = registry.find(run_of(workflow), task)
    return None if found is None else found.function


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
    assert [body_of(registry, spec.full_name, each) for each in spec.tasks] == [
        charge.function,
        charge.function,
        ship.function,
    ]
    moved = msgspec.structs.replace(spec.tasks[2], body=Body("python", "old.module:ship"))
    assert body_of(registry, spec.full_name, moved) is ship.function
    predicates = [found.retry_if for each in spec.tasks if (found := registry.find(run_of(spec.full_name), each))]
    assert predicates == [worth_it, worth_it, None]
    assert list(registry.workflows) == ["public::embedded::fulfil"]
    assert registry.spec_of("public::embedded::fulfil") is spec
    assert registry.spec_of("nobody") is None


def test_a_task_that_is_gone_from_the_workflow_is_found_by_its_reference() -> None:
    registry = Registry()
    registry.add(fulfil)
    gone = TaskSpec("charge-9", Body("python", charge.ref))
    assert body_of(registry, "public::embedded::fulfil", gone) is charge.function
    assert body_of(registry, "public::embedded::other", gone) is charge.function
    assert body_of(registry, "public::embedded::fulfil", TaskSpec("x", Body("python", "m:x"))) is None
    assert body_of(registry, "public::embedded::fulfil", TaskSpec("ship", Body("handler", "Ship"))) is None


def test_functions_of_the_main_script_are_named_after_it() -> None:
    def body() -> None: ...

    body.__module__, body.__qualname__ = "__main__", "charge"
    assert task(body).ref == "__main__:charge"


def test_a_tenant_has_names_of_its_own() -> None:
    registry = Registry()
    spec = registry.add(fulfil, tenant="acme")
    assert spec.full_name == "acme::embedded::fulfil"
    assert spec.tasks[0].full_name == "acme::embedded::fulfil::charge"
    assert body_of(registry, "acme::embedded::fulfil", spec.tasks[0]) is charge.function


# -- namesakes --------------------------------------------------------------------------------------------------
def made_by_function(number: int, name: str = "same") -> Any:
    @task
    def work() -> int:
        return number

    @workflow(name=name)
    def flow() -> int:
        return work()

    return flow


def made_in_context_style(number: int, name: str = "same") -> Any:
    def work(context: Context) -> None:
        context["number"] = number

    return Workflow(name, tasks=[work])


FACTORIES = pytest.mark.parametrize("make", [made_by_function, made_in_context_style])


def refused(registry: Registry, flow: Any) -> str:
    with pytest.raises(DefinitionError) as caught:
        registry.add(flow)
    assert caught.value.code == "duplicate_workflow"
    return caught.value.message


@FACTORIES
def test_two_live_workflows_of_one_name_are_refused(make: Callable[[int], Any]) -> None:
    registry = Registry()
    first, second = make(1), make(2)
    registry.add(first)
    assert "two workflows are named 'public::embedded::same'" in refused(registry, second)
    assert registry.workflows["public::embedded::same"].is_of(first)
    registry.add(first)


def test_workflows_of_one_name_in_either_style_are_refused() -> None:
    registry = Registry()
    first, second = made_by_function(1), made_in_context_style(1)
    registry.add(second)
    said = refused(registry, first)
    assert "made_by_function.<locals>.flow" in said and "test_registry.py:" in said


def test_the_same_tasks_listed_twice_are_one_definition() -> None:
    def extract(context: Context) -> None: ...

    registry = Registry()
    first, second = (Workflow("etl", tasks=[extract]) for _ in range(2))
    assert registry.add(first) is registry.add(second)
    third = Workflow(
        "etl",
        tasks=[
            task(
                extract,
            )
        ],
        timeout=5,
    )
    refused(registry, third)


@FACTORIES
def test_a_workflow_that_is_gone_gives_way_and_its_runs_keep_it(make: Callable[[int], Any]) -> None:
    registry = Registry()
    spec = registry.add(make(1))
    early = run_of(spec.full_name, "early")
    registry.keep(early, registry.workflows[spec.full_name])
    second = make(2)
    registry.add(second)
    late = run_of(spec.full_name, "late")
    registry.keep(late, registry.workflows[spec.full_name])
    found = [registry.find(run, spec.tasks[0]) for run in (early, late)]
    assert found[0] is not None and found[1] is not None and found[0].function is not found[1].function
    assert found[1] is second.tasks["work"]


def test_a_clock_that_goes_back_gives_no_run_another_definition(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()
    monkeypatch.setattr("turnout.authoring.registry.time.time", lambda: 1000.0)
    runs: list[tuple[NewRun, Any]] = []
    for number, at in enumerate((5000.0, 900.0, 900.0)):
        registry.add(made_by_function(number))
        definition = registry.workflows["public::embedded::same"]
        runs.append((run_of("public::embedded::same", str(number), at), definition))
        registry.keep(*runs[-1])
    assert [registry.definition_of(run) is definition for run, definition in runs] == [True, True, True]
    registry.forget("1")
    assert registry.definition_of(runs[0][0]) is runs[0][1]


CELL = """
from turnout import Context, Workflow, shell, task, workflow

@task
def work():
    return {number}

@workflow(name="noted")
def flow():
    return work()

def step(context: Context):
    context["number"] = {number}

listed = Workflow("listed", tasks=[step])
"""


@pytest.mark.parametrize("name", ["flow", "listed"])
def test_a_cell_that_is_run_again_defines_its_workflows_anew(name: str) -> None:
    registry, notebook = Registry(), {"__name__": "__main__"}
    exec(CELL.format(number=1), notebook)
    first: Any = notebook[name]
    spec = registry.add(first)
    early = run_of(spec.full_name, "early")
    notebook["_"] = notebook["_12"] = first  # what a session keeps of its last results
    exec(CELL.format(number=2), notebook)
    again: Any = notebook[name]
    registry.add(again)
    assert registry.workflows[spec.full_name].is_of(again)
    found = registry.find(early, spec.tasks[0])
    assert found is next(iter(first.tasks.values())), "a run of before keeps its body"
    refused(registry, first)


@pytest.mark.parametrize("name", ["flow", "listed"])
def test_a_workflow_that_has_kept_a_name_of_its_own_is_live(name: str) -> None:
    registry, notebook = Registry(), {"__name__": "__main__"}
    exec(CELL.format(number=1), notebook)
    notebook["before"] = notebook[name]
    registry.add(notebook["before"])  # pyright: ignore[reportArgumentType]
    exec(CELL.format(number=2), notebook)
    refused(registry, notebook[name])
    del notebook["before"]
    registry.add(notebook[name])  # pyright: ignore[reportArgumentType]


@pytest.fixture
def reloadable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], ModuleType]]:
    """Writes the module's next contents, with that number in it, and imports it the first time."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    file = tmp_path / "reloadable_flows.py"

    def write(number: int) -> ModuleType:
        file.write_text(CELL.format(number=number))
        importlib.invalidate_caches()
        return importlib.import_module("reloadable_flows")

    yield write
    sys.modules.pop("reloadable_flows", None)


@pytest.mark.parametrize("name", ["flow", "listed"])
@pytest.mark.parametrize("how", ["reload", "import"])
def test_a_module_that_is_loaded_again_defines_its_workflows_anew(
    reloadable: Callable[[int], ModuleType], name: str, how: str
) -> None:
    registry = Registry()
    module = reloadable(1)
    imported = getattr(module, name)  # as "from reloadable_flows import flow" would have it
    spec = registry.add(imported)
    early = run_of(spec.full_name, "early")
    if how == "reload":
        reloadable(2)
        module = importlib.reload(module)
    else:
        del sys.modules["reloadable_flows"]
        module = reloadable(2)
    registry.add(getattr(module, name))
    found = registry.find(early, spec.tasks[0])
    assert found is next(iter(imported.tasks.values()))
    assert "use the one that is defined now" in refused(registry, imported)


def test_a_body_that_only_its_reference_could_tell_is_not_guessed_among_namesakes() -> None:
    registry = Registry()
    one, two = made_by_function(1, "one"), made_by_function(2, "two")
    (spec, *_) = registry.add(one).tasks
    gone = TaskSpec("gone", spec.body)
    assert body_of(registry, "public::embedded::other", gone) is one.tasks["work"].function
    registry.add(two)
    assert body_of(registry, "public::embedded::other", gone) is None


def test_a_child_run_belongs_to_what_its_parent_was_drawn_with() -> None:
    registry, notebook = Registry(), {"__name__": "__main__"}
    parent = (
        CELL
        + """
@workflow
def parent():
    return flow()
"""
    )
    exec(parent.format(number=1), notebook)
    spec = registry.add(notebook["parent"])  # pyright: ignore[reportArgumentType]
    first, early = registry.workflows["public::embedded::noted"], run_of(spec.full_name, "early")
    exec(parent.format(number=2), notebook)
    registry.add(notebook["parent"])  # pyright: ignore[reportArgumentType]
    assert registry.child_of(early, "public::embedded::noted") is first
    later = registry.child_of(run_of(spec.full_name, "later"), "public::embedded::noted")
    assert later is registry.workflows["public::embedded::noted"] and later is not first


def test_context_style_workflows_are_registered_alike() -> None:
    def extract(context: Context) -> None: ...

    registry = Registry()
    spec = registry.add(Workflow("etl", tasks=[extract]))
    assert body_of(registry, spec.full_name, spec.tasks[0]) is extract


# -- replacement and removal, as of stored definitions ---------------------------------------------------------------
def named(name: str, text: str) -> Workflow[..., Any]:
    return Workflow(name, tasks=[shell(["echo", text], name="say")])


def test_a_replacement_is_in_force_although_the_former_workflow_is_live() -> None:
    registry = Registry()
    first, second = named("greet", "one"), named("greet", "two")
    registry.replace(first)
    with pytest.raises(DefinitionError, match="two workflows are named"):
        registry.define(second)
    made = registry.replace(second)
    assert registry.workflows["public::embedded::greet"] is made and made.is_of(second)
    assert registry.define(second) is made and registry.replace(second) is made


def test_a_restricted_workflow_is_another_version_of_it() -> None:
    registry, workflow = Registry(), named("greet", "one")
    free, bound = registry.replace(workflow), registry.replace(workflow, remote_only=True)
    assert bound.spec.remote_only and bound.spec.version() != free.spec.version()
    assert registry.define(workflow) is bound


def test_a_removed_workflow_is_gone_for_whoever_looks_from_then_on() -> None:
    registry = Registry()
    registry.replace(named("greet", "one"))
    before = registry.workflows
    registry.remove("public::embedded::greet")
    registry.remove("public::embedded::never_there")
    assert list(before) == ["public::embedded::greet"] and not registry.workflows


def test_a_workflow_that_comes_back_after_its_removal_serves_new_runs() -> None:
    @task
    def body() -> None: ...

    registry = Registry()
    first, second, third = (Workflow("greet", tasks=[body.named(name)]) for name in ("one", "two", "three"))
    registry.replace(first)
    registry.replace(second)
    registry.remove("public::embedded::greet")
    made = registry.replace(third)
    new = NewRun(run_id="x", workflow="public::embedded::greet", version="", input="{}", created_at=time.time() + 1)
    assert registry.definition_of(new) is made and not registry.is_superseded(new)


def test_how_long_runs_are_kept_is_known_of_the_workflows_that_say_it_and_is_no_part_of_their_version() -> None:
    registry, plain = Registry(), named("greet", "one")

    @task
    def one() -> None: ...

    keeping = Workflow("keep", tasks=[one], keep_for="2d", keep_runs=3)
    for each in (plain, keeping):
        registry.replace(each)
    assert registry.keep_rules() == {"public::embedded::keep": KeepRule(172_800.0, 3)}
    assert keeping.spec.version() == Workflow("keep", tasks=[one]).spec.version()


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "3"])
def test_a_number_of_runs_to_keep_is_a_whole_number_of_one_or_more(count: Any) -> None:
    @task
    def one() -> None: ...

    with pytest.raises(InvalidWorkflow, match=r"keep_runs of workflow 'keep' .* 1 or more"):
        Workflow("keep", tasks=[one], keep_runs=count)
