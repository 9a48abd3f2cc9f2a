"""Limits over the API: who holds a slot, who waits for one at which position, and refused runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.kit.api import RunningApi, running_api
from tests.kit.waiting import until
from turnout import Limit, task, workflow

RUNS, LIMITS = "/api/v1/runs", "/api/v1/limits"
GATE, REACHED = threading.Event(), threading.Event()


@task
def wait_at_the_gate(customer: str | None) -> str:
    REACHED.set()
    GATE.wait(60)
    return customer or ""


@task(limits=[Limit("mail/out", at_most=1)])
def send(customer: str) -> str:
    return customer or ""


@workflow(limits=[Limit("customer-${customer}", at_most=1)])
def limited(customer: str | None) -> str:
    return send(wait_at_the_gate(customer))


@workflow(queue="nowhere")
def lost(customer: str) -> str:
    return send(customer)


@pytest.fixture(scope="module")
def api() -> Iterator[RunningApi]:
    with running_api(workflows=[limited, lost]) as running:
        yield running


def start(client: httpx.Client, customer: str | None, **more: Any) -> str:
    answer = client.post(RUNS, json={"workflow": "limited", "input": {"customer": customer}, **more})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["run"]["id"])


def test_a_limit_has_its_holders_and_its_waiters_with_their_positions(api: RunningApi) -> None:
    client = api.client("operator")
    GATE.clear()
    REACHED.clear()
    holder = start(client, "acme")
    assert REACHED.wait(20)
    low, high = start(client, "acme"), start(client, "acme", priority=5)
    try:
        (listed,) = [each for each in client.get(LIMITS).json()["limits"] if each["held"]]
        assert (listed["name"], listed["declared"]) == ("customer-acme", "customer-${customer}")
        assert (listed["at_most"], listed["held"], listed["waiting"], listed["configured"]) == (1, 1, 2, False)
        detail = client.get(f"{LIMITS}/detail", params={"name": "customer-acme"}).json()
        assert [each["run_id"] for each in detail["holders"]] == [holder]
        assert [(each["run_id"], each["position"]) for each in detail["waiters"]] == [(high, 1), (low, 2)]
        (waits,) = client.get(f"{RUNS}/{low}/limits").json()["limits"]
        assert (waits["name"], waits["held"], waits["position"], waits["task"]) == ("customer-acme", False, 2, None)
        shown = client.get(f"{RUNS}/{low}").json()
        assert (shown["state"], shown["reason"], shown["driver"]) == ("pending", "limit", "queued")
    finally:
        GATE.set()
    for run in (holder, low, high):
        until(lambda run=run: client.get(f"{RUNS}/{run}").json()["state"] == "completed")
    until(lambda: not any(each["held"] or each["waiting"] for each in client.get(LIMITS).json()["limits"]))
    assert [each["name"] for each in client.get(LIMITS).json()["limits"]] == [
        "customer-${customer}",
        "mail/out",
    ]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"workflow": "limited", "input": {"customer": None}}, "no_limit_key"),
        ({"workflow": "limited", "input": {"customer": " "}}, "no_limit_key"),
        ({"workflow": "lost", "input": {"customer": "acme"}}, "unknown_queue"),
    ],
)
def test_a_run_that_could_never_start_is_refused_and_not_stored(api: RunningApi, body: Any, code: str) -> None:
    client = api.client("operator")
    before = client.get(RUNS).json()
    answer = client.post(RUNS, json=body)
    assert (answer.status_code, answer.json()["code"]) == (422, code)
    assert client.get(RUNS).json() == before


def test_a_limit_that_does_not_exist_is_not_found(api: RunningApi) -> None:
    answer = api.client("viewer").get(f"{LIMITS}/detail", params={"name": "a/b?c"})
    assert (answer.status_code, answer.json()["code"]) == (404, "limit_not_found")
    assert api.client("viewer").get(f"{LIMITS}/detail").status_code == 422
