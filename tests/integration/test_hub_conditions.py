"""A listed worker with a restricted key answers with a condition that no task declares: it is called nowhere."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest
import worker_bodies
from curve_keys import HubKeys, new_pair
from kit.waiting import until
from scripted_hub import ScriptedHub, start_worker, step
from small_worker import SmallWorker

from turnout import Defer, Runner, TaskInfo, remote, task, workflow
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.errors import RunFailed
from turnout.model.deferral import Condition, Memo, write_memo
from turnout.model.states import TaskState
from turnout.runner import Poller
from turnout.wire.documents import ResultMetadata, Step, StepError, StepResult
from turnout.wire.keys import KeyPair, pair_text

pytestmark = pytest.mark.timeout(300)

EVERYTHING = RoutingConfig("default", (RoutingRule("**", "workers"),))
GUARDED = worker_bodies.met.ref


@workflow
def guarded() -> str:
    return worker_bodies.met("the body")


ship = remote("ship", handler="Shop::Ship")
wait = remote("wait", handler="Shop::Wait", conditions=["worker_bodies:is_there"])


@workflow
def shipping() -> Any:
    return ship(order="a")


@workflow
def waiting(path: str) -> Any:
    return wait(path=path)


def deferring(condition: dict[str, Any]) -> Callable[[Step], StepResult]:
    """A handler that answers with this condition, whatever the step is."""

    def answer(step: Step) -> StepResult:
        metadata = ResultMetadata(
            token=step.token, attempt=step.metadata.attempt, outcome="deferred", deferral={"condition": condition}
        )
        error = StepError("put off", "Deferred")
        return StepResult(step_id=step.step_id, status="failed", error=error, metadata=metadata)

    return answer


def calling(ref: str, mark: Path) -> dict[str, Any]:
    return {"ref": ref, "args": json.dumps([f"touch {mark}"]), "every": 0.01, "max_every": 0.01}


def worker_options(folder: Path, keys: HubKeys, pair: KeyPair) -> list[str]:
    file = folder / "honest.key"
    file.touch(mode=0o600)
    file.write_text(pair_text(pair))
    return ["--import", "worker_bodies", "--key-file", str(file), "--server-key", keys.pair.public]


@pytest.mark.parametrize("how", ["--threads", "--processes"])
def test_a_condition_of_a_restricted_worker_is_refused_and_called_by_no_python_worker(
    sqlite_url: str, tmp_path: Path, how: str
) -> None:
    keys, bad, good = HubKeys(tmp_path), new_pair(), new_pair()
    keys.allow(bad=(bad, f'handlers = ["{GUARDED}"]'), good=(good, ""))
    mark = tmp_path / "executed"
    options = {"routing": EVERYTHING, "workflows": [guarded], "handle_sigterm": False, "config": False}
    with Runner(sqlite_url, hub=keys.settings(), **options) as runner:
        answers = {GUARDED: deferring(calling("os:system", mark))}
        with SmallWorker(str(runner.hub), handlers=answers, keys=keys.of(bad)) as attacker:
            handle = runner.submit(guarded)
            until(lambda: attacker.begun)
            attacker.held.set()
            until(lambda: not len(attacker.held_steps))
        honest = start_worker("--connect", str(runner.hub), how, *worker_options(tmp_path, keys, good))
        try:
            until(lambda: mark.exists() or handle.status().state.terminal)
        finally:
            honest.kill()
            honest.communicate()
        assert not mark.exists(), "a name that came over the wire was imported and called"
        (view,) = handle.tasks()
        assert (view.state, view.reason) == (TaskState.FAILED, "undeclared_condition")
        with pytest.raises(RunFailed, match=r"os:system.*does not declare"):
            handle.result()


@pytest.mark.parametrize("ref", ["os:system", "worker_bodies:is_there"])
def test_a_handler_s_condition_is_refused_unless_the_remote_task_names_it(
    sqlite_url: str, tmp_path: Path, ref: str
) -> None:
    keys, bad = HubKeys(tmp_path), new_pair()
    keys.allow(bad=(bad, 'handlers = ["Shop::*"]'))
    options = {"workflows": [shipping], "handle_sigterm": False, "config": False}
    with Runner(sqlite_url, hub=keys.settings(), **options) as runner:
        answers = {"Shop::Ship": deferring(calling(ref, tmp_path / "executed"))}
        with SmallWorker(str(runner.hub), handlers=answers, keys=keys.of(bad)):
            handle = runner.submit(shipping)
            with pytest.raises(RunFailed, match=f"{ref}.*does not declare"):
                handle.result(60)
    assert not (tmp_path / "executed").exists()


@pytest.mark.parametrize("how", ["--threads", "--processes"])
def test_a_handler_in_python_waits_for_what_it_and_the_remote_task_declare(
    sqlite_url: str, tmp_path: Path, how: str
) -> None:
    keys, good = HubKeys(tmp_path), new_pair()
    keys.allow(good=(good, 'handlers = ["Shop::*", "worker_bodies:*", "turnout.shell"]'))
    options = {"workflows": [waiting], "handle_sigterm": False, "config": False}
    with Runner(sqlite_url, hub=keys.settings(), **options) as runner:
        worker = start_worker("--connect", str(runner.hub), how, *worker_options(tmp_path, keys, good))
        try:
            handle = runner.submit(waiting, str(tmp_path / "flag"))
            until(lambda: handle.tasks()[0].attempt > 2)
            (tmp_path / "flag").touch()
            assert handle.result(60) == "waited"
        finally:
            worker.kill()
            worker.communicate()


def test_a_worker_refuses_a_condition_that_its_own_code_does_not_declare(tmp_path: Path) -> None:
    mark = tmp_path / "executed"
    with ScriptedHub() as hub:
        worker = start_worker("--connect", hub.address, "--import", "worker_bodies")
        try:
            given = step(GUARDED, args={"before": "x"}, condition=calling("os:system", mark))
            hub.give(given)
            answer = hub.result(given)
        finally:
            worker.kill()
            worker.communicate()
    assert answer.error is not None and answer.error.code == "undeclared_condition"
    assert answer.status == "failed" and not answer.metadata.retryable and not mark.exists()


@pytest.mark.parametrize("executor", ["default", "process"])
def test_an_orchestrator_calls_no_condition_that_a_result_names(
    make_sqlite_runner: Callable[..., Runner], tmp_path: Path, executor: str
) -> None:
    mark = tmp_path / "executed"
    body = task(executor=executor, retries=2)(worker_bodies.wait_for_anything)

    @workflow
    def named() -> Any:
        return body("os:system", f"touch {mark}")

    handle = make_sqlite_runner().submit(named)
    until(lambda: mark.exists() or handle.status().state.terminal)
    assert not mark.exists()
    (view,) = handle.tasks()
    assert (view.reason, view.attempt) == ("undeclared_condition", 1)


def test_an_orchestrator_calls_no_condition_that_a_poller_left_in_its_inbox(
    make_runner: Callable[..., Runner], store_url: str, tmp_path: Path
) -> None:
    mark = tmp_path / "executed"

    @task
    def wait_for_anything() -> None:
        raise Defer(condition="os:system", args=[f"touch {mark}"], every="10ms")

    @workflow
    def polled() -> None:
        wait_for_anything()

    handle = make_runner(workflows=[polled], dispatcher=None).submit(polled)
    poller = Poller(store_url, workflows=[polled], poll=0.05)
    try:
        until(lambda: mark.exists() or handle.status().state.terminal)
    finally:
        poller.close(1.0)
    assert not mark.exists() and handle.tasks()[0].reason == "undeclared_condition"


@task
def nap(info: TaskInfo) -> str:
    if info.saved is None:
        raise Defer("500ms", save="so far")
    return "the body"


@workflow
def napping() -> str:
    return nap()


def test_an_orchestrator_calls_no_condition_that_stands_in_the_database(
    make_runner: Callable[..., Runner], store_url: str, tmp_path: Path
) -> None:
    mark = tmp_path / "executed"
    first = make_runner(workflows=[napping])
    handle = first.submit(napping)
    until(lambda: handle.tasks()[0].reason == "deferred")
    first.close(5.0)
    memo = write_memo(Memo(saved='"so far"', condition=Condition("os:system", json.dumps([f"touch {mark}"]))))
    change(store_url, "update task set memo = ? where run_id = ?", memo, handle.id)
    again = make_runner(workflows=[napping]).get(handle.id)
    until(lambda: mark.exists() or again.status().state.terminal)
    assert not mark.exists()
    with pytest.raises(RunFailed, match=r"os:system.*does not declare"):
        again.result(20)


def change(url: str, sql: str, *values: str) -> None:
    """Write behind the engine's back."""
    if url.startswith("sqlite"):
        with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection, connection:
            assert connection.execute(sql, values).rowcount == 1
    else:
        with psycopg.connect(url) as connection:
            assert connection.execute(sql.replace("?", "%s"), values).rowcount == 1
