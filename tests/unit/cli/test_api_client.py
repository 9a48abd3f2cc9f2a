"""Requests of the command line to a small server in a thread: what is sent, and how answers are read."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from turnout.cli.api_client import ApiClient, segment, workflow_of
from turnout.errors import InvalidTarget, RunNotFound, ServerUnavailable
from turnout.runner.server_access import ServerAccess


class Recorder(ThreadingHTTPServer):
    """Answers every request with what a test has set, and keeps what came."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.status, self.body, self.kind = 200, b"{}", "application/json"
        self.requests: list[tuple[str, str, dict[str, str], bytes]] = []


class Answer(BaseHTTPRequestHandler):
    server: Recorder

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        self.server.requests.append((self.command, self.path, dict(self.headers), body))
        self.send_response(self.server.status)
        self.send_header("Content-Type", self.server.kind)
        self.end_headers()
        self.wfile.write(self.server.body)

    do_GET = do_POST = do_DELETE = _serve

    def log_message(self, *args: Any) -> None: ...


@pytest.fixture
def server() -> Iterator[Recorder]:
    made = Recorder()
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.shutdown()
    made.server_close()
    thread.join(10)


def client_of(server: Recorder, token: str | None = "to_secret") -> ApiClient:
    return ApiClient(ServerAccess(f"http://127.0.0.1:{server.server_port}", token))


def test_a_request_has_its_query_its_body_and_the_token_in_a_header_only(server: Recorder) -> None:
    server.body = b'{"ok": true}'
    query = {"state": ["failed", "running"], "force": True, "limit": 5, "cursor": None}
    assert client_of(server).post("/runs/a%20b", dict[str, bool], {"x": 1}, query=query) == {"ok": True}
    ((method, path, headers, body),) = server.requests
    assert (method, path) == ("POST", "/api/v1/runs/a%20b?state=failed&state=running&force=true&limit=5")
    assert json.loads(body) == {"x": 1} and headers["Content-Type"] == "application/json"
    assert headers["Authorization"] == "Bearer to_secret" and "to_secret" not in path
    client_of(server, None).get("/runs", dict[str, bool])
    assert "Authorization" not in server.requests[-1][2]


def test_a_problem_document_is_raised_as_its_error(server: Recorder) -> None:
    server.status, server.body = 404, b'{"code": "run_not_found", "detail": "there is no run 7", "run_id": "7"}'
    with pytest.raises(RunNotFound, match="there is no run 7"):
        client_of(server).get("/runs/7", dict)
    server.status, server.body = 502, b"<html>bad gateway</html>"
    with pytest.raises(ServerUnavailable, match="502"):
        client_of(server).delete("/runs/7", dict)


@pytest.mark.parametrize("body", [b"<html></html>", b"[1]", b""])
def test_an_answer_that_does_not_fit_is_none_of_a_server(server: Recorder, body: bytes) -> None:
    server.body = body
    with pytest.raises(ServerUnavailable, match="none of a Turnout server"):
        client_of(server).get("/runs", dict[str, int])


def test_events_are_read_until_the_server_ends_the_stream(server: Recorder) -> None:
    server.kind = "text/event-stream"
    server.body = b': \n\nid: 1\nevent: log\ndata: {"a":1}\n\nretry: 1000\nid: 2\nevent: end\ndata: {}\n\ndata: cut'
    events = list(client_of(server).events("/runs/7/events", None, "0"))
    assert [(each.name, each.id, each.data) for each in events] == [("log", "1", b'{"a":1}'), ("end", "2", b"{}")]
    assert server.requests[0][2]["Last-Event-ID"] == "0"


def test_a_server_that_is_not_there_is_named() -> None:
    with pytest.raises(ServerUnavailable, match="cannot be reached"):
        ApiClient(ServerAccess("http://127.0.0.1:1")).get("/runs", dict)


def test_names_are_quoted_and_files_are_refused() -> None:
    assert segment("price[3]/x") == "price%5B3%5D%2Fx"
    assert workflow_of("public::shop::fulfil") == "public::shop::fulfil"
    for target in ("flows.py", "shop.orders:fulfil", "dir/flow", "nightly.yaml"):
        with pytest.raises(InvalidTarget, match="by name"):
            workflow_of(target)
