"""Clients that send requests byte by byte are ended; streams and slow answers are not."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from typing import Any

import pytest

from tests.kit.api import RunningApi, running_api
from tests.kit.api_flows import FLOWS, GATE
from turnout.runner.server_settings import ServerSettings

TIMEOUT = 0.6
DRIP = 0.05
"""Seconds between two bytes of a slow client."""
SLACK = 3.0
HEAD = b"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n"


@pytest.fixture(scope="module")
def api() -> Iterator[RunningApi]:
    settings = ServerSettings(port=0, header_timeout=TIMEOUT, request_timeout=TIMEOUT)
    with running_api(settings=settings, workflows=FLOWS) as running:
        yield running


@contextmanager
def connected(api: RunningApi) -> Iterator[socket.socket]:
    port = int(api.url.rpartition(":")[2])
    with socket.create_connection(("127.0.0.1", port)) as client:
        yield client


def dripped(client: socket.socket, endless: bytes) -> bytes:
    """Sends a byte at a time until the server ends the connection, and returns what it answered."""
    answer, began = b"", time.monotonic()
    client.settimeout(DRIP)
    for byte in chain.from_iterable(repeat(endless)):
        assert time.monotonic() - began < TIMEOUT + SLACK, "the server waits for ever"
        try:
            if endless:
                client.sendall(bytes([byte]))
            received = client.recv(65_536)
            if not received:
                return answer
            answer += received
        except TimeoutError:
            continue
        except (BrokenPipeError, ConnectionResetError):
            return answer
    raise AssertionError


def problem(answer: bytes) -> Any:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head and b"connection: close" in head, answer
    return json.loads(body)


def post(api: RunningApi, path: str, token: str | None) -> bytes:
    authorization = "" if token is None else f"Authorization: Bearer {token}\r\n"
    length = "Content-Type: application/json\r\nContent-Length: 100000\r\n"
    return f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{authorization}{length}\r\n".encode()


def test_a_head_that_does_not_end_is_answered_with_408(api: RunningApi) -> None:
    with connected(api) as client:
        client.sendall(HEAD)
        found = problem(dripped(client, b"x-more: and more\r\n"))
    assert (found["status"], found["code"]) == (408, "slow_request")
    assert "header_timeout" in found["detail"]


def test_a_connection_that_sends_nothing_is_ended(api: RunningApi) -> None:
    with connected(api) as client:
        client.settimeout(TIMEOUT + SLACK)
        while client.recv(65_536):
            pass


def test_the_next_request_of_a_kept_connection_is_bounded_as_well(api: RunningApi) -> None:
    with connected(api) as client:
        client.settimeout(SLACK)
        for _ in range(2):
            client.sendall(HEAD + b"\r\n")
            answer = b""
            while not answer.endswith(b'{"status":"ok"}'):
                answer += client.recv(65_536)
        client.sendall(HEAD)
        assert problem(dripped(client, b"x-more: and more\r\n"))["code"] == "slow_request"


@pytest.mark.parametrize("path", ["/api/v1/runs", "/api/v1/tokens"])
def test_a_body_that_does_not_end_is_answered_with_408(api: RunningApi, path: str) -> None:
    with connected(api) as client:
        client.sendall(post(api, path, api.token("admin")))
        found = problem(dripped(client, b" "))
    assert (found["status"], found["code"]) == (408, "slow_request")


def test_a_body_that_goes_on_after_its_answer_ends_with_the_connection(api: RunningApi) -> None:
    with connected(api) as client:
        client.sendall(post(api, "/api/v1/runs", None))
        assert dripped(client, b" ").startswith(b"HTTP/1.1 401")


def test_what_is_no_http_is_answered_with_a_problem_document(api: RunningApi) -> None:
    with connected(api) as client:
        client.sendall(b"\x16\x03\x01 hello\r\n\r\n")
        client.settimeout(SLACK)
        answer = b"".join(iter(lambda: client.recv(65_536), b""))
    assert problem(answer)["code"] == "malformed_request"


def test_a_stream_outlasts_the_bounds_of_requests(api: RunningApi) -> None:
    GATE.clear()
    operator = api.client("operator")
    run = operator.post("/api/v1/runs", json={"workflow": "hold"}).json()["run"]["id"]
    with operator.stream("GET", f"/api/v1/runs/{run}/events") as stream:
        lines = stream.iter_lines()
        assert any(line.startswith("id:") for line in lines)
        began = time.monotonic()
        while time.monotonic() - began < 3 * TIMEOUT:
            assert operator.get("/healthz").status_code == 200
        GATE.set()
        assert any(line == "event: end" for line in lines)
