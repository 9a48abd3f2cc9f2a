"""Workers of every language get the trace of their steps, from a real hub."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.languages import Program, programs
from tests.faults.workers import Notes, Workers
from tests.kit.collector import collector
from turnout import Runner, remote, workflow
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.executors.workers.settings import HubSettings
from turnout.model.trace_ids import attempt_span_id

pytestmark = pytest.mark.timeout(280)

tell_trace = remote("tell_trace", handler="elsewhere.trace")


@workflow
def traced_elsewhere() -> str:
    return tell_trace()


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Program]:
    return programs(tmp_path_factory.mktemp("programs"))


@pytest.fixture
def traced_runner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Runner]:
    with collector() as seen:
        monkeypatch.setenv("TURNOUT_TELEMETRY__ENABLED", "true")
        monkeypatch.setenv("TURNOUT_TELEMETRY__ENDPOINT", seen.url)
        with Runner(
            f"sqlite:///{tmp_path}/runs.db",
            workflows=(traced_elsewhere,),
            hub=HubSettings(address="tcp://127.0.0.1:0"),
            routing=RoutingConfig("default", (RoutingRule("**", "workers"),)),
            handle_sigterm=False,
        ) as runner:
            yield runner


@pytest.mark.parametrize("language", ["python", "ruby", "go", "node"])
def test_a_handler_gets_the_trace_of_its_step(
    language: str, found: dict[str, Program], traced_runner: Runner, tmp_path: Path
) -> None:
    if language not in found:
        pytest.skip(f"a worker in {language} cannot be started here")
    assert traced_runner.hub is not None
    workers = Workers(found, [traced_runner.hub], Notes(tmp_path / "notes"))
    workers.start(language)
    try:
        run = traced_runner.submit(traced_elsewhere)
        trace = uuid.UUID(run.id).hex
        # An attempt that was returned before its body began has had a number.
        attempts = [attempt_span_id(run.id, 0, number) for number in range(1, 20)]
        assert run.result(timeout=120) in [f"00-{trace}-{each:016x}-01" for each in attempts]
    finally:
        workers.end()
