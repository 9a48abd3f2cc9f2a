"""Telemetry as a whole, with commits made by hand: it ends in time, and counts what it drops."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import msgspec
import pytest

from tests.kit.collector import Collector, collector
from tests.kit.runs import HERE, graph_of, new_run, task
from tests.kit.waiting import PATIENCE, until
from turnout.model.events import ExecutionResult
from turnout.model.rows import NewRun
from turnout.model.run_machine import RunMachine
from turnout.model.transition import Transition
from turnout.model.verdict import Limits
from turnout.telemetry import service
from turnout.telemetry.service import Telemetry
from turnout.telemetry.settings import TelemetrySettings

pytestmark = pytest.mark.timeout(280)

TOP, PARENT, CHILD = (f"0199d4c5-a1b2-7def-8123-45678900000{number}" for number in range(3))


class Database:
    """A store that answers no read until it is let."""

    def __init__(self) -> None:
        self.reads = 0
        self.answers = threading.Event()

    def run(self, run_id: str) -> NewRun | None:
        self.reads += 1
        assert self.answers.wait(PATIENCE)
        return msgspec.structs.replace(new_run(), run_id=run_id, parent_run=TOP, depth=1)


def of(database: Database, endpoint: str) -> Telemetry:
    settings = TelemetrySettings(enabled=True, endpoint=endpoint, export_interval=0.01, metrics_interval=0.1)
    return Telemetry(settings, in_memory=lambda _: None, stored=database.run, status=lambda: None)


def commit(telemetry: Telemetry, new: NewRun) -> None:
    """Commits the end of a run of one task: four spans."""
    machine = RunMachine.create(graph_of(task("a")), new, Limits(), ())
    transition = Transition(machine, 100.0)
    transition.begin()
    event = transition.start(0, HERE, "session-1")
    machine.apply(transition)
    result = ExecutionResult.success(event, 1, started_at=101.0, finished_at=102.0)
    transition = Transition(machine, 103.0)
    assert transition.result(result, 0)
    transition.finish()
    assert transition.run is not None, "the run has ended"
    telemetry.observer.committed(transition, [result])


@pytest.fixture
def seen() -> Iterator[Collector]:
    with collector() as found:
        yield found


def dropped(seen: Collector) -> dict[str, int]:
    points = seen.metric("turnout_spans_dropped_total").sum.data_points
    return {point.attributes[0].value.string_value: point.as_int for point in points if point.as_int}


def child() -> NewRun:
    return msgspec.structs.replace(new_run(), run_id=CHILD, parent_run=PARENT, depth=2)


def test_the_end_does_not_wait_for_a_database_that_does_not_answer(
    seen: Collector, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "LOOK_UP_SHARE", 0.001)
    database = Database()
    telemetry = of(database, seen.url)
    commit(telemetry, child())
    until(lambda: database.reads, "the parent is not looked up")
    commit(telemetry, child())
    commit(telemetry, msgspec.structs.replace(new_run(), run_id=TOP))
    telemetry.stop(PATIENCE)
    assert not database.answers.is_set(), "the first look-up is still under way"
    assert {span.trace_id for span in seen.spans} == {TOP.replace("-", "")}, "what is known is sent"
    assert len(seen.spans) == 4
    assert dropped(seen) == {"trace_unknown": 4}
    (point,) = seen.metric("turnout_attempts_ended_total").sum.data_points
    assert point.as_int == 2, "a run whose trace is not known counts all the same"
    database.answers.set()


def test_spans_beyond_the_queue_are_dropped_and_counted(seen: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_BSP_MAX_QUEUE_SIZE", "6")
    seen.open.clear()
    telemetry = of(Database(), seen.url)
    commit(telemetry, msgspec.structs.replace(new_run(), run_id=TOP))
    until(lambda: seen.requests.get("/v1/traces"), "nothing is sent")
    for _ in range(3):
        commit(telemetry, msgspec.structs.replace(new_run(), run_id=TOP))
    seen.open.set()
    until(lambda: len(seen.spans) == 10, "what the queue has is sent once the collector answers")
    until(lambda: dropped(seen) == {"queue_full": 6}, "the dropped spans are not counted")
    telemetry.stop(PATIENCE)
    assert len(seen.spans) == 10


def test_spans_that_the_collector_refuses_are_counted(seen: Collector) -> None:
    seen.answers["/v1/traces"] = 400
    telemetry = of(Database(), seen.url)
    commit(telemetry, msgspec.structs.replace(new_run(), run_id=TOP))
    until(lambda: dropped(seen) == {"not_taken": 4}, "the refused spans are not counted")
    telemetry.stop(PATIENCE)


def test_the_end_does_not_wait_for_a_collector_that_does_not_answer(seen: Collector) -> None:
    seen.open.clear()
    telemetry = of(Database(), seen.url)
    commit(telemetry, msgspec.structs.replace(new_run(), run_id=TOP))
    telemetry.stop(timeout=0.05)
    assert seen.spans == []
    seen.open.set()
