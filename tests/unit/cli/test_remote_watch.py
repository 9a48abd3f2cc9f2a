"""A run of a server on display: which tasks are shown, and what an outage of the server does."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, cast

import msgspec
import pytest

from turnout.cli.api_client import ApiClient, Event
from turnout.cli.remote_watch import RemoteWatch
from turnout.errors import AccessDenied, ServerUnavailable
from turnout.model.driver import Driver
from turnout.model.logs import LogLine
from turnout.model.spec import WorkflowSpec
from turnout.model.states import RunState, TaskState
from turnout.runner.views import TaskView
from turnout.server.api.types.runs import Run
from turnout.server.api.types.tasks import TaskPage

RUN = Run(id="r", workflow="t::p::w", name="w", version="1", state=RunState.RUNNING, created_at=0.0)


class FakeClient:
    """A server with one run, whose stream goes on when it is told to."""

    def __init__(self, *events: Event) -> None:
        self.go_on = threading.Event()
        self.tasks: list[TaskView] = []
        self.away = False
        self._events = events

    def get(self, path: str, kind: type[Any], query: object = None) -> object:
        if self.away:
            raise ServerUnavailable("away")
        return TaskPage(tasks=self.tasks) if kind is TaskPage else RUN

    def events(self, path: str, query: object = None, last: str | None = None) -> Iterator[Event]:
        self.go_on.wait(20)
        yield from self._events


def watch(client: FakeClient) -> RemoteWatch:
    return RemoteWatch(cast("ApiClient", client), RUN, WorkflowSpec("w", ()))


def test_lines_are_shown_and_the_end_is_waited_for() -> None:
    line = LogLine(id=1, task="a", attempt=1, stream="stdout", at=0.0, text="hello")
    client = FakeClient(Event("log", msgspec.json.encode(line), "1"), Event("end", b"{}", "2"))
    run = watch(client)
    assert not run.ended(0.0)
    client.go_on.set()
    assert run.ended(20)
    assert "".join(text for text, _ in run.new_lines()[0]) == "a │ hello"


def test_tasks_are_those_of_the_last_answer_while_the_server_is_away() -> None:
    client = FakeClient(Event("end", b"{}", "2"))
    client.tasks = [TaskView(name="a", state=TaskState.READY, reason="no_capacity")]
    run = watch(client)
    assert [task.reason for task in run.tasks()] == ["no_capacity"]
    client.away = True
    run.remaining_lines()  # has the tasks read again
    assert [task.reason for task in run.tasks()] == ["no_capacity"]
    assert run.status()[1] is Driver.DRIVEN
    client.go_on.set()


def test_the_last_tasks_are_read_once_the_run_has_ended() -> None:
    client = FakeClient(Event("end", b"{}", "2"))
    run = watch(client)
    run.tasks()
    client.tasks = [TaskView(name="a", state=TaskState.COMPLETED)]
    client.go_on.set()
    assert run.ended(20)
    run.remaining_lines()
    assert [task.state for task in run.tasks()] == [TaskState.COMPLETED]


def test_a_stream_that_is_refused_ends_the_display() -> None:
    class Refusing(FakeClient):
        def events(self, path: str, query: object = None, last: str | None = None) -> Iterator[Event]:
            raise AccessDenied("the token was revoked", code="revoked_token")

    with pytest.raises(AccessDenied):
        watch(Refusing()).ended(20)
