"""Serves ``/healthz`` and ``/metrics`` of a worker over HTTP, on this machine only."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import msgspec

from turnout.errors import InvalidSetting
from turnout.worker.status import Figures, exposition


class HealthServer:
    """Serves in a thread of its own from ``start`` to ``close``; port 0 takes any that is free."""

    def __init__(self, port: int, figures: Callable[[], Figures]) -> None:
        class Handler(BaseHTTPRequestHandler):
            timeout = 5

            def do_GET(self) -> None:
                match self.path.partition("?")[0]:
                    case "/healthz":
                        now = figures()
                        status = "draining" if now.draining else "ok" if now.healthy else "out of contact"
                        body = {"status": status, **msgspec.to_builtins(now)}
                        self._send(200 if now.healthy else 503, "application/json", msgspec.json.encode(body))
                    case "/metrics":
                        self._send(200, "text/plain; version=0.0.4; charset=utf-8", exposition(figures()).encode())
                    case _:
                        self._send(404, "text/plain", b"/healthz or /metrics\n")

            do_HEAD = do_GET  # some probes read no body

            def _send(self, status: int, kind: str, body: bytes) -> None:
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Probes are not logged."""

        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except (OSError, OverflowError) as error:
            why = error.strerror if isinstance(error, OSError) else "a port is a number from 0 to 65535"
            raise InvalidSetting(
                f"--health-port is {port}, and 127.0.0.1:{port} cannot be had: {why}; 0 takes any port that is free",
                code="bad_health_port",
                field="health_port",
            ) from None
        self._server.daemon_threads = True

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def start(self) -> None:
        threading.Thread(target=self._server.serve_forever, name="turnout-health", daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
