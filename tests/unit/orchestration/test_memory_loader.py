"""An attempt begins only for the owner that dispatched it, whatever that process has claimed since."""

from __future__ import annotations

import math
from collections.abc import Callable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from kit.parts import OTHER, Parts
from kit.runs import HERE, SOON, graph_of, new_run, task
from kit.store import MemoryStore

from turnout.authoring.registry import Registry
from turnout.contracts.clock import boot_time
from turnout.errors import AttemptFenced, StoreUnreachable
from turnout.model.events import ExecutionResult, TaskReadyEvent
from turnout.model.rows import NewRun, RunRow
from turnout.model.run_machine import RunMachine
from turnout.model.spec import FromTask, Literally, Template
from turnout.model.states import RunState, TaskState
from turnout.model.transition import Transition
from turnout.model.values import dump_output
from turnout.model.verdict import Limits
from turnout.orchestration.active_runs import ActiveRun
from turnout.orchestration.loaders.loader import MemoryLoader
from turnout.orchestration.loaders.stored_runs import GraphCache
from turnout.orchestration.loaders.work_builder import WorkBuilder
from turnout.telemetry.root_runs import RootRuns
from turnout.telemetry.run_traces import RunTraces

GRAPH = graph_of(task("a"))
A, B = FromTask("a"), FromTask("b")


def fence() -> float:
    return math.inf


class Owner:
    """An orchestrator with one run, whose task has started."""

    def __init__(self) -> None:
        self.runs: dict[str, ActiveRun] = {}
        self.begin_by = math.inf
        store = MemoryStore()
        self.loader = MemoryLoader(store, Registry(), GraphCache(store), self.runs, lambda: self.begin_by)
        self.claim()

    def claim(self) -> TaskReadyEvent:
        """Drives the run as it is stored, in attempt 1 of its task. Returns the attempt."""
        machine = RunMachine.create(GRAPH, new_run(), Limits(), ())
        transition = Transition(machine, 100.0)
        transition.begin()
        event = transition.start(0, HERE, "session-1")
        machine.apply(transition)
        self.runs["run-1"] = ActiveRun(machine)
        return event

    def drop(self) -> None:
        self.runs.pop("run-1").dropped = True


def test_an_attempt_begins_while_its_run_is_driven_here_and_the_lease_lasts() -> None:
    owner = Owner()
    work = owner.loader.load_blocking(owner.claim())
    assert work.may_begin()
    owner.begin_by = boot_time() - SOON
    assert not work.may_begin()


def test_an_attempt_that_was_loaded_does_not_begin_once_its_run_was_dropped_and_claimed_again() -> None:
    owner = Owner()
    work = owner.loader.load_blocking(owner.claim())
    owner.drop()
    assert not work.may_begin()
    owner.claim()
    assert not work.may_begin(), "the run is another one, though its task is still stored as running in attempt 1"


def test_an_attempt_of_a_run_that_is_not_driven_here_is_read_from_the_store_and_never_begins(
    build: Callable[..., Parts],
) -> None:
    parts = build(GRAPH)
    parts.held_by(GRAPH, OTHER, run_id="run-1")
    loader = MemoryLoader(parts.store, parts.registry, parts.graphs, parts.runs)
    event = Owner().claim()
    assert loader.load_now(event) is None
    work = loader.load_blocking(event)
    assert work.task.name == "a" and not work.may_begin()
    with pytest.raises(AttemptFenced):
        work.begin_by()


def test_the_copy_of_the_last_attempt_begins_though_its_run_has_finished_meanwhile() -> None:
    owner = Owner()
    event = owner.claim()
    loaded = owner.loader.load_blocking(event)
    copy = owner.loader.load_blocking(msgspec.structs.replace(event, shadow=True))
    owned = owner.runs["run-1"]
    transition = Transition(owned.machine, 101.0)
    transition.result(ExecutionResult.success(event, 1), 0)
    transition.finish()
    owned.machine.apply(transition)
    owner.drop()
    assert owned.machine.row.state is RunState.COMPLETED
    assert copy.may_begin() and not loaded.may_begin()
    owner.begin_by = boot_time() - SOON
    assert not copy.may_begin()


@pytest.mark.parametrize("state", RunState)
def test_a_copy_that_was_not_loaded_before_its_run_was_dropped_begins_only_if_the_run_has_finished(
    build: Callable[..., Parts], state: RunState
) -> None:
    parts = build(GRAPH)
    parts.held_by(GRAPH, OTHER, run_id="run-1").run = RunRow(state=state)
    loader = MemoryLoader(parts.store, parts.registry, parts.graphs, parts.runs)
    event = Owner().claim()
    copy = loader.load_blocking(msgspec.structs.replace(event, shadow=True))
    assert copy.may_begin() is (state in (RunState.COMPLETED, RunState.FAILED))
    assert not loader.load_blocking(event).may_begin()


def test_nothing_is_loaded_without_a_lease() -> None:
    owner = Owner()
    event = owner.claim()
    owner.begin_by = -math.inf
    with pytest.raises(StoreUnreachable, match="out of contact"):
        owner.loader.load_blocking(event)


@pytest.mark.parametrize(
    ("templates", "args"),
    [
        ((A, B), ([1], [2])),
        ((B, A), ([2], [1])),
        ((A, A), ([1], [1])),
        ((FromTask("a", (0,)), B), (1, [2])),
        ((Literally(0), A), (0, [1])),
    ],
    ids=["outputs", "in_order", "one_twice", "a_part", "a_literal"],
)
def test_arguments_are_the_outputs_of_other_tasks_each_decoded_for_one_attempt(
    templates: tuple[Template, ...], args: tuple[object, ...]
) -> None:
    graph = graph_of(task("a"), task("b"), task("c", "a", "b", args=templates))
    machine = RunMachine.create(graph, new_run(), Limits(), ())
    transition = Transition(machine, 100.0)
    transition.begin()
    started = [transition.start(pos, HERE, "session-1") for pos in (0, 1)]
    machine.apply(transition)
    transition = Transition(machine, 101.0)
    for pos, event in enumerate(started):
        transition.result(ExecutionResult.success(event, [pos + 1]), pos)
    event = transition.start(2, HERE, "session-1")
    machine.apply(transition)
    store = MemoryStore()
    loader = MemoryLoader(store, Registry(), GraphCache(store), {"run-1": ActiveRun(machine)})
    first, second = loader.load_blocking(event).args, loader.load_blocking(event).args
    assert first == second == args
    assert all(one is not other for one, other in zip(first, second, strict=True) if isinstance(one, list))
    assert len({id(each) for each in first if isinstance(each, list)}) == sum(isinstance(each, list) for each in first)


@pytest.mark.parametrize("inputs", [(), ("a",)], ids=["no input", "an output"])
def test_an_ancestor_that_another_orchestrator_owns_is_read_only_where_reading_may_wait(
    inputs: tuple[str, ...],
) -> None:
    top, parent, child = (f"0199d4c5-a1b2-7def-8123-45678900000{number}" for number in range(3))
    read: list[str] = []

    def stored(run_id: str) -> NewRun | None:
        read.append(run_id)
        return msgspec.structs.replace(new_run(), run_id=run_id, parent_run=top, depth=1)

    new = msgspec.structs.replace(new_run(), run_id=child, parent_run=parent, depth=2)
    graph = graph_of(task("a"), task("b", *inputs, args=tuple(map(FromTask, inputs))))
    machine = RunMachine.create(graph, new, Limits(), ())
    machine.tasks[0] = msgspec.structs.replace(machine.tasks[0], state=TaskState.COMPLETED, output="1")
    store, traces = MemoryStore(), RunTraces(RootRuns(lambda _: None, stored), 1.0)
    loader = MemoryLoader(store, Registry(), GraphCache(store), {child: ActiveRun(machine)}, fence, traces=traces)
    assert loader.load_now(machine.event(1)) is None and read == [], "an event loop may call it"
    work = loader.load_blocking(machine.event(1))
    assert work.traceparent.startswith(f"00-{top.replace('-', '')}-") and read == [parent]
    now = loader.load_now(machine.event(1))
    assert now is not None and now.traceparent == work.traceparent and read == [parent], "it is known by now"


STORABLE = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5)
"""Text that an output may hold."""


@given(
    st.lists(STORABLE | st.integers() | st.lists(st.none(), max_size=2), min_size=1, max_size=3),
    st.booleans(),
)
def test_work_built_from_outputs_alone_is_the_work_that_is_built_from_templates(
    values: list[object], shadow: bool
) -> None:
    names = [f"t{pos}" for pos in range(len(values))]
    graph = graph_of(*map(task, names), task("last", *names, args=tuple(map(FromTask, names))))
    machine = RunMachine.create(graph, new_run(), Limits(), ())
    pos, texts = len(values), [dump_output(value) for value in values]
    event = msgspec.structs.replace(machine.event(pos), attempt=2, shadow=shadow)
    builder = WorkBuilder(Registry())
    short = builder.build_from_outputs(event, pos, machine, machine.tasks[pos], texts, fence)
    general = WorkBuilder(Registry()).build(event, pos, machine, dict(enumerate(texts)), fence=fence)
    assert short == builder.build(event, pos, machine, dict(enumerate(texts)), fence=fence) == general
    assert short.args == tuple(values) and short.event is event
