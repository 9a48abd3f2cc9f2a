"""Deferrals through whole Runners, on both stores: the place is free meanwhile, and nothing is lost over a restart."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.integration import flow_conditions
from turnout import Defer, Runner, TaskInfo, task, workflow
from turnout.errors import RunCancelled, RunFailed, RunTimedOut
from turnout.executors.thread import ThreadExecutor
from turnout.model.states import RunState, TaskState
from turnout.model.verdict import Limits
from turnout.runner import EngineSettings, Poller

pytestmark = pytest.mark.timeout(60)

LONG = "1h"


def test_a_body_starts_again_from_the_top_with_what_it_saved(runner: Runner) -> None:
    seen: list[tuple[int, Any]] = []

    @task
    def pages(info: TaskInfo) -> list[int]:
        seen.append((info.attempt, info.saved))
        done: list[int] = info.saved or []
        if len(done) < 3:
            raise Defer("10ms", save=[*done, len(done)])
        return done

    @workflow
    def paging() -> list[int]:
        return pages()

    run = runner.submit(paging)
    assert run.result(20) == [0, 1, 2]
    assert seen == [(1, None), (2, [0]), (3, [0, 1]), (4, [0, 1, 2])]
    details = [move.detail or "" for _, move in run.history() if move.old == "running" and move.new == "ready"]
    assert len(details) == 3 and all('"deferred"' in each for each in details)


def test_an_async_body_defers_itself_too(sqlite_runner: Runner) -> None:
    @task
    async def later(info: TaskInfo) -> Any:
        await asyncio.sleep(0)
        if info.saved is None:
            raise Defer(until=datetime.now(UTC) + timedelta(milliseconds=20), save={"once": True})
        return info.saved

    @workflow
    def waiting() -> Any:
        return later()

    assert sqlite_runner.run(waiting) == {"once": True}


def test_a_deferred_task_frees_its_place_and_says_why_it_waits(make_runner: Callable[..., Runner]) -> None:
    @task
    def wait_long() -> None:
        raise Defer(LONG)

    @task
    def quick() -> str:
        return "done"

    @workflow
    def lying() -> None:
        wait_long()

    @workflow
    def passing() -> str:
        return quick()

    runner = make_runner(executors={"default": ThreadExecutor(threads=1, max_backlog=0)})
    runs = [runner.submit(lying) for _ in range(3)]
    assert runner.run(passing) == "done", "the only thread is free"
    for run in runs:
        run.cancel()
        with pytest.raises(RunCancelled):
            run.result(20)
    (view,) = runs[0].tasks()
    assert view.state is TaskState.CANCELLED


@task
def nap() -> None:
    raise Defer(LONG)


@workflow(name="napping_long")
def napping() -> None:
    nap()


@pytest.fixture
def deferred(until: Callable[..., None]) -> Callable[[Runner], Any]:
    """A run whose only task has put itself off for an hour, as the database knows."""

    def submit(runner: Runner) -> Any:
        run = runner.submit(napping)
        until(lambda: run.tasks()[0].reason == "deferred", "the task is deferred")
        return run

    return submit


def test_a_deferred_task_shows_its_reason_and_time(runner: Runner, deferred: Callable[..., Any]) -> None:
    (view,) = deferred(runner).tasks()
    assert (view.state, view.attempt) == (TaskState.READY, 1)
    assert view.retry_in is not None and 3000 < view.retry_in <= 3600


def test_a_run_is_paused_resumed_and_cancelled_while_its_task_is_deferred(
    runner: Runner, deferred: Callable[..., Any]
) -> None:
    run = deferred(runner)
    run.pause()
    assert run.status().state is RunState.PAUSED
    run.resume()
    assert run.tasks()[0].reason == "deferred"
    run.cancel("enough")
    assert run.wait(20) is RunState.CANCELLED


def test_a_run_s_timeout_ends_a_deferred_task(runner: Runner) -> None:
    run = runner.submit_with(napping, timeout=0.5)
    with pytest.raises(RunTimedOut):
        run.result(20)
    assert run.tasks()[0].state is TaskState.CANCELLED


def test_a_deferral_that_comes_due_while_the_run_is_paused_waits_for_the_resumption(
    runner: Runner, gate: Any, until: Callable[..., None]
) -> None:
    starts: list[int] = []

    @task
    def nap(info: TaskInfo) -> int:
        starts.append(info.attempt)
        if info.saved is None:
            gate.pass_through()
            raise Defer("50ms", save=1)
        return info.attempt

    @workflow
    def napping() -> int:
        return nap()

    run = runner.submit(napping)
    assert gate.reached()
    run.pause()
    gate.open()
    until(lambda: run.tasks()[0].retry_in == 0.0, "it is deferred, and its time has come")
    assert starts == [1]
    run.resume()
    assert run.result(20) == 2


def test_a_deferral_goes_on_in_the_next_runner(make_runner: Callable[..., Runner], until: Callable[..., None]) -> None:
    starts: list[tuple[int, Any]] = []

    @task
    def nap(info: TaskInfo) -> int:
        starts.append((info.attempt, info.saved))
        if info.saved is None:
            raise Defer("500ms", save={"so": "far"})
        return info.attempt

    @workflow
    def napping() -> int:
        return nap()

    one = make_runner(workflows=[napping])
    run = one.submit(napping)
    until(lambda: any((move.old, move.new) == ("running", "ready") for _, move in run.history()), "it is deferred")
    one.close(timeout=5.0)
    other = make_runner(workflows=[napping])
    assert other.get(run.id).result(20) == 2
    assert starts == [(1, None), (2, {"so": "far"})]


def test_a_body_waits_for_a_condition_that_somebody_else_makes_true(
    runner: Runner, tmp_path: Path, until: Callable[..., None]
) -> None:
    starts: list[int] = []

    @task(conditions=[flow_conditions.exists])
    def load(path: str, info: TaskInfo) -> str:
        starts.append(info.attempt)
        if not Path(path).exists():
            raise Defer(condition=flow_conditions.exists, args=[path], every="20ms", max_every="50ms")
        return Path(path).read_text()

    @task(conditions=[flow_conditions.exists_async])
    async def load_async(path: str) -> str:
        if not Path(path).exists():
            raise Defer(condition=flow_conditions.exists_async, args=[path], every="20ms", max_every="50ms")
        return Path(path).read_text()

    @workflow
    def loading(path: str) -> list[str]:
        return [load(path), load_async(path)]

    path = tmp_path / "data"
    run = runner.submit(loading, str(path))
    until(lambda: all(each.attempt >= 3 for each in run.tasks()), "both conditions were asked")
    assert starts == [1], "the predicate is asked in place of the body"
    assert {each.reason or each.state for each in run.tasks()} <= {
        "deferred:tests.integration.flow_conditions:exists",
        "deferred:tests.integration.flow_conditions:exists_async",
        "running",
    }
    (tmp_path / "part").write_text("here")
    (tmp_path / "part").rename(path)
    assert run.result(20) == ["here", "here"]
    assert len(starts) == 2


def test_a_predicate_that_raises_is_a_failure_of_the_attempt(sqlite_runner: Runner) -> None:
    @task(retries=1, conditions=[flow_conditions.breaks])
    def wait_for_it() -> None:
        raise Defer(condition=flow_conditions.breaks, every="10ms")

    @workflow
    def breaking() -> None:
        wait_for_it()

    run = sqlite_runner.submit(breaking)
    with pytest.raises(RunFailed, match="the disk is gone"):
        run.result(20)
    assert run.tasks()[0].attempt == 3, "the first deferred itself, the second and third failed"


def test_a_predicate_that_the_task_does_not_declare_fails_it_at_once_with_the_line_to_write(runner: Runner) -> None:
    @task(retries=3)
    def wait_for_it() -> None:
        raise Defer(condition=flow_conditions.exists, args=["x"], every="10ms")

    @workflow
    def undeclared() -> None:
        wait_for_it()

    run = runner.submit(undeclared)
    with pytest.raises(RunFailed, match=r"which it does not declare: .* @task\(conditions=\[exists\]\)"):
        run.result(20)
    (view,) = run.tasks()
    assert (view.reason, view.attempt) == ("undeclared_condition", 1)
    assert view.error is not None and view.error.code == "undeclared_condition"


def test_a_poller_s_task_defers_itself_through_the_inbox(make_runner: Callable[..., Runner], store_url: str) -> None:
    @task
    def nap(info: TaskInfo) -> Any:
        if info.saved is None:
            raise Defer("50ms", save="slept")
        return [info.attempt, info.saved]

    @workflow
    def napping() -> Any:
        return nap()

    runner = make_runner(workflows=[napping], dispatcher=None)
    run = runner.submit(napping)
    poller = Poller(store_url, workflows=[napping], poll=0.05)
    try:
        assert run.result(20) == [2, "slept"]
    finally:
        poller.close(1.0)


def test_an_at_most_once_task_goes_on_after_it_deferred_itself(sqlite_runner: Runner) -> None:
    @task(at_most_once=True)
    def pay(info: TaskInfo) -> Any:
        if info.saved is None:
            raise Defer(0, save="asked")
        return info.saved

    @workflow
    def paying() -> Any:
        return pay()

    assert sqlite_runner.run(paying) == "asked"


def test_a_task_that_is_put_off_for_ever_fails_at_the_bound(make_sqlite_runner: Callable[..., Runner]) -> None:
    @task
    def never() -> None:
        raise Defer(0)

    @workflow
    def endless() -> None:
        never()

    runner = make_sqlite_runner(settings=EngineSettings(stop_grace=1.0, limits=Limits(deferrals=5)))
    run = runner.submit(endless)
    with pytest.raises(RunFailed, match="deferred 5 times"):
        run.result(20)
    (view,) = run.tasks()
    assert (view.reason, view.attempt) == ("deferred_too_often", 6)


def test_a_timeout_counts_anew_for_each_attempt(sqlite_runner: Runner) -> None:
    held = threading.Event()

    @task(timeout="5s")
    def nap(info: TaskInfo) -> Any:
        if info.saved is None:
            raise Defer("10ms", save=1)
        held.set()
        return info.timeout

    @workflow
    def napping() -> Any:
        return nap()

    assert sqlite_runner.run(napping) == 5.0 and held.is_set()
