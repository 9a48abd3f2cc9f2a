"""Rebalance: which waiting runs are given away, to whom, how many, and which are not."""

from __future__ import annotations

import time
from collections.abc import Callable

import msgspec
import pytest
from kit.dispatcher import FakeAssigner
from kit.loop import ManualLoop
from kit.parts import ME, Parts
from kit.runs import graph_of, task

from turnout.contracts.clock import boot_time
from turnout.errors import StoreUnreachable
from turnout.model.breaker import BreakerState
from turnout.model.events import ExecutionResult
from turnout.model.executor_status import ExecutorStatus
from turnout.model.health import OrchestratorStatus
from turnout.model.rows import RunRow, Session, SessionHealth
from turnout.model.states import RunState, TaskState
from turnout.orchestration.active_runs import ActiveRun, RunCommand
from turnout.orchestration.settings import EngineSettings
from turnout.orchestration.stages.claims import ClaimScope
from turnout.orchestration.upkeep.rebalance import MIN_WAIT

GRAPH = graph_of(task("a"))
FLOW = GRAPH.spec.full_name
LONG = 1_000.0
"""Seconds that no test takes."""
Build = Callable[..., Parts]


def peer(
    name: str, spare: int, *, kind: str = "orchestrator", workflow: str = FLOW, stopping: bool = False
) -> SessionHealth:
    status = OrchestratorStatus(executors={"default": ExecutorStatus(spare=spare)}, stopping=stopping)
    session = Session(id=name, kind=kind, workflows=(workflow,))
    return SessionHealth(session=session, health=msgspec.json.encode(status).decode(), age=60.0, silent=0.0)


def crowded(build: Build, count: int, *peers: SessionHealth, waited: float = MIN_WAIT * 2, **more: object) -> Parts:
    """An orchestrator whose runs wait for its only executor."""
    parts = build(GRAPH, default=0, **more)
    for number in range(count):
        owned = parts.idle_run(GRAPH, run_id=f"run-{number}")
        parts.capacity_queue.add(owned, "default", time.monotonic() - waited + number * 1e-6)
    parts.session.keeper.peers = len(peers)
    parts.store.health = [SessionHealth(session=Session(id=ME), health=None, age=60.0, silent=0.0), *peers]
    return parts


def given(parts: Parts) -> dict[str, int]:
    return {receiver: len(run_ids) for _, receiver, run_ids in parts.store.calls("give_runs")}


def test_a_waiting_run_is_given_to_an_orchestrator_with_room(build: Build, loop: ManualLoop) -> None:
    parts = crowded(build, 1, peer("other", 1))
    owned = parts.runs["run-0"]
    loop.run(parts.rebalance.share())
    assert parts.store.tables["run-0"].owner == "other" and len(parts.runs) == 0
    assert owned.dropped and not owned.busy and parts.rebalance.given == 1


def test_a_receiver_gets_as_many_as_it_can_begin_in_their_order(build: Build, loop: ManualLoop) -> None:
    parts = crowded(build, 6, peer("other", 5))
    loop.run(parts.rebalance.share())
    assert parts.store.calls("give_runs") == [(ME, "other", tuple(f"run-{number}" for number in range(5)))]
    assert list(parts.runs) == ["run-5"]


def test_all_who_have_room_get_an_equal_share_of_a_long_line(build: Build, loop: ManualLoop) -> None:
    parts = crowded(build, 30, peer("one", 1), peer("two", 1), peer("full", 0))
    loop.run(parts.rebalance.share())
    assert given(parts) == {"one": 10, "two": 10} and len(parts.runs) == 10


def test_no_more_runs_are_given_at_once_than_a_claim_takes(build: Build, loop: ManualLoop) -> None:
    parts = crowded(build, 10, peer("other", 10), settings=EngineSettings(claim_batch=3))
    loop.run(parts.rebalance.share())
    assert given(parts) == {"other": 3}


@pytest.mark.parametrize(
    "other",
    [
        peer("full", 0),
        peer("stopping", 9, stopping=True),
        peer("worker", 9, kind="worker"),
        peer("no code", 9, workflow="public::embedded::other"),
        SessionHealth(session=Session(id="silent", workflows=(FLOW,)), health=None, age=1.0, silent=0.0),
    ],
    ids=lambda each: each.session.id,
)
def test_nothing_is_given_to(build: Build, loop: ManualLoop, other: SessionHealth) -> None:
    parts = crowded(build, 3, other)
    loop.run(parts.rebalance.share())
    assert given(parts) == {} and len(parts.runs) == 3


def test_nothing_is_given_before_a_run_has_waited_a_while(build: Build, loop: ManualLoop) -> None:
    parts = crowded(build, 3, peer("other", 9), waited=-LONG)
    loop.run(parts.rebalance.share())
    assert given(parts) == {} and parts.store.calls("session_health") == []


@pytest.mark.parametrize("why", ["no peers", "fenced", "stopping"])
def test_nothing_is_given_by_an_orchestrator_that_has_or_knows_no_say(build: Build, loop: ManualLoop, why: str) -> None:
    parts = crowded(build, 3, peer("other", 9))
    match why:
        case "no peers":
            parts.session.keeper.peers = 0
        case "fenced":
            parts.session.keeper.fenced = True
        case _:
            parts.session.begin_stopping()
    loop.run(parts.rebalance.share())
    assert given(parts) == {}


def _started(owned: ActiveRun) -> None:
    owned.machine.tasks[0] = msgspec.structs.replace(owned.machine.tasks[0], state=TaskState.RUNNING)


KEPT: dict[str, Callable[[ActiveRun], object]] = {
    "has a running attempt": _started,
    "is in a commit": lambda owned: setattr(owned, "busy", True),
    "is in a queue": lambda owned: setattr(owned, "queued", True),
    "was just claimed": lambda owned: setattr(owned, "just_claimed", True),
    "has a suspect": lambda owned: setattr(owned, "has_lost_attempts", True),
    "has a result": lambda owned: owned.results.append(ExecutionResult.success(owned.machine.event(0))),  # type: ignore
    "has an order": lambda owned: owned.commands.append(RunCommand("pause", None)),
    "has a grace": lambda owned: owned.grace.setdefault((0, 1), boot_time()),
    "does not wait any more": lambda owned: owned.queued_for.clear(),
    "is paused": lambda owned: setattr(owned.machine, "row", RunRow(state=RunState.PAUSED)),
    "was let go": lambda owned: setattr(owned, "dropped", True),
}


@pytest.mark.parametrize("why", KEPT)
def test_a_run_is_not_given_if_it(build: Build, loop: ManualLoop, why: str) -> None:
    parts = crowded(build, 2, peer("other", 9))
    KEPT[why](parts.runs["run-0"])
    loop.run(parts.rebalance.share())
    assert parts.store.calls("give_runs") == [(ME, "other", ("run-1",))]


def test_a_run_of_an_earlier_definition_is_not_given(
    build: Build, loop: ManualLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts = crowded(build, 2, peer("other", 9))
    monkeypatch.setattr(parts.registry, "is_superseded", lambda new: new.run_id == "run-0")
    loop.run(parts.rebalance.share())
    assert parts.store.calls("give_runs") == [(ME, "other", ("run-1",))]


@pytest.mark.parametrize("why", ["workers", "breaker", "not used"])
def test_the_runs_of_an_executor_that_is_not_shared_are_not_given(build: Build, loop: ManualLoop, why: str) -> None:
    parts = crowded(build, 2, peer("other", 9))
    match why:
        case "workers":
            parts.dispatcher.assigners["default"] = FakeAssigner()
        case "breaker":
            parts.dispatcher.breakers["default"] = BreakerState.OPEN
        case _:
            parts.dispatcher.used = []
    loop.run(parts.rebalance.share())
    assert given(parts) == {}


def test_no_turn_is_taken_while_a_run_is_being_given(build: Build, loop: ManualLoop) -> None:
    parts = crowded(build, 1, peer("other", 9))
    owned = parts.runs["run-0"]
    giving = loop.start(asking(parts, loop))
    assert owned.busy
    parts.runs.enqueue(owned)
    assert not owned.queued
    loop.let_go()
    assert giving.done() and owned.dropped


async def asking(parts: Parts, loop: ManualLoop) -> None:
    """Shares, with the answer of the database to the gift held back."""
    health = parts.store.session_health

    def answered() -> object:
        loop.holding = True
        return health()

    parts.store.session_health = answered
    await parts.rebalance.share()


def test_a_gift_that_failed_leaves_the_runs_here(build: Build, loop: ManualLoop) -> None:
    parts = crowded(build, 2, peer("other", 9))
    parts.store.errors["give_runs"] = StoreUnreachable("it is away")
    loop.run(parts.rebalance.share())
    assert parts.rebalance.given == 0
    assert [(owned.busy, owned.queued, owned.dropped) for owned in parts.runs.values()] == [(False, True, False)] * 2


def test_a_run_that_the_database_did_not_give_stays_here(build: Build, loop: ManualLoop) -> None:
    parts = crowded(build, 2, peer("other", 9))
    parts.store.tables["run-0"].owner = "a third"
    loop.run(parts.rebalance.share())
    assert list(parts.runs) == ["run-0"] and parts.runs["run-0"].queued and parts.rebalance.given == 1


@pytest.mark.parametrize(("heartbeat", "gifts"), [(1_000.0, 1), (0.0, 2)])
def test_a_receiver_gets_no_more_until_it_has_reported_again(
    build: Build, loop: ManualLoop, heartbeat: float, gifts: int
) -> None:
    parts = crowded(build, 8, peer("other", 2), settings=EngineSettings(heartbeat=heartbeat, claim_batch=2))
    for _ in range(2):
        loop.run(parts.rebalance.share())
    assert len(parts.store.calls("give_runs")) == gifts


# -- what an orchestrator would take ---------------------------------------------------------------------------------
def test_free_slots_are_reported_as_spare(build: Build) -> None:
    assert build(GRAPH, default=3).rebalance.spare("default") == 3


@pytest.mark.parametrize("why", ["fenced", "certain runs only", "no room for runs", "own runs wait", "workers"])
def test_nothing_is_spare_if(build: Build, why: str) -> None:
    scope = ClaimScope(only=frozenset({FLOW})) if why == "certain runs only" else None
    parts = build(GRAPH, default=3, scope=scope, settings=EngineSettings(max_owned_runs=1))
    match why:
        case "fenced":
            parts.session.keeper.fenced = True
        case "no room for runs":
            parts.idle_run(GRAPH)
        case "own runs wait":
            parts.capacity_queue.add(parts.idle_run(GRAPH), "default", 0.0)
        case "workers":
            parts.dispatcher.assigners["default"] = FakeAssigner()
    assert parts.rebalance.spare("default") == 0
