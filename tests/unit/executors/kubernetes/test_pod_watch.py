"""The watch of Pods against servers that serve no watch for long: it never asks without a pause."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from turnout.executors.kubernetes.api import OPENED, ApiError, Json
from turnout.executors.kubernetes.pod_watch import PodWatch
from turnout.executors.kubernetes.watch_state import Failure

REQUESTS = 40


async def ignore(*_: Any) -> None: ...


class Enough(BaseException):
    """Ends the watch."""


class Server:
    """Answers lists; its watches end at once. A request takes no time."""

    server = "http://cluster"

    def __init__(self, end: str) -> None:
        self.end = end
        self.requests = 0
        self.time = 0.0

    async def list(self, kind: str, selector: str) -> tuple[list[Json], str]:
        self._count()
        return [], str(self.requests)

    async def watch(self, kind: str, selector: str, version: str) -> AsyncIterator[tuple[str, Json]]:
        self._count()
        if self.end == "410":
            raise ApiError(Failure(410, "Gone"))
        yield OPENED, {}
        if self.end == "410 event":
            raise ApiError(Failure(410, "Expired"))

    async def sleep(self, seconds: float) -> None:
        self.time += seconds

    def _count(self) -> None:
        self.requests += 1
        if self.requests > REQUESTS:
            raise Enough


@pytest.mark.parametrize("end", ["410", "410 event", "closed"])
def test_a_server_that_ends_every_watch_is_not_asked_in_a_hot_loop(end: str) -> None:
    server: Any = Server(end)
    watch = PodWatch(
        server,
        "",
        listed=ignore,
        changed=ignore,
        synced=lambda in_sync: None,
        sleep=server.sleep,
        clock=lambda: server.time,
    )
    with pytest.raises(Enough):
        asyncio.run(watch.run())
    assert server.time > 60, f"{REQUESTS} requests within {server.time:g} s"
