"""A real hub for tests of workers: the hub's side of the protocol on a ROUTER, in a thread, and what it has seen."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import zmq
import zmq.auth.thread

from tests.kit.forked import AT_START, Forked
from turnout.model.values import MAX_BYTES
from turnout.wire.documents import Step, StepMetadata, StepResult
from turnout.wire.handshake import HelloCheck, HubFacts
from turnout.wire.hub_events import (
    ForeignResultsReceived,
    HelloReceived,
    LinesReceived,
    ProgressReceived,
    ResultsReceived,
    StartRequested,
    StepsLost,
    StepsReturned,
    WorkerLeft,
)
from turnout.wire.hub_sessions import HubProtocol
from turnout.wire.messages import Welcome
from turnout.wire.worker_entries import WorkerEntry

ROOT = Path(__file__).parents[1]
WAIT = 120.0
"""Seconds after which a test that waits for a signal has failed; never a time that a passing test takes."""

_ids = itertools.count(1)
_numbers = itertools.count(1)


def step(handler: str, config: dict[str, Any] | None = None, **metadata: Any) -> Step:
    token = f"{next(_numbers)}.1"
    return Step(
        step_id=token.partition(".")[0],
        task_id="run",
        step_name="step",
        handler_class=handler,
        handler_config=config or {},
        metadata=StepMetadata(token=token, **metadata),
    )


class _Facts(HubFacts, frozen=True, kw_only=True):
    """Tells its workers another lease than its own, so that no slow machine makes it give one up."""

    told_lease_ms: int = 15_000

    def welcome(self, *args: Any) -> Welcome:
        return msgspec.structs.replace(super().welcome(*args), lease_ms=self.told_lease_ms)


class ScriptedHub:
    """Gives what it is told to, to any worker; acknowledges what it gets unless told not to."""

    def __init__(
        self,
        port: int = 0,
        *,
        hub_id: str = "",
        hello_check: HelloCheck | None = None,
        keys: tuple[bytes, bytes] | None = None,
        **facts: Any,
    ) -> None:
        self.results: dict[str, StepResult] = {}
        self.lines: dict[str, list[str]] = {}
        self.progress: list[float] = []
        self.lost: list[str] = []
        self.left: list[str] = []
        self.greeted: list[HelloReceived] = []
        self.acknowledges = True
        self._never_arrived: list[Step] = []
        self._given: set[str] = set()
        self._changed = threading.Condition()
        self._asked: list[Callable[[], None]] = []
        self._stopping = False
        self._context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
        self._socket = self._context.socket(zmq.ROUTER)
        self._socket.linger = 0
        self._authenticator = None
        if keys is not None:
            self._authenticator = zmq.auth.thread.ThreadAuthenticator(self._context)
            self._authenticator.start()
            self._authenticator.configure_curve(domain="*", location=zmq.auth.CURVE_ALLOW_ANY)
            self._socket.curve_publickey, self._socket.curve_secretkey = keys
            self._socket.curve_server = True
        self._socket.bind(f"tcp://127.0.0.1:{port or '*'}")
        self.address = self._socket.getsockopt(zmq.LAST_ENDPOINT).decode().rstrip("\x00")
        named = _Facts(hub_id=hub_id or f"hub{next(_ids)}", lease_ms=600_000, **facts)
        self._skipped = 0.0
        self.protocol = HubProtocol(named, lambda: f"s{next(_ids)}", hello_check)
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> ScriptedHub:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def close(self) -> None:
        self._stopping = True
        self._thread.join(WAIT)
        if self._authenticator is not None:
            self._authenticator.stop()
        self._context.destroy(linger=0)

    def skip(self, seconds: float) -> None:
        """Let time pass for this hub alone, tick by tick: after a jump it would take itself for held up."""

        def pass_by() -> None:
            for _ in range(10):
                self._skipped += seconds / 10
                self.protocol.tick(self._now())

        self.do(pass_by)

    def _now(self) -> float:
        return time.monotonic() + self._skipped

    def do(self, act: Callable[[], None]) -> None:
        """Do this in the hub's thread."""
        with self._changed:
            self._asked.append(act)

    def give(self, *steps: Step) -> None:
        """Give these to some worker that has room, as soon as there is one; returns when they are on their way."""
        self.until(lambda: any(worker.free >= len(steps) for worker in self.workers))
        self.do(lambda: self._give(steps))
        self.until(lambda: all(one.token in self._given for one in steps))

    def cancel(self, one: Step) -> None:
        self.do(lambda: self.protocol.cancel(self._holder(one), [one.token], "cancelled by the test"))

    def drain(self) -> None:
        self.do(lambda: self.protocol.drain(self.workers[0], "deploy"))

    @property
    def workers(self) -> list[WorkerEntry]:
        return [each for each in list(self.protocol.workers.values()) if each.session]

    def until(self, holds: Callable[[], Any]) -> None:
        with self._changed:
            assert self._changed.wait_for(holds, WAIT), "what the test waits for has not come"

    def result(self, one: Step) -> StepResult:
        self.until(lambda: one.token in self.results)
        return self.results[one.token]

    # -- in the hub's thread ----------------------------------------------------------------------------------------
    def _give(self, steps: Sequence[Step]) -> None:
        worker = next((each for each in self.workers if each.free >= len(steps)), None)
        if worker is None:  # it has left since the look
            self._never_arrived += steps
        else:
            self.protocol.give(worker, steps, self._now())
            self._given.update(one.token for one in steps)

    def _holder(self, one: Step) -> WorkerEntry:
        return next(each for each in self.protocol.workers.values() if one.token in each.out)

    def _serve(self) -> None:
        while not self._stopping:
            ready = self._socket.poll(20)
            with self._changed:
                if ready:
                    route, *frames = self._socket.recv_multipart()
                    self.protocol.receive(route, frames, self._now())
                asked, self._asked = self._asked, []
                for act in asked:
                    act()
                if self._never_arrived and any(each.free for each in self.workers):
                    self._give([self._never_arrived.pop()])
                self.protocol.tick(self._now())
                events, self.protocol.events = self.protocol.events, []
                for event in events:
                    self._hear(event)
                for route, frames in self.protocol.outbox:
                    self._socket.send_multipart([route, *frames])
                self.protocol.outbox.clear()
                self._changed.notify_all()

    def _hear(self, event: object) -> None:
        match event:
            case HelloReceived():
                self.greeted.append(event)
                lost = [held.token for held in event.unknown if held.token in self.lost]
                self.protocol.welcome(event.worker, lost)
            case ResultsReceived() | ForeignResultsReceived():
                self.results.update((result.token, result.decoded(MAX_BYTES)) for result in event.results)
                if self.acknowledges:
                    self.protocol.acknowledge(event.worker, [result.token for result in event.results])
            case LinesReceived():
                self.lines.setdefault(event.token, []).extend(line.text for line in event.lines)
                self.protocol.logged(event.worker, event.token, event.first + len(event.lines))
            case ProgressReceived():
                self.progress.append(event.progress.done)
            case StepsLost():
                self.lost += [one.token for one in event.steps]
            case WorkerLeft():
                self.left.append(event.worker.id)
            case StepsReturned():
                self._never_arrived += event.steps
            case StartRequested():
                self.protocol.answer_start(event.worker, event.tokens, [])
            case _:
                pass


def start_worker(*options: str, env: dict[str, str] | None = None, **more: Any) -> subprocess.Popen[str]:
    """``turnout worker`` with these options, as people start it."""
    path = os.pathsep.join([str(ROOT / "src"), str(ROOT / "tests")])
    environment = {**os.environ, "PYTHONPATH": path, **(env or {})}
    arguments = ["-m", "turnout", "worker", *options]
    if any(name.startswith(AT_START) for name in env or ()):
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen([sys.executable, *arguments], env=environment, text=True, **streams, **more)
    return Forked(arguments, env=environment, **more)
