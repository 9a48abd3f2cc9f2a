"""A client that follows the log of one run and continues where it was when its server comes back."""

from __future__ import annotations

import threading
import time

import httpx

from tests.kit.event_stream import Event, events

RETRY_INTERVAL = 0.05


class LogFollower(threading.Thread):
    """Collects the lines of a run until its end, over any number of connections."""

    def __init__(self, api: str, run_id: str) -> None:
        super().__init__(name=f"follower of {run_id}", daemon=True)
        self._api, self._path = api, f"/api/v1/runs/{run_id}/logs/stream"
        self.lines: list[tuple[str, int, str]] = []
        """Task, attempt and text."""
        self.connections = 0
        self.unexpected: list[str] = []
        self._last: str | None = None
        self._over = threading.Event()
        self.start()

    def run(self) -> None:
        with httpx.Client(base_url=self._api, timeout=30) as client:
            while not self._over.is_set():
                try:
                    self._follow(client)
                except httpx.TransportError:
                    time.sleep(RETRY_INTERVAL)

    def _follow(self, client: httpx.Client) -> None:
        with events(client, self._path, last=self._last) as stream:
            if stream.response.status_code != 200:
                time.sleep(RETRY_INTERVAL)  # a server that is starting
                return
            self.connections += 1
            for event in stream:
                self._take(event)

    def _take(self, event: Event) -> None:
        self._last = event.id or self._last
        match event.name:
            case "log":
                self.lines.append((event.data["task"], event.data["attempt"], event.data["text"]))
            case "end":
                self._over.set()
            case "closed":
                pass
            case other:
                self.unexpected.append(other)

    def end(self, timeout: float) -> None:
        """Waits for the end of the run."""
        self._over.wait(timeout)
        assert self._over.is_set(), f"{self.name} has not seen its end"
        self.join(timeout)
