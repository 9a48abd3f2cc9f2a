"""Between a publisher of steps and its subscriber: drops, doubles, delays, cuts and spoils what they say."""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections import Counter
from itertools import count, cycle
from typing import Any

import zmq

HARMS = ("dropped", "doubled", "delayed", "cut", "spoiled")


class PubSubProxy:
    """Hears steps where the executor publishes them, and results where the handler does, and passes most of them on.

    What it spoils cannot be read any more. These messages carry no check of their own, so a byte that is changed into
    another that makes sense too would go unnoticed; between real machines TCP sees to that.
    """

    def __init__(self, *, steps: tuple[str, str], results: tuple[str, str], share: float, seed: int) -> None:
        """``steps`` and ``results`` are each: where to connect, and where to bind."""
        self._ends = ((b"steps", *steps), (b"results", *results))
        self._share = share
        self._chance = random.Random(seed)
        self._harms = cycle(HARMS)
        self.done: Counter[str] = Counter()
        self._ended = threading.Event()
        self._bound = threading.Event()
        self._thread = threading.Thread(target=self._work, daemon=True)

    def __enter__(self) -> PubSubProxy:
        self._thread.start()
        self._bound.wait()
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended.set()
        self._thread.join()

    def _work(self) -> None:
        context = zmq.Context[Any]()
        poller = zmq.Poller()
        ways: dict[zmq.Socket[bytes], zmq.Socket[bytes]] = {}
        for topic, source, target in self._ends:
            out, into = context.socket(zmq.PUB), context.socket(zmq.SUB)
            for socket in (out, into):
                socket.setsockopt(zmq.LINGER, 0)
            out.bind(target)
            into.connect(source)
            into.setsockopt(zmq.SUBSCRIBE, topic)
            poller.register(into, zmq.POLLIN)
            ways[into] = out
        self._bound.set()
        later: list[tuple[float, int, zmq.Socket[bytes], bytes]] = []
        numbers = count()
        while not self._ended.is_set():
            for into, _ in poller.poll(5):
                for delay, frame in self._mangled(into.recv()):
                    heapq.heappush(later, (time.monotonic() + delay, next(numbers), ways[into], frame))
            while later and later[0][0] <= time.monotonic():
                _, _, out, frame = heapq.heappop(later)
                out.send(frame)
        for into, out in ways.items():
            into.close()
            out.close()
        context.term()

    def _mangled(self, frame: bytes) -> list[tuple[float, bytes]]:
        """What becomes of a message: the messages that arrive instead, and when."""
        chance = self._chance
        if chance.random() >= self._share:
            return [(0.0, frame)]
        what = next(self._harms)
        self.done[what] += 1
        match what:
            case "dropped":
                return []
            case "doubled":
                return [(0.0, frame), (chance.random() * 0.2, frame)]
            case "delayed":
                return [(chance.random() * 0.5, frame)]
            case "cut":
                return [(0.0, frame[: chance.randrange(len(frame))])]
            case _:
                at = chance.randrange(len(frame))
                return [(0.0, frame[:at] + b"\xff" + frame[at + 1 :])]
