"""A proxy between a hub and its workers that loses, delays, doubles, cuts short and changes messages, and cuts
connections. A process of its own: ``python -m tests.proxies.mangler FRONT HUB WEATHER``, until its input ends.

Every connection of a worker is a connection to the hub: what a session is bound to stays as it is.
"""

from __future__ import annotations

import heapq
import itertools
import json
import os
import random
import sys
import threading
import time
from typing import Any

import msgspec
import zmq

EVERY = 0.25


class Weather(msgspec.Struct, frozen=True):
    """What happens to messages, in either direction, each as a probability."""

    seed: int = 0
    drop: float = 0.0
    double: float = 0.0
    truncate: float = 0.0
    corrupt: float = 0.0
    late: float = 0.0
    """It comes later, by up to ``by`` seconds, and is overtaken by others."""
    by: float = 1.0
    lag: float = 0.0
    """Seconds that every message takes, in order."""
    cut: float = 0.0
    """Of each quarter of a second: a connection breaks, or all of them."""


class Mangler:
    """Everything in one thread."""

    def __init__(self, front: str, hub: str, weather: Weather) -> None:
        self._front_address, self._hub_address, self._weather = front, hub, weather
        self._chance = random.Random(weather.seed)
        self._context: zmq.Context[Any] = zmq.Context()
        self._poller = zmq.Poller()
        self._numbers = itertools.count()
        self._under_way: list[tuple[float, int, bytes, bool, list[bytes]]] = []
        """When it is due, its number, whose connection it is on, whether it goes to the hub, and what it is."""
        self._behind: dict[bytes, zmq.Socket[bytes]] = {}
        self._front = self._bind()

    def run(self, ended: threading.Event) -> None:
        cut_at = time.monotonic()
        while not ended.is_set():
            now = time.monotonic()
            wait = self._under_way[0][0] - now if self._under_way else 0.1
            ready = dict(self._poller.poll(int(max(0.0, min(wait, 0.1)) * 1000)))
            self._take(ready)
            self._deliver(time.monotonic())
            if now >= cut_at:
                cut_at = now + EVERY
                if self._chance.random() < self._weather.cut:
                    self._cut()

    # -- messages -------------------------------------------------------------------------------------------------
    def _take(self, ready: dict[Any, int]) -> None:
        if self._front in ready:
            for route, *frames in _all_of(self._front):
                self._send_on(route, True, frames)
        for route, socket in list(self._behind.items()):
            if socket in ready:
                for frames in _all_of(socket):
                    self._send_on(route, False, frames)

    def _send_on(self, route: bytes, to_hub: bool, frames: list[bytes]) -> None:
        weather, chance = self._weather, self._chance
        if chance.random() < weather.drop:
            return
        for _ in range(2 if chance.random() < weather.double else 1):
            some = list(frames)
            if chance.random() < weather.truncate:
                some = self._truncated(some)
            if chance.random() < weather.corrupt:
                some = self._corrupted(some)
            late = chance.random() * weather.by if chance.random() < weather.late else 0.0
            due = time.monotonic() + weather.lag + late
            heapq.heappush(self._under_way, (due, next(self._numbers), route, to_hub, some))

    def _deliver(self, now: float) -> None:
        while self._under_way and self._under_way[0][0] <= now:
            _, _, route, to_hub, frames = heapq.heappop(self._under_way)
            try:
                if to_hub:
                    self._towards_the_hub(route).send_multipart(frames, zmq.NOBLOCK)
                else:
                    self._front.send_multipart([route, *frames], zmq.NOBLOCK)
            except zmq.ZMQError:
                continue  # nobody is there any more

    def _truncated(self, frames: list[bytes]) -> list[bytes]:
        if len(frames) > 1 and self._chance.random() < 0.5:
            return frames[: self._chance.randrange(1, len(frames))]
        where = self._chance.randrange(len(frames))
        return [*frames[:where], frames[where][: len(frames[where]) // 2], *frames[where + 1 :]]

    def _corrupted(self, frames: list[bytes]) -> list[bytes]:
        where = self._chance.choice([at for at, frame in enumerate(frames) if frame] or [0])
        frame = bytearray(frames[where])
        if frame:
            frame[self._chance.randrange(len(frame))] ^= 1 << self._chance.randrange(8)
        return [*frames[:where], bytes(frame), *frames[where + 1 :]]

    # -- connections ----------------------------------------------------------------------------------------------
    def _bind(self) -> zmq.Socket[bytes]:
        front: zmq.Socket[bytes] = self._context.socket(zmq.ROUTER)
        front.linger = 0
        front.setsockopt(zmq.ROUTER_MANDATORY, 1)
        # The socket before this one lets go of its address in a thread of its own.
        for _ in range(500):
            try:
                front.bind(self._front_address)
                break
            except zmq.ZMQError:
                time.sleep(0.01)
        else:
            front.bind(self._front_address)
        self._poller.register(front, zmq.POLLIN)
        return front

    def _towards_the_hub(self, route: bytes) -> zmq.Socket[bytes]:
        if route not in self._behind:
            socket = self._behind[route] = self._context.socket(zmq.DEALER)
            socket.linger = 0
            socket.connect(self._hub_address)
            self._poller.register(socket, zmq.POLLIN)
        return self._behind[route]

    def _cut(self) -> None:
        """One connection to the hub, without a word to the worker; or everything."""
        if self._behind and self._chance.random() < 0.7:
            self._forget(self._chance.choice(list(self._behind)))
            return
        self._poller.unregister(self._front)
        self._front.close()
        for route in list(self._behind):
            self._forget(route)
        self._under_way.clear()
        self._front = self._bind()

    def _forget(self, route: bytes) -> None:
        socket = self._behind.pop(route)
        self._poller.unregister(socket)
        socket.close()


def _all_of(socket: zmq.Socket[bytes]) -> list[list[bytes]]:
    found: list[list[bytes]] = []
    while len(found) < 1_000:
        try:
            found.append(socket.recv_multipart(zmq.NOBLOCK))
        except zmq.Again:
            break
    return found


def main() -> None:
    front, hub, weather = sys.argv[1:]
    mangler = Mangler(front, hub, msgspec.convert(json.loads(weather), Weather))
    print("ready", flush=True)
    ended = threading.Event()

    def listen() -> None:
        sys.stdin.read()
        ended.set()

    threading.Thread(target=listen, daemon=True).start()
    mangler.run(ended)
    os._exit(0)


if __name__ == "__main__":
    main()
