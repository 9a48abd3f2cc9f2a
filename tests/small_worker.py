"""A worker in a thread of the test, on the sans-IO session: it runs its handlers one after another."""

from __future__ import annotations

import itertools
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

import zmq

from turnout.wire.documents import ResultMetadata, Step, StepError, StepResult
from turnout.wire.held_steps import HeldSteps
from turnout.wire.messages import Hello
from turnout.wire.worker_session import DrainRequested, HubClosed, Reconnect, Stop, WorkerSession
from turnout.worker.settings import CurveKeys

Handler = Callable[[Step], Any]


class SmallWorker:
    """``held`` stops it from beginning anything, or asking to; ``frozen`` from doing anything at all."""

    def __init__(
        self,
        *addresses: str,
        handlers: Mapping[str, Handler],
        labels: Mapping[str, str] | None = None,
        credits: int = 8,
        worker_id: str | None = None,
        keys: CurveKeys | None = None,
        routing_id: bytes | None = None,
        name: str = "small",
        host: str = "",
    ) -> None:
        self._keys = keys
        self._routing_id = routing_id
        self.refusal = ""
        """What a hub said that wants it no more."""
        self.id = worker_id or uuid.uuid4().hex
        self.handlers = dict(handlers)
        self.begun: Counter[str] = Counter()
        self.held = threading.Event()
        self.frozen = threading.Event()
        self.stopped: set[str] = set()
        self.drained = threading.Event()
        """A hub has asked it to leave; it stays, and asks for nothing."""
        self._ended = threading.Event()
        self._addresses = addresses
        self._hello = Hello(
            versions=("1.0",),
            worker_id=self.id,
            seq=0,
            codecs=("msgpack", "json"),
            credits=credits,
            handlers=tuple(handlers),
            labels=dict(labels or {}),
            name=name,
            language="python",
            host=host,
        )
        self.held_steps = HeldSteps()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> SmallWorker:
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.vanish()

    def vanish(self) -> None:
        """End without a word."""
        self._ended.set()
        self._thread.join(10)

    def _orphans(self) -> list[Any]:
        open_hubs = {session.hub for session in self._sessions if session.state == "open"}
        return [each for each in self.held_steps if each.hub not in open_hubs]

    def _work(self) -> None:
        context = zmq.Context()
        hello_seqs = itertools.count(1)
        self._sessions = [
            WorkerSession(self._hello, self.held_steps, self._orphans, hello_seqs.__next__) for _ in self._addresses
        ]
        sockets = [self._connect(context, address) for address in self._addresses]
        for session in self._sessions:
            session.open(time.monotonic())
        while not self._ended.is_set():
            if self.frozen.is_set():
                time.sleep(0.01)
                continue
            for number, session in enumerate(self._sessions):
                while sockets[number].poll(0):
                    session.receive(sockets[number].recv_multipart(), time.monotonic())
                self._run(session)
                session.tick(time.monotonic())
                for frames in session.outbox:
                    sockets[number].send_multipart(frames, zmq.NOBLOCK)
                session.outbox.clear()
                actions, session.actions = session.actions, []
                for action in actions:
                    if isinstance(action, Stop):
                        self.stopped.add(action.token)
                    elif isinstance(action, DrainRequested):
                        self.drained.set()
                    elif session.state == "refused":
                        self.refusal = session.refusal
                    elif isinstance(action, Reconnect | HubClosed):
                        sockets[number].close(0)
                        sockets[number] = self._connect(context, self._addresses[number])
                        session.open(time.monotonic())
            time.sleep(0.002)
        for socket in sockets:
            socket.close(0)
        context.term()

    def _connect(self, context: zmq.Context[Any], address: str) -> zmq.Socket[bytes]:
        socket = context.socket(zmq.DEALER)
        socket.setsockopt(zmq.LINGER, 0)
        if self._routing_id is not None:
            socket.setsockopt(zmq.ROUTING_ID, self._routing_id)
        if self._keys is not None:
            socket.curve_serverkey = self._keys.server.encode()
            socket.curve_publickey = self._keys.public.encode()
            socket.curve_secretkey = self._keys.secret.encode()
        socket.connect(address)
        return socket

    def _run(self, session: WorkerSession) -> None:
        for held_step in self.held_steps:
            if held_step.hub != session.hub or held_step.state != "waiting":
                continue
            if self.held.is_set() or not session.in_contact(time.monotonic()):
                continue
            if not held_step.granted:
                self.held_steps.request_start(held_step.token)
                continue
            step = self.held_steps.begin(held_step.token)
            self.begun[step.token] += 1
            metadata = ResultMetadata(token=step.token, attempt=step.metadata.attempt)
            try:
                output = self.handlers[step.handler_class](step)
                done = StepResult(step_id=step.step_id, status="completed", output=output, metadata=metadata)
                # A handler may say itself how it ended.
                result = output if isinstance(output, StepResult) else done
            except Exception as error:
                failure = StepError(str(error), type(error).__name__)
                result = StepResult(step_id=step.step_id, status="failed", error=failure, metadata=metadata)
            self.held_steps.finish(step.token, result)
