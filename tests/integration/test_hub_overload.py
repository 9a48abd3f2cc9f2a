"""A worker that sends far too much is cut off, and neither the engine nor other workers are held up by it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import msgspec
import pytest

from tests.curve_keys import HubKeys, new_pair
from tests.integration.test_hub_keys import RawWorker, adding, keys, runner_of, worker_of
from turnout import Runner
from turnout.wire.frames import check_of
from turnout.wire.messages import Error, Welcome

__all__ = ["keys"]

GAP = 1.0
"""Seconds for which the event loop may be held up at most."""
BAD = b'{"metadata":{"token":"00000000-0000-0000-0000-000000000000.0:1"}}'


def message(kind: str, session: str, body: bytes) -> list[bytes]:
    parts = [kind.encode(), session.encode(), body]
    return [*parts, check_of(parts)]


def results(*entries: bytes) -> bytes:
    return b'{"batch_id":"b","protocol_version":"1.0","results":[' + b",".join(entries) + b"]}"


def packed_nils() -> bytes:
    count = 15_000_000
    head = msgspec.msgpack.encode({"batch_id": "b", "protocol_version": "1.0", "results": []})[:-1]
    return head + b"\xdd" + count.to_bytes(4, "big") + b"\xc0" * count


BODIES: dict[str, Callable[[], bytes]] = {
    "300,000 bad results": lambda: results(*[BAD] * 220_000, *[b"{}"] * 80_000),
    "15 MB of brackets": lambda: b"[" * 15_000_000,
    "15 MB of nils": packed_nils,
    "an output of 15 MB of objects": lambda: results(
        b'{"step_id":"1","status":"completed","metadata":{"token":"t"},"output":[' + b"{}," * 4_900_000 + b"{}]}"
    ),
}


class LoopGap:
    """The longest time for which the event loop of an engine was busy with one turn, while a callback was due.

    What counts is the processor time of its thread: on a busy machine a short turn may take long by the clock, which is
    not the engine's doing. ``by_the_clock`` is for people.
    """

    def __init__(self, runner: Runner) -> None:
        self._runner = runner
        self.longest = self.by_the_clock = 0.0
        self._ended = False

    async def _look(self) -> None:
        last, spent = time.monotonic(), time.thread_time()
        while not self._ended:
            await asyncio.sleep(0.005)
            now, cpu = time.monotonic(), time.thread_time()
            self.longest, self.by_the_clock = max(self.longest, cpu - spent), max(self.by_the_clock, now - last)
            last, spent = now, cpu

    def __enter__(self) -> LoopGap:
        self._looking = self._runner.core.loop.call(self._look())
        return self

    def __exit__(self, *exc: object) -> None:
        self._ended = True
        self._looking.result()


@contextmanager
def attacked(runner: Runner, keys: HubKeys, pair: Any, codecs: Sequence[str] = ("json",)) -> Iterator[RawWorker]:
    attacker = RawWorker(runner, keys.of(pair), "attacker", codecs=tuple(codecs))
    attacker.hear(Welcome)
    yield attacker
    attacker.close()


@pytest.mark.parametrize("attack", BODIES)
def test_messages_without_end_do_not_hold_up_the_engine(sqlite_url: str, keys: HubKeys, attack: str) -> None:
    good, bad = new_pair(), new_pair()
    keys.allow(good=(good, ""), bad=(bad, 'handlers = ["none"]'))
    body, codec = BODIES[attack](), "msgpack" if "nils" in attack else "json"
    with runner_of(sqlite_url, keys.settings()) as runner, worker_of(runner, keys.of(good)):
        assert runner.run(adding, 1) == 2
        with attacked(runner, keys, bad, (codec,)) as attacker, LoopGap(runner) as gap:
            frames = message("results", attacker.session, body)
            for _ in range(15):
                attacker.send_raw(frames)
            handles = [runner.submit(adding, number) for number in range(20)]
            assert [handle.result(60) for handle in handles] == list(range(1, 21)), "others keep working"
            if "output" not in attack:
                error = attacker.hear(Error)
                assert (error.code, error.retry) == ("over_limit", False), "it is told why"
    print(f"{attack}: the loop was held up for {gap.longest:.3f} s ({gap.by_the_clock:.3f} s by the clock)")
    assert gap.longest <= GAP


def test_a_flood_within_the_bounds_does_not_keep_others_from_working(sqlite_url: str, keys: HubKeys) -> None:
    good, bad = new_pair(), new_pair()
    keys.allow(good=(good, ""), bad=(bad, 'handlers = ["none"]'))
    held = b",".join(b'{"token":"00000000-0000-0000-0000-%012d.0:1","state":"done"}' % n for n in range(20_000))
    with runner_of(sqlite_url, keys.settings()) as runner, worker_of(runner, keys.of(good)):
        assert runner.run(adding, 1) == 2
        with attacked(runner, keys, bad) as attacker, LoopGap(runner) as gap:
            # All bad in the same way: none can be read, none was given; and many steps that it claims to hold.
            unread = message("results", attacker.session, results(*[BAD] * 5_000))
            for number in range(1, 41):
                attacker.send_raw(unread)
                beat = b'{"seq":%d,"credits":0,"in_flight":[%b]}' % (number, held)
                attacker.send_raw(message("heartbeat", attacker.session, beat))
            handles = [runner.submit(adding, number) for number in range(20)]
            assert [handle.result(60) for handle in handles] == list(range(1, 21)), "others keep working"
    print(f"a flood: the loop was held up for {gap.longest:.3f} s ({gap.by_the_clock:.3f} s by the clock)")
    assert gap.longest <= GAP
