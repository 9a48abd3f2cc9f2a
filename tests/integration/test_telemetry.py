"""Traces and metrics of whole Runners, as a collector on a loopback port gets them."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration import traced_flows as flows
from tests.kit.collector import Collector, collector
from turnout import Runner
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.executors.process import ProcessExecutor
from turnout.model.trace_ids import attempt_span_id, run_span_id

pytestmark = pytest.mark.timeout(120)

MakeRunner = Callable[..., Runner]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with collector() as found:
        monkeypatch.setenv("TURNOUT_TELEMETRY__ENABLED", "true")
        monkeypatch.setenv("TURNOUT_TELEMETRY__ENDPOINT", found.url)
        monkeypatch.setenv("TURNOUT_TELEMETRY__EXPORT_INTERVAL", "20ms")
        monkeypatch.setenv("TURNOUT_TELEMETRY__METRICS_INTERVAL", "500ms")
        yield found


def hex_id(number: int) -> str:
    return f"{number:016x}"


def trace_of(run_id: str) -> str:
    return uuid.UUID(run_id).hex


def test_a_run_is_a_trace_with_queue_attempt_and_commit(seen: Collector, make_runner: MakeRunner) -> None:
    runner = make_runner(workflows=(flows.retrying,))
    run = runner.submit(flows.retrying)
    assert run.result() == 2
    whole = seen.one("run retrying")
    assert (whole.trace_id, whole.span_id, whole.parent_id) == (trace_of(run.id), hex_id(run_span_id(run.id)), "")
    assert whole.attributes["turnout.state"] == "completed" and not whole.failed
    assert whole.attributes["turnout.workflow"] == "public::embedded::retrying"
    assert whole.resource["service.name"] == "turnout"
    for part in ("queue", "attempt", "commit"):
        seen.wait(lambda spans, part=part: len([s for s in spans if s.name == f"{part} second_try"]) == 2, part)
        for number, span in enumerate(seen.named(f"{part} second_try"), 1):
            assert (span.trace_id, span.parent_id) == (whole.trace_id, whole.span_id)
            assert span.span_id == hex_id(attempt_span_id(run.id, 0, number, part))
            assert span.attributes["turnout.attempt"] == number
            assert span.attributes["turnout.executor"] == "default"
            assert whole.start <= span.start <= span.end
    first, second = seen.named("attempt second_try")
    assert first.failed and first.description == "ValueError: not yet"
    assert (first.attributes["turnout.outcome"], first.attributes["error.type"]) == ("retry", "ValueError")
    assert not second.failed and second.attributes["turnout.outcome"] == "completed"
    queues, commits = seen.named("queue second_try"), seen.named("commit second_try")
    assert queues[1].end == second.start and commits[1].start == second.end, "they follow one another"
    assert queues[1].start >= first.end, "the second attempt waits from the end of the first on"
    assert len({span.span_id for span in seen.spans}) == len(seen.spans) == 7


def test_bodies_continue_the_trace_in_threads_loops_and_processes(
    seen: Collector, make_sqlite_runner: MakeRunner
) -> None:
    routing = RoutingConfig("default").with_rule(RoutingRule("**::look_in_child", "process"))
    runner = make_sqlite_runner(
        workflows=(flows.looking,), executors={"process": ProcessExecutor(processes=1)}, routing=routing
    )
    run = runner.submit(flows.looking)
    for pos, found in enumerate(run.result()):
        wanted = hex_id(attempt_span_id(run.id, pos, 1))
        assert (found["trace_id"], found["span_id"]) == (trace_of(run.id), wanted), found["name"]
        assert found["traceparent"] == f"00-{trace_of(run.id)}-{wanted}-01"
        assert seen.one(f"attempt {found['name']}").span_id == wanted


def test_commands_get_their_trace_by_the_environment(seen: Collector, make_sqlite_runner: MakeRunner) -> None:
    run = make_sqlite_runner(workflows=(flows.commanding,)).submit(flows.commanding)
    assert run.result() == f"00-{trace_of(run.id)}-{hex_id(attempt_span_id(run.id, 0, 1))}-01"


def test_runs_below_a_run_are_in_its_trace(seen: Collector, make_runner: MakeRunner) -> None:
    run = make_runner(workflows=(flows.outer, flows.inner, flows.innermost)).submit(flows.outer)
    found = run.result()
    assert found["trace_id"] == trace_of(run.id)
    outer, inner, innermost = (seen.one(f"run {name}") for name in ("outer", "inner", "innermost"))
    assert {span.trace_id for span in seen.spans} == {trace_of(run.id)}
    assert inner.parent_id == seen.one("attempt inner").span_id
    assert innermost.parent_id == seen.one("attempt innermost").span_id
    assert seen.one("attempt inner").parent_id == outer.span_id
    assert seen.one("attempt look").parent_id == innermost.span_id


def test_a_failure_is_on_the_attempt_and_on_the_run(seen: Collector, make_sqlite_runner: MakeRunner) -> None:
    runner = make_sqlite_runner(workflows=(flows.failing,))
    run = runner.submit(flows.failing)
    assert run.wait() == "failed"
    whole = seen.one("run failing")
    assert whole.failed and seen.one("attempt fail").failed
    assert seen.one("attempt fail").description == "RuntimeError: no luck"
    again = run.rerun()
    again.wait()
    seen.wait(lambda spans: len(seen.named("run failing")) == 2, "the rerun has a span")
    second = seen.named("run failing")[1]
    assert second.trace_id == trace_of(again.id)
    assert second.links == ((whole.trace_id, whole.span_id),), "it is linked with the run that it repeats"


def test_items_of_a_mapped_task_have_one_name_and_their_index(seen: Collector, make_sqlite_runner: MakeRunner) -> None:
    run = make_sqlite_runner(workflows=(flows.mapping,)).submit(flows.mapping)
    assert run.result() == [2, 4, 6]
    seen.wait(lambda spans: len(seen.named("attempt double")) == 3, "every item has a span")
    assert {span.attributes["turnout.index"] for span in seen.named("attempt double")} == {0, 1, 2}
    assert {span.attributes["turnout.task"] for span in seen.named("attempt double")} == {
        "double[0]",
        "double[1]",
        "double[2]",
    }


def test_runs_that_are_not_sampled_send_nothing_and_say_so(
    seen: Collector, make_sqlite_runner: MakeRunner, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNOUT_TELEMETRY__SAMPLE", "0")
    with make_sqlite_runner(workflows=(flows.looking,)) as runner:
        found = runner.run(flows.looking)
    assert all(each["traceparent"].endswith("-00") for each in found)
    assert seen.spans == []


def test_metrics_are_those_of_the_exposition_and_name_a_trace(seen: Collector, make_sqlite_runner: MakeRunner) -> None:
    runner = make_sqlite_runner(workflows=(flows.retrying,))
    run = runner.submit(flows.retrying)
    run.result()
    durations = seen.metric("turnout_run_duration_seconds")
    (point,) = durations.histogram.data_points
    assert point.count == 1
    assert {each.key: each.value.string_value for each in point.attributes} == {
        "workflow": "public::embedded::retrying"
    }
    (exemplar,) = point.exemplars
    assert exemplar.trace_id.hex() == trace_of(run.id)
    assert exemplar.span_id.hex() == hex_id(run_span_id(run.id))
    (attempts,) = seen.metric("turnout_attempts_ended_total").sum.data_points
    assert attempts.as_int == 2, "both attempts of the task that has ended"
    exposed = {line.split("{")[0].split(" ")[0] for line in runner.metrics().splitlines() if not line.startswith("#")}
    for name in exposed:
        assert seen.metric(name).description


def test_without_telemetry_nothing_is_sent_and_bodies_have_no_trace(make_sqlite_runner: MakeRunner) -> None:
    found: list[dict[str, Any]] = make_sqlite_runner(workflows=(flows.looking,)).run(flows.looking)
    assert {each["traceparent"] for each in found} == {""}
    assert {int(each["trace_id"], 16) for each in found} == {0}
