"""Streams of events over the API: they miss nothing, continue where they were left, and end when they have to."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.kit.api import RunningApi, running_api
from tests.kit.api_flows import FLOWS, GATE
from tests.kit.event_stream import events
from tests.kit.waiting import until
from turnout.model.names import new_run_id
from turnout.runner.server_settings import ServerSettings
from turnout.server.positions import RunPosition

RUNS = "/api/v1/runs"
FEED = "/api/v1/events"


@pytest.fixture(scope="module", params=["sqlite", "postgres"])
def api(request: pytest.FixtureRequest) -> Iterator[RunningApi]:
    if request.param == "postgres":
        server = request.getfixturevalue("postgres_server")
        with server.database() as url, running_api(url, workflows=FLOWS) as running:
            yield running
        return
    with running_api(workflows=FLOWS) as running:
        yield running


@pytest.fixture
def client(api: RunningApi) -> Iterator[httpx.Client]:
    GATE.clear()
    yield api.client("operator")
    GATE.set()


def start(client: httpx.Client, workflow: str, /, wait: float | None = 20, **input: Any) -> str:
    params = {} if wait is None else {"wait": wait}
    return client.post(RUNS, params=params, json={"workflow": workflow, "input": input}).json()["run"]["id"]


def test_a_run_that_has_ended_is_told_from_its_beginning_to_its_end(client: httpx.Client) -> None:
    run_id = start(client, "twice", n=1)
    with events(client, f"{RUNS}/{run_id}/events") as stream:
        assert stream.response.headers["content-type"].startswith("text/event-stream")
        found = list(stream)
    assert [event.data.get("task") for event in found if event.name == "task"] == ["add", "add", "add-2", "add-2"]
    assert [event.data["text"] for event in found if event.name == "log"] == ["adding to 1", "adding to 2"]
    assert [(event.name, event.data["state"]) for event in found[-1:]] == [("end", "completed")]


def test_a_run_is_followed_while_it_runs(client: httpx.Client) -> None:
    run_id = start(client, "hold", wait=None, n=1)
    with events(client, f"{RUNS}/{run_id}/events") as stream:
        assert stream.next("log").data["text"].endswith("waiting with 1")
        GATE.set()
        found = list(stream)
    assert [event.data["new"] for event in found if event.data.get("task") == "wait_for_gate"] == ["completed"]
    assert found[-1].name == "end" and "adding to 1" in [event.data.get("text") for event in found]


def test_a_stream_continues_behind_every_one_of_its_events(client: httpx.Client) -> None:
    path = f"{RUNS}/{start(client, 'twice', n=1)}/events"
    with events(client, path) as stream:
        every = list(stream)
    for number, event in enumerate(every):
        with events(client, path, last=event.id) as stream:
            rest = list(stream)
        assert [each.data for each in rest] == [each.data for each in every[number + 1 :] or every[-1:]]


def test_a_position_that_is_not_known_any_more_is_answered_with_a_reset(client: httpx.Client) -> None:
    run_id = start(client, "twice", n=1)
    for position in (RunPosition(seq=99_999), RunPosition(seq=1, log=10**12)):
        with events(client, f"{RUNS}/{run_id}/events", last=position.text(run_id)) as stream:
            found = list(stream)
        assert found[0].name == "reset" and found[1].data["seq"] == 1 and found[-1].name == "end"


def test_a_position_of_another_stream_is_refused(client: httpx.Client) -> None:
    run_id = start(client, "twice", n=1)
    cases = [
        (f"{RUNS}/{run_id}/events", RunPosition(seq=1).text(new_run_id()), "foreign_position"),
        (f"{RUNS}/{run_id}/events", "17", "invalid_position"),
        (f"{RUNS}/{run_id}/logs/stream", "x", "invalid_position"),
        (FEED, "x", "invalid_position"),
    ]
    for path, last, code in cases:
        with events(client, path, last=last) as stream:
            assert (stream.response.status_code, stream.response.json()["code"]) == (400, code)


def test_lines_are_followed_by_task_and_attempt(client: httpx.Client) -> None:
    run_id = start(client, "twice", n=1)

    def texts(**params: Any) -> list[str]:
        with events(client, f"{RUNS}/{run_id}/logs/stream", **params) as stream:
            found = list(stream)
        assert found[-1].name == "end" and {event.name for event in found} <= {"log", "end"}
        return [event.data["text"] for event in found[:-1]]

    assert texts() == ["adding to 1", "adding to 2"]
    assert texts(task="add") == texts(task="add", attempt=1) == ["adding to 1"]
    assert texts(attempt=2) == []
    with events(client, f"{RUNS}/{run_id}/logs/stream", task="ad") as stream:
        assert stream.response.json()["code"] == "unknown_task"


def test_a_run_that_is_deleted_ends_its_stream(client: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnout.server.run_source.PRESENCE_INTERVAL", 0.2)
    run_id = start(client, "hold", wait=None)
    with events(client, f"{RUNS}/{run_id}/events") as stream:
        stream.next("log")
        GATE.set()
        client.delete(f"{RUNS}/{run_id}", params={"force": True})
        assert list(stream)[-1].name == "end"


# -- all runs ---------------------------------------------------------------------------------------------------------
def test_new_runs_and_their_ends_are_told_in_the_feed(client: httpx.Client) -> None:
    with events(client, FEED) as stream:
        assert stream.next("ready").id is not None
        run_id = start(client, "hold", wait=None)
        first = stream.next("run")
        assert (first.data["id"], first.data["state"], first.data["name"]) == (run_id, "running", "hold")
        GATE.set()
        assert (last := stream.next("run")).data["state"] == "completed" and last.data["id"] == run_id


def test_the_feed_continues_behind_a_position_and_filters_by_workflow(client: httpx.Client) -> None:
    with events(client, FEED) as stream:
        position = stream.next("ready").id
    ids = [start(client, "twice", n=number) for number in range(3)]
    other = start(client, "checked", n=1)
    with events(client, FEED, last=position) as stream:
        assert next(iter(stream)).name == "ready"
        found: dict[str, str] = {}
        while len(found) < 4 or set(found.values()) != {"completed"}:
            event = stream.next("run")
            found[event.data["id"]] = event.data["state"]
    assert set(found) == {*ids, other}
    with events(client, FEED, last=position, workflow="checked") as stream:
        assert stream.next("run").data["id"] == other


def test_a_position_of_another_database_is_answered_with_a_reset(client: httpx.Client) -> None:
    with events(client, FEED, last=str(10**17)) as stream:
        reset = next(iter(stream))
        assert reset.name == "reset" and "not one of this database" in reset.data["reason"]
        run_id = start(client, "twice", n=1)
        assert stream.next("run").data["id"] == run_id


def test_a_position_that_is_too_far_back_is_answered_with_a_reset(
    client: httpx.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    with events(client, FEED) as stream:
        position = stream.next("ready").id
    for number in range(3):
        start(client, "twice", n=number)
    monkeypatch.setattr("turnout.server.change_source.PAGE_SIZE", 2)
    monkeypatch.setattr("turnout.server.change_source.MAX_REPLAYED_PAGES", 1)
    with events(client, FEED, last=position) as stream:
        assert "too many events" in next(iter(stream)).data["reason"]


# -- ends -------------------------------------------------------------------------------------------------------------
def test_a_stream_ends_within_two_seconds_of_the_revocation_of_its_token(api: RunningApi) -> None:
    headers = {"Authorization": f"Bearer {api.token('viewer', 'to-be-revoked')}"}
    with httpx.Client(base_url=api.url, headers=headers, timeout=20) as follower, events(follower, FEED) as stream:
        stream.next("ready")
        began = time.monotonic()
        assert api.client("admin").delete("/api/v1/tokens/to-be-revoked").status_code == 200
        closed = list(stream)[-1]
        assert (closed.name, closed.data) == ("closed", {"reason": "revoked"})
        assert time.monotonic() - began < 2.5
        assert follower.get(RUNS).status_code == 401


def test_streams_are_bounded_and_their_slots_return() -> None:
    with running_api(workflows=FLOWS, settings=ServerSettings(port=0, max_streams=1)) as api:
        client = api.client("viewer")
        with events(client, FEED) as stream:
            stream.next("ready")
            with events(client, FEED) as refused:
                assert (refused.response.status_code, refused.response.json()["code"]) == (429, "too_many_streams")
        until(lambda: api.context.streams.open == 0)
        with events(client, FEED) as stream:
            stream.next("ready")


def test_streams_are_told_to_reconnect_when_the_server_stops() -> None:
    with running_api(workflows=FLOWS) as api:
        follower = httpx.Client(base_url=api.url, headers=dict(api.client("viewer").headers), timeout=20)
        with follower, events(follower, FEED) as stream:
            stream.next("ready")
            api.server.stop()
            closed = list(stream)[-1]
    assert (closed.name, closed.data, closed.retry) == ("closed", {"reason": "stopping"}, 1_000)
