"""The catalog: what is stored is in force in every process that follows it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from turnout import Workflow, shell, task
from turnout.authoring.child import ChildTask
from turnout.authoring.registry import Registry
from turnout.authoring.yaml.compiler import compile_file
from turnout.authoring.yaml.findings import Finding
from turnout.contracts.store import Store
from turnout.errors import InvalidWorkflow, WorkflowNotFound
from turnout.model.definitions import NewDefinition, StoredDefinition
from turnout.runner.definitions.catalog import Catalog
from turnout.runner.definitions.compilation import findings_text
from turnout.store import connect


@pytest.fixture
def memory() -> Iterator[Store]:
    store = connect("sqlite:///:memory:")
    store.open()
    yield store
    store.close()


Make = Callable[..., Catalog]


@pytest.fixture
def follow(memory: Store) -> Make:
    def make(**more: Any) -> Catalog:
        return Catalog(memory, more.pop("registry", Registry()), compile_file, tenant="public", **more)

    return make


def full(name: str) -> str:
    return f"public::embedded::{name}"


def put(store: Store, name: str, text: str, **more: Any) -> StoredDefinition:
    given: dict[str, Any] = {"full_name": full(name), "kind": "yaml", "origin": "api", "spec_version": "s"}
    return store.put_definition(NewDefinition(text=text, actor="ada", **(given | more)), None)


def test_two_that_follow_one_store_have_the_same_in_force(memory: Store, follow: Make) -> None:
    registries = Registry(), Registry()
    one, other = (follow(registry=each) for each in registries)
    put(memory, "etl", "steps: [echo 1]")
    one.refresh()
    other.refresh()
    assert one.revision == other.revision == 1
    put(memory, "etl", "steps: [echo 2]")
    one.refresh()
    assert one.revision == 2
    versions = [registry.workflows[full("etl")].spec.version() for registry in registries]
    assert versions[0] != versions[1], "the other has not looked yet"
    other.refresh()
    assert other.revision == 2
    assert len({registry.workflows[full("etl")].spec.version() for registry in registries}) == 1
    assert one.workflow("etl").name == "etl" and one.workflow(full("etl")) is one.workflow("embedded::etl")


def test_a_refresh_without_a_change_asks_one_thing_and_compiles_nothing(memory: Store, follow: Make) -> None:
    compiled: list[str] = []

    def compile(text: str, **given: Any) -> Any:
        compiled.append(text)
        return compile_file(text, **given)

    catalog = Catalog(memory, Registry(), compile, tenant="public")
    put(memory, "etl", "steps: [echo 1]")
    catalog.refresh()
    workflow = catalog.workflow("etl")
    for _ in range(3):
        catalog.refresh()
    assert len(compiled) == 1 and catalog.workflow("etl") is workflow


def test_a_removed_definition_takes_no_new_runs(memory: Store, follow: Make) -> None:
    registry = Registry()
    catalog = follow(registry=registry)
    put(memory, "etl", "steps: [echo 1]")
    catalog.refresh()
    memory.remove_definition(full("etl"), None, "ada")
    catalog.refresh()
    assert full("etl") not in registry.workflows
    with pytest.raises(WorkflowNotFound):
        catalog.workflow("etl")
    put(memory, "etl", "steps: [echo 1]")
    catalog.refresh()
    assert catalog.workflow("etl") and full("etl") in registry.workflows


def test_definitions_of_another_tenant_are_not_this_ones(memory: Store, follow: Make) -> None:
    catalog = follow()
    put(memory, "etl", "steps: [echo 1]", full_name="acme::embedded::etl")
    catalog.refresh()
    assert catalog.revision == 1 and catalog.names == []


def test_a_workflow_finds_those_that_it_calls_in_whatever_order_they_come(memory: Store, follow: Make) -> None:
    registry = Registry()
    catalog = follow(registry=registry)
    put(memory, "a_parent", "steps: [{name: go, call: b_child}]")
    put(memory, "b_child", "steps: [echo 1]")
    catalog.refresh()
    assert {full("a_parent"), full("b_child")} == set(registry.workflows)
    first = registry.workflows[full("a_parent")].children[full("b_child")]
    put(memory, "b_child", "steps: [echo 2]")
    catalog.refresh()
    second = registry.workflows[full("a_parent")].children[full("b_child")]
    assert first is not second and second is registry.workflows[full("b_child")]
    assert catalog.callers(full("b_child")) == ["a_parent"] and catalog.callers(full("a_parent")) == []


def test_a_workflow_whose_file_is_broken_is_refused_with_what_is_wrong_with_it(memory: Store, follow: Make) -> None:
    catalog = follow()
    wrong = (Finding("error", "unknown_key", "a workflow has no key 'stepz': did you mean 'steps'?", 2, 1, "stepz"),)
    memory.put_findings(full("etl"), "yaml", "flows/etl.yaml", findings_text(wrong), "file")
    catalog.refresh()
    with pytest.raises(InvalidWorkflow, match="has no key 'stepz'") as raised:
        catalog.workflow("etl")
    assert (raised.value.code, raised.value.fields["findings"]) == ("definition_unavailable", wrong)


def test_a_workflow_whose_callee_comes_later_is_in_force_from_then_on(memory: Store, follow: Make) -> None:
    catalog = follow()
    put(memory, "parent", "steps: [{name: go, call: child}]")
    catalog.refresh()
    with pytest.raises(InvalidWorkflow, match="'child', which is no workflow here") as raised:
        catalog.workflow("parent")
    assert raised.value.code == "definition_unavailable"
    put(memory, "child", "steps: [echo 1]")
    catalog.refresh()
    assert catalog.workflow("parent").name == "parent"


def test_a_circle_of_calls_is_refused_before_it_is_stored_and_breaks_nothing_if_it_is(
    memory: Store, follow: Make
) -> None:
    catalog = follow()
    put(memory, "one", "steps: [echo 1]")
    put(memory, "two", "steps: [{name: go, call: one}]")
    put(memory, "other", "steps: [echo 1]")
    catalog.refresh()
    attempted = catalog.attempt("steps: [{name: go, call: two}]", name="one")
    assert [each.code for each in attempted.findings if each.severity == "error"] == ["recursive_workflow"]
    assert not attempted.workflows
    itself = catalog.attempt("steps: [{name: go, call: one}]", name="one")
    assert [each.code for each in itself.findings if each.severity == "error"] == ["recursive_workflow"]
    # Two servers that each saw only one half of it.
    put(memory, "one", "steps: [{name: go, call: two}]")
    catalog.refresh()
    for name in ("one", "two"):
        with pytest.raises(InvalidWorkflow):
            catalog.workflow(name)
    assert catalog.workflow("other").name == "other"
    put(memory, "one", "steps: [echo again]")
    catalog.refresh()
    assert catalog.workflow("two").name == "two"


def test_a_text_that_crashes_the_compiler_does_not_take_the_others_down(memory: Store) -> None:
    def compile(text: str, **given: Any) -> Any:
        if "crash" in text:
            raise RuntimeError("no idea")
        return compile_file(text, **given)

    catalog = Catalog(memory, Registry(), compile, tenant="public")
    put(memory, "bad", "steps: [crash]")
    put(memory, "good", "steps: [echo 1]")
    catalog.refresh()
    assert catalog.workflow("good").name == "good"
    with pytest.raises(InvalidWorkflow, match="no idea"):
        catalog.workflow("bad")


@task
def load() -> None: ...


def test_a_text_that_names_a_python_task_runs_where_a_module_declares_it(memory: Store, follow: Make) -> None:
    put(memory, "etl", "steps: [{name: a, python: 'jobs:load'}]")
    without, declared = follow(), follow(tasks={"jobs:load": load})
    for each in (without, declared):
        each.refresh()
    with pytest.raises(InvalidWorkflow, match="which is no declared task"):
        without.workflow("etl")
    assert declared.workflow("etl").name == "etl"
    without.add_python([], {"jobs:load": load})
    assert without.workflow("etl").name == "etl"


def test_a_workflow_in_python_keeps_its_name(memory: Store, follow: Make) -> None:
    own = Workflow("etl", tasks=[shell("true", name="a")])
    registry = Registry()
    registry.add(own)
    catalog = follow(registry=registry, workflows=[own])
    put(memory, "etl", "steps: [echo 1]")
    catalog.refresh()
    assert registry.workflows[full("etl")].is_of(own)
    found = catalog.attempt("steps: [echo 1]", name="etl").findings
    assert [each.code for each in found if each.severity == "error"] == ["duplicate_workflow"]


def test_an_unknown_name_is_answered_with_the_nearest(memory: Store, follow: Make) -> None:
    catalog = follow()
    put(memory, "nightly", "steps: [echo 1]")
    catalog.refresh()
    with pytest.raises(WorkflowNotFound, match="did you mean 'nightly'"):
        catalog.workflow("nightli")


def test_local_workflows_of_a_file_leave_with_it(memory: Store, follow: Make) -> None:
    registry = Registry()
    catalog = follow(registry=registry)
    put(memory, "main", "steps: [echo 1]\n---\nname: helper\nsteps: [echo 2]")
    catalog.refresh()
    assert "public::main::helper" in registry.workflows
    memory.remove_definition(full("main"), None, "ada")
    catalog.refresh()
    assert set(registry.workflows) == {"public::main::helper"}, "open runs of a removed definition may call it"
    with pytest.raises(WorkflowNotFound):
        catalog.workflow("helper")
    put(memory, "main", "steps: [echo 1]", remote_only=True)
    catalog.refresh()
    assert "public::main::helper" not in registry.workflows and registry.workflows[full("main")].spec.remote_only


def test_a_bound_definition_binds_its_local_workflows_wherever_they_stand(memory: Store, follow: Make) -> None:
    registry = Registry()
    catalog = follow(registry=registry)
    local = Workflow("inner", tasks=[shell("true", name="a")], package="main")
    outer = Workflow("outer", tasks=[ChildTask(local)], package="main")
    main = Workflow("main", tasks=[ChildTask(outer)])

    def compile(text: str, **given: Any) -> Any:
        return SimpleNamespace(workflows=(main, local, outer), findings=())

    catalog = Catalog(memory, registry, compile, tenant="public")
    put(memory, "main", "any", remote_only=True)
    catalog.refresh()
    definition = registry.workflows[full("main")]
    for name in ("embedded::main", "main::outer", "main::inner"):
        assert definition.spec.full_name == f"public::{name}" and definition.spec.remote_only
        definition = next(iter(definition.children.values()), definition)


def test_a_local_workflow_cannot_take_the_place_of_another(memory: Store, follow: Make) -> None:
    registry = Registry()
    catalog = follow(registry=registry)
    put(memory, "nightly", "steps: [echo mine]")
    put(memory, "train", "x", full_name="public::ml::train", kind="python")
    catalog.refresh()
    mine = registry.workflows[full("nightly")]
    for main, local in (("embedded", "nightly"), ("ml", "train")):
        text = f"steps: [{{name: go, call: {local}}}]\n---\nname: {local}\nsteps: [echo hijacked]"
        attempted = catalog.attempt(text, name=main)
        assert [each.code for each in attempted.findings if each.severity == "error"] == ["duplicate_workflow"]
        put(memory, main, text)
    catalog.refresh()
    assert registry.workflows[full("nightly")] is mine and "public::ml::train" not in registry.workflows
