"""One reader serves all followers: each gets every event once, and a slow one harms no other."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

from tests.kit.loop import ManualLoop
from turnout.errors import StoreUnreachable
from turnout.model.access import Role
from turnout.server.event_streams import EVERYTHING, EventStreams, View
from turnout.server.exchange import Caller
from turnout.server.fan_out import MAX_QUEUED_BATCHES, FanOut, Follower, Frame, batch_of
from turnout.server.shared_reader import MAX_IDLE_READS, OUTAGE_INTERVAL, READ_INTERVAL, SharedReaders, unsent
from turnout.server.sse import HEARTBEAT, HEARTBEAT_INTERVAL, closing_frame
from turnout.server.streams import Streams

CALLER = Caller(token_id="t", name="t", role=Role.VIEWER, via="local")


class Numbers:
    """A source whose events are numbers, as far as the test has counted."""

    def __init__(self, feed: Feed, position: int = 0) -> None:
        self.feed = feed
        self.position = position

    @property
    def over(self) -> bool:
        return self.feed.last is not None and self.position >= self.feed.last

    def read(self) -> list[Frame]:
        self.feed.reads += 1
        if self.feed.away:
            raise StoreUnreachable("away")
        frames = [frame(number) for number in range(self.position + 1, self.feed.newest + 1)]
        self.position = self.feed.newest
        return frames

    def copy(self) -> Numbers:
        return Numbers(self.feed, self.position)

    def includes(self, frame: Frame) -> bool:
        return frame.position <= (self.position,)


class Feed:
    def __init__(self) -> None:
        self.newest = 0
        self.reads = 0
        self.away = False
        self.last: int | None = None


def frame(number: int) -> Frame:
    return Frame("number", (number,), b"%d;" % number, "odd" if number % 2 else "even")


async def in_thread(call: Any, *args: Any) -> Any:
    return await asyncio.get_running_loop().run_in_executor(None, call, *args)


class Client:
    """A stream that is read as fast as it comes, or not at all."""

    def __init__(self, loop: ManualLoop, streams: EventStreams, source: Numbers, keep: Any = None) -> None:
        self.got = b""
        self.ended = False
        self._streams = streams
        self._source = source
        self._view = EVERYTHING if keep is None else View(keep=keep)
        self.task = loop.start(self._read())

    async def _read(self) -> None:
        async for content in await self._streams.open(CALLER, "numbers", self._source, view=self._view):
            self.got += content
        self.ended = True

    @property
    def numbers(self) -> list[int]:
        return [int(each) for each in self.got.replace(HEARTBEAT, b"").split(b";") if each.isdigit()]


class World:
    def __init__(self, loop: ManualLoop) -> None:
        self.loop = loop
        self.feed = Feed()
        self.access: Any = None
        self.open = Streams(self.access, 5)
        self.streams = EventStreams(self.open, in_thread)

    def client(self, position: int = 0, keep: Any = None) -> Client:
        return Client(self.loop, self.streams, Numbers(self.feed, position), keep)

    def happen(self, count: int = 1) -> None:
        self.feed.newest += count
        self.loop.advance(READ_INTERVAL)


@pytest.fixture
def world() -> Iterator[World]:
    loop = ManualLoop()
    asyncio.set_event_loop(loop)
    yield World(loop)
    loop.finish()
    asyncio.set_event_loop(None)


def test_a_client_gets_what_it_missed_and_what_follows_once_and_in_order(world: World) -> None:
    world.feed.newest = 3
    client = world.client(position=1)
    assert client.numbers == [2, 3]
    world.happen()
    world.happen(3)
    assert client.numbers == [2, 3, 4, 5, 6, 7]


def test_many_clients_share_one_reader_wherever_they_begin(world: World) -> None:
    clients = [world.client()]
    world.happen(2)
    clients += [world.client(position) for position in (0, 1, 2)]
    before = world.feed.reads
    world.happen(2)
    assert [client.numbers for client in clients] == [[1, 2, 3, 4], [1, 2, 3, 4], [2, 3, 4], [3, 4]]
    assert world.feed.reads - before <= 2
    assert len(world.streams.readers) == 1


def test_a_filter_leaves_events_out_before_and_after_the_client_has_caught_up(world: World) -> None:
    world.feed.newest = 4
    client = world.client(keep=lambda event: event.subject == "even")
    world.happen(4)
    assert client.numbers == [2, 4, 6, 8]


def test_the_reader_ends_with_its_last_client(world: World) -> None:
    clients = [world.client(), world.client()]
    for client in clients:
        client.task.cancel()
        world.loop.settle()
    before = world.feed.reads
    world.loop.advance(10 * READ_INTERVAL)
    assert (world.feed.reads, len(world.streams.readers), world.open.open) == (before, 0, 0)


def test_an_idle_stream_has_heartbeats(world: World) -> None:
    client = world.client()
    assert client.got == HEARTBEAT
    world.loop.advance(HEARTBEAT_INTERVAL * 2 + 1)
    assert client.got == HEARTBEAT * 3


def test_all_streams_are_told_to_reconnect_when_the_server_stops(world: World) -> None:
    clients = [world.client(), world.client()]
    world.open.stop()
    world.loop.settle()
    assert all(client.ended and client.got.endswith(closing_frame("stopping")) for client in clients)
    assert b"retry: 1000\n" in clients[0].got


def test_a_stream_ends_behind_the_last_event_of_its_source(world: World) -> None:
    client = world.client()
    world.feed.last = 2
    world.happen(2)
    assert client.ended and client.numbers == [1, 2]
    late = world.client()
    assert late.ended and late.numbers == [1, 2]


def test_events_wait_for_a_database_that_is_away(world: World) -> None:
    client = world.client()
    world.feed.away = True
    world.happen(2)
    world.feed.away = False
    world.loop.advance(OUTAGE_INTERVAL)
    assert client.numbers == [1, 2] and not client.ended


def test_a_source_that_fails_ends_the_streams_and_the_next_one_begins_anew(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    client = world.client()
    with monkeypatch.context() as patched:
        patched.setattr(Numbers, "read", lambda self: 1 / 0)
        world.loop.advance(READ_INTERVAL)
    assert client.ended and client.got.endswith(closing_frame("failed"))
    assert "events cannot be read" in caplog.text
    world.feed.newest = 2
    assert world.client().numbers == [1, 2]


def test_streams_are_bounded_and_a_refused_one_takes_no_slot(world: World) -> None:
    for _ in range(5):
        world.client()
    refused = world.client()
    assert "streams are open" in str(refused.task.exception())
    assert world.open.open == 5


# -- the queue of one follower ----------------------------------------------------------------------------------------
def test_a_follower_that_does_not_read_is_cut_off_and_the_others_get_everything(world: World) -> None:
    slow, quick, fan_out = Follower(), Follower(), FanOut()
    fan_out.add(slow)
    fan_out.add(quick)
    got: list[int] = []
    for number in range(1, MAX_QUEUED_BATCHES + 2):
        fan_out.publish([frame(number)])
        got += [each.position[0] for batch in world.loop.run(quick.take(1)) for each in batch.frames]
    assert got == list(range(1, MAX_QUEUED_BATCHES + 2)) and quick.closed is None
    assert slow.closed == "too_slow" and world.loop.run(slow.take(1)) == []


def test_a_follower_reads_what_is_queued_before_its_end(world: World) -> None:
    follower = Follower()
    follower.put(batch_of([frame(1)]))
    follower.close("over")
    follower.put(batch_of([frame(2)]))
    assert [batch.content for batch in world.loop.run(follower.take(1))] == [b"1;"]
    assert world.loop.run(follower.take(1)) == [] and follower.closed == "over"


def test_a_batch_is_sent_whole_unless_the_client_has_a_part_of_it() -> None:
    batch = batch_of([frame(4), frame(5)])
    assert unsent(batch, Numbers(Feed(), 3)) is batch.content
    assert unsent(batch, Numbers(Feed(), 4)) == b"5;"


def test_with_many_sources_each_is_read_less_often(world: World) -> None:
    feeds = [Feed() for _ in range(4 * round(MAX_IDLE_READS * READ_INTERVAL))]

    over = asyncio.Event()

    async def follow(number: int) -> None:
        with world.streams.readers.reader(str(number), Numbers(feeds[number])).follow():
            await over.wait()

    following = [world.loop.start(follow(number)) for number in range(len(feeds))]
    before = sum(feed.reads for feed in feeds)
    world.loop.advance(2.0)
    assert sum(feed.reads for feed in feeds) - before <= 2 * MAX_IDLE_READS + len(feeds)
    assert all(feed.reads > 2 for feed in feeds) and not any(task.done() for task in following)


def test_readers_are_made_once_for_each_name(world: World) -> None:
    readers, source = SharedReaders(in_thread), Numbers(world.feed)
    assert readers.reader("a", source) is readers.reader("a", source) is not readers.reader("b", source)
