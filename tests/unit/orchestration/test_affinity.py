"""Runs whose steps stay on one worker: the first attempt finds it, the others follow, and a lost one is replaced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from kit.dispatcher import FakeAssigner
from kit.parts import Parts
from kit.runs import graph_of, task

from turnout.model.events import DispatchDecision, ExecutionResult
from turnout.model.graph import Graph
from turnout.model.labels import WORKER_LABEL
from turnout.orchestration.stages.affinity import ONE_WORKER

Build = Callable[..., Parts]
DISK = {"disk": "true"}
TO_WORKERS = DispatchDecision("default", "worker_selector {disk=true} on the workflow → workers", DISK)
REASON = f"{TO_WORKERS.reason}{ONE_WORKER}"


def graph(*tasks: Any) -> Graph:
    spec = graph_of(*tasks).spec
    return Graph(msgspec.structs.replace(spec, affinity="run", worker_selector=DISK))


CHAIN = graph(task("a", attempts=3), task("b", "a"), task("c", "a"))


def parts_with(build: Build, of: Graph, **workers: int) -> tuple[Parts, FakeAssigner]:
    parts = build(of, default=20)
    parts.dispatcher.assigners["default"] = assigner = FakeAssigner(**workers)
    parts.dispatcher.routes = {each.name: TO_WORKERS for each in of.tasks if each.worker_selector is None}
    parts.store.alive_holders = set(workers)
    return parts, assigner


def holders(parts: Parts) -> dict[str, str | None]:
    return {row.name: row.holder for row in parts.store.tables["run-1"].tasks.values()}


def row(parts: Parts, name: str) -> Any:
    return next(each for each in parts.store.tables["run-1"].tasks.values() if each.name == name)


def test_all_steps_of_a_run_follow_the_first_to_its_worker(build: Build) -> None:
    parts, assigner = parts_with(build, CHAIN, one=1, two=9)
    parts.submit(CHAIN)
    assert holders(parts) == {"a": "one", "b": None, "c": None}
    assigner.free["one"] = 1
    parts.answer("a")
    parts.drive()
    assert holders(parts) == {"a": "one", "b": "one", "c": None}, "c waits for that worker, although another is idle"
    assert row(parts, "a").labels == row(parts, "b").labels == {**DISK, WORKER_LABEL: "one"}
    assert row(parts, "a").decision == row(parts, "b").decision == REASON


def test_roots_that_start_together_go_to_one_worker(build: Build) -> None:
    roots = graph(task("a"), task("b"), task("c", worker_selector="local"), task("d"))
    parts, assigner = parts_with(build, roots, one=2, two=9)
    parts.dispatcher.routes["c"] = DispatchDecision("default", "its own selector")
    parts.submit(roots)
    assert [holders(parts)[name] for name in ("a", "b", "d")] == ["one", "one", None]
    assert row(parts, "c").labels is None, "a task with a selector of its own goes its own way"
    assert assigner.free == {"one": 0, "two": 8}


def test_a_lost_worker_is_replaced_once_its_session_has_ended_and_the_reason_says_so(build: Build) -> None:
    parts, assigner = parts_with(build, CHAIN, one=1, two=9)
    parts.submit(CHAIN)
    del assigner.free["one"]
    parts.end("a", ExecutionResult.lost(parts.event("a"), "its worker is gone"))
    parts.drive()
    assert row(parts, "a").state == "ready", "it may come back to this hub: its session lives"
    parts.store.alive_holders = {"two"}
    parts.loop.run(parts.starter.sweep())
    parts.drive()
    assert holders(parts)["a"] == "two"
    assert row(parts, "a").decision == f"{REASON}: worker one, which it had, is lost or leaves"
    assert row(parts, "a").labels[WORKER_LABEL] == "two"
    parts.answer("a")
    parts.drive()
    assert holders(parts) == {"a": "two", "b": "two", "c": "two"} and row(parts, "b").decision == REASON


def test_a_worker_that_leaves_is_replaced_at_once(build: Build) -> None:
    parts, assigner = parts_with(build, CHAIN, one=1, two=9)
    parts.submit(CHAIN)
    assigner.free["one"], assigner.leaving = 1, {"one"}
    parts.answer("a")
    parts.drive()
    assert holders(parts) == {"a": "one", "b": "two", "c": "two"}
    assert "which it had, is lost or leaves" in row(parts, "b").decision and row(parts, "c").decision == REASON


def test_an_orchestrator_that_takes_the_run_over_finds_its_worker_by_what_is_stored(build: Build) -> None:
    first, assigner = parts_with(build, CHAIN, one=9, two=0)
    first.submit(CHAIN)
    first.answer("a")
    owned = first.runs["run-1"]
    second, assigner = parts_with(build, CHAIN, two=9)
    second.store.alive_holders = {"one", "two"}
    owned.queued_for, owned.wait_reasons = set(), {}
    second.runs.add(owned)
    second.store.keep(CHAIN, owned.machine.new, first.store.tables["run-1"])
    owned.queued = True
    second.loop.run(second.scheduler.process([owned]))
    assert second.dispatcher.dispatched == [], "its worker has not connected here yet"
    assigner.free["one"] = 9
    second.loop.run(second.starter.sweep())
    second.drive()
    assert holders(second) == {"a": "one", "b": "one", "c": "one"}
