"""The pools of a whole Runner before a database that is far away: they grow under load, and shrink after it."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest

from tests.proxies.proxy import DelayingProxy
from turnout import Runner, task, workflow
from turnout.orchestration.coordination import coordinator as module
from turnout.orchestration.coordination.scaling import PoolLoad, ScalingAction, scale
from turnout.orchestration.coordination.settings import CoordinatorSettings, PoolSettings, PoolsSettings
from turnout.orchestration.stages.stage import Stage
from turnout.runner import EngineSettings

DELAY = 0.02
COOLDOWN = 0.2
MOST = 4
RUNS = 60


@task
def nothing(before: int) -> int:
    return before + 1


@workflow(name="three_in_a_row", package="scaling")
def three_in_a_row() -> int:
    return nothing(nothing(nothing(0)))


@pytest.fixture
def far_url(postgres_url: str) -> Iterator[str]:
    with DelayingProxy.before(postgres_url, delay=DELAY) as proxy:
        yield proxy.url(postgres_url)


@pytest.fixture
def decisions(monkeypatch: pytest.MonkeyPatch) -> list[tuple[PoolLoad, ScalingAction]]:
    """What the scaler saw and said."""
    made: list[tuple[PoolLoad, ScalingAction]] = []

    def recorded(load: PoolLoad, settings: CoordinatorSettings) -> ScalingAction:
        made.append((load, scale(load, settings)))
        return made[-1][1]

    monkeypatch.setattr(module, "scale", recorded)
    return made


def far_runner(url: str, batch_size: int) -> Runner:
    pool = PoolSettings(min_executors=1, max_executors=MOST, batch_size=batch_size)
    settings = EngineSettings(
        stop_grace=1.0,
        coordinator=CoordinatorSettings(scaling_interval_seconds=0.05, scaling_cooldown_seconds=COOLDOWN),
        executor_pools=PoolsSettings(
            task_request_processor=pool, step_enqueuer=pool, step_result_processor=pool, task_finalizer=pool
        ),
    )
    return Runner(url, workflows=[three_in_a_row], settings=settings, handle_sigterm=False)


def all_complete(runner: Runner) -> bool:
    handles = runner.submit_many(three_in_a_row, [{}] * RUNS)
    return [handle.wait(60) for handle in handles] == ["completed"] * RUNS


def test_pools_grow_under_load_and_shrink_after_it_with_one_change_per_cooldown(
    far_url: str,
    decisions: list[tuple[PoolLoad, ScalingAction]],
    until: Callable[..., None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO, "turnout.coordinator")
    with far_runner(far_url, batch_size=2) as runner:
        engine = runner._core.engine
        stage = Stage.RESULT

        def sizes() -> list[int]:
            """Of the one pool, after each of its changes."""
            events = list(engine.coordinator.events)
            return [event.executors for event in events if (event.kind, event.pool) == ("scaled", stage)]

        def at_rest() -> bool:
            return sizes()[-1:] == [1] and {len(pool.executors) for pool in engine.pools.values()} == {1}

        until(lambda: all_complete(runner) and sizes(), "growth of the pool under load")
        until(at_rest, "the return to one executor in each pool")

    changes = [(load, action) for load, action in decisions if action.change]
    assert all(load.since_change >= COOLDOWN for load, _ in changes)
    assert all(1 <= load.executors + action.change <= MOST for load, action in changes)
    assert all(load.left_behind for load, action in changes if action.change > 0)
    assert all(not load.backlog for load, action in changes if action.change < 0)
    assert sizes()[0] == 2
    assert f"scaled {stage}: +1: utilisation" in caplog.text


def test_a_pool_whose_batches_take_everything_stays_at_its_minimum_under_the_same_load(
    far_url: str, decisions: list[tuple[PoolLoad, ScalingAction]]
) -> None:
    with far_runner(far_url, batch_size=100_000) as runner:
        for _ in range(3):
            assert all_complete(runner)
        assert {len(pool.executors) for pool in runner._core.engine.pools.values()} == {1}
    assert not [action for _, action in decisions if action.change]
