"""Stage executors that are stuck, broken, cancelled or deaf are replaced; their items are done by others, once."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tests.faults.broken_stages import Victim
from tests.faults.children import eventually
from tests.faults.counted import STEPS, Bodies
from tests.faults.guarantees import check_history
from tests.faults.scale import FULL, PATIENCE, scaled
from turnout import Runner
from turnout.errors import TurnoutError
from turnout.executors.thread import ThreadExecutor
from turnout.model.states import RunState
from turnout.orchestration.coordination.settings import CoordinatorSettings, PoolSettings, PoolsSettings
from turnout.orchestration.stages.stage import Stage
from turnout.runner import EngineSettings, RunHandle

ROUNDS = scaled(1, 5)
"""How often each stage loses an executor."""
BATCH = 20
POOL = PoolSettings(min_executors=2, max_executors=4, polling_interval_ms=50, batch_size=8)
WATCHFUL = CoordinatorSettings(
    auto_scaling_enabled=False,
    health_check_interval_seconds=0.05,
    degraded_after_seconds=0.3,
    stuck_after_seconds=0.6,
    error_window=5,
    drain_timeout_seconds=5.0,
)
SETTINGS = EngineSettings(
    max_owned_runs=30,
    claim_batch=10,
    sweep=0.5,
    coordinator=WATCHFUL,
    executor_pools=PoolsSettings(**{stage.value: POOL for stage in Stage}),
)
"""Few runs in memory and few threads, so that claimers and enqueuers have work too."""
REASONS = {
    "hangs": "one batch has taken",
    "hangs_midway": "one batch has taken",
    "hangs_afterwards": "one batch has taken",
    "raises": "of its batches failed",
    "raises_afterwards": "of its batches failed",
    "is_cancelled": "its loop has ended",
    "is_deaf": "one batch has taken",
}
SLOW = ("one batch has taken", "no sign of life")
"""What is said of anybody if the machine is slow."""
CASES = [
    (fault, dialect)
    for fault in REASONS
    for dialect in ("sqlite", "postgres")
    if FULL or dialect == "sqlite" or fault in ("hangs_midway", "is_cancelled", "is_deaf")
]


class Load:
    """Submits runs, one batch after the other, until it is told that it is enough."""

    def __init__(self, runner: Runner, bodies: Bodies) -> None:
        self._runner, self._bodies = runner, bodies
        self.keys: list[str] = []
        self.handles: list[RunHandle[Any]] = []
        self.refused: list[BaseException] = []
        self._enough = threading.Event()
        self._thread = threading.Thread(target=self._submit, daemon=True)
        self._thread.start()

    def _submit(self) -> None:
        while not self._enough.is_set() and not self.refused:
            keys = [f"r{len(self.keys) + number}" for number in range(BATCH)]
            try:
                self.handles += self._runner.submit_many(self._bodies.workflow, [{"key": key} for key in keys])
                self.keys += keys
                self._keep_pace()
            except TurnoutError as error:
                self.refused.append(error)

    def _keep_pace(self) -> None:
        """No more than a few batches are unfinished."""
        if len(self.handles) >= 3 * BATCH:
            self.handles[-3 * BATCH].wait(PATIENCE)

    def ends(self) -> None:
        """All that was submitted completes."""
        self._enough.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "a submission was never answered"
        assert not self.refused
        assert Counter(each.wait(PATIENCE) for each in self.handles) == {RunState.COMPLETED: len(self.handles)}

    def is_refused(self) -> None:
        """The submitter was told that the Runner was closed."""
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive(), "a submission was never answered"
        assert [error.code for error in self.refused] in (["runner_closed"], ["store_unreachable"])


@pytest.fixture
def bodies() -> Bodies:
    return Bodies()


def run_on(url: str, bodies: Bodies, settings: EngineSettings = SETTINGS) -> Runner:
    executors = {"default": ThreadExecutor(threads=4)}
    return Runner(url, workflows=[bodies.workflow], executors=executors, settings=settings, handle_sigterm=False)


@pytest.fixture
def url(dialect: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """A database whose history is lawful after the test."""
    found = str(request.getfixturevalue(f"{dialect}_url"))
    yield found
    check_history(found)


def is_well(runner: Runner) -> None:
    """Nothing speaks of what has happened any more, and every pool has its size."""
    engine = runner._core.engine
    eventually("it is healthy", lambda: engine.status.read().condition == "healthy")
    eventually("every pool has its size", lambda: {len(pool.executors) for pool in engine.pools.values()} == {2})
    eventually("no run is left in memory", lambda: not engine.runs)


@pytest.mark.parametrize(("fault", "dialect"), CASES)
def test_one_that_is_beyond_help_is_noticed_and_replaced_and_its_items_are_done_by_others(
    url: str, bodies: Bodies, fault: str
) -> None:
    with run_on(url, bodies) as runner:
        load, victims = Load(runner, bodies), list[Victim]()
        for stage in [*Stage] * ROUNDS:
            victims.append(Victim(runner, stage, fault))
            said = victims[-1].is_replaced()
            assert any(reason in said for reason in (REASONS[fault], *SLOW)), said
        for victim in victims:
            victim.release()
        load.ends()
        is_well(runner)
    bodies.each_ran_once(load.keys)


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_all_of_all_pools_may_be_beyond_help_at_once(url: str, bodies: Bodies) -> None:
    with run_on(url, bodies) as runner:
        load = Load(runner, bodies)
        victims = list[Victim]()
        for stage in Stage:
            victims.append(Victim(runner, stage, "is_deaf"))
            runner._core.engine.pools[stage].executors.reverse()
            victims.append(Victim(runner, stage, "hangs_midway"))
        for victim in victims:
            eventually("it is replaced", lambda victim=victim: victim.executor not in victim.pool.executors)
        for victim in victims:
            victim.release()
        load.ends()
        is_well(runner)
    bodies.each_ran_once(load.keys)


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_executors_that_are_restarted_all_the_time_lose_nothing(url: str, bodies: Bodies) -> None:
    brisk = msgspec.structs.replace(WATCHFUL, restart_after_items=5, health_check_interval_seconds=0.01)
    with run_on(url, bodies, msgspec.structs.replace(SETTINGS, coordinator=brisk)) as runner:
        load, coordinator = Load(runner, bodies), runner._core.engine.coordinator
        wanted = scaled(50, 1_000)

        def restarted() -> int:
            return sum(pool.restarted for pool in coordinator.pools.values())

        eventually(f"{wanted} were restarted", lambda: restarted() >= wanted)
        load.ends()
        assert any(event.kind == "restarted" for event in coordinator.events)
        is_well(runner)
    bodies.each_ran_once(load.keys)


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
def test_executors_that_are_added_and_removed_while_they_are_busy_lose_nothing(url: str, bodies: Bodies) -> None:
    hasty = msgspec.structs.replace(WATCHFUL, drain_timeout_seconds=0.001)
    with run_on(url, bodies, msgspec.structs.replace(SETTINGS, coordinator=hasty)) as runner:
        load, engine = Load(runner, bodies), runner._core.engine

        async def renew(stage: Stage) -> None:
            pool = engine.pools[stage]
            await pool.add(2)
            pool.remove(2)

        for stage in [*Stage] * scaled(20, 300):
            runner._core.loop.call(renew(stage)).result(PATIENCE)
        load.ends()
        is_well(runner)
    bodies.each_ran_once(load.keys)


@pytest.mark.parametrize("dialect", ["sqlite", "postgres"])
@pytest.mark.parametrize("stage", Stage)
def test_a_runner_that_is_closed_in_the_midst_of_it_leaves_nothing_behind(
    url: str, bodies: Bodies, stage: Stage
) -> None:
    calm = msgspec.structs.replace(WATCHFUL, stuck_after_seconds=3600.0)
    runner = run_on(url, bodies, msgspec.structs.replace(SETTINGS, coordinator=calm))
    load = Load(runner, bodies)
    victims = [Victim(runner, stage, "is_deaf")]
    runner._core.engine.pools[stage].executors.reverse()
    victims.append(Victim(runner, stage, "hangs_midway"))
    eventually("one of them has a batch", lambda: any(victim.began.is_set() for victim in victims))
    closing = threading.Thread(target=runner.close, kwargs={"timeout": 0.5})
    closing.start()
    eventually("it is stopping", lambda: runner._core.engine.session.stopping)
    for victim in victims:
        victim.release()
    closing.join(PATIENCE)
    assert not closing.is_alive()
    load.is_refused()
    with run_on(url, bodies) as again:
        unfinished = [run.id for run in again.list(limit=10_000) if run.state is not RunState.COMPLETED]
        assert {again.get(run_id).wait(PATIENCE) for run_id in unfinished} <= {RunState.COMPLETED}
    ledger = check_history(url)
    assert {run.state for run in ledger.runs.values()} == {RunState.COMPLETED}
    assert {handle.id for handle in load.handles} <= ledger.runs.keys(), "an acknowledged submission was lost"
    assert max(bodies.ran.values()) <= 2
    assert {name for _, name in bodies.ran} == set(STEPS)
