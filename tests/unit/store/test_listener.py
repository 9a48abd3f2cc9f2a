"""Notifications become wake-ups: each topic once however often it came, and not more often than the interval allows."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Iterator
from typing import NamedTuple, cast

import pytest

from tests.kit.waiting import PATIENCE, until
from turnout.store.postgres.listener import DELIVERY_INTERVAL, Listener
from turnout.store.postgres.pool import Connection

MANY = 5_000


class Note(NamedTuple):
    """A notification as libpq has it."""

    extra: bytes


class Server:
    """A connection whose notifications the test makes. Those that were sent at once are read at once."""

    def __init__(self) -> None:
        self._read, self._write = os.pipe()
        self._sent: deque[Note] = deque()
        self.pgconn = self
        self.listens = threading.Event()

    def notify(self, *topics: str) -> None:
        self._sent.extend(Note(topic.encode()) for topic in topics)
        os.write(self._write, b"x")

    # -- what a listener uses of a connection -------------------------------------------------------------------
    def execute(self, statement: str) -> None:
        self.listens.set()

    def fileno(self) -> int:
        return self._read

    def consume_input(self) -> None:
        os.set_blocking(self._read, False)
        try:
            os.read(self._read, MANY)
        except BlockingIOError:
            return

    def notifies(self) -> Note | None:
        return self._sent.popleft() if self._sent else None

    def close(self) -> None:
        os.close(self._read)
        os.close(self._write)


class Heard:
    """Counts wake-ups by topic."""

    def __init__(self) -> None:
        self.topics: Counter[str] = Counter()

    def __call__(self, topic: str) -> None:
        self.topics[topic] += 1


@pytest.fixture
def server() -> Server:
    return Server()


@pytest.fixture
def heard(server: Server) -> Iterator[Heard]:
    """What a listener has heard of the server."""
    heard = Heard()
    listener = Listener(lambda: cast("Connection", server), heard)
    assert server.listens.wait(PATIENCE)
    until(lambda: heard.topics["any"], "it does not begin")
    yield heard
    listener.stop()


def test_topics_that_arrive_together_are_delivered_once(server: Server, heard: Heard) -> None:
    server.notify(*["runs", "finished"] * MANY)
    until(lambda: heard.topics["finished"], "nothing was delivered")
    server.notify("last")
    until(lambda: heard.topics["last"], "the last topic was not delivered")
    assert heard.topics == {"any": 1, "runs": 1, "finished": 1, "last": 1}


def test_a_storm_is_delivered_at_an_interval_and_its_end_is_not_lost(server: Server, heard: Heard) -> None:
    began = time.monotonic()
    for _ in range(MANY):
        server.notify("runs")
    server.notify("last")
    until(lambda: heard.topics["last"], "the last topic was not delivered")
    took = time.monotonic() - began
    assert 1 <= heard.topics["runs"] <= 10 + took / DELIVERY_INTERVAL
