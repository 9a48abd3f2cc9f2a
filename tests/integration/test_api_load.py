"""A server under too much load, without its database, and on its way out."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest
from kit.waiting import PATIENCE, until

from tests.kit.api import RunningApi, running_api
from tests.proxies.proxy import DelayingProxy
from turnout import task, workflow
from turnout.model.access import Role
from turnout.runner.server_settings import ServerSettings
from turnout.server.exchange import Caller


@task
def nothing() -> None: ...


@workflow
def one_task() -> None:
    nothing()


LOCAL = Caller(token_id="-", name="local", role=Role.ADMIN, via="local")


@contextmanager
def held(api: RunningApi, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """While it is entered, the list of tokens takes until the block ends; the event is set once one is being read."""
    begun, go_on = threading.Event(), threading.Event()
    read = api.core.store.tokens

    def slow() -> object:
        begun.set()
        go_on.wait(PATIENCE)
        return read()

    monkeypatch.setattr(api.core.store, "tokens", slow)
    try:
        yield begun
    finally:
        go_on.set()


def test_more_requests_than_the_limit_are_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_api(settings=ServerSettings(port=0, max_requests=1)) as api, ThreadPoolExecutor(1) as threads:
        admin, other = api.client("admin"), api.client("viewer")
        with held(api, monkeypatch) as begun:
            first = threads.submit(admin.get, "/api/v1/tokens")
            assert begun.wait(20)
            refused = other.get("/api/v1/session")
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_requests")
            assert refused.headers["retry-after"] == "1"
            assert other.get("/healthz").status_code == 200  # probes are always answered
        assert first.result().status_code == 200
        assert other.get("/api/v1/session").status_code == 200


def test_submissions_above_the_mark_are_told_to_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_api(workflows=[one_task]) as api:
        operator = api.client("operator")
        # As many submissions are on their way as the mark allows, and none of them becomes durable.
        monkeypatch.setattr(api.core.engine.throttle, "_under_way", 10_000)
        began = time.monotonic()
        answer = operator.post("/api/v1/runs", json={"workflow": "one_task"})
        assert (answer.status_code, answer.json()["code"]) == (429, "too_busy"), answer.text
        assert int(answer.headers["retry-after"]) >= 1 and time.monotonic() - began < 1.0
        monkeypatch.undo()
        assert operator.post("/api/v1/runs", json={"workflow": "one_task"}).status_code == 201


def test_a_request_that_takes_too_long_is_answered_and_others_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_api(settings=ServerSettings(port=0, request_timeout=0.3)) as api:
        admin = api.client("admin")
        with held(api, monkeypatch):
            answer = admin.get("/api/v1/tokens")
            assert (answer.status_code, answer.json()["code"]) == (503, "request_timeout")
            assert admin.get("/api/v1/session").status_code == 200


def test_a_slow_query_is_not_taken_for_an_outage(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_api(settings=ServerSettings(port=0, store_timeout=0.1)) as api, ThreadPoolExecutor(1) as threads:
        admin = api.client("admin")
        probes: list[bool] = []
        answers = api.context.probe.answers

        async def patient(within: float) -> bool:
            """The database is asked as always, and has more time to answer: a busy machine is not an outage either."""
            assert within == 0.05
            probes.append(await answers(PATIENCE))
            return probes[-1]

        monkeypatch.setattr(api.context.probe, "answers", patient)
        with held(api, monkeypatch):
            slow = threads.submit(admin.get, "/api/v1/tokens")
            until(lambda: len(probes) >= 3)
        assert slow.result().status_code == 200 and all(probes)


def test_without_its_database_requests_are_answered_with_503_within_a_second(postgres_url: str) -> None:
    with DelayingProxy.before(postgres_url, delay=0.0) as proxy, running_api(proxy.url(postgres_url)) as api:
        admin = api.client("admin")
        assert admin.get("/api/v1/tokens").status_code == 200 and api.client().get("/readyz").status_code == 200
        proxy.pause()
        for path in ("/api/v1/tokens", "/readyz", "/api/v1/session"):
            began = time.monotonic()
            answer = admin.get(path)
            took = time.monotonic() - began
            assert answer.status_code == 503 or (path == "/api/v1/session" and answer.status_code == 200), answer.text
            assert took < 1.5, f"{path} took {took:.2f} s"
        began = time.monotonic()
        change = admin.post("/api/v1/tokens", json={"name": "x", "role": "viewer"})
        assert (change.status_code, change.json()["code"]) == (503, "store_unreachable")
        assert change.headers["retry-after"] == "1" and time.monotonic() - began < 1.5
        assert api.client().get("/healthz").status_code == 200
        proxy.resume()
        until(lambda: admin.get("/api/v1/tokens").status_code == 200)
        until(lambda: api.client().get("/readyz").status_code == 200)


def test_a_database_that_refuses_connections_is_a_503_at_once(postgres_url: str) -> None:
    with DelayingProxy.before(postgres_url, delay=0.0) as proxy, running_api(proxy.url(postgres_url)) as api:
        admin = api.client("admin")
        assert admin.get("/api/v1/tokens").status_code == 200
        proxy.refuse()
        proxy.cut()
        began = time.monotonic()
        answer = admin.get("/api/v1/tokens")
        assert (answer.status_code, answer.json()["code"]) == (503, "store_unreachable")
        assert time.monotonic() - began < 1.5
        ready = api.client().get("/readyz")
        assert (ready.status_code, ready.json()["code"]) == (503, "not_ready")
        assert ready.json()["store_answers"] is False and ready.json()["serving"] is True
        proxy.accept()
        until(lambda: api.client().get("/readyz").status_code == 200)


def test_a_request_whose_grace_is_over_is_answered_with_a_problem_document(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        running_api(settings=ServerSettings(port=0, stop_grace=0.0)) as api,
        ThreadPoolExecutor(1) as threads,
        held(api, monkeypatch) as entered,
    ):
        admin = api.client("admin")
        slow = threads.submit(admin.get, "/api/v1/tokens")
        assert entered.wait(20)
        api.server.stop()
        answer = slow.result()
        assert (answer.status_code, answer.json()["code"]) == (503, "server_stopping")
        assert answer.headers["retry-after"] == "1"
    assert "Traceback" not in caplog.text


def test_streams_are_bounded_and_told_to_reconnect_when_the_server_stops() -> None:
    with running_api(settings=ServerSettings(port=0, max_streams=1)) as api:
        streams = api.context.streams

        async def follow() -> str:
            async with streams.stream(LOCAL) as stream:
                with pytest.raises(Exception, match="1 streams are open") as caught:
                    async with streams.stream(LOCAL):
                        pass
                assert getattr(caught.value, "code", "") == "too_many_streams"
                asyncio.get_running_loop().call_soon(api.context.stop)
                return await stream.end()

        assert asyncio.run(follow()) == "stopping"
        ready = api.client().get("/readyz")
        assert (ready.status_code, ready.json()["serving"]) == (503, False)


def test_an_open_request_finishes_while_the_server_stops(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_api() as api, ThreadPoolExecutor(2) as threads:
        admin = api.client("admin")
        with held(api, monkeypatch) as begun:
            open_request = threads.submit(admin.get, "/api/v1/tokens")
            assert begun.wait(20)
            stopping = threads.submit(api.server.stop)
            until(lambda: api.context.stopping)
        assert open_request.result().status_code == 200
        stopping.result()
        with pytest.raises(httpx.TransportError):
            httpx.get(f"{api.url}/healthz")
