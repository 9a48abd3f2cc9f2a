"""Tasks that were lost twice: they are kept apart, and cost others and one another little."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import process_bodies
import pytest
from gates import Gate as ProcessGate

from turnout import Runner, Workflow, task, workflow
from turnout.dispatcher import exclusive as solitude
from turnout.executors.process import ProcessExecutor
from turnout.executors.thread import ThreadExecutor
from turnout.model.states import RunState
from turnout.orchestration.stages.exclusive_tasks import ISOLATED
from turnout.runner import EngineSettings

pytestmark = pytest.mark.timeout(60)

SUSPECTS = 6


@task
def add_one(number: int) -> int:
    return number + 1


@workflow
def bystander(number: int) -> int:
    return add_one(number)


@workflow
def together(port: int) -> str:
    return process_bodies.come_together(port)


@pytest.fixture
def lost_twice(
    sqlite_url: str, make_sqlite_runner: Callable[..., Runner], change: Callable[[str, str], None]
) -> Callable[..., list[str]]:
    """Stores runs of which every task was lost twice, for the next Runner to take over; their ids."""

    def store(flow: Workflow[..., Any], count: int, **input: Any) -> list[str]:
        with make_sqlite_runner(workflows=[flow], drives=False) as submitter:
            ids = [run.id for run in submitter.submit_many(flow, [input] * count)]
        change(sqlite_url, "update task set losses = 2")
        return ids

    return store


def driving(make: Callable[..., Runner], *flows: Workflow[..., Any], **options: Any) -> Runner:
    return make(workflows=flows, settings=EngineSettings(sweep=0.2, stop_grace=1.0), **options)


def test_innocent_suspects_run_side_by_side_in_processes_of_their_own(make_sqlite_runner, lost_twice):
    with ProcessGate() as gate:
        ids = lost_twice(together, SUSPECTS, port=gate.port)
        executors = {"process": ProcessExecutor(SUSPECTS), "default": ThreadExecutor(threads=1, max_backlog=0)}
        runner = driving(make_sqlite_runner, together, bystander, executors=executors)
        assert len(set(gate.arrived(SUSPECTS))) == SUSPECTS, "all are in their bodies at once, each in a process"
        assert runner.run(bystander, 1) == 2, "nobody waits for them"
        gate.open()
        for run in map(runner.get, ids):
            assert run.wait(20) is RunState.COMPLETED
            [row] = run.tasks()
            assert (row.executor, row.decision) == ("process", ISOLATED)


def test_a_suspect_that_kills_its_process_fails_with_the_reason_and_nothing_is_lost_with_it(
    make_sqlite_runner, lost_twice
):
    @workflow
    def deadly() -> None:
        process_bodies.die()

    [run_id] = lost_twice(deadly, 1)
    runner = driving(make_sqlite_runner, deadly, bystander)
    assert runner.run(bystander, 1) == 2
    run = runner.get(run_id)
    assert run.wait(20) is RunState.FAILED
    assert run.tasks()[0].reason == "crashed_too_often"


def test_others_start_beside_a_suspect_that_no_other_process_can_find_after_a_bounded_time(
    make_sqlite_runner, lost_twice, gate, monkeypatch
):
    monkeypatch.setattr(solitude, "MAX_EXCLUSIVE", 0.3)
    begun: list[int] = []

    @task
    def local() -> None:
        begun.append(1)
        gate.pass_through()

    @workflow
    def alone() -> None:
        local()

    ids = lost_twice(alone, 2)
    runner = driving(make_sqlite_runner, alone, bystander)
    assert gate.reached()
    assert runner.run(bystander, 1) == 2, "it does not wait until the body returns"
    assert len(begun) == 1, "the other suspect does"
    gate.open()
    assert [runner.get(run_id).wait(20) for run_id in ids] == [RunState.COMPLETED] * 2


def test_a_suspect_whose_module_another_process_cannot_import_runs_where_the_rules_send_it(
    make_sqlite_runner, lost_twice, monkeypatch
):
    monkeypatch.setenv("TURNOUT_TESTS_HIDE", "1")

    @workflow
    def unfound(left: int, right: int) -> int:
        return process_bodies.only_here(left, right)

    [run_id] = lost_twice(unfound, 1, left=1, right=2)
    runner = driving(make_sqlite_runner, unfound)
    assert runner.get(run_id).result(20) == 3
    [row] = runner.get(run_id).tasks()
    assert row.executor == "default"
