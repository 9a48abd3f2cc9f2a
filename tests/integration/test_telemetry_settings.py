"""Where telemetry is sent, and under which name: by the settings, else by the standard variables, else by default."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from tests.integration import traced_flows as flows
from tests.kit.collector import Collector, collector
from tests.kit.waiting import until
from turnout import Runner

pytestmark = pytest.mark.timeout(280)


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    for name in ("ENDPOINT", "HEADERS"):
        monkeypatch.delenv(f"OTEL_EXPORTER_OTLP_{name}", raising=False)
    monkeypatch.setenv("TURNOUT_TELEMETRY__ENABLED", "true")
    monkeypatch.setenv("TURNOUT_TELEMETRY__EXPORT_INTERVAL", "20ms")
    monkeypatch.setenv("TURNOUT_TELEMETRY__METRICS_INTERVAL", "100ms")
    with collector() as found:
        yield found


def sent(seen: Collector, database: str) -> dict[str, Any]:
    """Returns the resource of the span of a run, once spans and metrics have come."""
    with Runner(database, workflows=(flows.retrying,)) as runner:
        assert runner.run(flows.retrying) == 2
        until(lambda: seen.metrics, "no metrics came")
        return seen.one("run retrying").resource


def test_the_standard_variables_hold_for_what_is_not_set(
    seen: Collector, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", seen.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "x-key=secret")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "shop")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment.name=test")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    resource = sent(seen, sqlite_url)
    assert (resource["service.name"], resource["deployment.environment.name"]) == ("shop", "test")
    for path in ("/v1/traces", "/v1/metrics"):
        assert {key.lower(): value for key, value in seen.requests[path][0].items()}["x-key"] == "secret"


def test_the_settings_come_before_the_standard_variables(
    seen: Collector, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "shop")
    monkeypatch.setenv("TURNOUT_TELEMETRY__ENDPOINT", f"{seen.url}/")
    monkeypatch.setenv("TURNOUT_TELEMETRY__SERVICE_NAME", "orders")
    assert sent(seen, sqlite_url)["service.name"] == "orders"


def test_without_any_of_them_a_collector_on_this_machine_gets_it(
    seen: Collector, sqlite_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked_up = socket.getaddrinfo

    def redirected(host: Any, port: Any, *args: Any, **options: Any) -> Any:
        if (host, int(port or 0)) == ("localhost", 4318):
            host, port = "127.0.0.1", int(seen.url.rpartition(":")[2])
        return looked_up(host, port, *args, **options)

    monkeypatch.delenv("OTEL_SERVICE_NAME", raising=False)
    monkeypatch.setattr(socket, "getaddrinfo", redirected)
    assert sent(seen, sqlite_url)["service.name"] == "turnout"
