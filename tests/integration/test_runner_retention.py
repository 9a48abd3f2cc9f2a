"""Runs that have ended are deleted by name, by age, and by themselves; nothing else ever is."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.integration.conftest import PATIENCE, Gate
from turnout import AsyncRunner, Runner, task, workflow
from turnout.errors import InvalidSetting, InvalidWorkflow, RunNotFinished, RunNotFound
from turnout.runner import EngineSettings, Retention

pytestmark = pytest.mark.timeout(60)


@task
def step(number: int) -> int:
    print("step", number)
    if number < 0:
        raise ValueError("negative")
    return number


@workflow
def stepping(number: int) -> int:
    return step(number)


def keeping(**retention: Any) -> EngineSettings:
    return EngineSettings(stop_grace=1.0, retention=Retention(**retention))


def test_a_run_is_deleted_by_its_id(
    runner: Runner, store_url: str, rows_in: Callable[[str], dict[str, int]], query: Callable[..., Any]
) -> None:
    run = runner.submit(stepping, 1)
    assert run.result(PATIENCE) == 1
    assert [line.text for line in run.logs()] == ["step 1"]
    assert runner.delete(run.id).runs == 1
    assert set(rows_in(store_url).values()) == {0}
    assert query(store_url, "select count(*) from log") == [(0,)]
    for use in (run.status, lambda: runner.get(run.id), lambda: runner.delete(run.id)):
        with pytest.raises(RunNotFound):
            use()


def test_a_run_that_has_not_ended_is_refused_unless_forced(runner: Runner, gate: Gate) -> None:
    @task
    async def waiting() -> None:
        gate.entered.set()
        await asyncio.sleep(PATIENCE)

    @workflow
    def waits() -> None:
        waiting()

    run = runner.submit(waits)
    assert gate.reached()
    with pytest.raises(RunNotFinished) as caught:
        runner.delete(run.id)
    assert (caught.value.code, caught.value.fields) == ("run_not_finished", {"run_id": run.id, "state": "running"})
    assert run.status().state == "running"
    assert runner.delete(run.id, force=True).runs == 1
    assert run.wait(PATIENCE) == "cancelled", "who waited was told"
    assert runner.list() == []


def test_child_runs_go_with_their_parent(runner: Runner) -> None:
    @workflow
    def above(number: int) -> int:
        return step(stepping(number))

    run = runner.submit(above, 3)
    assert run.result(PATIENCE) == 3
    assert len(runner.list()) == 2
    assert runner.delete(run.id).runs == 2
    assert runner.list() == []


def test_a_forced_deletion_cancels_child_runs_too(runner: Runner, gate: Gate) -> None:
    @task
    async def waiting() -> None:
        gate.entered.set()
        await asyncio.sleep(PATIENCE)

    @workflow
    def waits() -> None:
        waiting()

    @workflow
    def above() -> None:
        waits()

    run = runner.submit(above)
    assert gate.reached()
    assert runner.delete(run.id, force=True).runs == 2
    assert runner.list() == []


def test_who_waits_for_a_run_that_others_delete_is_told(make_runner: Callable[..., Runner]) -> None:
    runner, other = make_runner(), make_runner()
    run = runner.submit(stepping, 1)
    run.wait(PATIENCE)
    elsewhere = other.get(run.id)
    runner.delete(run.id)
    with pytest.raises(RunNotFound, match="was deleted"):
        elsewhere.result(PATIENCE)


def test_runs_are_pruned_by_age_and_state(make_runner: Callable[..., Runner]) -> None:
    runner = make_runner(settings=keeping(runs=2, rows=3))
    for number in (1, 2, 3, -1, 5):
        runner.submit(stepping, number).wait(PATIENCE)
    assert runner.prune("1h").runs == 0
    assert runner.prune(0, states=["failed"]).runs == 1
    assert {run.state for run in runner.list()} == {"completed"}
    pruned = runner.prune(0)
    assert (pruned.runs, pruned.more) == (4, False)
    assert runner.list() == []
    assert runner.run(stepping, 7) == 7, "the version that this Runner uses is still there"


def test_a_rerun_lives_on_without_the_run_that_it_repeats(runner: Runner) -> None:
    first = runner.submit(stepping, 1)
    first.wait(PATIENCE)
    second = first.rerun(from_task="step")
    second.wait(PATIENCE)
    runner.delete(first.id)
    assert second.status().rerun_of == first.id
    third = second.rerun(from_task="step")
    assert third.result(PATIENCE) == 1


def test_retention_deletes_by_itself_and_leaves_what_has_not_ended(
    make_runner: Callable[..., Runner], gate: Gate, until: Callable[..., None]
) -> None:
    @task
    def holding() -> None:
        gate.pass_through()

    @workflow
    def holds() -> None:
        holding()

    first = make_runner()
    open_run = first.submit(holds)
    assert gate.reached()
    for number in range(5):
        first.submit(stepping, number).wait(PATIENCE)
    second = make_runner(settings=keeping(older_than=0, every=0.05))
    until(lambda: [run.id for run in second.list()] == [open_run.id], "the ended runs are gone")
    assert open_run.status().state == "running"


def test_one_of_several_runners_does_it(make_runner: Callable[..., Runner], until: Callable[..., None]) -> None:
    runner = make_runner()
    runner.submit(stepping, 1).wait(PATIENCE)
    make_runner(settings=keeping(older_than=0, every="1h"))
    until(lambda: runner.list() == [], "the first look is at the start")
    kept = runner.submit(stepping, 2)
    kept.wait(PATIENCE)
    third = make_runner(settings=keeping(older_than=0, every="1h"))
    assert third.run(stepping, 3) == 3
    assert kept.status().state == "completed", "it was done less than an hour ago"


def test_coroutines_delete_and_prune_too(store_url: str) -> None:
    async def main() -> tuple[int, int]:
        async with AsyncRunner(store_url, workflows=()) as runner:
            runs = [await runner.submit(stepping, number) for number in (1, 2)]
            for run in runs:
                await run.wait(PATIENCE)
            return (await runner.delete(runs[0].id)).runs, (await runner.prune(0)).runs

    assert asyncio.run(main()) == (1, 1)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"older_than": "soon"}, "older_than"),
        ({"every": 0}, "every"),
        ({"runs": 0}, "runs"),
        ({"rows": 0}, "rows"),
        ({"states": ("running",)}, "states"),
    ],
)
def test_a_retention_that_makes_no_sense_is_refused(given: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidSetting) as caught:
        keeping(**given).check()
    assert caught.value.fields["field"] == f"orchestration.retention.{field}"


def test_pruning_what_has_not_ended_is_refused(sqlite_runner: Runner) -> None:
    with pytest.raises(InvalidSetting, match="only runs that ended"):
        sqlite_runner.prune(0, states=["running"])
    with pytest.raises(InvalidWorkflow) as caught:
        sqlite_runner.prune("a month")
    assert caught.value.code == "bad_duration"
