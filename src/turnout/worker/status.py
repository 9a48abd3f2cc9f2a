"""Declares the figures of a worker, and serves them over HTTP as ``/healthz`` and ``/metrics``."""

from __future__ import annotations

import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, ClassVar

import msgspec

from turnout.errors import InvalidSetting
from turnout.model.exposition import exposed, families, samples
from turnout.model.figures import Figure, Part


class HubFigures(msgspec.Struct, frozen=True, kw_only=True):
    """One hub as the worker sees it."""

    METRIC_PREFIX: ClassVar[str] = "turnout_worker_"
    address: str
    state: str
    in_contact: Annotated[bool, Figure("hub_in_contact", "1 while steps of this hub may begin.")]
    credits: Annotated[int, Figure("hub_credits", "Steps that this hub may have out.")]
    sent: Annotated[int, Figure("messages_total", "Messages, by hub and direction.", label="direction=sent")]
    received: Annotated[int, Figure("messages_total", label="direction=received")]
    reconnects: Annotated[int, Figure("reconnects_total", "Connections that were given up.")]
    malformed: Annotated[int, Figure("malformed_messages_total", "Messages that could not be read.")]


class Figures(msgspec.Struct, frozen=True, kw_only=True):
    """A worker at one moment."""

    METRIC_PREFIX: ClassVar[str] = "turnout_worker_"
    worker_id: str
    name: str
    uptime_seconds: Annotated[float, Figure("uptime_seconds", "Since the worker was started.")]
    draining: Annotated[bool, Figure("draining", "1 while it takes nothing more.")]
    concurrency: Annotated[int, Figure("concurrency", "Steps that may run at once.")]
    running: Annotated[int, Figure("running_steps", "Steps that run.")]
    stuck: Annotated[int, Figure("stuck_threads", "Threads held by bodies that were ended and do not return.")]
    waiting: Annotated[int, Figure("waiting_steps", "Steps that have not begun.")]
    unacknowledged: Annotated[int, Figure("unacknowledged_results", "Results that no hub has acknowledged.")]
    ended: Annotated[dict[str, int], Figure("steps_total", "Steps that ended, by outcome.", label="outcome")]
    hubs: Annotated[tuple[HubFigures, ...], Part(HubFigures, "hub", key="address")]

    @property
    def healthy(self) -> bool:
        """True while a hub is in contact, and while the worker drains."""
        return self.draining or any(hub.in_contact for hub in self.hubs)


def exposition(figures: Figures) -> str:
    """Returns the figures in the text format of Prometheus."""
    return exposed(families(Figures), samples(figures))


class HealthServer:
    """Serves 127.0.0.1 in a thread of its own from ``start`` to ``close``; port 0 takes any that is free."""

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
