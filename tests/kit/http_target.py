"""A target of notifications on a loopback port: keeps what it gets, and answers as the test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.kit.waiting import until


@dataclass
class Received:
    """One request."""

    path: str
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


class Target:
    """What came, in order. ``answer`` gives the status of each request; it may block."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.answer: Callable[[Received], int] = lambda request: 204
        self.location = ""
        """Where a redirection leads."""
        self.url = ""

    def wait(self, count: int = 1) -> list[Received]:
        """Returns the requests once there are so many."""
        until(lambda: len(self.received) >= count)
        return list(self.received)


@contextmanager
def http_target() -> Iterator[Target]:
    target = Target()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            request = Received(self.path, {name.lower(): value for name, value in self.headers.items()}, body)
            target.received.append(request)
            self.send_response(target.answer(request))
            if target.location:
                self.send_header("Location", target.location)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    target.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield target
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
