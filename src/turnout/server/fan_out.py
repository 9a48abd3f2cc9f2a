"""Hands the events of one reader to all of its followers, each with a bounded queue."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import msgspec

MAX_QUEUED_BATCHES = 64
"""Batches that a follower may be behind; one that is further behind is cut off and has to connect again."""

Position: TypeAlias = tuple[int, ...]


class Frame(msgspec.Struct, frozen=True, gc=False):
    """One event as it is sent, and its position among those of its kind."""

    kind: str
    position: Position
    content: bytes
    subject: str = ""
    """What followers may filter by."""
    data: bytes = b""
    """Of an event that may be sent together with others: its JSON, which ``content`` has too."""
    id: str = ""
    """Of such an event: the position that it is sent with."""


class Batch(msgspec.Struct, frozen=True):
    """Events that were read together; encoded once for all followers."""

    frames: tuple[Frame, ...]
    content: bytes
    first: Mapping[str, Position]
    """The first position of each kind."""


def batch_of(frames: Sequence[Frame]) -> Batch:
    first: dict[str, Position] = {}
    for each in frames:
        first.setdefault(each.kind, each.position)
    return Batch(tuple(frames), b"".join([each.content for each in frames]), first)


class Follower:
    """The queue of one follower."""

    def __init__(self, limit: int = MAX_QUEUED_BATCHES) -> None:
        self._limit = limit
        self._queue: deque[Batch] = deque()
        self._changed = asyncio.Event()
        self.closed: str | None = None
        """Why nothing more comes: ``too_slow``, ``stopping``, ``revoked``, or ``over`` after the last event."""

    def put(self, batch: Batch) -> None:
        """Queues a batch. A follower whose queue is full is closed, and what it has not read is dropped."""
        if self.closed is not None:
            return
        if len(self._queue) >= self._limit:
            self._queue.clear()
            self.close("too_slow")
            return
        self._queue.append(batch)
        self._changed.set()

    def close(self, reason: str) -> None:
        """Ends the follower; the first reason counts. Batches that are queued are still read."""
        if self.closed is None:
            self.closed = reason
        self._changed.set()

    async def take(self, timeout: float) -> list[Batch]:
        """Returns the queued batches; none after ``timeout`` seconds, or if the follower is closed."""
        if not self._queue and self.closed is None:
            try:
                async with asyncio.timeout(timeout):
                    await self._changed.wait()
            except TimeoutError:
                return []
        self._changed.clear()
        taken = list(self._queue)
        self._queue.clear()
        return taken


class FanOut:
    """The followers of one reader."""

    def __init__(self) -> None:
        self._followers: set[Follower] = set()

    def __len__(self) -> int:
        return len(self._followers)

    def add(self, follower: Follower) -> None:
        self._followers.add(follower)

    def remove(self, follower: Follower) -> None:
        self._followers.discard(follower)

    def publish(self, frames: Sequence[Frame]) -> None:
        """Hands these events to every follower."""
        if frames and self._followers:
            batch = batch_of(frames)
            for follower in self._followers:
                follower.put(batch)

    def close(self, reason: str) -> None:
        """Ends all followers."""
        for follower in self._followers:
            follower.close(reason)
