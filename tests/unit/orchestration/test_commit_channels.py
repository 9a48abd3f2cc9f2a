"""Commits over channels: sockets that the test holds the other end of."""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest

from tests.unit.orchestration.test_group_commit import HeldStore, applied, completed, write
from turnout.errors import StoreError, StoreReadOnly, StoreRejected, StoreUnreachable
from turnout.model.rows import RunWrite, WriteOutcome
from turnout.orchestration import ledger as module
from turnout.orchestration.ledger import Ledger

WAIT = 20.0


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "INITIAL_BACKOFF", 0.0)


class HeldChannel:
    """Answers each commit when the test says so."""

    def __init__(self, taken: int = 1) -> None:
        self._near, self._far = socket.socketpair()
        self._near.setblocking(False)
        self.sent: list[list[str]] = []
        self.refuses: deque[BaseException] = deque()
        """What the next ``send`` raises."""
        self.answers: deque[BaseException] = deque()
        """What the next answers are, in place of outcomes."""
        self._taken = taken
        """How many calls of ``flush`` it takes until all is sent."""
        self.flushed = 0
        self.closed = False
        self._writes: Sequence[RunWrite] = ()

    def fileno(self) -> int:
        return self._near.fileno()

    def send(self, writes: Sequence[RunWrite], wake: frozenset[str]) -> None:
        if self.refuses:
            raise self.refuses.popleft()
        self._writes = writes
        self.sent.append([write.run_id for write in writes])

    def flush(self) -> bool:
        self.flushed += 1
        return self.flushed % self._taken == 0

    def receive(self) -> list[WriteOutcome] | None:
        what = self._near.recv(1)
        if not what:
            raise StoreUnreachable("the connection was lost")
        if self.answers:
            raise self.answers.popleft()
        return applied(self._writes) if what == b"!" else None

    def close(self) -> None:
        self.closed = True
        self._near.close()
        self._far.close()

    def answer(self, text: bytes = b"!") -> None:
        self._far.send(text)

    def lose(self) -> None:
        self._far.close()


class ChannelStore(HeldStore):
    """Gives these channels, one for each request; then none for a while."""

    def __init__(self, *channels: HeldChannel, **options: Any) -> None:
        super().__init__(lanes=4, **options)
        self.channels = deque(channels)
        self.asked = 0
        self.refusal: StoreError | None = None

    def commit_channel(self) -> Any:
        self.asked += 1
        if self.refusal is not None:
            raise self.refusal
        return self.channels.popleft() if self.channels else None


def ledger_over(store: ChannelStore, width: int = 1) -> Ledger:
    return Ledger(store, max_commit=100, topics_of=lambda writes: frozenset(), width=lambda: width)  # type: ignore[arg-type]


async def warm(ledger: Ledger, store: ChannelStore, count: int = 1) -> None:
    """Lets the ledger open channels: one after each commit in a lane."""
    while store.asked < count:
        await asyncio.wait_for(ledger.write([write("warm", completed())]), WAIT)
        await asyncio.sleep(0.001)
    await until(lambda: bool(ledger._channels._free))


async def until(holds: Any) -> None:
    async with asyncio.timeout(WAIT):
        while not holds():
            await asyncio.sleep(0.001)


def run(scenario: Any) -> Any:
    return asyncio.run(scenario())


def test_the_first_commit_goes_by_a_lane_and_the_next_over_the_channel_that_it_opened() -> None:
    channel = HeldChannel()
    store = ChannelStore(channel)

    async def scenario() -> None:
        ledger = ledger_over(store)
        await warm(ledger, store)
        written = ledger.write([write("a", completed()), write("b", completed())])
        await until(lambda: channel.sent == [["a", "b"]])
        assert not written.done()
        channel.answer()
        assert all(outcome.applied for outcome in await asyncio.wait_for(written, WAIT))
        assert store.commits == [["warm"]]
        assert (ledger.metrics.commits, ledger.metrics.writes) == (2, 3)
        ledger.close()
        assert channel.closed

    run(scenario)


def test_what_comes_while_all_commits_are_under_way_gathers_for_the_next_one() -> None:
    channel = HeldChannel()
    store = ChannelStore(channel, held=True)

    async def scenario() -> None:
        ledger = ledger_over(store)
        store.let_go()
        await warm(ledger, store)
        written = [ledger.write([write("a", completed())])]
        written.append(ledger.write([write("lane", completed())]))  # the second that may be in flight
        written += [ledger.write([write(name, completed())]) for name in ("b", "c")]
        await until(lambda: store.commits == [["warm"], ["lane"]])
        assert channel.sent == [["a"]]
        channel.answer()
        await until(lambda: channel.sent == [["a"], ["b", "c"]])
        channel.answer()
        store.let_go()
        await asyncio.wait_for(asyncio.gather(*written), WAIT)
        ledger.close()

    run(scenario)


def test_a_part_of_an_answer_is_not_an_outcome() -> None:
    channel = HeldChannel()
    store = ChannelStore(channel)

    async def scenario() -> None:
        ledger = ledger_over(store)
        await warm(ledger, store)
        written = ledger.write([write("a", completed())])
        channel.answer(b".")
        await asyncio.sleep(0.01)
        assert not written.done()
        channel.answer()
        await asyncio.wait_for(written, WAIT)
        ledger.close()

    run(scenario)


def test_what_the_socket_does_not_take_is_sent_when_it_can() -> None:
    channel = HeldChannel(taken=3)
    store = ChannelStore(channel)

    async def scenario() -> None:
        ledger = ledger_over(store)
        await warm(ledger, store)
        written = ledger.write([write("a", completed())])
        await until(lambda: channel.flushed >= 3)
        assert channel.flushed == 3
        channel.answer()
        await asyncio.wait_for(written, WAIT)
        ledger.close()

    run(scenario)


def test_a_commit_whose_channel_was_lost_is_sent_again_by_a_lane_and_read_back() -> None:
    channel = HeldChannel()
    store = ChannelStore(channel)

    async def scenario() -> None:
        ledger = ledger_over(store)
        await warm(ledger, store)
        row = completed()
        written = ledger.write([write("a", row)])
        # It was committed before the connection was lost: a second time it is stale, and stored as it was written.
        store.stored["a"] = [row]
        store.script = [lambda writes: [WriteOutcome("a", (row.pos,))]]
        channel.lose()
        outcomes = await asyncio.wait_for(written, WAIT)
        assert outcomes[0].applied and channel.closed
        assert store.commits == [["warm"], ["a"]] and ledger.metrics.retries == 1
        ledger.close()

    run(scenario)


def test_a_commit_that_could_not_be_sent_counts_as_one_whose_outcome_is_unknown() -> None:
    channel = HeldChannel()
    store = ChannelStore(channel)

    async def scenario() -> None:
        ledger = ledger_over(store)
        await warm(ledger, store)
        channel.refuses.append(StoreUnreachable("gone"))
        row = completed()
        store.stored["a"] = [row]
        store.script = [lambda writes: [WriteOutcome("a", (row.pos,))]]
        outcomes = await asyncio.wait_for(ledger.write([write("a", row)]), WAIT)
        assert outcomes[0].applied and channel.closed
        ledger.close()

    run(scenario)


@pytest.mark.parametrize("refusal", [StoreRejected("an illegal move"), StoreReadOnly("a standby")])
def test_what_the_database_refuses_is_no_outage_and_a_lane_finds_out_why(refusal: StoreError) -> None:
    channel = HeldChannel()
    channel.answers.append(refusal)
    store = ChannelStore(channel)
    outages: list[bool] = []

    async def scenario() -> None:
        ledger = Ledger(
            store,  # type: ignore[arg-type]
            max_commit=100,
            topics_of=lambda writes: frozenset(),
            width=lambda: 1,
            on_outage=outages.append,
        )
        await warm(ledger, store)
        store.poison = {"bad"}
        written = ledger.write([write("good", completed()), write("bad", completed())])
        channel.answer()
        outcomes = await asyncio.wait_for(written, WAIT)
        assert outcomes[0].applied and outcomes[1].rejected
        assert (ledger.metrics.retries, outages, channel.closed) == (0, [], True)
        ledger.close()

    run(scenario)


def test_what_cannot_be_sent_is_left_to_a_lane_which_finds_the_run_at_fault() -> None:
    channel = HeldChannel()
    store = ChannelStore(channel)

    async def scenario() -> None:
        ledger = ledger_over(store)
        await warm(ledger, store)
        channel.refuses.append(StoreRejected("a lone surrogate"))
        store.poison = {"bad"}
        outcomes = await asyncio.wait_for(ledger.write([write("good", completed()), write("bad", completed())]), WAIT)
        assert outcomes[0].applied and outcomes[1].rejected
        assert ledger.metrics.retries == 0 and not channel.closed
        written = ledger.write([write("next", completed())])
        await until(lambda: channel.sent == [["next"]])
        channel.answer()
        await asyncio.wait_for(written, WAIT)
        ledger.close()

    run(scenario)


def test_a_heavy_commit_goes_by_a_lane(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CHARACTERS", 10)
    channel = HeldChannel()
    store = ChannelStore(channel)

    async def scenario() -> None:
        ledger = ledger_over(store)
        await warm(ledger, store)
        heavy = write("heavy", msgspec.structs.replace(completed(), output="x" * 11))
        await asyncio.wait_for(ledger.write([heavy]), WAIT)
        assert store.commits[-1] == ["heavy"] and not channel.sent
        ledger.close()

    run(scenario)


def test_a_channel_that_is_lost_while_idle_is_replaced_after_the_next_commit() -> None:
    channel, next_one = HeldChannel(), HeldChannel()
    store = ChannelStore(channel, next_one)

    async def scenario() -> None:
        ledger = ledger_over(store)
        await warm(ledger, store)
        channel.lose()
        await until(lambda: channel.closed)
        assert ledger.metrics.retries == 0
        await warm(ledger, store, 2)
        written = ledger.write([write("a", completed())])
        await until(lambda: next_one.sent == [["a"]])
        next_one.answer()
        await asyncio.wait_for(written, WAIT)
        ledger.close()

    run(scenario)


def test_a_store_without_channels_is_asked_once() -> None:
    store = ChannelStore()

    async def scenario() -> None:
        ledger = ledger_over(store)
        for _ in range(3):
            await asyncio.wait_for(ledger.write([write("a", completed())]), WAIT)
            await until(lambda: store.asked == 1)
            await asyncio.sleep(0.001)
        assert store.asked == 1
        ledger.close()

    run(scenario)


def test_a_channel_that_could_not_be_opened_is_asked_for_again() -> None:
    store = ChannelStore(HeldChannel())
    store.refusal = StoreUnreachable("too many connections")

    async def scenario() -> None:
        ledger = ledger_over(store)
        await asyncio.wait_for(ledger.write([write("a", completed())]), WAIT)
        await until(lambda: store.asked == 1 and not ledger._channels._opening)
        store.refusal = None
        await warm(ledger, store, 2)
        ledger.close()

    run(scenario)


def test_a_ledger_that_closes_during_a_commit_closes_its_channel_after_the_answer() -> None:
    channel = HeldChannel()
    store = ChannelStore(channel)

    async def scenario() -> None:
        ledger = ledger_over(store)
        await warm(ledger, store)
        written = ledger.write([write("a", completed())])
        await until(lambda: bool(channel.sent))
        ledger.close()
        assert not channel.closed
        channel.answer()
        assert (await asyncio.wait_for(written, WAIT))[0].applied
        assert channel.closed

    run(scenario)
