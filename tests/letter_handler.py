"""The other side of a publisher of steps, moved by hand: it subscribes, and says exactly what a test tells it to."""

from __future__ import annotations

import json
import time
from typing import Any

import zmq

PATIENCE = 20.0


class LetterHandler:
    """Plain sockets and JSON. Batches without steps are answered by themselves, while it looks for others."""

    def __init__(self, steps: str, results: str, context: zmq.Context[Any] | None = None, *, bind: bool = True) -> None:
        self._own = context is None
        self._context = context or zmq.Context()
        self._results = self._context.socket(zmq.PUB)
        if bind:
            self._results.bind(results)
        else:
            self._results.connect(results)
        self.results = self._results.getsockopt_string(zmq.LAST_ENDPOINT)
        self._steps = self._context.socket(zmq.SUB)
        self._steps.setsockopt(zmq.LINGER, 0)
        self.frames: list[bytes] = []
        """Everything that came, but for questions."""
        if steps:
            self.subscribe(steps)

    def subscribe(self, steps: str) -> None:
        self._steps.connect(steps)
        self._steps.setsockopt(zmq.SUBSCRIBE, b"steps")

    def __enter__(self) -> LetterHandler:
        return self

    def __exit__(self, *exc: object) -> None:
        self.leave()

    def leave(self) -> None:
        if self._steps.closed:
            return
        self._steps.close()
        endpoint = self._results.getsockopt_string(zmq.LAST_ENDPOINT)
        if endpoint.startswith("inproc:"):
            self._results.unbind(endpoint)
        self._results.close(500)
        if self._own:
            self._context.term()

    def look(self, seconds: float) -> dict[str, Any] | None:
        """The next batch with steps, if one comes within this time."""
        until = time.monotonic() + seconds
        while self._steps.poll(max(0, int((until - time.monotonic()) * 1000))):
            frame = self._steps.recv()
            topic, _, body = frame.partition(b" ")
            assert topic == b"steps"
            batch = json.loads(body)
            if batch["steps"]:
                self.frames.append(frame)
                return batch
            self.say({"batch_id": batch["batch_id"], "protocol_version": "1.0", "results": []})
        return None

    def take(self) -> dict[str, Any]:
        """The next batch with steps, which must come."""
        batch = self.look(PATIENCE)
        assert batch is not None, "no steps came"
        return batch

    def say(self, document: Any) -> None:
        self.send(f"results {json.dumps(document)}".encode())

    def send(self, *frames: bytes) -> None:
        self._results.send_multipart(frames)

    def answer(self, batch: dict[str, Any], output: Any = None, **more: Any) -> None:
        """The same for every step of the batch, in as few words as possible."""
        result = {"status": "completed", "output": output} | more
        results = [{"step_id": step["step_id"], **result} for step in batch["steps"]]
        self.say({"batch_id": batch["batch_id"], "results": results})
