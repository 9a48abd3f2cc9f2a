"""A small worker on the sans-IO sessions of ``wire``: what the conformance run is tried on, whole and broken.

``TURNOUT_BROKEN`` names a rule that it does not keep (``conformance_defects``). One thread owns the sockets; handlers
run in threads of their own and put what they have to say into a queue.
"""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import sys
import threading
import time
import uuid
from collections.abc import Callable
from itertools import count
from typing import Any

import zmq
from conformance_handlers import HANDLERS, Failed

from turnout.wire.documents import ResultMetadata, Step, StepError, StepResult
from turnout.wire.held_steps import HeldStep, HeldSteps, unable
from turnout.wire.messages import Hello, Progress
from turnout.wire.worker_session import Action, DrainRequested, HubClosed, Reconnect, SessionState, Stop, WorkerSession

CONCURRENCY = int(os.environ.get("TURNOUT_WORKER_CONCURRENCY", "4"))
POLL_MS = 10
INITIAL_BACKOFF, MAX_BACKOFF = 0.1, 5.0


class Body:
    """What a handler sees."""

    def __init__(self, step: Step, tell: Callable[..., None]) -> None:
        self.step = step
        self.tell = tell
        self.stop = threading.Event()
        self.outcome: str | None = None
        self.until = self.ends_at(time.monotonic())

    def ends_at(self, begun: float) -> float | None:
        timeout = self.step.metadata.timeout_ms
        return begun + timeout / 1000 if timeout is not None else None


class Connection:
    """A session with its socket."""

    def __init__(self, worker: Worker, address: str) -> None:
        self.worker = worker
        self.address = address
        self.session = WorkerSession(worker.hello, worker.held_steps, self.orphans, worker.hello_seqs.__next__)
        self.socket: zmq.Socket[bytes] | None = None
        self.due = 0.0
        self.pause = INITIAL_BACKOFF

    def orphans(self) -> list[HeldStep]:
        known = {each.session.hub for each in self.worker.connections if each.is_open}
        return [each for each in self.worker.held_steps if each.hub not in known]

    @property
    def is_open(self) -> bool:
        return self.session.state is SessionState.OPEN

    def connect(self, now: float) -> None:
        self.disconnect()
        self.socket = self.dealer()
        self.socket.connect(self.address)
        self.worker.poller.register(self.socket, zmq.POLLIN)
        self.session.open(now)

    def dealer(self) -> zmq.Socket[bytes]:
        socket = self.worker.context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 500)
        socket.setsockopt(zmq.RECONNECT_IVL, 20)
        socket.setsockopt(zmq.MAXMSGSIZE, 16 * 1024 * 1024)
        socket.setsockopt(zmq.IPV6, "[" in self.address)
        if key := os.environ.get("TURNOUT_CURVE_SERVER_KEY"):
            socket.curve_serverkey = key.encode()
            socket.curve_publickey = os.environ["TURNOUT_CURVE_PUBLIC_KEY"].encode()
            socket.curve_secretkey = os.environ["TURNOUT_CURVE_SECRET_KEY"].encode()
        return socket

    def disconnect(self) -> None:
        if self.socket is not None:
            self.worker.poller.unregister(self.socket)
            self.socket.close()
            self.socket = None

    def later(self, now: float) -> None:
        self.disconnect()
        self.due, self.pause = now + self.pause, min(MAX_BACKOFF, self.pause * 2)


class Worker:
    def __init__(self) -> None:
        self.context = zmq.Context()
        self.poller = zmq.Poller()
        self.held_steps = HeldSteps()
        self.hello_seqs = count(1)
        self.said: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()
        self.bodies: dict[str, Body] = {}
        self.aliases: dict[str, str] = {}
        """Other addresses of hubs that there is a connection with, by the hub."""
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
        self.connections: list[Connection] = []
        self.connections = [Connection(self, each) for each in os.environ["TURNOUT_CONNECT"].split(",")]

    # -- the loop -----------------------------------------------------------------------------------------------------
    def run(self) -> int:
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self.on_signal)
        while True:
            now = time.monotonic()
            for connection in self.connections:
                idle = connection.socket is None and connection.session.state is not SessionState.REFUSED
                if idle and now >= connection.due:
                    connection.connect(now)
            self.receive(now)
            self.hear()
            self.begin(time.monotonic())
            for connection in list(self.connections):
                if connection.socket is not None:
                    connection.session.tick(now)
                    self.flush(connection, now)
            self.join()
            if (code := self.over(now)) is not None:
                self.context.destroy(linger=500)
                return code

    def on_signal(self, *_: object) -> None:
        self.terms += 1

    def receive(self, now: float) -> None:
        ready = dict(self.poller.poll(POLL_MS))
        for connection in list(self.connections):
            while connection.socket is not None and connection.socket in ready:
                try:
                    frames = connection.socket.recv_multipart(zmq.NOBLOCK)
                except zmq.Again:
                    break
                self.take(connection, frames, now)
                self.flush(connection, now)

    def take(self, connection: Connection, frames: list[bytes], now: float) -> None:
        was_open = connection.is_open
        connection.session.receive(frames, now)
        if connection.is_open and not was_open:
            self.welcomed(connection)

    def welcomed(self, connection: Connection) -> None:
        if not connection.session.over_limit:
            connection.pause = INITIAL_BACKOFF
        same = [each for each in self.connections if each.session.hub == connection.session.hub]
        newest = max(each.session.hello_seq for each in same)
        for each in same:
            if each.session.hello_seq < newest:
                self.retire(each)

    def retire(self, connection: Connection) -> None:
        """Another connection with its hub was made after it."""
        connection.disconnect()
        self.connections.remove(connection)
        self.aliases[connection.address] = connection.session.hub

    def flush(self, connection: Connection, now: float) -> None:
        outbox, connection.session.outbox = connection.session.outbox, []
        for frames in outbox:
            self.send(connection, frames)
        actions, connection.session.actions = connection.session.actions, []
        for action in actions:
            self.act(connection, action, now)

    def act(self, connection: Connection, action: Action, now: float) -> None:
        match action:
            case Reconnect():
                self.lost(connection, now)
            case HubClosed() if connection.session.state is SessionState.REFUSED:
                connection.disconnect()
            case HubClosed():
                if self.parting is not None:
                    self.parting = 0.0
                self.lost(connection, now)
            case Stop():
                self.stop(action.token, "cancelled")
            case DrainRequested():
                self.draining = True

    def lost(self, connection: Connection, now: float) -> None:
        connection.later(now)
        for address in [each for each, hub in self.aliases.items() if hub == connection.session.hub]:
            del self.aliases[address]
            self.connections.append(Connection(self, address))
        for each in self.connections:
            each.session.send_heartbeat(now)

    def send(self, connection: Connection, frames: list[bytes]) -> None:
        if connection.socket is not None:
            # A socket whose connection is gone for good takes nothing, and would wait for ever.
            with contextlib.suppress(zmq.Again):
                connection.socket.send_multipart(frames, zmq.NOBLOCK)

    # -- handlers -----------------------------------------------------------------------------------------------------
    def begin(self, now: float) -> None:
        contacts = {each.session.hub: each.session.in_contact(now) for each in self.connections}
        for held_step in list(self.held_steps.waiting.values()):
            if held_step.overdue(now):
                self.held_steps.return_step(held_step.token, "its deadline has passed")
            elif self.draining:
                self.held_steps.return_step(held_step.token, "the worker ends")
            elif len(self.bodies) >= CONCURRENCY:
                continue
            elif not held_step.granted:
                self.held_steps.request_start(held_step.token)
            elif contacts.get(held_step.hub):
                self.run_body(self.held_steps.begin(held_step.token))

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
        if body is not None:
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
                    self.held_steps.add_line(token, "stdout", value)
                case "progress":
                    for connection in self.connections:
                        connection.session.progress(Progress(token, value, 2))
                case _:
                    self.bodies.pop(token, None)
                    self.held_steps.finish(token, value)

    # -- credits and the end ------------------------------------------------------------------------------------------
    def join(self) -> None:
        """Follow the hubs that are alive, and divide the places among them."""
        known = {each.address for each in self.connections} | set(self.aliases)
        for connection in list(self.connections):
            self.connections += [Connection(self, each) for each in connection.session.hubs if each not in known]
            known |= set(connection.session.hubs)
        if self.terms:
            self.draining = True
        self.divide(0 if self.draining else 2 * CONCURRENCY)

    def divide(self, places: int) -> None:
        alive = max(1, sum(each.is_open for each in self.connections))
        for connection in self.connections:
            connection.session.set_credits(max(min(1, places), places // alive))
            self.flush(connection, time.monotonic())

    def over(self, now: float) -> int | None:
        if all(each.session.state is SessionState.REFUSED for each in self.connections):
            return 1
        if self.terms > 1:
            self.abandon(now)
            return 143
        if not self.draining or len(self.held_steps):
            return None
        if self.parting is None:
            self.parting = now + 1
            for connection in self.connections:
                connection.session.bye("drained")
                self.flush(connection, now)
        return 0 if now >= self.parting else None

    def abandon(self, now: float) -> None:
        """What still runs ends with this process."""
        for held_step in self.held_steps:
            if held_step.state == "running":
                self.held_steps.finish(held_step.token, unable(held_step.step, "lost", "its worker was stopped"))
        for connection in self.connections:
            connection.session.tick(now)
            self.flush(connection, now)


def main() -> int:
    if name := os.environ.get("TURNOUT_BROKEN"):
        from conformance_defects import DEFECTS

        DEFECTS[name].introduce()
    return Worker().run()


if __name__ == "__main__":
    # Under its own name: what a defect replaces is replaced in the module that runs.
    import conformance_worker

    sys.exit(conformance_worker.main())
