"""The link dies before a commit, or after it, or the process does before the next step: nothing is lost or doubled."""

from __future__ import annotations

import asyncio
import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest

from tests.faults.children import Children, eventually
from tests.faults.counted import PATIENCE, Bodies
from tests.faults.guarantees import Ledger, check_history, execute, query, read_ledger
from tests.faults.outcomes import all_completed
from tests.faults.scale import scaled
from tests.faults.unreliable import unreliable
from turnout import Runner
from turnout.errors import StoreUnreachable
from turnout.model.rows import Session
from turnout.model.states import RunState
from turnout.runner import EngineSettings, RunHandle
from turnout.store import connect

RUNS = scaled(30, 300)
QUICK = EngineSettings(sweep=0.2)


@pytest.fixture
def bodies(store_url: str) -> Iterator[Bodies]:
    made = Bodies()
    yield made
    made.gate.set()
    check_history(store_url)


def keys(runs: int = RUNS) -> list[str]:
    return [f"r{number}" for number in range(runs)]


def all_end(handles: list[RunHandle[Any]]) -> None:
    assert Counter(handle.wait(PATIENCE) for handle in handles) == {RunState.COMPLETED: len(handles)}


@pytest.mark.parametrize("fault", ["before", "after"])
def test_a_commit_whose_answer_is_lost_is_made_once_and_its_tasks_run_once(
    monkeypatch: pytest.MonkeyPatch, store_url: str, bodies: Bodies, fault: str
) -> None:
    with unreliable(monkeypatch, store_url, workflows=[bodies.workflow]) as (runner, store):
        store.plan("commit", *[fault, None] * (2 * RUNS))
        all_end(runner.submit_many(bodies.workflow, [{"key": key} for key in keys()]))
        assert store.injected >= 3, "there were too few commits to disturb"
    bodies.each_ran_once(keys())


def test_commits_that_fail_at_random_before_or_after_do_no_harm(
    monkeypatch: pytest.MonkeyPatch, store_url: str, bodies: Bodies
) -> None:
    chance = random.Random(5)
    with unreliable(monkeypatch, store_url, workflows=[bodies.workflow]) as (runner, store):
        store.plan("commit", *chance.choices(["before", "after", None], [1, 1, 2], k=RUNS))
        all_end([submit_again_and_again(runner, bodies, key) for key in keys(RUNS // 2)])
        assert not store.pending("commit")
    bodies.each_ran_once(keys(RUNS // 2))


def submit_again_and_again(runner: Runner, bodies: Bodies, key: str) -> RunHandle[Any]:
    """Submissions fail fast while the database is away; a client that asks again with its key makes no second run."""
    while True:
        with suppress(StoreUnreachable):
            return runner.submit_with(bodies.workflow, key=key, input={"key": key})


def test_a_read_back_that_fails_as_well_is_made_again(
    monkeypatch: pytest.MonkeyPatch, store_url: str, bodies: Bodies
) -> None:
    with unreliable(monkeypatch, store_url, workflows=[bodies.workflow]) as (runner, store):
        bodies.gate.clear()
        handles = runner.submit_many(bodies.workflow, [{"key": key} for key in keys()])
        store.plan("commit", "after", None, "after", None)
        store.plan("tasks", "before", None, "before")
        bodies.gate.set()
        all_end(handles)
        assert not store.pending("commit")
    bodies.each_ran_once(keys())


def test_a_run_whose_rows_are_not_as_remembered_is_read_anew_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, store_url: str, bodies: Bodies
) -> None:
    def fence() -> None:
        execute(store_url, "update run set epoch = epoch + 1")
        execute(store_url, "update task set epoch = epoch + 1 where state in ('pending', 'ready', 'running')")

    with unreliable(monkeypatch, store_url, workflows=[bodies.workflow], settings=QUICK) as (runner, store):
        bodies.gate.clear()
        handles = runner.submit_many(bodies.workflow, [{"key": key} for key in keys()])
        store.before["commit"] = fence
        bodies.gate.set()
        all_end(handles)
        assert "commit" not in store.before
    bodies.each_ran_once(keys())


def test_a_write_that_is_on_its_way_when_its_run_is_adopted_changes_nothing(
    monkeypatch: pytest.MonkeyPatch, store_url: str, bodies: Bodies
) -> None:
    thief = connect(store_url)
    thief.open()
    stolen: list[Ledger] = []
    with unreliable(monkeypatch, store_url, workflows=[bodies.workflow], settings=QUICK) as (runner, store):
        engine = runner._core.engine
        metrics = engine.ledger.metrics
        victim = engine.session.id

        def adopt() -> None:
            thief.start_session(Session(id="thief"), 60.0)
            thief.bury_sessions(gone=[victim])
            assert len(thief.claim_runs("thief", ["public::embedded::counted"], 10, 1024)) == 1
            stolen.append(read_ledger(store_url))

        bodies.gate.clear()
        handle = runner.submit(bodies.workflow, "r0")
        eventually("the first body runs", lambda: bodies.ran)
        commits = metrics.commits
        store.before["commit"] = adopt
        bodies.gate.set()
        eventually("the late write is answered", lambda: metrics.commits > commits)
        assert read_ledger(store_url) == stolen[0], "a fenced owner changed a run that another has adopted"
        assert metrics.stale
        thief.end_session("thief")
        assert handle.wait(PATIENCE) is RunState.COMPLETED
    thief.close()
    assert bodies.ran == {("r0", "first"): 2, ("r0", "second"): 1, ("r0", "third"): 1}


def test_no_body_starts_before_its_start_is_committed(
    monkeypatch: pytest.MonkeyPatch, store_url: str, bodies: Bodies
) -> None:
    held, release = threading.Event(), threading.Event()

    def hold() -> None:
        held.set()
        assert release.wait(PATIENCE)

    with unreliable(monkeypatch, store_url, workflows=[bodies.workflow]) as (runner, store):
        store.before["commit"] = hold
        submission = threading.Thread(target=runner.submit, args=(bodies.workflow, "r0"))
        submission.start()
        assert held.wait(PATIENCE)
        # The loop has had every chance to dispatch: it answers, and its threads are idle.
        assert runner._core.loop.call(asyncio.sleep(0.2)).result(PATIENCE) is None
        assert not bodies.ran, "a body ran whose start was not committed"
        release.set()
        submission.join(PATIENCE)
        all_end([runner.get(run.id) for run in runner.list()])
    bodies.each_ran_once(["r0"])


@pytest.mark.parametrize("fault", ["before", "after"])
def test_a_claim_whose_answer_is_lost_strands_no_run(
    monkeypatch: pytest.MonkeyPatch, store_url: str, bodies: Bodies, fault: str
) -> None:
    # One run is held in memory; the others are stored for claimers, and this process claims them.
    few = EngineSettings(max_owned_runs=1, claim_batch=20, sweep=0.2)
    with unreliable(monkeypatch, store_url, workflows=[bodies.workflow], settings=few) as (runner, store):
        bodies.gate.clear()
        handles = runner.submit_many(bodies.workflow, [{"key": key} for key in keys(6)])
        store.plan("claim_runs", fault, fault)
        bodies.gate.set()
        all_end(handles)
        assert not store.pending("claim_runs")
    bodies.each_ran_once(keys(6))


def test_a_task_that_became_ready_out_of_contact_starts_when_the_contact_is_back(
    monkeypatch: pytest.MonkeyPatch, store_url: str, bodies: Bodies
) -> None:
    fenced = EngineSettings(heartbeat=0.2, self_fence=0.4, lease=30, sweep=0.2)
    with unreliable(monkeypatch, store_url, workflows=[bodies.workflow], settings=fenced) as (runner, store):
        keeper = runner._core.engine.session.keeper
        bodies.gate.clear()
        handles = runner.submit_many(bodies.workflow, [{"key": key} for key in keys(3)])
        eventually("the first bodies run", lambda: len(bodies.ran) == 3)
        store.broken.add("renew_session")
        eventually("the orchestrator fences itself", lambda: keeper.fenced)
        bodies.gate.set()
        eventually(
            "the second tasks are ready",
            lambda: query(store_url, "select count(*) from task where state = 'ready'") == [(3,)],
            timeout=PATIENCE,
        )
        assert len(bodies.ran) == 3, "something was started by an orchestrator that had fenced itself"
        store.broken.clear()
        all_end(handles)
    bodies.each_ran_once(keys(3))


def test_a_session_that_was_declared_dead_comes_back_even_if_the_database_is_away_just_then(
    monkeypatch: pytest.MonkeyPatch, store_url: str, bodies: Bodies
) -> None:
    brisk = EngineSettings(heartbeat=0.2, self_fence=5, lease=10, sweep=0.2)
    with unreliable(monkeypatch, store_url, workflows=[bodies.workflow], settings=brisk) as (runner, store):
        store.plan("start_session", "before", "before")
        execute(store_url, "update session set ended_at = 1")
        eventually("two new sessions fail to begin", lambda: not store.pending("start_session"))
        all_end(runner.submit_many(bodies.workflow, [{"key": key} for key in keys()]))
        assert query(store_url, "select count(*) from session where ended_at is null") == [(1,)]
    bodies.each_ran_once(keys())


@pytest.mark.parametrize("commits", [1, 2, 3, 5, 8])
def test_a_process_that_dies_between_a_commit_and_its_dispatch_leaves_nothing_behind(
    children: Children, commits: int
) -> None:
    runs = 10
    victim = children.start("submit", runs=runs, die_after_commits=commits)
    assert victim.exit_code() == -9, victim.tail()
    stranded = query(children.url, "select count(*) from task where state = 'running'")[0][0]
    assert stranded or commits > 1, "the commit left nothing that was to be dispatched"
    assert read_ledger(children.url).runs
    again = children.start("submit", runs=runs)
    assert again.finished() == {"completed": runs}
    all_completed(children.url, children.executions, runs, kills=1)
