"""Makes the streams of events that clients follow: what they missed first, then what one shared reader reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing

from turnout.errors import StoreError
from turnout.server.exchange import Caller
from turnout.server.fan_out import Batch, Follower, Frame
from turnout.server.shared_reader import InThread, SharedReaders, Source, unsent
from turnout.server.sse import HEARTBEAT, HEARTBEAT_INTERVAL, closing_frame
from turnout.server.streams import Stream, Streams

Keep = Callable[[Frame], bool]


class EventStreams:
    """The streams of one server. Used on the server's loop."""

    def __init__(self, streams: Streams, in_thread: InThread) -> None:
        self._streams = streams
        self._in_thread = in_thread
        self.readers = SharedReaders(in_thread)

    async def open(
        self, caller: Caller, name: str, source: Source, *, preface: bytes = b"", keep: Keep | None = None
    ) -> AsyncIterator[bytes]:
        """Returns the events of a source that was begun, from its position on; ``name`` says what it reads.

        Raises RequestError while too many streams are open."""
        events = self._events(caller, name, source, preface, keep)
        # The first read opens the stream, or is refused while the answer can still say so.
        return _continued(await anext(events), events)

    async def _events(
        self, caller: Caller, name: str, source: Source, preface: bytes, keep: Keep | None
    ) -> AsyncGenerator[bytes]:
        async with self._streams.stream(caller) as stream:
            # The first bytes go out at once: clients and proxies see that the stream is open.
            yield preface or HEARTBEAT
            async for content in self._missed(source, stream, keep):
                yield content
            if not source.over and stream.reason is None:
                with self.readers.reader(name, source).follow() as follower:
                    ending = asyncio.ensure_future(_end_with(stream, follower))
                    try:
                        async for content in self._missed(source, stream, keep):
                            yield content
                        async for content in _live(follower, source, keep):
                            yield content
                    finally:
                        ending.cancel()
                    if follower.closed not in (None, "over"):
                        yield closing_frame(follower.closed)
                        return
            if stream.reason is not None:
                yield closing_frame(stream.reason)

    async def _missed(self, source: Source, stream: Stream, keep: Keep | None) -> AsyncIterator[bytes]:
        """Yields what is stored already."""
        while not source.over and stream.reason is None:
            try:
                frames = await self._in_thread(source.read)
            except StoreError:
                return  # the shared reader goes on when the database is back
            if not frames:
                return
            if content := b"".join([each.content for each in frames if keep is None or keep(each)]):
                yield content


async def _continued(first: bytes, rest: AsyncGenerator[bytes]) -> AsyncIterator[bytes]:
    async with aclosing(rest):
        yield first
        async for content in rest:
            yield content


async def _live(follower: Follower, source: Source, keep: Keep | None) -> AsyncIterator[bytes]:
    while True:
        batches = await follower.take(HEARTBEAT_INTERVAL)
        if not batches:
            if follower.closed is not None:
                return
            yield HEARTBEAT
        elif content := b"".join([_chosen(batch, source, keep) for batch in batches]):
            yield content


def _chosen(batch: Batch, source: Source, keep: Keep | None) -> bytes:
    if keep is None:
        return unsent(batch, source)
    return b"".join([each.content for each in batch.frames if keep(each) and not source.includes(each)])


async def _end_with(stream: Stream, follower: Follower) -> None:
    """Closes the follower when the stream has to end."""
    follower.close(await stream.end())
