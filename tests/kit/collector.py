"""A collector on a loopback port that takes OTLP over HTTP and decodes its protobuf."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.kit.waiting import PATIENCE, until


@dataclass(frozen=True)
class SeenSpan:
    """One span as it came, and the process that sent it."""

    name: str
    trace_id: str
    span_id: str
    parent_id: str
    start: int
    end: int
    attributes: dict[str, Any]
    failed: bool
    description: str
    links: tuple[tuple[str, str], ...]
    resource: dict[str, Any]


@dataclass
class Collector:
    """What came, in order."""

    spans: list[SeenSpan] = field(default_factory=list)
    metrics: list[Any] = field(default_factory=list)
    """Metrics as their protobuf has them."""
    url: str = ""
    requests: dict[str, list[dict[str, str]]] = field(default_factory=dict)
    """The headers of the requests that came, by path."""
    answers: dict[str, int] = field(default_factory=dict)
    """The status that is answered, by path; without one it is taken."""
    open: threading.Event = field(default_factory=threading.Event)
    """While it is not set, no request is answered."""

    def named(self, name: str) -> list[SeenSpan]:
        return [span for span in list(self.spans) if span.name == name]

    def one(self, name: str) -> SeenSpan:
        """Returns the only span with this name, once it has come."""
        until(lambda: self.named(name), f"no span {name!r} came")
        (found,) = self.named(name)
        return found

    def wait(self, check: Callable[[list[SeenSpan]], bool], what: str) -> list[SeenSpan]:
        until(lambda: check(list(self.spans)), what)
        return list(self.spans)

    def metric(self, name: str) -> Any:
        """Returns the newest metric with this name, once one has come."""
        until(lambda: any(each.name == name for each in list(self.metrics)), f"no metric {name!r} came")
        return [each for each in self.metrics if each.name == name][-1]

    def take_spans(self, body: bytes) -> None:
        request = ExportTraceServiceRequest.FromString(body)
        for of_resource in request.resource_spans:
            resource = _values(of_resource.resource.attributes)
            for of_scope in of_resource.scope_spans:
                self.spans += [_span(span, resource) for span in of_scope.spans]

    def take_metrics(self, body: bytes) -> None:
        request = ExportMetricsServiceRequest.FromString(body)
        for of_resource in request.resource_metrics:
            for of_scope in of_resource.scope_metrics:
                self.metrics += of_scope.metrics


def _span(span: Any, resource: dict[str, Any]) -> SeenSpan:
    return SeenSpan(
        name=span.name,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        start=span.start_time_unix_nano,
        end=span.end_time_unix_nano,
        attributes=_values(span.attributes),
        failed=span.status.code == 2,
        description=span.status.message,
        links=tuple((link.trace_id.hex(), link.span_id.hex()) for link in span.links),
        resource=resource,
    )


def _values(attributes: Any) -> dict[str, Any]:
    return {each.key: getattr(each.value, each.value.WhichOneof("value")) for each in attributes}


@contextmanager
def collector() -> Iterator[Collector]:
    seen = Collector()
    seen.open.set()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if self.headers.get("Content-Encoding") == "gzip":
                body = gzip.decompress(body)
            seen.requests.setdefault(self.path, []).append(dict(self.headers))
            if not seen.open.wait(PATIENCE):
                return
            if (refused := seen.answers.get(self.path)) is not None:
                self._answer(refused)
                return
            take = {"/v1/traces": seen.take_spans, "/v1/metrics": seen.take_metrics}[self.path]
            take(body)
            self._answer(200)

        def _answer(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    seen.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield seen
    finally:
        seen.open.set()
        server.shutdown()
        server.server_close()
        thread.join(10)
