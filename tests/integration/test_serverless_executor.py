"""The executor of the example for functions over HTTP, against an endpoint whose answers a test has written."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from tests.kit.waiting import PATIENCE
from turnout import RoutingConfig, Runner, remote, workflow
from turnout.dispatcher import ExecutionStatus, ExecutorUnavailable, NoCapacity, TaskReadyEvent

pytestmark = pytest.mark.timeout(280)

ROOT = Path(__file__).parents[2]
RUNNING, DONE = {"status": "running"}, {"status": "completed", "output": 42}
CUT = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"
"""An answer that breaks off."""
GONE = b""
"""A connection that is closed without an answer."""
EVENT = TaskReadyEvent(run_id="run-1", task_id="run-1.0", task_name="flow::f", attempt=1, max_attempts=1)

double = remote("double", handler="double")


@workflow
def doubled(number: int) -> int:
    return double(number=number)


class Endpoint:
    """Answers, in order, by method: a status, an object, or the bytes of a whole response. The last one stays."""

    def __init__(self) -> None:
        self.url = ""
        self.answers: dict[str, list[Any]] = {"PUT": [RUNNING], "GET": [DONE], "DELETE": [RUNNING]}
        self.asked: list[tuple[str, str]] = []

    def next(self, method: str) -> Any:
        answers = self.answers[method]
        return answers.pop(0) if len(answers) > 1 else answers[0]

    def methods(self) -> list[str]:
        return [method for method, _ in self.asked]


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    found = Endpoint()
    with serving(found) as found.url:
        yield found


@contextmanager
def serving(endpoint: Endpoint) -> Iterator[str]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            endpoint.asked.append((self.command, self.path))
            answer = endpoint.next(self.command)
            if isinstance(answer, bytes):
                self.wfile.write(answer)
                self.close_connection = True
                return
            data = b"" if isinstance(answer, int) else json.dumps(answer).encode()
            self.send_response(answer if isinstance(answer, int) else 200)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_PUT = do_DELETE = answer

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The module of the executor, with polls that follow one another at once."""
    spec = importlib.util.spec_from_file_location("http_function", ROOT / "examples/serverless/http_function.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "http_function", module)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "FIRST_POLL", 0.001)
    monkeypatch.setattr(module, "LAST_POLL", 0.001)
    return module


class Works:
    """Loads what the executor uses of an attempt's work."""

    async def load(self, event: TaskReadyEvent) -> Any:
        body = SimpleNamespace(ref="double")
        return SimpleNamespace(
            task=SimpleNamespace(body=body),
            args=(21,),
            kwargs={},
            idempotency_key=event.task_id,
            traceparent="",
            begin_by=lambda: 0.0,
        )


def executed(example: ModuleType, url: str) -> Any:
    executor = example.HttpFunctionExecutor(url)
    executor.bind(Works())
    return asyncio.run(asyncio.wait_for(executor.execute(EVENT), PATIENCE))


@pytest.mark.parametrize(
    "answer", [CUT, GONE, b"HTTP/1.1 200 OK\r\n\r\n<html>", b"nonsense\r\n\r\n", 500, 403, 429, 204]
)
def test_a_poll_that_is_not_answered_readably_is_repeated(
    example: ModuleType, endpoint: Endpoint, answer: int | bytes
) -> None:
    endpoint.answers["GET"] = [answer, RUNNING, {}, answer, DONE]
    result = executed(example, endpoint.url)
    assert (result.status, result.output) == (ExecutionStatus.COMPLETED, "42"), "the function ran all the time"
    assert endpoint.methods() == ["PUT", *5 * ["GET"]]
    assert {path for _, path in endpoint.asked} == {"/invocations/run-1.0%3A1"}


@pytest.mark.parametrize("answer", [CUT, GONE, 502])
def test_an_invocation_that_may_have_begun_is_never_given_back(
    example: ModuleType, endpoint: Endpoint, answer: int | bytes
) -> None:
    endpoint.answers["PUT"] = [answer, 429, RUNNING]
    assert executed(example, endpoint.url).output == "42"
    assert endpoint.methods() == ["PUT", "PUT", "PUT", "GET"], "429 says nothing of the first request"


def test_an_endpoint_that_is_full_has_no_capacity(example: ModuleType, endpoint: Endpoint) -> None:
    endpoint.answers["PUT"] = [429]
    with pytest.raises(NoCapacity):
        executed(example, endpoint.url)


def test_an_endpoint_that_refuses_connections_is_unavailable(example: ModuleType) -> None:
    with pytest.raises(ExecutorUnavailable):
        executed(example, "http://127.0.0.1:1")


def test_an_invocation_that_is_refused_fails(example: ModuleType, endpoint: Endpoint) -> None:
    endpoint.answers["PUT"] = [404]
    with pytest.raises(OSError, match="404"):
        executed(example, endpoint.url)


def test_an_address_that_is_none_is_refused_at_once(example: ModuleType) -> None:
    with pytest.raises(ValueError, match="unknown url type"):
        example.HttpFunctionExecutor("functions.example.org")


def test_an_invocation_that_the_endpoint_has_forgotten_is_lost(example: ModuleType, endpoint: Endpoint) -> None:
    endpoint.answers["GET"] = [RUNNING, 404]
    assert executed(example, endpoint.url).status is ExecutionStatus.LOST
    executor = example.HttpFunctionExecutor(endpoint.url)
    assert asyncio.run(executor.reattach(EVENT)) is None


def test_a_cancel_asks_the_endpoint_to_stop_the_function(example: ModuleType, endpoint: Endpoint) -> None:
    asyncio.run(example.HttpFunctionExecutor(endpoint.url).cancel(EVENT))
    assert endpoint.asked == [("DELETE", "/invocations/run-1.0%3A1")]
    endpoint.answers["GET"] = [{"status": "cancelled"}]
    assert executed(example, endpoint.url).status is ExecutionStatus.CANCELLED


@pytest.mark.parametrize(("answer", "good"), [({}, True), (500, False), (CUT, False), (204, False)])
def test_the_check_says_whether_the_endpoint_answers(
    example: ModuleType, endpoint: Endpoint, answer: Any, good: bool
) -> None:
    endpoint.answers["GET"] = [answer]
    said = asyncio.run(example.HttpFunctionExecutor(endpoint.url).check())
    assert said is None if good else said.startswith(f"{endpoint.url} does not answer: ")


def test_a_run_waits_for_an_endpoint_that_is_full(example: ModuleType, endpoint: Endpoint, sqlite_url: str) -> None:
    endpoint.answers["PUT"] = [429, 429, RUNNING]
    functions = example.HttpFunctionExecutor(endpoint.url)
    with Runner(
        sqlite_url, workflows=(doubled,), executors={"functions": functions}, routing=RoutingConfig("functions")
    ) as runner:
        assert runner.run(doubled, 21) == 42
    names = [path for method, path in endpoint.asked if method == "PUT"]
    assert len(set(names)) == len(names) == 3, "each attempt has a name of its own"


def test_the_configuration_of_the_page_makes_the_executor(
    example: ModuleType, endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = (ROOT / "docs/how-to/serverless.md").read_text()
    block = page.partition("```toml\n")[2].partition("```")[0]
    address = tomllib.loads(block)["executors"]["functions"]["url"]
    (tmp_path / "turnout.toml").write_text(block.replace(address, endpoint.url))
    monkeypatch.chdir(tmp_path)
    with Runner(f"sqlite:///{tmp_path}/runs.db", workflows=(doubled,), routing=RoutingConfig("functions")) as runner:
        assert runner.run(doubled, 21) == 42
    assert endpoint.methods()[0] == "PUT"
