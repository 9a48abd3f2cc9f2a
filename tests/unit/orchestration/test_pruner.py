"""Retention: which runs are deleted, in steps of what size, and by which orchestrator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from kit.loop import ManualLoop
from kit.parts import ME, OTHER, Parts
from kit.runs import graph_of, task

from turnout.errors import RunNotFinished, RunNotFound, StoreUnreachable
from turnout.model.retention import Deleted, KeepRule
from turnout.model.rows import RunRow
from turnout.model.states import RunState
from turnout.orchestration.settings import EngineSettings, Retention

GRAPH = graph_of(task("a"), task("b", "a"))
ENDED = (RunState.COMPLETED, RunState.FAILED)
Build = Callable[..., Parts]


def ended(parts: Parts, *names: str) -> None:
    for name in names:
        parts.stored(GRAPH, OTHER, run_id=name).run = RunRow(state=RunState.COMPLETED)
        parts.store.expired.append(name)


def test_expired_runs_are_deleted_in_steps_of_bounded_size(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    ended(parts, "one", "two", "three")
    gone = loop.run(parts.pruner.prune(60.0, ENDED, runs=2, rows=3))
    assert (gone.runs, gone.rows, gone.more) == (3, 6, False) and parts.store.tables == {}
    assert [(ids, rows) for ids, rows in parts.store.calls("delete_runs")] == [
        (("one", "two"), 3),
        (("one", "two"), 3),
        (("three",), 3),
    ]
    assert parts.store.calls("prune_rest") == [(60.0,)]


@pytest.mark.parametrize(("took", "apart"), [(0.0, 0.01), (0.5, 1.0)])
def test_the_pause_between_two_steps_grows_with_the_time_that_they_take(
    build: Build, loop: ManualLoop, monkeypatch: pytest.MonkeyPatch, took: float, apart: float
) -> None:
    parts = build(GRAPH)
    ended(parts, "one", "two")
    delete, began = parts.store.delete_runs, list[float]()

    def delete_slowly(ids: Sequence[str], rows: int) -> Deleted:
        began.append(loop.time())
        loop.clock.advance(took)
        return delete(ids, rows)

    monkeypatch.setattr(parts.store, "delete_runs", delete_slowly)
    assert loop.run(parts.pruner.prune(60.0, ENDED, runs=1, rows=100)).runs == 2
    assert began[1] - began[0] == pytest.approx(apart)


def test_one_time_counts_for_all_steps_of_a_pruning(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    ended(parts, "one")
    loop.run(parts.pruner.prune(60.0, ENDED, runs=1, rows=100))
    befores = {before for before, _ in parts.store.calls("expired_runs")}
    assert befores == {parts.store.clock() - 60.0} and len(parts.store.calls("expired_runs")) == 2


def test_a_pruning_ends_when_others_were_quicker(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.store.expired = ["gone"]
    assert loop.run(parts.pruner.prune(0.0, ENDED, runs=10, rows=10)).runs == 0


def test_a_run_that_has_not_ended_is_not_deleted(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH)
    with pytest.raises(RunNotFinished) as raised:
        loop.run(parts.pruner.delete("run-1", force=False, rows=10))
    assert raised.value.fields["run_id"] == "run-1" and "run-1" in parts.store.tables


def test_a_run_that_does_not_exist_cannot_be_deleted(build: Build, loop: ManualLoop) -> None:
    with pytest.raises(RunNotFound):
        loop.run(build(GRAPH).pruner.delete("run-9", force=True, rows=10))


def test_with_force_a_run_is_cancelled_and_deleted_when_it_has_ended(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.submit(GRAPH)
    deletion = loop.start(parts.pruner.delete("run-1", force=True, rows=10))
    parts.drive()
    loop.advance(1.0)
    assert not deletion.done() and "run-1" in parts.store.tables, "its attempt has not stopped"
    parts.answer("a")
    parts.drive()
    loop.advance(0.1)
    assert deletion.result().runs == 1 and parts.store.tables == {}


def test_a_run_is_deleted_with_its_children(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    ended(parts, "parent")
    parts.stored(GRAPH, OTHER, run_id="child", parent_run="parent").run = RunRow(state=RunState.FAILED)
    assert loop.run(parts.pruner.delete("parent", force=False, rows=10)).runs == 2


def test_retention_prunes_at_every_interval_where_this_orchestrator_has_the_duty(
    build: Build, loop: ManualLoop
) -> None:
    parts = build(GRAPH, settings=EngineSettings(retention=Retention(older_than="1h", every="10m")))
    ended(parts, "one")
    parts.store.duty = False
    loop.call_soon(parts.pruner.start)
    loop.settle()
    assert "one" in parts.store.tables and parts.store.calls("take_duty") == [("retention", ME, 600.0)]
    parts.store.duty = True
    loop.advance(601.0)
    assert "one" not in parts.store.tables
    loop.run(parts.pruner.stop())
    loop.advance(1_000.0)
    assert len(parts.store.calls("take_duty")) == 2


@pytest.mark.parametrize("error", [StoreUnreachable("it is away"), ValueError("a defect")])
def test_retention_goes_on_after_trouble(build: Build, loop: ManualLoop, error: Exception) -> None:
    parts = build(GRAPH, settings=EngineSettings(retention=Retention(every="10m")))
    ended(parts, "one")
    parts.store.errors["expired_runs"] = error
    loop.call_soon(parts.pruner.start)
    loop.advance(1.0)
    assert "one" in parts.store.tables
    loop.advance(600.0)
    assert "one" not in parts.store.tables


def test_the_rule_of_a_workflow_counts_without_a_retention_in_the_configuration(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    parts.keep_rules[GRAPH.spec.full_name] = KeepRule(seconds=60.0, runs=5)
    ended(parts, "one", "two")
    parts.store.surplus = ["two"]
    loop.call_soon(parts.pruner.start)
    loop.settle()
    loop.advance(1.0)
    assert set(parts.store.tables) == {"one"}
    assert parts.store.calls("surplus_runs")[0] == (GRAPH.spec.full_name, parts.store.clock() - 60.0, 5)
    assert parts.store.calls("expired_runs") == [] and parts.store.calls("prune_rest") == []
    loop.run(parts.pruner.stop())


@pytest.mark.parametrize(("rule", "kept"), [(KeepRule(seconds=1e9), {"one"}), (KeepRule(runs=9), set[str]())])
def test_the_age_of_the_configuration_counts_where_a_workflow_says_none(
    build: Build, loop: ManualLoop, rule: KeepRule, kept: set[str]
) -> None:
    parts = build(GRAPH, settings=EngineSettings(retention=Retention(older_than="1h", every="10m")))
    parts.keep_rules["public::embedded::flow"] = rule
    ended(parts, "one")
    loop.call_soon(parts.pruner.start)
    loop.settle()
    loop.advance(1.0)
    assert set(parts.store.tables) == kept
    loop.run(parts.pruner.stop())


def test_without_a_retention_nothing_is_deleted_by_itself(build: Build, loop: ManualLoop) -> None:
    parts = build(GRAPH)
    ended(parts, "one")
    loop.call_soon(parts.pruner.start)
    loop.advance(100_000.0)
    assert "one" in parts.store.tables
    loop.run(parts.pruner.stop())
