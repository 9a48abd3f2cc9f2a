"""Tasks that become ready start at once where an executor chooses the holder, too, and as the long path would do it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from kit.dispatcher import FakeAssigner
from kit.loop import ManualLoop
from kit.parts import Parts
from kit.runs import graph_of, task

from turnout.model.events import DispatchDecision, TaskReadyEvent
from turnout.model.graph import Graph
from turnout.model.labels import WORKER_LABEL
from turnout.model.states import TaskState
from turnout.orchestration.stages.capacity import SelectorQueue

CHAIN = graph_of(task("a"), task("b", "a"), task("c", "b"))
ANY = DispatchDecision("hub", "worker_selector {} on the workflow → workers")
TWO = DispatchDecision("hub", "worker_selector {} on the task → workers", {WORKER_LABEL: "two"})
HERE = DispatchDecision("default", "the default executor")
Build = Callable[..., Parts]


def parts_with(build: Build, graph: Graph, routes: dict[str, DispatchDecision], **workers: int) -> Parts:
    parts = build(graph, default=20, hub=20)
    parts.dispatcher.assigners["hub"] = FakeAssigner(**workers)
    parts.dispatcher.routes = routes
    return parts


def moves(parts: Parts) -> list[list[tuple[str | None, str]]]:
    """The moves of tasks that each commit has stored."""
    return [[(move.old, move.new) for move in write.history if move.pos >= 0] for write in parts.store.writes]


@st.composite
def loads(draw: st.DrawFn) -> Any:
    """A random workflow, where its tasks go, and the free slots of two workers after each result."""
    count = draw(st.integers(1, 6))
    tasks = [
        task(
            f"t{pos}",
            *sorted({f"t{draw(st.integers(0, pos - 1))}" for _ in range(draw(st.integers(0, 2)))} if pos else ()),
        )
        for pos in range(count)
    ]
    routes = {each.name: draw(st.sampled_from((ANY, ANY, TWO, HERE))) for each in tasks}
    slots = draw(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 2)), min_size=count + 1, max_size=count + 1))
    order = draw(st.lists(st.integers(0, 5), min_size=count, max_size=count))
    return tasks, routes, slots, order


def driven(graph: Graph, routes: dict[str, DispatchDecision], slots: Any, order: list[int]) -> list[Any]:
    """All that a run came to: rows, moves and attempts after each result."""
    loop, seen = ManualLoop(), list[Any]()
    try:
        parts = parts_with(lambda *graphs, **capacity: Parts(loop, *graphs, **capacity), graph, routes)
        assigner = parts.dispatcher.assigners["hub"]
        assigner.free = dict(zip(("one", "two"), slots[0], strict=True))
        parts.submit(graph)
        seen.append(outcome(parts))
        for (one, two), choice in zip(slots[1:], order, strict=True):
            assigner.free = {"one": one, "two": two}
            if flying := sorted(parts.dispatcher.flying.values(), key=lambda event: event.task_id):
                parts.answer(flying[choice % len(flying)].task_name.rpartition("::")[2])
            parts.drive()
            seen.append((outcome(parts), dict(assigner.free)))
    finally:
        loop.finish()
    return seen


def outcome(parts: Parts) -> Any:
    table = parts.store.tables["run-1"]
    rows = [
        (row.name, row.state, row.attempt, row.holder, row.executor, row.decision, row.labels, row.reason, row.seq)
        for row in table.tasks.values()
    ]
    events: list[tuple[str, TaskReadyEvent]] = list(parts.dispatcher.dispatched)
    return rows, list(table.history), events


@given(loads())
def test_the_short_path_comes_to_the_same_rows_moves_and_attempts_as_the_long_one(load: Any) -> None:
    tasks, routes, slots, order = load
    short, long = graph_of(*tasks), graph_of(*tasks)
    assert short.plain
    long.plain = False
    assert driven(short, routes, slots, order) == driven(long, routes, slots, order)


def test_a_task_of_a_worker_starts_in_the_commit_that_makes_it_ready(build: Build) -> None:
    parts = parts_with(build, CHAIN, dict.fromkeys("abc", ANY), one=1, two=1)
    parts.submit(CHAIN)
    parts.answer("a")
    parts.drive()
    assert parts.states() == {"a": "completed", "b": "running", "c": "pending"}
    assert moves(parts)[-1] == [("running", "completed"), ("pending", "running")]
    assert [event.holder for _, event in parts.dispatcher.dispatched] == ["one", "two"]


def test_a_task_without_a_free_worker_waits_in_the_queue_of_its_selector(build: Build) -> None:
    parts = parts_with(build, CHAIN, {"a": ANY, "b": TWO, "c": ANY}, one=1, two=0)
    parts.submit(CHAIN)
    owned = parts.runs["run-1"]
    parts.answer("a")
    parts.drive()
    stored = parts.store.tables["run-1"].tasks[1]
    assert (stored.state, stored.reason) == (TaskState.READY, "no_worker")
    assert owned.queued_for == {SelectorQueue("hub", "two")}


def test_a_new_run_does_not_overtake_one_that_waits_for_the_same_workers(build: Build) -> None:
    single = graph_of(task("a"))
    parts = parts_with(build, single, {"a": ANY}, one=0)
    parts.submit(single)
    waiting = parts.runs["run-1"]
    waiting.waiting_since = {key: since - 10.0 for key, since in waiting.waiting_since.items()}
    ((key, queue),) = parts.capacity_queue._queues.items()
    parts.capacity_queue._queues[key] = [(rank, since - 10.0, number, owned) for rank, since, number, owned in queue]
    parts.dispatcher.assigners["hub"].free["one"] = 1
    parts.submissions.put([parts.request(single, run_id="run-2")])
    parts.drive()
    assert parts.states("run-2") == {"a": "ready"}


def test_local_runs_of_one_batch_share_their_rows_beside_a_hub(build: Build) -> None:
    parts = parts_with(build, CHAIN, dict.fromkeys("abc", HERE), one=1)
    parts.submissions.put([parts.request(CHAIN, run_id=f"run-{number}") for number in (1, 2)])
    parts.drive()
    first, second = (parts.store.tables[f"run-{number}"].tasks[0] for number in (1, 2))
    assert first is second


def test_runs_of_one_batch_get_workers_of_their_own(build: Build) -> None:
    parts = parts_with(build, CHAIN, dict.fromkeys("abc", ANY), one=1, two=1)
    parts.submissions.put([parts.request(CHAIN, run_id=f"run-{number}") for number in (1, 2)])
    parts.drive()
    assert [parts.store.tables[f"run-{number}"].tasks[0].holder for number in (1, 2)] == ["one", "two"]


def test_a_task_that_becomes_ready_does_not_overtake_one_of_its_run_that_waits_for_another_selector(
    build: Build,
) -> None:
    graph = graph_of(task("first"), task("second"), task("local"), task("next", "first"))
    routes = {"first": ANY, "second": ANY, "local": HERE, "next": TWO}
    parts = parts_with(build, graph, routes, one=0, two=0)
    parts.submit(graph)
    for answered, then in (
        ("local", {"first": "running", "second": "ready"}),
        ("first", {"second": "running", "next": "ready"}),
    ):
        parts.dispatcher.assigners["hub"].free["two"] = 1
        parts.answer(answered)
        parts.drive()
        states = parts.states()
        assert {name: states[name] for name in then} == then
