"""A hub and its workers in one thread, with a network between them that may do anything, and a clock that is moved."""

from __future__ import annotations

import itertools
import random
from collections import Counter
from collections.abc import Sequence

import msgspec

from turnout.wire.documents import ResultMetadata, Step, StepMetadata, StepResult
from turnout.wire.handshake import HubFacts
from turnout.wire.held_steps import HeldSteps
from turnout.wire.hub_events import (
    ForeignResultsReceived,
    HelloReceived,
    ResultsReceived,
    StartRequested,
    StepsLost,
    StepsReturned,
)
from turnout.wire.hub_sessions import HubProtocol
from turnout.wire.messages import Hello
from turnout.wire.worker_session import HubClosed, Reconnect, SessionState, Stop, WorkerSession

ids = itertools.count(1)


class Weather(msgspec.Struct, frozen=True):
    """What may happen to a message, each as a probability."""

    drop: float = 0.0
    double: float = 0.0
    corrupt: float = 0.0
    truncate: float = 0.0
    delay: float = 0.0
    """Messages are late by up to this many seconds, so that they overtake one another."""
    cut: float = 0.0
    """At each tick, a connection breaks."""


CLEAR = Weather()


def step(token: str, *, handler: str = "echo", confirm: bool = False, **metadata: object) -> Step:
    return Step(
        step_id=token.split(".", maxsplit=1)[0],
        task_id="run",
        step_name="step",
        handler_class=handler,
        metadata=StepMetadata(token=token, confirm_start=confirm, **metadata),  # type: ignore[arg-type]
    )


def done(one: Step) -> StepResult:
    metadata = ResultMetadata(token=one.token, attempt=one.metadata.attempt)
    return StepResult(step_id=one.step_id, status="completed", output=one.token, metadata=metadata)


def hello(worker_id: str, **changes: object) -> Hello:
    facts: dict[str, object] = {
        "versions": ("1.0",),
        "worker_id": worker_id,
        "seq": 0,
        "codecs": ("msgpack", "json"),
        "credits": 4,
        "handlers": ("echo",),
    }
    return Hello(**{**facts, **changes})  # type: ignore[arg-type]


class Worker:
    """Runs its steps in no time, when it is told to."""

    def __init__(self, network: Network, worker_id: str, **changes: object) -> None:
        self.network = network
        self.held_steps = HeldSteps()
        self.session = WorkerSession(hello(worker_id, **changes), self.held_steps)
        self.route = b""
        self.begun: Counter[str] = Counter()
        self.dropped: set[str] = set()
        self.alive = True
        self.reconnect()

    def reconnect(self) -> None:
        self.network.routes.pop(self.route, None)
        self.route = f"r{next(ids)}".encode()
        self.network.routes[self.route] = self
        self.session.open(self.network.now)
        self.flush()

    def flush(self) -> None:
        for frames in self.session.outbox:
            self.network.post(self.route, frames, to_hub=True)
        self.session.outbox.clear()
        actions, self.session.actions = self.session.actions, []
        for action in actions:
            if isinstance(action, Reconnect):
                self.reconnect()
            elif isinstance(action, Stop) and action.drop:
                self.dropped.add(action.token)
            elif isinstance(action, HubClosed) and self.session.state is not SessionState.REFUSED:
                self.reconnect()

    def receive(self, frames: Sequence[bytes]) -> None:
        if self.alive:
            self.session.receive(frames, self.network.now)
            self.flush()

    def work(self, most: int = 100) -> None:
        """Begin and finish what may begin."""
        for held_step in list(self.held_steps)[:most]:
            if held_step.state != "waiting" or not self.session.in_contact(self.network.now):
                continue
            if not held_step.granted:
                self.held_steps.request_start(held_step.token)
            else:
                self.begun[held_step.token] += 1
                self.held_steps.finish(held_step.token, done(self.held_steps.begin(held_step.token)))

    def tick(self) -> None:
        if self.alive:
            self.session.tick(self.network.now)
            self.flush()


class Network:
    """Carries messages; keeps what became of each step."""

    def __init__(self, seed: int = 0, weather: Weather = CLEAR, **facts: int) -> None:
        self.random = random.Random(seed)
        self.weather = weather
        self.now = 0.0
        self.routes: dict[bytes, Worker] = {}
        self.hub = HubProtocol(HubFacts(hub_id="hub", **facts), lambda: f"s{next(ids)}")  # type: ignore[arg-type]
        self.under_way: list[tuple[float, int, bytes, list[bytes], bool]] = []
        self.ended: Counter[str] = Counter()
        self.lost: Counter[str] = Counter()
        self.returned: Counter[str] = Counter()
        self.waiting: set[str] = set()
        """Tokens whose running somebody waits for: what the database would know."""
        self.granted: Counter[str] = Counter()
        self.acknowledges = True

    def post(self, route: bytes, frames: list[bytes], *, to_hub: bool) -> None:
        weather, dice = self.weather, self.random
        if dice.random() < weather.drop:
            return
        for _ in range(2 if dice.random() < weather.double else 1):
            copy = list(frames)
            if dice.random() < weather.corrupt:
                where = dice.randrange(4)
                if copy[where]:
                    at = dice.randrange(len(copy[where]))
                    copy[where] = copy[where][:at] + bytes([copy[where][at] ^ 0x15]) + copy[where][at + 1 :]
            if dice.random() < weather.truncate:
                copy = copy[: dice.randrange(4)] if dice.random() < 0.5 else [*copy[:2], copy[2][:3], copy[3]]
            due = self.now + dice.random() * weather.delay
            self.under_way.append((due, next(ids), route, copy, to_hub))

    def deliver(self) -> None:
        """Everything that is due, and what follows from it at once."""
        while due := sorted(each for each in self.under_way if each[0] <= self.now):
            self.under_way = [each for each in self.under_way if each[0] > self.now]
            for _, _, route, frames, to_hub in due:
                if to_hub:
                    self.hub.receive(route, frames, self.now)
                elif route in self.routes:
                    self.routes[route].receive(frames)
                self.pump()

    def pump(self) -> None:
        """What the owner of the hub does with its events."""
        events, self.hub.events = self.hub.events, []
        for event in events:
            match event:
                case HelloReceived():
                    self.hub.welcome(event.worker, [h.token for h in event.unknown if h.token not in self.waiting])
                case ResultsReceived() | ForeignResultsReceived():
                    for result in event.results:
                        if result.token in self.waiting:
                            self.waiting.discard(result.token)
                            self.ended[result.token] += 1
                    if self.acknowledges:
                        self.hub.acknowledge(event.worker, [result.token for result in event.results])
                case StepsLost():
                    self._over(self.lost, event.steps)
                case StepsReturned():
                    self._over(self.returned, event.steps)
                case StartRequested():
                    self.granted.update(event.tokens)
                    self.hub.answer_start(event.worker, event.tokens, ())
                case _:
                    pass
        out, self.hub.outbox = self.hub.outbox, []
        for route, frames in out:
            self.post(route, frames, to_hub=False)

    def _over(self, counter: Counter[str], steps: Sequence[Step]) -> None:
        for one in steps:
            assert one.token in self.waiting
            self.waiting.discard(one.token)
            counter[one.token] += 1

    def give(self, steps: Sequence[Step]) -> list[Step]:
        """Hand steps to whoever has room; returns those that found none."""
        left: list[Step] = []
        for one in steps:
            room = [worker for worker in self.hub.workers.values() if worker.free]
            if room:
                self.waiting.add(one.token)
                self.hub.give(room[0], [one], self.now)
            else:
                left.append(one)
        self.pump()
        return left

    def pass_time(self, seconds: float, *, every: float = 0.25, work: bool = True) -> None:
        for _ in range(round(seconds / every)):
            self.now += every
            self.deliver()
            for worker in list(self.routes.values()):
                if self.random.random() < self.weather.cut and worker.alive:
                    self.under_way = [each for each in self.under_way if each[2] != worker.route]
                    worker.reconnect()
                if work and worker.alive:
                    worker.work()
                worker.tick()
            self.hub.tick(self.now)
            self.pump()
            self.deliver()
