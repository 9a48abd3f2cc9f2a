"""The link dies before a commit, or after it and before the answer, or the process does: nothing is done twice or stuck."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from faults.children import Children, eventually
from faults.guarantees import check_history, execute, query, read_ledger
from faults.outcomes import all_completed
from faults.scale import scaled
from faults.unreliable import unreliable
from turnout import TaskInfo, Workflow, task, workflow
from turnout.model.states import RunState
from turnout.runner import EngineSettings, RunHandle

RUNS = scaled(30, 300)
PATIENCE = 30
QUICK = EngineSettings(sweep=0.2)


class Bodies:
    """A chain of three tasks that counts its executions in memory, and can be held at its first."""

    def __init__(self) -> None:
        self.ran: Counter[tuple[str, str]] = Counter()
        self.gate = threading.Event()
        self.gate.set()
        self.workflow: Workflow[..., Any] = self._draw()

    def _draw(self) -> Workflow[..., Any]:
        def count(key: str, info: TaskInfo) -> str:
            self.ran[key, info.task_name.rpartition("::")[2]] += 1
            self.gate.wait(PATIENCE)
            return key

        steps = [task(name=name)(count) for name in ("first", "second", "third")]

        @workflow
        def counted(key: str) -> str:
            return steps[2](steps[1](steps[0](key)))

        return counted

    def each_ran_once(self, keys: list[str]) -> None:
        assert self.ran == {(key, name): 1 for key in keys for name in ("first", "second", "third")}


@pytest.fixture
def bodies(url: str) -> Iterator[Bodies]:
    made = Bodies()
    yield made
    made.gate.set()
    check_history(url)


def keys(runs: int = RUNS) -> list[str]:
    return [f"r{number}" for number in range(runs)]


def all_end(handles: list[RunHandle[Any]]) -> None:
    assert Counter(handle.wait(PATIENCE) for handle in handles) == {RunState.COMPLETED: len(handles)}


@pytest.mark.parametrize("fault", ["before", "after"])
def test_a_commit_whose_answer_is_lost_is_made_once_and_its_tasks_run_once(
    monkeypatch: pytest.MonkeyPatch, url: str, bodies: Bodies, fault: str
) -> None:
    with unreliable(monkeypatch, url, workflows=[bodies.workflow]) as (runner, store):
        store.plan("commit", *[fault, None] * (2 * RUNS))
        all_end(runner.submit_many(bodies.workflow, [{"key": key} for key in keys()]))
        assert store.injected >= 3, "there were too few commits to disturb"
    bodies.each_ran_once(keys())


def test_commits_that_fail_at_random_before_or_after_do_no_harm(
    monkeypatch: pytest.MonkeyPatch, url: str, bodies: Bodies
) -> None:
    chance = random.Random(5)
    with unreliable(monkeypatch, url, workflows=[bodies.workflow]) as (runner, store):
        store.plan("commit", *chance.choices(["before", "after", None], [1, 1, 2], k=4 * RUNS))
        handles = [runner.submit_with(bodies.workflow, key=key, input={"key": key}) for key in keys()[: RUNS // 2]]
        all_end(handles)
    bodies.each_ran_once(keys()[: RUNS // 2])


def test_a_read_back_that_fails_as_well_is_made_again(
    monkeypatch: pytest.MonkeyPatch, url: str, bodies: Bodies
) -> None:
    with unreliable(monkeypatch, url, workflows=[bodies.workflow]) as (runner, store):
        bodies.gate.clear()
        handles = runner.submit_many(bodies.workflow, [{"key": key} for key in keys()])
        store.plan("commit", "after", None, "after", None)
        store.plan("tasks", "before", None, "before")
        bodies.gate.set()
        all_end(handles)
        assert not store.pending("commit")
    bodies.each_ran_once(keys())


def test_a_run_whose_rows_are_not_as_remembered_is_read_anew_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, url: str, bodies: Bodies
) -> None:
    def fence() -> None:
        execute(url, "update run set epoch = epoch + 1")
        execute(url, "update task set epoch = epoch + 1 where state in ('pending', 'ready', 'running')")

    with unreliable(monkeypatch, url, workflows=[bodies.workflow], settings=QUICK) as (runner, store):
        bodies.gate.clear()
        handles = runner.submit_many(bodies.workflow, [{"key": key} for key in keys()])
        store.before["commit"] = fence
        bodies.gate.set()
        all_end(handles)
        assert "commit" not in store.before
    bodies.each_ran_once(keys())


@pytest.mark.parametrize("fault", ["before", "after"])
def test_a_claim_whose_answer_is_lost_strands_no_run(
    monkeypatch: pytest.MonkeyPatch, url: str, bodies: Bodies, fault: str
) -> None:
    # One run is held in memory; the others are stored for claimers, and this process claims them.
    few = EngineSettings(max_owned_runs=1, claim_batch=20, sweep=0.2)
    with unreliable(monkeypatch, url, workflows=[bodies.workflow], settings=few) as (runner, store):
        bodies.gate.clear()
        handles = runner.submit_many(bodies.workflow, [{"key": key} for key in keys(6)])
        store.plan("claim_runs", fault, fault)
        bodies.gate.set()
        all_end(handles)
        assert not store.pending("claim_runs")
    bodies.each_ran_once(keys(6))


def test_a_task_that_became_ready_out_of_contact_starts_when_the_contact_is_back(
    monkeypatch: pytest.MonkeyPatch, url: str, bodies: Bodies
) -> None:
    fenced = EngineSettings(heartbeat=0.2, self_fence=0.4, lease=30, sweep=0.2)
    with unreliable(monkeypatch, url, workflows=[bodies.workflow], settings=fenced) as (runner, store):
        keeper = runner._core.engine.keeper
        bodies.gate.clear()
        handles = runner.submit_many(bodies.workflow, [{"key": key} for key in keys(3)])
        eventually("the first bodies run", lambda: len(bodies.ran) == 3)
        store.broken.add("renew_session")
        eventually("the orchestrator fences itself", lambda: keeper.fenced)
        bodies.gate.set()
        eventually(
            "the second tasks are ready",
            lambda: query(url, "select count(*) from task where state = 'ready'") == [(3,)],
            timeout=PATIENCE,
        )
        assert len(bodies.ran) == 3, "something was started by an orchestrator that had fenced itself"
        store.broken.clear()
        all_end(handles)
    bodies.each_ran_once(keys(3))


def test_a_session_that_was_declared_dead_comes_back_even_if_the_database_is_away_just_then(
    monkeypatch: pytest.MonkeyPatch, url: str, bodies: Bodies
) -> None:
    brisk = EngineSettings(heartbeat=0.2, self_fence=5, lease=10, sweep=0.2)
    with unreliable(monkeypatch, url, workflows=[bodies.workflow], settings=brisk) as (runner, store):
        before = runner._core.engine.session_id
        store.plan("start_session", "before", "before")
        execute(url, "update session set ended_at = 1")
        eventually("a new session begins", lambda: runner._core.engine.session_id != before)
        all_end(runner.submit_many(bodies.workflow, [{"key": key} for key in keys()]))
        assert not store.pending("start_session")
    bodies.each_ran_once(keys())


@pytest.mark.parametrize("commits", [1, 2, 3, 5, 8])
def test_a_process_that_dies_between_a_commit_and_its_dispatch_leaves_nothing_behind(
    children: Children, commits: int
) -> None:
    runs = 10
    victim = children.start("submit", runs=runs, die_after_commits=commits)
    assert victim.process.wait(30) == -9, victim.tail()
    stranded = query(children.url, "select count(*) from task where state = 'running'")[0][0]
    assert stranded or commits > 1, "the commit left nothing that was to be dispatched"
    assert read_ledger(children.url).runs
    again = children.start("submit", runs=runs)
    assert again.finished() == {"completed": runs}
    all_completed(children.url, children.executions, runs, kills=1)
