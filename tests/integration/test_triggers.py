"""Event triggers: each key starts one run, whichever server polls, and a trigger that fails says why."""

from __future__ import annotations

import itertools
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from tests.kit.api import QUIET, RunningApi, running_api
from tests.kit.waiting import until
from turnout import Event, Poll, Runner, Workflow, task, trigger, workflow
from turnout.authoring.triggers import Trigger
from turnout.errors import InvalidWorkflow
from turnout.model.triggers import TriggerRow, checked_event
from turnout.runner.triggers import change_trigger


@task
def ship(order: int) -> int:
    return order


_numbers = itertools.count()


def flow() -> Workflow[..., Any]:
    """Returns a workflow with a name of its own: triggers of other tests may still be alive."""

    @workflow(name=f"fulfil_{next(_numbers)}")
    def fulfil(order: int) -> int:
        return ship(order)

    return fulfil


def runner(url: str, made: Workflow[..., Any]) -> Runner:
    return Runner(url, workflows=(made,), schedules=True, settings=QUIET, config=False)


def keys(running: Runner) -> list[str]:
    return sorted(str(each.new.key) for each in running.core.store.runs(limit=1_000))


def rows(running: Runner) -> list[TriggerRow]:
    """Returns the triggers of the workflows here: those of other tests may still be alive, and are listed too."""
    known = running.core.registry.workflows
    return [each for each in running.triggers() if each.workflow in known]


def row(running: Runner) -> TriggerRow:
    [found] = rows(running)
    return found


def polled(running: Runner, polls: int = 1) -> TriggerRow:
    until(lambda: rows(running) and row(running).polls >= polls)
    return row(running)


def test_each_key_starts_one_run_however_often_it_comes(sqlite_url: str) -> None:
    made = flow()

    @trigger(every="100ms", workflow=made)
    def new_orders() -> Iterator[Event]:
        for order in (1, 2):
            yield Event(f"order-{order}", order=order)

    with runner(sqlite_url, made) as running:
        found = polled(running, 3)
        assert keys(running) == ["trigger:new_orders:order-1", "trigger:new_orders:order-2"]
        assert (found.name, found.runs, found.failures) == (f"public::embedded::{made.name}::new_orders", 2, 0)
        assert new_orders.name == "new_orders"


def test_a_runner_polls_only_if_it_is_asked_to(sqlite_url: str) -> None:
    made, calls = flow(), list[int]()
    kept = Trigger(lambda: calls.append(1) or [], every="100ms", workflow=made, name="unasked")
    with Runner(sqlite_url, workflows=(made,), settings=QUIET, config=False) as running:
        assert running.run(made, 1) == 1 and running.triggers() == [] and not calls
    with runner(sqlite_url, made) as running:
        assert polled(running).name.endswith(kept.name)


def test_two_servers_that_get_the_same_key_at_once_start_one_run(postgres_url: str) -> None:
    made, calls, together = flow(), [], threading.Lock()

    @trigger(every="100ms", workflow=made)
    def new_orders() -> list[Event]:
        assert together.acquire(blocking=False), "of all servers one polls at a time"
        calls.append(threading.current_thread().name)
        together.release()
        return [Event(f"order-{number}", order=number) for number in range(20)]

    with runner(postgres_url, made) as one, runner(postgres_url, made):
        found = polled(one, 6)
        assert found.failures == 0 and len(keys(one)) == 20 and found.runs == 20, (found, new_orders)


def test_what_a_poll_keeps_is_there_in_the_next_one(sqlite_url: str) -> None:
    made, seen = flow(), list[Any]()

    @trigger(every="100ms", workflow=made)
    def new_orders(poll: Poll) -> Iterator[Event]:
        seen.append(poll.state)
        after = poll.state or 0
        yield Event(str(after), order=after)
        poll.state = after + 1

    with runner(sqlite_url, made) as running:
        polled(running, 3)
        assert seen[:3] == [None, 1, 2] and "trigger:new_orders:2" in keys(running) and new_orders.takes_poll


async def _listed() -> list[Event]:
    return [Event("listed", order=1)]


async def _generated() -> AsyncIterator[Event]:
    yield Event("generated", order=1)


@pytest.mark.parametrize(("function", "key"), [(_listed, "listed"), (_generated, "generated")])
def test_a_trigger_may_be_async(sqlite_url: str, function: Callable[..., Any], key: str) -> None:
    made = flow()
    kept = Trigger(function, every="1h", workflow=made, name="asynchronous")
    with runner(sqlite_url, made) as running:
        polled(running)
        assert keys(running) == [f"trigger:asynchronous:{key}"] and kept.every == 3600


def test_a_trigger_for_a_name_finds_its_workflow(sqlite_url: str) -> None:
    made = flow()
    kept = Trigger(lambda: [Event("a", order=1)], every="1h", workflow=made.name, name="by_name")
    with runner(sqlite_url, made) as running:
        polled(running)
        assert keys(running) == ["trigger:by_name:a"] and kept.is_for(f"public::embedded::{made.name}")


def test_a_trigger_for_a_name_that_no_workflow_has_is_listed_with_that_and_polled_once_it_is_there(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    late, other = flow(), flow()
    kept = Trigger(lambda: [Event("a", order=1)], every="1h", workflow=late.name, name="too_early")
    full_name = f"public::embedded::{late.name}"

    def found(running: Runner) -> TriggerRow | None:
        # Triggers of other tests may be listed as well, if they are still alive.
        return next((each for each in running.triggers() if each.name == f"{full_name}::too_early"), None)

    with runner(sqlite_url, other) as running:
        until(lambda: found(running) is not None)
        missing = found(running)
        assert missing is not None and (missing.polls, missing.workflow) == (0, full_name)
        assert missing.error is not None
        assert missing.error.startswith(f"unknown_workflow: trigger 'too_early' starts runs of workflow '{late.name}'")
        assert "unknown_workflow" in caplog.text and kept.missing([]) is not None
        running.run(late, 2)  # registers it
        until(lambda: (each := found(running)) is not None and each.polls == 1)
        polled_once = found(running)
        assert polled_once is not None and (polled_once.error, polled_once.runs) == (None, 1)
    assert kept.missing([full_name]) is None


def test_a_trigger_without_a_workflow_is_listed_under_the_tenant_of_its_server(
    sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNOUT_TENANT", "acme")
    kept = Trigger(list, every="1h", workflow=flow().name, name="of_acme")
    with Runner(sqlite_url, workflows=[flow()], schedules=True) as running:
        until(lambda: any(each.name.endswith("::of_acme") for each in running.triggers()))
        [found] = [each for each in running.triggers() if each.name.endswith("::of_acme")]
    assert found.name == kept.full_name("acme") and found.workflow == f"acme::embedded::{kept.workflow}"


# -- failures --------------------------------------------------------------------------------------------------------
def test_a_trigger_that_raises_is_counted_backed_off_and_goes_on(
    sqlite_url: str, caplog: pytest.LogCaptureFixture
) -> None:
    made, works = flow(), threading.Event()

    @trigger(every="100ms", workflow=made)
    def new_orders(poll: Poll) -> Iterator[Event]:
        poll.state = "unsaved" if not works.is_set() else "saved"
        yield Event("first", order=1)
        if not works.is_set():
            raise ConnectionError("the shop is closed")

    with runner(sqlite_url, made) as running:
        found = polled(running, 2)
        assert found.failures >= 2 and found.error == "ConnectionError: the shop is closed" and found.state is None
        assert found.next_poll - (found.polled_at or 0) > 0.15, "the delay grows"
        assert "the shop is closed" in caplog.text and keys(running) == []
        works.set()
        change_trigger(running.core.store, new_orders.name, "poll", actor="test")
        until(lambda: row(running).failures == 0 and row(running).error is None)
        assert row(running).state == "saved" and keys(running) == ["trigger:new_orders:first"]


@pytest.mark.parametrize(
    ("events", "words"),
    [
        ([Event("good", order=1), Event("bad", order="x")], "event 'bad'"),
        ([Event("good", order=1), Event("bad", ordre=1)], "event 'bad'"),
        ([Event("good", order=1), {"order": 1}], "Event(key"),
        ([Event("", order=1)], "not empty"),
        (7, "not iterable"),
    ],
)
def test_an_event_that_does_not_fit_is_named_and_the_state_stays(sqlite_url: str, events: Any, words: str) -> None:
    made = flow()
    kept = Trigger(lambda poll: events, every="1h", workflow=made, name="odd")
    with runner(sqlite_url, made) as running:
        found = polled(running)
        assert found.failures == 1 and words in str(found.error) and kept.takes_poll
        assert keys(running) in ([], ["trigger:odd:good"])


def test_a_trigger_that_takes_too_long_is_given_up(sqlite_url: str) -> None:
    made, go = flow(), threading.Event()

    def slow() -> list[Event]:
        go.wait(30)
        return [Event("late", order=1)]

    kept = Trigger(slow, every="1h", workflow=made, timeout="200ms")
    with runner(sqlite_url, made) as running:
        assert "timeout of 0.2 s" in str(polled(running).error) and kept.timeout == 0.2
        change_trigger(running.core.store, "slow", "poll", actor="test")
        assert "has not returned yet" in str(polled(running, 2).error)
        go.set()
        change_trigger(running.core.store, "slow", "poll", actor="test")
        assert polled(running, 3).error is None and keys(running) == ["trigger:slow:late"]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"every": 0}, "every"),
        ({"every": "10ms"}, "every"),
        ({"timeout": 0}, "timeout"),
        ({"workflow": None}, "workflow"),
        ({"workflow": ""}, "workflow"),
        ({"name": "a b"}, "name"),
        ({"function": lambda one, two: []}, "function"),
        ({"function": lambda *, poll: []}, "function"),
    ],
)
def test_a_trigger_that_cannot_work_is_refused(options: dict[str, Any], field: str) -> None:
    given = {"function": list, "every": "1m", "workflow": "fulfil", "name": "bad", **options}
    with pytest.raises(InvalidWorkflow) as found:
        Trigger(given.pop("function"), **given)
    assert (found.value.code, found.value.fields["field"]) == ("bad_trigger", field)


def test_the_key_of_an_event_is_text_that_can_be_stored() -> None:
    for key in ("a\0b", "x" * 501, 7):
        with pytest.raises(Exception, match="key"):
            checked_event(Event(key))  # type: ignore[arg-type]


# -- the API ---------------------------------------------------------------------------------------------------------
@pytest.fixture
def api() -> Iterator[RunningApi]:
    made = flow()
    kept = Trigger(lambda: [Event("a", order=1)], every="1h", workflow=made, name="new_orders")
    with running_api(workflows=(made,), schedules=True) as running:
        until(lambda: running.core.store.triggers() and running.core.store.triggers()[0].polls)
        yield running
    assert kept.every == 3600


def test_a_trigger_is_paused_resumed_and_polled_over_the_api(api: RunningApi) -> None:
    viewer, operator, path = api.client("viewer"), api.client("operator"), "/api/v1/triggers"
    [listed] = viewer.get(path).json()["triggers"]
    assert (listed["runs"], listed["every"], listed["error"]) == (1, 3600.0, None)
    assert operator.post(f"{path}/new_orders/pause").json()["paused_by"] == "operator"
    refused = operator.post(f"{path}/new_orders/poll")
    assert (refused.status_code, refused.json()["code"]) == (409, "trigger_paused")
    assert operator.post(f"{path}/{listed['name']}/resume").json()["paused_by"] is None
    assert operator.post(f"{path}/new_orders/poll").status_code == 200
    until(lambda: viewer.get(f"{path}/new_orders").json()["polls"] == 2)
    assert viewer.get(f"{path}/new_orders").json()["runs"] == 1
    missing = viewer.get(f"{path}/new_order")
    assert (missing.status_code, missing.json()["code"]) == (404, "trigger_not_found")
    assert "did you mean 'new_orders'" in missing.json()["detail"]
    assert viewer.post(f"{path}/new_orders/pause").json()["code"] == "role_too_low"
