"""Whatever is sent to a hub, it stays up, and the work of good workers is theirs."""

from __future__ import annotations

import gc
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import zmq

from tests.faults.children import eventually
from tests.faults.fuzz import Fuzzer
from tests.faults.guarantees import check_history, query
from tests.faults.languages import python
from tests.faults.scale import PATIENCE, scaled
from tests.faults.workers import Notes, Workers, check_notes
from turnout import Runner, remote, workflow
from turnout.executors.workers.settings import HubSettings
from turnout.wire.frames import pack, unpack
from turnout.wire.hub_sessions import HubProtocol
from turnout.wire.messages import Error, Hello, Welcome

FRAMES = scaled(1_500, 10_000)
FUZZERS = 4
AT_ONCE = 50
"""Messages between two looks at the answers."""
RUNS = scaled(40, 200)
MOST_MEMORY = 200 * 1024 * 1024
"""What the process may grow by."""
MOVED = "select detail from history where old = 'running' and new = 'ready'"
OWN_WISH = "it is not its turn for long"
"""Why a worker gives back what it asked for ahead and cannot begin soon."""
HUB = HubSettings(address="tcp://127.0.0.1:0", heartbeat=0.5, lease=90.0, resend=0.5)
"""Nobody is taken for dead only because this machine is busy."""


class Sender:
    """A connection of somebody with bad intentions; some of them are workers, with a session of their own."""

    def __init__(self, context: zmq.Context[Any], address: str, number: int) -> None:
        self.socket: zmq.Socket[bytes] = context.socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.connect(address)
        self.session = ""
        if number % 2:
            who = {"worker_id": f"bad-{number}", "seq": 1, "credits": 4, "handlers": ("fuzz",)}
            self.socket.send_multipart(pack(Hello(versions=("1.0",), codecs=("json",), **who), ""))
            self.hear(wait_for=Welcome)

    def say(self, frames: list[bytes]) -> None:
        self.socket.send_multipart(frames)

    def hear(self, wait_for: type[Any] | None = None) -> None:
        """Take all answers; all must be sound, and none may be work."""
        while self.socket.poll(PATIENCE * 1000 if wait_for else 0):
            got = unpack(self.socket.recv_multipart())
            assert got.kind != "steps", "it was given work"
            if isinstance(got.message, Welcome):
                self.session = got.message.session
            if wait_for is not None and isinstance(got.message, wait_for):
                return
        assert wait_for is None, "the hub does not answer"

    def sync(self) -> None:
        """Everything that was sent has been taken: what is asked last is answered last."""
        self.say(pack(Error("sync"), "nobody's")[:3])
        self.hear(wait_for=Error)


@pytest.fixture
def workers(tmp_path: Path) -> Iterator[Workers]:
    found = Workers({"python": python()}, [], Notes(tmp_path / "notes"))
    yield found
    found.end()


def memory() -> int:
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def known_to_others(protocol: HubProtocol) -> tuple[list[str], list[str]]:
    """Sessions and tokens of the good worker, as somebody who listens might know them. From another thread than the
    hub's: what changes meanwhile is as good."""
    good = [each for each in list(protocol.workers.values()) if "elsewhere.any" in each.hello.handlers]
    return [each.session for each in good], [token for each in good for token in list(each.out)]


def test_random_frames_neither_bring_the_hub_down_nor_move_the_work_of_others(
    postgres_url: str, workers: Workers, caplog: pytest.LogCaptureFixture
) -> None:
    said = remote("said", handler="elsewhere.any")

    @workflow
    def fuzzed(text: str) -> str:
        return said.named("second")(text=said(text=text, seconds=0.05), seconds=0.05)

    caplog.set_level(logging.ERROR)
    context: zmq.Context[Any] = zmq.Context()
    with Runner(postgres_url, hub=HUB, workflows=[fuzzed], handle_sigterm=False) as runner:
        assert runner.hub is not None and runner.core.workers is not None
        protocol = runner.core.workers.protocol
        workers.hubs = [runner.hub]
        workers.start("python", concurrency=4)
        handles = [runner.submit(fuzzed, f"r{number}") for number in range(RUNS)]
        eventually("the good worker works", lambda: len(workers.notes) > 0)
        senders = [Sender(context, runner.hub, number) for number in range(FUZZERS)]
        fuzzers = [Fuzzer(seed, lambda: known_to_others(protocol)) for seed in range(FUZZERS)]
        before = memory()
        for number in range(FRAMES):
            which = number % FUZZERS
            senders[which].say(fuzzers[which].message(senders[which].session))
            if number % AT_ONCE == 0:
                for sender in senders:
                    sender.sync()
        for sender in senders:
            sender.sync()
        grown = memory() - before
        assert [handle.result() for handle in handles] == [f"r{number}>said>second" for number in range(RUNS)]
        counted = protocol.malformed
        for sender in senders:
            sender.socket.close()
    context.term()
    assert counted > FRAMES // 10, "what is malformed is counted"
    assert grown < MOST_MEMORY
    stumbled = [record.getMessage() for record in caplog.records if record.levelno >= logging.ERROR]
    assert not stumbled, stumbled[:3]
    ledger = check_history(postgres_url)
    begun = check_notes(workers.notes, ledger)
    assert set(begun.values()) == {1} and len(begun) == 2 * RUNS
    given_back = [detail for (detail,) in query(postgres_url, MOVED) if OWN_WISH not in str(detail)]
    assert not given_back, "nothing was taken from the good worker, but what it gave back"
    print(f"{FRAMES} messages, {counted} malformed, memory grew by {grown / 2**20:.1f} MiB")
