"""Traces and metrics of whole Runners, as a collector on a loopback port gets them."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.integration import traced_flows as flows
from tests.kit.api import running_api
from tests.kit.collector import Collector, collector
from tests.kit.waiting import until
from turnout import Runner
from turnout.dispatcher import (
    ExecutionResult,
    ExecutorMetrics,
    Loader,
    RoutingConfig,
    RoutingRule,
    TaskReadyEvent,
)
from turnout.executors.process import ProcessExecutor
from turnout.model.trace_ids import attempt_span_id, run_span_id
from turnout.runner import Poller
from turnout.server import run_metrics

pytestmark = pytest.mark.timeout(280)

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


def traceparent(seen: Collector, run_id: str, pos: int, name: str) -> str:
    """Returns the header that the only attempt of a task which began has, once its span has come."""
    span = seen.one(f"attempt {name}")
    assert span.span_id == hex_id(attempt_span_id(run_id, pos, span.attributes["turnout.attempt"]))
    return f"00-{trace_of(run_id)}-{span.span_id}-01"


def test_a_run_is_a_trace_with_queue_attempt_and_commit(seen: Collector, make_runner: MakeRunner) -> None:
    runner = make_runner(workflows=(flows.retrying,))
    run = runner.submit(flows.retrying)
    assert run.result() == 2
    whole = seen.one("run retrying")
    assert (whole.trace_id, whole.span_id, whole.parent_id) == (trace_of(run.id), hex_id(run_span_id(run.id)), "")
    assert whole.attributes["turnout.state"] == "completed" and not whole.failed
    assert whole.attributes["turnout.workflow"] == "public::embedded::retrying"
    assert whole.resource["service.name"] == "turnout"
    first, second = seen.named("attempt second_try")
    # An attempt that was returned before its body began has a number too, and its queue time only.
    numbers = [span.attributes["turnout.attempt"] for span in (first, second)]
    parts = {part: seen.named(f"{part} second_try") for part in ("queue", "attempt", "commit")}
    for part, spans in parts.items():
        for span in spans:
            number = span.attributes["turnout.attempt"]
            assert (span.trace_id, span.parent_id) == (whole.trace_id, whole.span_id)
            assert span.span_id == hex_id(attempt_span_id(run.id, 0, number, part))
            assert span.attributes["turnout.executor"] == "default"
            assert whole.start <= span.start <= span.end
        assert part == "queue" or [span.attributes["turnout.attempt"] for span in spans] == numbers
    assert first.failed and first.description == "ValueError: not yet"
    assert (first.attributes["turnout.outcome"], first.attributes["error.type"]) == ("retry", "ValueError")
    assert not second.failed and second.attributes["turnout.outcome"] == "completed"
    (queue,) = [span for span in parts["queue"] if span.attributes["turnout.attempt"] == numbers[1]]
    assert queue.end == second.start and parts["commit"][1].start == second.end, "they follow one another"
    assert queue.start >= first.end, "the second attempt waits from the end of the first on"
    assert len({span.span_id for span in seen.spans}) == len(seen.spans) == 1 + sum(map(len, parts.values()))


def test_bodies_continue_the_trace_in_threads_loops_and_processes(
    seen: Collector, make_sqlite_runner: MakeRunner
) -> None:
    routing = RoutingConfig("default").with_rule(RoutingRule("**::look_in_child", "process"))
    runner = make_sqlite_runner(
        workflows=(flows.looking,), executors={"process": ProcessExecutor(processes=1)}, routing=routing
    )
    run = runner.submit(flows.looking)
    for pos, found in enumerate(run.result()):
        wanted = traceparent(seen, run.id, pos, found["name"])
        assert found["traceparent"] == wanted
        assert f"00-{found['trace_id']}-{found['span_id']}-01" == wanted, "it is the current span"


def test_commands_get_their_trace_by_the_environment(seen: Collector, make_sqlite_runner: MakeRunner) -> None:
    run = make_sqlite_runner(workflows=(flows.commanding,)).submit(flows.commanding)
    assert run.result() == traceparent(seen, run.id, 0, "say_trace")


def test_pollers_continue_the_trace(seen: Collector, sqlite_url: str) -> None:
    with (
        Runner(sqlite_url, workflows=(flows.innermost,), dispatcher=None) as runner,
        Poller(sqlite_url, workflows=(flows.innermost,), poll=0.05),
    ):
        run = runner.submit(flows.innermost)
        found = run.result()
        wanted = traceparent(seen, run.id, 0, "look")
    assert found["traceparent"] == wanted
    assert f"00-{found['trace_id']}-{found['span_id']}-01" == wanted, "it is the current span"


class Custom:
    """An executor of a user, that notes the traces of its attempts."""

    local = True
    kinds = frozenset({"python"})
    name = "custom"

    def __init__(self) -> None:
        self.traces: list[str] = []

    def bind(self, loader: Loader) -> None:
        self._loader = loader

    def has_capacity(self) -> bool:
        return True

    def metrics(self) -> ExecutorMetrics:
        return ExecutorMetrics(active_tasks=0, total_executed=len(self.traces), total_failed=0)

    async def execute(self, event: TaskReadyEvent) -> ExecutionResult:
        work = await self._loader.load(event)
        self.traces.append(work.traceparent)
        return await work.run()


def test_custom_executors_have_the_trace_and_their_bodies_continue_it(
    seen: Collector, make_sqlite_runner: MakeRunner
) -> None:
    custom = Custom()
    runner = make_sqlite_runner(
        workflows=(flows.innermost,), executors={"custom": custom}, routing=RoutingConfig("custom")
    )
    run = runner.submit(flows.innermost)
    found, wanted = run.result(), traceparent(seen, run.id, 0, "look")
    assert (found["traceparent"], custom.traces[-1]) == (wanted, wanted)


def test_runs_never_wait_for_a_collector_that_does_not_answer(seen: Collector, make_sqlite_runner: MakeRunner) -> None:
    seen.open.clear()
    runner = make_sqlite_runner(workflows=(flows.retrying,))
    assert [runner.run(flows.retrying) for _ in range(3)] == [2, 2, 2]
    until(lambda: seen.requests.get("/v1/traces"), "nothing is sent")
    assert [runner.run(flows.retrying) for _ in range(3)] == [2, 2, 2]
    assert seen.spans == [], "the collector has answered nothing"
    seen.open.set()
    seen.wait(lambda spans: len(seen.named("run retrying")) == 6, "what waited is sent once it answers")


def test_the_metrics_of_a_server_name_the_trace_of_a_run(seen: Collector, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_metrics, "LAG", 0.0)
    with running_api(workflows=[flows.retrying], config=True) as api:
        run = api.runner.submit(flows.retrying)
        run.result()
        viewer = api.client("viewer")
        accept = {"Accept": "application/openmetrics-text; version=1.0.0, text/plain;q=0.5"}

        def exemplars(metric: str) -> list[str]:
            text = viewer.get("/metrics", headers=accept).text
            return re.findall(rf'^{metric}_bucket{{[^}}]*}} \d+ # {{trace_id="(\w+)"}} [\d.e-]+ [\d.]+$', text, re.M)

        for metric in ("run_duration", "attempt_duration", "attempt_start_delay"):
            found = until(lambda metric=metric: exemplars(f"turnout_{metric}_seconds"), f"no exemplar of {metric}")
            assert found == [trace_of(run.id)], "one bucket has the only duration"
        assert "trace_id" not in viewer.get("/metrics").text, "the text of Prometheus has no exemplars"


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
