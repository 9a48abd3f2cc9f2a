"""A small server of functions for loopback: it invokes each name once, in a thread, and keeps the results.

    python function_server.py 8600

It stands for a service of functions. Results are kept in memory, for as long as the server runs.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote


def resize(picture: str, width: int) -> str:
    return f"{picture} at {width} px"


def resize_slowly(picture: str, width: int, until: str) -> str:
    """Goes on until a file is there."""
    while not Path(until).exists():
        time.sleep(0.01)
    return resize(picture, width)


FUNCTIONS: dict[str, Callable[..., Any]] = {"resize": resize, "resize_slowly": resize_slowly}


class Invocations:
    """The invocations by name. A name is invoked once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, dict[str, Any]] = {}

    def all(self) -> dict[str, str]:
        with self._lock:
            return {name: each["status"] for name, each in self._found.items()}

    def of(self, name: str) -> dict[str, Any] | None:
        with self._lock:
            found = self._found.get(name)
            return None if found is None else dict(found)

    def invoke(self, name: str, request: dict[str, Any]) -> dict[str, Any]:
        with self._lock:
            if name not in self._found:
                self._found[name] = {"status": "running", "started_at": time.time()}
                threading.Thread(target=self._run, args=(name, request), daemon=True).start()
            return dict(self._found[name])

    def cancel(self, name: str) -> dict[str, Any] | None:
        with self._lock:
            if self._found.get(name, {}).get("status") == "running":
                self._found[name]["status"] = "cancelled"
        return self.of(name)

    def _run(self, name: str, request: dict[str, Any]) -> None:
        try:
            output = FUNCTIONS[request["function"]](*request["args"], **request["kwargs"])
            outcome = {"status": "completed", "output": output}
        except Exception as error:
            outcome = {"status": "failed", "error": f"{type(error).__name__}: {error}"}
        with self._lock:
            if self._found[name]["status"] == "running":
                self._found[name] |= {**outcome, "finished_at": time.time()}


class Handler(BaseHTTPRequestHandler):
    invocations = Invocations()

    def do_GET(self) -> None:
        self._answer(200, self.invocations.all()) if self.path == "/" else self._about(self.invocations.of(self._name))

    def do_PUT(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._answer(202, self.invocations.invoke(self._name, request))

    def do_DELETE(self) -> None:
        self._about(self.invocations.cancel(self._name))

    @property
    def _name(self) -> str:
        return unquote(self.path.removeprefix("/invocations/"))

    def _about(self, found: dict[str, Any] | None) -> None:
        self._answer(404 if found is None else 200, found)

    def _answer(self, code: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        pass


if __name__ == "__main__":
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    print(f"functions at http://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()
