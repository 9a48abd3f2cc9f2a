"""Notifications: sent at least once, signed, by a run of their own that no end of a run waits for."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from tests.kit.api import QUIET
from tests.kit.http_target import Received, Target, http_target
from tests.kit.waiting import until
from turnout import Notify, Runner, Workflow, task, workflow
from turnout.errors import InvalidSetting, InvalidWorkflow
from turnout.model.rows import StoredRun
from turnout.model.states import RunState
from turnout.model.webhook_signature import verify
from turnout.runner.notification_settings import NotificationSettings

LOCAL = NotificationSettings(private_hosts=("127.0.0.1",))
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


@pytest.fixture
def target() -> Iterator[Target]:
    with http_target() as made:
        yield made


def runner(*workflows: Workflow[..., Any], **options: Any) -> Runner:
    options = {"notifications": LOCAL, "settings": QUIET, "config": False, **options}
    return Runner("sqlite:///:memory:", workflows=workflows, **options)


@task
def ship(order: int) -> int:
    if order < 0:
        raise ValueError(f"order {order} is unknown")
    return order


def flow(notify: Any, name: str = "fulfil") -> Workflow[..., Any]:
    @workflow(name=name, notify=notify)
    def fulfil(order: int) -> int:
        return ship(order)

    return fulfil


def deliveries(runner: Runner) -> list[StoredRun]:
    """Returns the runs of deliveries, newest first, once there is one and all have ended."""

    def ended() -> bool:
        found = runner.core.store.runs(workflow="notify")
        return bool(found) and all(run.row.state.terminal for run in found)

    until(ended)
    return runner.core.store.runs(workflow="notify")


def delivery(runner: Runner) -> StoredRun:
    return deliveries(runner)[0]


def failure(runner: Runner) -> tuple[str, str, int]:
    """Returns the code and the message of the failed delivery, and its attempts."""
    [row] = [each for each in runner.core.store.tasks(delivery(runner).new.run_id) if each.error is not None]
    assert row.error is not None
    return row.error.code or row.error.type, row.error.message, row.attempt


def test_the_ends_that_are_named_are_sent(target: Target) -> None:
    made = flow(Notify(target.url, on=("success", "failure")))
    with runner(made) as running:
        done, failed = running.submit(made, 1), running.submit(made, -1)
        assert (done.wait(30), failed.wait(30)) == (RunState.COMPLETED, RunState.FAILED)
        found = {each.json["data"]["run_id"]: each for each in target.wait(2)}
        assert found[done.id].json == {
            "type": "run.completed",
            "title": f"run {done.id} of fulfil has completed",
            "text": f"run {done.id} of fulfil has completed",
            "data": {
                "run_id": done.id,
                "workflow": "public::embedded::fulfil",
                "status": "completed",
                "reason": None,
                "failed": [],
            },
        }
        event = found[failed.id].json
        assert event["type"] == "run.failed" and event["text"].endswith("ship: ValueError: order -1 is unknown")
        assert [each["task"] for each in event["data"]["failed"]] == ["ship"]
        assert found[failed.id].headers["content-type"] == "application/json"
        tasks = {each.name: each for each in running.core.store.tasks(failed.id)}
        started = [each.new.run_id for each in deliveries(running)]
        assert len(started) == 2 and json.loads(tasks["on_failure.notify"].output or "")["run_id"] in started
        assert tasks["on_success.notify"].state == "skipped"
        assert all(each.new.parent_run is None for each in deliveries(running))


def test_an_end_that_is_not_named_is_not_sent(target: Target) -> None:
    made = flow([Notify(target.url), Notify(f"{target.url}/second", on=("cancel",))])
    with runner(made) as running:
        assert running.run(made, 1) == 1
        running.submit(made, -1).wait(30)
        assert [each.json["type"] for each in target.wait()] == ["run.failed"]
        assert len(deliveries(running)) == 1


def test_an_event_is_signed_with_the_secret_of_the_machine_that_sends_it(
    target: Target, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("NOTIFY_SECRET", SECRET)
    (tmp_path / "url").write_text(f"{target.url}/hidden-path\n")
    made = flow(Notify(f"file:{tmp_path}/url", on=("success",), secret="env:NOTIFY_SECRET"))
    with runner(made) as running:
        running.run(made, 1)
        [got] = target.wait()
        verify("standard", SECRET, got.headers, got.body, time.time())
        sent, store = delivery(running).new, running.core.store
        assert got.path == "/hidden-path" and got.headers["webhook-id"] == sent.run_id
        shown = f"{store.logs(sent.run_id)} {store.tasks(sent.run_id)} {store.workflow(sent.version)}"
        assert SECRET not in shown and "hidden-path" not in shown


def test_a_secret_that_is_missing_is_named_and_nothing_is_sent(target: Target) -> None:
    made = flow(Notify(target.url, on=("success",), secret="env:NO_SUCH_SECRET", retries=0))
    with runner(made) as running:
        running.run(made, 1)
        code, message, _ = failure(running)
        assert code == "secret_unresolved" and "NO_SUCH_SECRET" in message and not target.received


def test_slack_gets_a_text(target: Target) -> None:
    made = flow(Notify(target.url, format="slack"))
    with runner(made) as running:
        run = running.submit(made, -1)
        run.wait(30)
        assert target.wait()[0].json == {
            "text": f"run {run.id} of fulfil has failed: ship: ValueError: order -1 is unknown"
        }


def test_a_cancelled_run_sends_that(target: Target) -> None:
    begun, go = threading.Event(), threading.Event()

    @task
    def hold() -> None:
        begun.set()
        go.wait(30)

    @workflow(notify=Notify(target.url, on=("cancel",)))
    def held() -> None:
        hold()

    with runner(held) as running:
        run = running.submit(held)
        assert begun.wait(30)
        threading.Timer(0.05, go.set).start()
        run.cancel()
        assert run.wait(30) is RunState.CANCELLED
        assert target.wait()[0].json["type"] == "run.cancelled"


# -- targets that do not answer as they should ------------------------------------------------------------------------
def test_a_target_that_answers_500_is_tried_again_under_the_same_id(target: Target) -> None:
    answers = iter([500, 503, 200])
    target.answer = lambda request: next(answers)
    made = flow(Notify(target.url, on=("success",), retry_delay="20ms"))
    with runner(made) as running:
        running.run(made, 1)
        first, second, third = target.wait(3)
        assert first.headers["webhook-id"] == second.headers["webhook-id"] == third.headers["webhook-id"]
        assert first.body == third.body and delivery(running).row.state is RunState.COMPLETED


def test_a_target_that_answers_500_for_good_fails_its_delivery_only(target: Target) -> None:
    target.answer = lambda request: 500
    made = flow(Notify(f"{target.url}/hidden?token=hidden", on=("success",), retries=1, retry_delay="20ms"))
    with runner(made) as running:
        assert running.run(made, 1) == 1
        code, message, attempts = failure(running)
        assert (code, attempts) == ("unexpected_status", 2)
        # The path of an address may be a secret.
        answer = "answered with the status 500 Internal Server Error"
        assert message == f"POST http://{urlsplit(target.url).netloc} {answer}"


def test_a_target_that_hangs_delays_no_run(target: Target) -> None:
    go = threading.Event()

    def hang(request: Received) -> int:
        go.wait(60)
        return 200

    target.answer = hang
    made = flow(Notify(target.url, on=("success",), timeout="400ms", retries=0))
    with runner(made) as running:
        assert running.run(made, 1) == 1, "the run has ended while its notification waits for an answer"
        target.wait()
        code, message, _ = failure(running)
        assert code == "request_timed_out" and "no complete answer within 0.4 s" in message
        go.set()


def test_a_redirection_is_not_followed(target: Target) -> None:
    target.answer = lambda request: 302
    target.location = f"{target.url}/elsewhere"
    made = flow(Notify(target.url, on=("success",), retries=0))
    with runner(made) as running:
        running.run(made, 1)
        assert failure(running)[0] == "unexpected_status" and len(target.received) == 1


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]"])
def test_a_target_at_a_private_address_is_refused_at_once(target: Target, host: str) -> None:
    url = target.url.replace("127.0.0.1", host)
    made = flow(Notify(url, on=("success",), retry_delay="20ms"))
    with runner(made, notifications=NotificationSettings(private_hosts=("hooks.internal",))) as running:
        running.run(made, 1)
        code, message, attempts = failure(running)
        assert (code, attempts) == ("private_address", 1) and "private address" in message
        assert not target.received


def test_a_target_that_is_not_there_is_tried_again() -> None:
    made = flow(Notify("http://127.0.0.1:9", on=("success",), retries=1, retry_delay="20ms"))
    with runner(made) as running:
        running.run(made, 1)
        code, _, attempts = failure(running)
        assert (code, attempts) == ("no_connection", 2)


# -- the configuration, and bad input -------------------------------------------------------------------------------
def test_the_configuration_names_targets_of_every_workflow(target: Target) -> None:
    settings = NotificationSettings(
        targets=[{"url": f"{target.url}/all", "on": "failure"}], private_hosts=LOCAL.private_hosts
    )
    one, other = flow(None, "one"), flow(Notify(f"{target.url}/own"), "other")
    with runner(one, other, notifications=settings) as running:
        for each in (one, other):
            running.submit(each, -1).wait(30)
        found = sorted((each.json["data"]["workflow"].rpartition("::")[2], each.path) for each in target.wait(3))
        assert found == [("one", "/all"), ("other", "/all"), ("other", "/own")]


@pytest.mark.parametrize(
    ("notify", "field"),
    [
        ("https://ops.example.org", "notify[0]"),
        (Notify("ops.example.org"), "notify[0].url"),
        (Notify("ftp://ops.example.org"), "notify[0].url"),
        (Notify("https://ops.example.org:port"), "notify[0].url"),
        (Notify("env:"), "notify[0].url"),
        (Notify("https://a b"), "notify[0].url"),
        (Notify("https://ops.example.org", on=()), "notify[0].on"),
        (Notify("https://ops.example.org", on=("finish",)), "notify[0].on"),  # type: ignore[arg-type]
        (Notify("https://ops.example.org", format="xml"), "notify[0].format"),  # type: ignore[arg-type]
        (Notify("https://ops.example.org", secret="hunter2"), "notify[0].secret"),
        (Notify("https://ops.example.org", retries=-1), "notify[0].retries"),
        (Notify("https://ops.example.org", timeout=0), "notify[0].timeout"),
        (Notify("https://ops.example.org", retry_delay="soon"), "notify[0].retry_delay"),
    ],
)
def test_a_notification_that_cannot_work_is_refused_where_it_is_written(notify: Any, field: str) -> None:
    with pytest.raises(InvalidWorkflow) as found:
        flow(notify)
    assert found.value.code in ("bad_notification", "bad_secret_reference")
    assert found.value.fields["field"] == field and f"workflow 'fulfil': {field} " in found.value.message
    assert "hunter2" not in found.value.message


@pytest.mark.parametrize(
    "targets",
    [
        [{"url": "ops"}],
        [{}],
        [{"url": "https://a.example", "when": "failure"}],
        [{"url": "https://a.example", "on": 1}],
    ],
)
def test_a_configured_target_that_cannot_work_stops_the_start(targets: list[dict[str, Any]]) -> None:
    with pytest.raises(InvalidSetting) as found:
        runner(flow(None), notifications=NotificationSettings(targets=targets))
    assert "notifications.targets[0]" in found.value.message
