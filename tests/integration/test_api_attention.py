"""What needs attention over the API, and the tasks that run or wait now."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance.store_rows import new_run
from tests.kit.api import RunningApi, running_api
from tests.kit.api_flows import FLOWS, GATE
from tests.kit.waiting import until
from turnout import Limit, task, workflow
from turnout.model.executor_status import ExecutorStatus, PoolStatus
from turnout.model.health import Orchestrator, OrchestratorStatus
from turnout.model.rows import Session
from turnout.model.schedule_rows import ScheduleChange
from turnout.model.workers import HubStatus, WorkerFigures
from turnout.server.attention import breakers
from turnout.server.long_waits import EarlierRuns
from turnout.worker import Handlers, Worker, WorkerSettings

RUNS, ATTENTION, TASKS = "/api/v1/runs", "/api/v1/attention", "/api/v1/tasks"


@task(worker_selector={"gpu": "true"})
def fit(n: int) -> int:
    return n


@workflow
def train(n: int) -> int:
    return fit(n)


@workflow(limits=[Limit("oven", at_most=1)])
def bake(n: int) -> int:
    return fit(n)


@pytest.fixture(scope="module")
def api() -> Iterator[RunningApi]:
    GATE.clear()
    with running_api(workflows=(*FLOWS, train, bake), hub="tcp://127.0.0.1:0") as running:
        yield running
        GATE.set()


def started(api: RunningApi, workflow: str, wait: float = 0, **input: Any) -> str:
    body = {"workflow": workflow, "input": input}
    return str(api.client("operator").post(RUNS, params={"wait": wait}, json=body).json()["run"]["id"])


def test_runs_that_failed_since_a_time_are_listed_with_their_number(api: RunningApi) -> None:
    viewer = api.client("viewer")
    before = viewer.get(ATTENTION).json()
    run = started(api, "checked", wait=20, n=-5)
    found = viewer.get(ATTENTION, params={"since": before["at"]}).json()
    assert [each["id"] for each in found["failed"]] == [run] and found["failed_total"] == 1
    later = viewer.get(ATTENTION, params={"since": found["at"]}).json()
    assert (later["failed"], later["failed_total"]) == ([], 0)
    assert found["since"] == pytest.approx(before["at"])
    assert viewer.get(ATTENTION, params={"since": 0}).json()["since"] > 0, "at most seven days"


def test_a_task_that_waits_too_long_says_why_and_what_would_end_it(api: RunningApi) -> None:
    run = started(api, "train", n=1)
    viewer, store = api.client("viewer"), api.core.store
    until(lambda: viewer.get(TASKS, params={"state": "ready", "reason": "no_worker"}).json()["tasks"])
    now = store.clock()
    assert run not in [each.run_id for each in api.context.attention.read(now, now).waiting], "not long enough yet"
    (wait,) = [each for each in api.context.attention.read(now, now + 600).waiting if each.run_id == run]
    assert wait.task == "fit" and (wait.reason or "").startswith("no_worker_matches{gpu=true} handler ")
    assert wait.wait is not None and wait.wait.remedy.startswith("Start a worker")
    assert 600 <= wait.waited < 700 and wait.usual is None and wait.bound == 120.0
    api.client("operator").post(f"{RUNS}/{run}/pause")
    assert run not in [each.run_id for each in api.context.attention.read(now, now + 600).waiting]
    api.client("operator").post(f"{RUNS}/{run}/cancel")


def test_the_list_of_runs_says_which_task_waits_and_why(api: RunningApi) -> None:
    run, viewer = started(api, "train", n=1), api.client("viewer")
    done = started(api, "checked", wait=20, n=5)
    until(lambda: viewer.get(TASKS, params={"state": "ready", "reason": "no_worker"}).json()["tasks"])
    found = {each["id"]: each for each in viewer.get(RUNS).json()["runs"]}
    waiting = found[run]["waiting"]
    assert waiting["task"] == "fit" and waiting["reason"].startswith("no_worker_matches{gpu=true} handler ")
    assert "waiting" not in found[done]
    api.client("operator").post(f"{RUNS}/{run}/pause")
    paused = viewer.get(RUNS, params={"state": "paused"}).json()["runs"]
    assert [each.get("waiting") for each in paused] == [None], "it waits because it is paused"
    api.client("operator").post(f"{RUNS}/{run}/cancel")


def test_the_bound_of_a_wait_is_learnt_from_earlier_runs(api: RunningApi) -> None:
    for number in range(6):
        started(api, "twice", wait=20, n=number)
    runs = api.core.store.runs(workflow="twice")
    waits = EarlierRuns(api.core.store, api.core.engine.graphs, runs).waits()
    usual, bound = waits.bound("add")
    assert len(waits.by_task["add"]) == 6 and usual is not None and usual < 10 and bound == 30.0


def test_a_run_that_no_orchestrator_drives_is_among_the_waits(api: RunningApi) -> None:
    store = api.core.store
    store.put_workflow("v-elsewhere", "public::embedded::elsewhere", '{"name":"elsewhere"}')
    write = new_run(owner=None, workflow="public::embedded::elsewhere", version="v-elsewhere")
    assert store.commit([write])[0].applied
    now = store.clock()
    assert write.run_id not in [each.run_id for each in api.context.attention.read(now, now).waiting]
    (wait,) = [each for each in api.context.attention.read(now, now + 500).waiting if each.run_id == write.run_id]
    assert (wait.task, wait.reason) == (None, "not_driven")
    assert wait.wait is not None and wait.wait.remedy.startswith("Start a server")


def test_a_run_that_waits_for_a_limit_names_it(api: RunningApi) -> None:
    first, second = (started(api, "bake", n=number) for number in range(2))
    until(lambda: api.client("viewer").get(f"{RUNS}/{second}").json().get("reason") == "limit")
    now = api.core.store.clock()
    (wait,) = [each for each in api.context.attention.read(now, now + 500).waiting if each.run_id == second]
    assert (wait.task, wait.reason) == (None, "limit:oven")
    for run in (second, first):
        api.client("operator").post(f"{RUNS}/{run}/cancel")


def test_a_worker_that_was_lost_is_listed_until_one_of_its_name_is_back(api: RunningApi) -> None:
    store, viewer = api.core.store, api.client("viewer")
    since = store.clock() - 10
    report = '{"facts":{"name":"gpu-7","labels":{"gpu":"true"}},"hub":""}'
    for name in ("w-lost", "w-left"):
        store.join_worker(Session(id=name, kind="worker", workflows=()), 15, report)
    store.end_session("w-left")
    assert store.bury_sessions(gone=["w-lost"]) == ["w-lost"]
    (lost,) = viewer.get(ATTENTION, params={"since": since}).json()["workers"]
    assert (lost["id"], lost["name"], lost["labels"]) == ("w-lost", "gpu-7", {"gpu": "true"})
    worker = Worker(Handlers(), WorkerSettings(connect=(str(api.runner.hub),), name="gpu-7"))
    thread = threading.Thread(target=worker.run, daemon=True)
    thread.start()
    until(lambda: viewer.get("/api/v1/workers").json()["workers"])
    assert viewer.get(ATTENTION, params={"since": since}).json()["workers"] == []
    worker.stop()
    thread.join(30)


def test_a_schedule_whose_due_time_has_passed_undecided_is_late(api: RunningApi) -> None:
    store = api.core.store
    change = ScheduleChange(
        workflow="public::embedded::gone",
        name="nightly",
        spec='{"name":"nightly","cron":"0 3 * * *"}',
        anew=True,
        decided_until=store.clock() - 10_000,
        next_at=store.clock() - 5_000,
    )
    store.put_schedules([change], "definition")
    (late,) = api.client("viewer").get(ATTENTION).json()["schedules"]
    assert (late["workflow"], late["name"]) == ("public::embedded::gone", "nightly")
    assert 5_000 <= late["late"] < 6_000


def test_tasks_that_run_are_listed_by_executor(api: RunningApi) -> None:
    GATE.clear()
    viewer, run = api.client("viewer"), started(api, "hold")
    until(lambda: viewer.get(TASKS, params={"state": "running"}).json()["tasks"])
    found = viewer.get(TASKS, params={"state": "running", "executor": "default"}).json()
    (shown,) = [each for each in found["tasks"] if each["run_id"] == run]
    assert (shown["name"], shown["attempt"], found["more"]) == ("wait_for_gate", 1, False)
    assert shown["since"] and shown["holder"] == api.core.engine.session.id
    assert viewer.get(TASKS, params={"executor": "process"}).json()["tasks"] == []
    GATE.set()


def test_breakers_that_are_not_closed_are_named(api: RunningApi) -> None:
    status = OrchestratorStatus(
        executors={"process": ExecutorStatus(breaker="open"), "default": ExecutorStatus()},
        pools={"task_claimer": PoolStatus(breaker="half_open")},
        hub=HubStatus(listed=(WorkerFigures(id="w", name="gpu", breaker="open", cause="it died"),)),
    )
    found = list(breakers([Orchestrator(id="o", host="h", pid=1, status=status)]))
    assert [(each.kind, each.name, each.state, each.cause) for each in found] == [
        ("executor", "process", "open", ""),
        ("pool", "task_claimer", "half_open", ""),
        ("worker", "gpu", "open", "it died"),
    ]
