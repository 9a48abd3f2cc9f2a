"""A small worker on the sans-IO sessions of ``wire``: what the conformance run is tried on, whole and broken.

``TURNOUT_BROKEN`` names a rule that it does not keep. One thread owns the sockets; handlers run in threads of their own
and put what they have to say into a queue.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import zmq

from turnout.wire.documents import ResultMetadata, Step, StepError, StepResult
from turnout.wire.holdings import Holding, Holdings, unable
from turnout.wire.link import DrainAsked, Link, LinkState, Parted, Reconnect, Stop
from turnout.wire.messages import Hello, Progress

BROKEN = os.environ.get("TURNOUT_BROKEN", "")
CONCURRENCY = int(os.environ.get("TURNOUT_WORKER_CONCURRENCY", "4"))
POLL_MS = 10


class Failed(Exception):
    def __init__(self, message: str, **metadata: Any) -> None:
        super().__init__(message)
        self.metadata = metadata


class Body:
    """What a handler sees."""

    def __init__(self, step: Step, tell: Callable[..., None]) -> None:
        self.step = step
        self.tell = tell
        self.stop = threading.Event()
        self.outcome: str | None = None
        self.until = time.monotonic() + step.metadata.timeout_ms / 1000 if step.metadata.timeout_ms else None


def echo(body: Body) -> Any:
    step = body.step
    return {
        "args": step.metadata.args,
        "positional": list(step.metadata.positional),
        "config": step.handler_config,
        "context": step.task_context,
        "previous": step.previous_results,
    }


def fail(body: Body) -> Any:
    raise Failed("failed on purpose")


def fail_permanently(body: Body) -> Any:
    raise Failed("never again", retryable=False)


def retry_after(body: Body) -> Any:
    raise Failed("later", retry_after_ms=1500)


def sleep(body: Body) -> Any:
    body.stop.wait(body.step.handler_config["ms"] / 1000)
    return "slept"


def say(body: Body) -> Any:
    lines = body.step.handler_config["lines"]
    for line in lines:
        body.tell("say", line)
    return len(lines)


def progress(body: Body) -> Any:
    body.tell("progress", 1)
    body.tell("progress", 2)


def append(body: Body) -> Any:
    with Path(body.step.handler_config["file"]).open("a") as file:
        file.write(f"{body.step.token}\n")


HANDLERS = {
    f"conformance.{each.__name__}": each
    for each in (echo, fail, fail_permanently, retry_after, sleep, say, progress, append)
}


class Connection:
    """A link with its socket."""

    def __init__(self, worker: Worker, address: str) -> None:
        self.worker = worker
        self.address = address
        self.link = Link(worker.hello, worker.holdings, self.orphans)
        self.socket: zmq.Socket[bytes] | None = None
        self.due = 0.0
        self.pause = 0.05

    def orphans(self) -> list[Holding]:
        others = {each.link.hub for each in self.worker.connections if each is not self and each.is_open}
        return [each for each in self.worker.holdings if each.hub not in others]

    @property
    def is_open(self) -> bool:
        return self.link.state is LinkState.OPEN

    def connect(self, now: float) -> None:
        self.disconnect()
        socket = self.worker.context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 500)
        socket.setsockopt(zmq.RECONNECT_IVL, 20)
        if key := os.environ.get("TURNOUT_CURVE_SERVER_KEY"):
            socket.curve_serverkey = key.encode()
            socket.curve_publickey = os.environ["TURNOUT_CURVE_PUBLIC_KEY"].encode()
            socket.curve_secretkey = os.environ["TURNOUT_CURVE_SECRET_KEY"].encode()
        socket.connect(self.address)
        self.socket = socket
        self.worker.poller.register(socket, zmq.POLLIN)
        self.link.open(now)

    def disconnect(self) -> None:
        if self.socket is not None:
            self.worker.poller.unregister(self.socket)
            self.socket.close()
            self.socket = None

    def later(self, now: float) -> None:
        self.disconnect()
        self.due, self.pause = now + self.pause, min(5.0, self.pause * 2)


class Worker:
    def __init__(self) -> None:
        self.context = zmq.Context()
        self.poller = zmq.Poller()
        self.holdings = Holdings()
        self.said: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self.bodies: dict[str, Body] = {}
        self.terms = 0
        self.draining = False
        self.parting: float | None = None
        labels = os.environ.get("TURNOUT_WORKER_LABELS", "")
        self.hello = Hello(
            versions=("1.0",),
            worker_id=uuid.uuid4().hex,
            seq=0,
            codecs=("msgpack", "json"),
            credits=2 * CONCURRENCY,
            handlers=tuple(HANDLERS),
            labels=dict(each.split("=", 1) for each in labels.split(",") if each),  # type: ignore[arg-type]
            name=os.environ.get("TURNOUT_WORKER_NAME", ""),
            language="python",
            sdk_version="0",
            pid=os.getpid(),
        )
        self.connections = [Connection(self, each) for each in os.environ["TURNOUT_CONNECT"].split(",")]

    # -- the loop -----------------------------------------------------------------------------------------------------
    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.on_signal)
        while True:
            now = time.monotonic()
            for connection in self.connections:
                if (
                    connection.socket is None
                    and connection.link.state is not LinkState.REFUSED
                    and now >= connection.due
                ):
                    connection.connect(now)
            self.receive(now)
            self.hear()
            self.begin(time.monotonic())
            for connection in self.connections:
                if connection.socket is not None:
                    connection.link.tick(now)
                    self.flush(connection, now)
            self.join()
            if (code := self.over(now)) is not None:
                self.context.destroy(linger=500)
                return code

    def on_signal(self, *_: object) -> None:
        self.terms += 1
        if BROKEN == "ignores_sigterm":
            self.terms = 0
        if self.terms > 1:
            os._exit(143)

    def receive(self, now: float) -> None:
        ready = dict(self.poller.poll(POLL_MS))
        for connection in self.connections:
            while connection.socket is not None and connection.socket in ready:
                try:
                    frames = connection.socket.recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    break
                self.take(connection, frames, now)
                self.flush(connection, now)

    def take(self, connection: Connection, frames: list[bytes], now: float) -> None:
        if BROKEN == "ignores_ack" and frames[0] == b"ack":
            return
        before = {each.token for each in self.holdings if each.state != "waiting"}
        connection.link.receive(frames, now)
        if BROKEN == "runs_duplicates" and frames[0] == b"steps":
            for holding in self.holdings:
                if holding.token in before:
                    self.run_body(holding.step)
        if connection.is_open:
            connection.pause = 0.05

    def flush(self, connection: Connection, now: float) -> None:
        outbox, connection.link.outbox = connection.link.outbox, []
        for frames in outbox:
            self.send(connection, frames)
        actions, connection.link.actions = connection.link.actions, []
        for action in actions:
            match action:
                case Reconnect():
                    if BROKEN == "forgets_on_reconnect":
                        self.holdings.forget([each.token for each in self.holdings])
                    if BROKEN != "never_reconnects":
                        connection.later(now)
                case Parted():
                    if connection.link.state is not LinkState.REFUSED:
                        if self.parting is not None:
                            self.parting = 0.0
                        connection.later(now)
                    elif BROKEN == "comes_back":
                        connection.link.state = LinkState.CLOSED
                        connection.later(now)
                    else:
                        connection.disconnect()
                case Stop():
                    self.stop(action.token, "cancelled")
                case DrainAsked():
                    self.draining = True

    def send(self, connection: Connection, frames: list[bytes]) -> None:
        kind = frames[0].decode()
        if f"sends_no_{kind}" == BROKEN:
            return
        if BROKEN == "wrong_check":
            frames = [*frames[:3], b"00000000"]
        if connection.socket is not None:
            connection.socket.send_multipart(frames)

    # -- handlers -----------------------------------------------------------------------------------------------------
    def begin(self, now: float) -> None:
        by_hub = {each.link.hub: each.link for each in self.connections}
        for holding in self.holdings:
            if holding.state != "waiting":
                continue
            if BROKEN == "begins_without_leave":
                holding.granted = True
            if holding.overdue(now) and BROKEN != "ignores_deadline":
                self.holdings.give_back(holding.token, "its deadline has passed")
            elif self.draining:
                self.holdings.give_back(holding.token, "the worker ends")
            elif len(self.bodies) >= CONCURRENCY and BROKEN != "more_than_concurrency":
                continue
            elif not holding.granted:
                self.holdings.ask(holding.token)
            elif by_hub[holding.hub].in_contact(now) or BROKEN == "begins_out_of_contact":
                self.run_body(self.holdings.begin(holding.token))

    def run_body(self, step: Step) -> None:
        body = self.bodies[step.token] = Body(step, lambda *what: self.said.put((step.token, *what)))
        threading.Thread(target=self.call, args=(body,), daemon=True).start()

    def call(self, body: Body) -> None:
        step = body.step
        handler = HANDLERS.get(step.handler_class)
        if handler is None:
            body.tell("ended", unable(step, "handler_missing", f"there is no handler {step.handler_class!r}"))
            return
        metadata: dict[str, Any] = {}
        error: StepError | None = None
        output: Any = None
        try:
            output = handler(body)
        except Failed as failed:
            error, metadata = StepError(str(failed), "Failed"), failed.metadata
        if body.outcome is not None:
            body.tell("ended", unable(step, body.outcome, body.outcome))  # type: ignore[arg-type]
            return
        known = ResultMetadata(token=step.token, attempt=step.metadata.attempt, execution_time_ms=1.0, **metadata)
        status = "completed" if error is None else "failed"
        result = StepResult(step_id=step.step_id, status=status, output=output, error=error, metadata=known)
        body.tell("ended", result)

    def stop(self, token: str, outcome: str) -> None:
        body = self.bodies.get(token)
        if body is not None and f"ignores_{outcome}" != BROKEN:
            body.outcome = body.outcome or outcome
            body.stop.set()

    def hear(self) -> None:
        """What the handlers have said."""
        for token, body in self.bodies.items():
            if body.until is not None and time.monotonic() >= body.until:
                self.stop(token, "timed_out")
        while not self.said.empty():
            token, what, value = self.said.get()
            match what:
                case "say":
                    self.holdings.say(token, "stdout", value)
                case "progress":
                    for connection in self.connections:
                        if connection.is_open:
                            connection.link.progress(Progress(token, value, 2))
                case _:
                    self.bodies.pop(token, None)
                    self.holdings.finish(token, value)
        if BROKEN == "never_resends":
            for holding in self.holdings:
                if holding.sent > 0:
                    holding.sent = holding.lines_sent = holding.asked = float("inf")

    # -- credits and the end ------------------------------------------------------------------------------------------
    def join(self) -> None:
        """Follow the hubs that are alive, and divide the places among them."""
        known = {each.address for each in self.connections}
        for connection in list(self.connections):
            self.connections += [Connection(self, each) for each in connection.link.hubs if each not in known]
            known |= set(connection.link.hubs)
        if self.terms:
            self.draining = True
        alive = max(1, sum(each.is_open for each in self.connections))
        for connection in self.connections:
            connection.link.set_credits(0 if self.draining else max(1, 2 * CONCURRENCY // alive))
            self.flush(connection, time.monotonic())

    def over(self, now: float) -> int | None:
        if all(each.link.state is LinkState.REFUSED for each in self.connections):
            return 1
        if not self.draining or len(self.holdings):
            return None
        if self.parting is None:
            self.parting = now + 1
            for connection in self.connections:
                connection.link.bye("drained")
                self.flush(connection, now)
        if now >= self.parting:
            return 0 if BROKEN != "wrong_exit_code" else 3
        return None


if __name__ == "__main__":
    sys.exit(Worker().run())
