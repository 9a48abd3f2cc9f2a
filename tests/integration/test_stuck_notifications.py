"""Notifications of runs that do not end in time: sent once, with what the run waits for, also if it has no owner."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kit.api import QUIET
from tests.kit.http_target import Target, http_target
from tests.kit.waiting import until
from turnout import Limit, Notify, Runner, Workflow, task, workflow
from turnout.model.states import RunState
from turnout.runner.notification_settings import NotificationSettings

LOCAL = NotificationSettings(private_hosts=("127.0.0.1",))


@pytest.fixture
def target() -> Iterator[Target]:
    with http_target() as made:
        yield made


@pytest.fixture
def go() -> Iterator[threading.Event]:
    made = threading.Event()
    yield made
    made.set()


def runner(url: str, *workflows: Workflow[..., Any], **options: Any) -> Runner:
    options = {"notifications": LOCAL, "settings": QUIET, "config": False, **options}
    return Runner(url, workflows=workflows, **options)


def held(target: Target, go: threading.Event, name: str = "held", **options: Any) -> Workflow[..., Any]:
    @task
    def hold() -> None:
        go.wait(30)

    @workflow(name=name, notify=Notify(target.url, on=("stuck",), after="1s"), **options)
    def flow() -> None:
        hold()

    return flow


def hook_of(running: Runner, run_id: str) -> str:
    return next(each.state.value for each in running.get(run_id).tasks() if each.name == "on_stuck.notify")


def test_a_run_that_does_not_end_in_time_is_announced_once(
    target: Target, go: threading.Event, sqlite_url: str
) -> None:
    made = held(target, go)
    with runner(sqlite_url, made) as running:
        run = running.submit(made)
        [got] = target.wait()
        assert got.json["type"] == "run.stuck" and got.json["data"]["run_id"] == run.id
        assert got.json["text"] == f"run {run.id} of held has not ended after 1s: hold is running"
        assert got.json["data"]["waiting"] == [{"task": "hold", "state": "running", "reason": None, "attempt": 1}]
        go.set()
        assert run.wait(30) is RunState.COMPLETED
        assert hook_of(running, run.id) == "completed" and len(target.received) == 1


def test_a_run_that_ends_in_time_is_not_announced(target: Target, go: threading.Event, sqlite_url: str) -> None:
    go.set()
    made = held(target, go)
    with runner(sqlite_url, made) as running:
        run = running.submit(made)
        assert run.wait(30) is RunState.COMPLETED and hook_of(running, run.id) == "skipped"
        assert not running.list(workflow="notify")


def test_a_task_that_waits_says_why(target: Target, go: threading.Event, sqlite_url: str) -> None:
    @task(executor="elsewhere")
    def wait() -> None: ...

    @workflow(notify=Notify(target.url, on=("stuck", "cancel"), after="1s"))
    def waiting() -> None:
        wait()

    with runner(sqlite_url, waiting, polling=["elsewhere"]) as running:
        run = running.submit(waiting)
        [got] = target.wait()
        assert "wait waits: the task is offered to pollers" in got.json["text"], got.json
        assert "(waiting_for_poller)" in got.json["text"]
        run.cancel()
        assert [each.json["type"] for each in target.wait(2)] == ["run.stuck", "run.cancelled"]


def test_a_new_owner_announces_what_the_former_did_not(target: Target, go: threading.Event, sqlite_url: str) -> None:
    made = held(target, go)
    with runner(sqlite_url, made, drives=False) as submitting:
        run = submitting.submit(made)
        until(lambda: submitting.core.store.run(run.id).age > 1)  # type: ignore[union-attr]
    with runner(sqlite_url, made):
        assert target.wait()[0].json["data"]["run_id"] == run.id


@pytest.mark.parametrize("database", ["sqlite", "postgres"])
def test_runs_that_wait_for_a_limit_are_announced_once_by_several_servers(
    target: Target, go: threading.Event, request: pytest.FixtureRequest, database: str
) -> None:
    url = request.getfixturevalue(f"{database}_url")
    made = held(target, go, limits=[Limit("customer-17", at_most=1)])
    with runner(url, made) as one, runner(url, made) as other:
        first, second = one.submit(made), other.submit(made)
        events = target.wait(2)
        texts = {each.json["data"]["run_id"]: each.json["text"] for each in events}
        assert texts.keys() == {first.id, second.id}
        assert any("is running" in text for text in texts.values())
        [waiting] = [text for text in texts.values() if "is running" not in text]
        assert "it waits: the limit that the reason names has no free slot (limit:customer-17)" in waiting
        go.set()
        for run in (first, second):
            assert run.wait(30) is RunState.COMPLETED
            assert hook_of(one, run.id) == "completed"
        assert len(one.list(workflow="notify")) == 2 and len(target.received) == 2
