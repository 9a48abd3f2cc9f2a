"""Makes the streams of events that clients follow: what they missed first, then what one shared reader reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Sequence
from contextlib import aclosing

import msgspec

from turnout.errors import StoreError
from turnout.server.exchange import Caller
from turnout.server.fan_out import Batch, Follower, Frame
from turnout.server.shared_reader import InThread, SharedReaders, Source, unsent
from turnout.server.sse import HEARTBEAT, HEARTBEAT_INTERVAL, closing_frame
from turnout.server.streams import Stream, Streams

Keep = Callable[[Frame], bool]
Joined = Callable[[Sequence[Frame]], bytes]
"""Returns events that were read together as they are sent."""


class View(msgspec.Struct, frozen=True):
    """The choice among events that a follower gets, and the form in which they are sent."""

    keep: Keep | None = None
    """None: all of them."""
    join: Joined | None = None
    """None: one after the other."""

    def chosen(self, frames: Sequence[Frame]) -> bytes:
        kept = frames if self.keep is None else [each for each in frames if self.keep(each)]
        return b"".join([each.content for each in kept]) if self.join is None else self.join(kept)


EVERYTHING = View()


class EventStreams:
    """The streams of one server. Used on the server's loop."""

    def __init__(self, streams: Streams, in_thread: InThread) -> None:
        self._streams = streams
        self._in_thread = in_thread
        self.readers = SharedReaders(in_thread)

    async def open(
        self, caller: Caller, name: str, source: Source, *, preface: bytes = b"", view: View = EVERYTHING
    ) -> AsyncIterator[bytes]:
        """Returns the events of a source that was begun, from its position on; ``name`` says what it reads.

        Raises RequestError while too many streams are open."""
        events = self._events(caller, name, source, preface, view)
        # The first read opens the stream, or is refused while the answer can still say so.
        return _continued(await anext(events), events)

    async def _events(
        self, caller: Caller, name: str, source: Source, preface: bytes, view: View
    ) -> AsyncGenerator[bytes]:
        async with self._streams.stream(caller) as stream:
            # The first bytes go out at once: clients and proxies see that the stream is open.
            yield preface or HEARTBEAT
            async for content in self._missed(source, stream, view):
                yield content
            if not source.over and stream.reason is None:
                with self.readers.reader(name, source).follow() as follower:
                    ending = asyncio.ensure_future(_end_with(stream, follower))
                    try:
                        async for content in self._missed(source, stream, view):
                            yield content
                        async for content in _live(follower, source, view):
                            yield content
                    finally:
                        ending.cancel()
                    if follower.closed not in (None, "over"):
                        yield closing_frame(follower.closed)
                        return
            if stream.reason is not None:
                yield closing_frame(stream.reason)

    async def _missed(self, source: Source, stream: Stream, view: View) -> AsyncIterator[bytes]:
        """Yields what is stored already."""
        while not source.over and stream.reason is None:
            try:
                frames = await self._in_thread(source.read)
            except StoreError:
                return  # the shared reader goes on when the database is back
            if not frames:
                return
            if content := view.chosen(frames):
                yield content


async def _continued(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        yield first
        async for content in rest:
            yield content


async def _live(follower: Follower, source: Source, view: View) -> AsyncIterator[bytes]:
    while True:
        batches = await follower.take(HEARTBEAT_INTERVAL)
        if not batches:
            if follower.closed is not None:
                return
            yield HEARTBEAT
        elif content := b"".join([_chosen(batch, source, view) for batch in batches]):
            yield content


def _chosen(batch: Batch, source: Source, view: View) -> bytes:
    if view is EVERYTHING:
        return unsent(batch, source)
    return view.chosen([each for each in batch.frames if not source.includes(each)])


async def _end_with(stream: Stream, follower: Follower) -> None:
    """Closes the follower when the stream has to end."""
    follower.close(await stream.end())
