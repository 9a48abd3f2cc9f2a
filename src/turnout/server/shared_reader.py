"""Reads a source of events for all of its followers: one loop that runs while there is a follower."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol

from turnout.errors import StoreError
from turnout.rate_limited_log import RateLimitedLog
from turnout.server.fan_out import Batch, FanOut, Follower, Frame

log = logging.getLogger("turnout.server")

READ_INTERVAL = 0.1
"""Seconds between two reads of a source that has nothing new."""
OUTAGE_INTERVAL = 1.0
"""Seconds until the next read while the database is away."""

InThread = Callable[..., Awaitable[Any]]


class Source(Protocol):
    """Events in order, read page by page from a position on. ``read`` blocks."""

    over: bool
    """True once no more events can come."""

    def read(self) -> list[Frame]:
        """Returns the next events, none if there are none now, and continues behind them."""
        ...

    def copy(self) -> Source:
        """Returns a source that continues at the same position."""
        ...

    def includes(self, frame: Frame) -> bool:
        """True if the event lies before the position at which this source continues."""
        ...


class SharedReader:
    """Reads one source on behalf of all followers, from the position of the first one on."""

    def __init__(self, source: Source, in_thread: InThread, done: Callable[[], object]) -> None:
        self._source = source
        self._in_thread = in_thread
        self._done = done
        """Called when the last follower has left, or no more events can come."""
        self._fan_out = FanOut()
        self._task: asyncio.Task[None] | None = None
        self._rate_limited_log = RateLimitedLog(log)

    @contextmanager
    def follow(self) -> Iterator[Follower]:
        """Yields a follower that gets every event that is read from now on."""
        follower = Follower()
        self._fan_out.add(follower)
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="turnout-events")
        try:
            yield follower
        finally:
            self._fan_out.remove(follower)
            if not len(self._fan_out):
                self._task.cancel()
                self._done()

    async def _run(self) -> None:
        while not self._source.over:
            try:
                frames = await self._in_thread(self._source.read)
            except StoreError as error:
                self._rate_limited_log.failure("events are not read: %s", error)
                await asyncio.sleep(OUTAGE_INTERVAL)
                continue
            except Exception:
                log.exception("events cannot be read")
                self._end("failed")
                return
            self._rate_limited_log.recovered("events are read again")
            self._fan_out.publish(frames)
            if not frames and not self._source.over:
                await asyncio.sleep(READ_INTERVAL)
        self._end("over")

    def _end(self, reason: str) -> None:
        self._done()
        self._fan_out.close(reason)


class SharedReaders:
    """The readers that have followers, by what they read."""

    def __init__(self, in_thread: InThread) -> None:
        self._in_thread = in_thread
        self._readers: dict[str, SharedReader] = {}

    def __len__(self) -> int:
        return len(self._readers)

    def reader(self, name: str, source: Source) -> SharedReader:
        """Returns the reader of this name; a new one begins at the position of ``source``."""
        known = self._readers.get(name)
        if known is None:
            known = self._readers[name] = SharedReader(source.copy(), self._in_thread, lambda: self._forget(name, made))
            made = known
        return known

    def _forget(self, name: str, reader: SharedReader) -> None:
        if self._readers.get(name) is reader:
            del self._readers[name]


def unsent(batch: Batch, source: Source) -> bytes:
    """Returns what of the batch a follower does not have yet, which has read up to the position of ``source``."""
    if not any(source.includes(Frame(kind, first, b"")) for kind, first in batch.first.items()):
        return batch.content
    return b"".join([each.content for each in batch.frames if not source.includes(each)])
