"""A hub with keys: who comes in, who does not, and who has to go. Real CURVE sockets, workers in threads here."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from socket import create_connection
from typing import Any

import pytest
import zmq
from curve_keys import HubKeys, new_pair
from kit.waiting import until
from small_worker import SmallWorker

from turnout import Runner, task, workflow
from turnout.dispatcher import RoutingConfig, RoutingRule
from turnout.errors import InvalidSetting
from turnout.executors.workers.curve_auth import CurveAuthenticator
from turnout.executors.workers.settings import HubSettings
from turnout.orchestration.stages import takeover
from turnout.runner import EngineSettings
from turnout.wire.documents import ResultMetadata, Step, StepResult, StepResults
from turnout.wire.frames import pack, unpack
from turnout.wire.messages import Error, Heartbeat, Held, Hello, Welcome
from turnout.worker.settings import CurveKeys

EVERYTHING = RoutingConfig("default", (RoutingRule("**", "workers"),))


@task
def add_one(x: int) -> int:
    return x + 1


@workflow
def adding(x: int) -> int:
    return add_one(x)


def argument(step: Step) -> Any:
    return [*step.metadata.positional, *step.metadata.args.values()][0]


HANDLERS: dict[str, Callable[[Step], Any]] = {add_one.ref: lambda step: argument(step) + 1}


@pytest.fixture
def keys(tmp_path: Path) -> HubKeys:
    return HubKeys(tmp_path)


@contextmanager
def runner_of(url: str, hub: HubSettings) -> Iterator[Runner]:
    options = {"routing": EVERYTHING, "workflows": [adding], "handle_sigterm": False, "config": False}
    with Runner(url, hub=hub, settings=EngineSettings(sweep=0.3), **options) as runner:
        yield runner


def worker_of(runner: Runner, keys: CurveKeys | None, **options: Any) -> SmallWorker:
    assert runner.hub is not None
    return SmallWorker(runner.hub, handlers=HANDLERS, keys=keys, **options)


def said(caplog: pytest.LogCaptureFixture, text: str) -> int:
    """In how many lines of the hub's log this stands."""
    return sum(text in record.getMessage() for record in caplog.records if record.name == "turnout.hub")


@pytest.fixture(autouse=True)
def hub_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="turnout.hub")


def test_a_worker_with_a_listed_key_does_its_work_encrypted(store_url: str, keys: HubKeys) -> None:
    mine = new_pair()
    keys.allow(mine=(mine, ""))
    with runner_of(store_url, keys.settings()) as runner, worker_of(runner, keys.of(mine)) as worker:
        assert runner.run(adding, 1) == 2
        assert set(worker.begun.values()) == {1}


def test_a_key_that_is_not_listed_is_refused_until_it_is(
    sqlite_url: str, keys: HubKeys, caplog: pytest.LogCaptureFixture
) -> None:
    mine = new_pair()
    with runner_of(sqlite_url, keys.settings()) as runner, worker_of(runner, keys.of(mine)) as worker:
        handle = runner.submit(adding, 1)
        until(lambda: said(caplog, f"its key {mine.public[:8]}… is not listed"))
        assert not worker.begun
        # After a refusal libzmq does not come back by itself; a worker's next connection finds it listed.
        keys.allow(mine=(mine, ""))
        until(lambda: said(caplog, "keys listed: 1"))
        with worker_of(runner, keys.of(mine)) as listed:
            assert handle.result() == 2
            assert set(listed.begun.values()) == {1} and not worker.begun
    assert said(caplog, "is not listed") == 1, "it is said once"
    assert not any(mine.secret in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize(("kind", "reason"), [("plain", "it gave no key"), ("other hub", "does not know this hub's")])
def test_a_worker_that_does_not_encrypt_for_this_hub_is_not_heard(
    sqlite_url: str, keys: HubKeys, caplog: pytest.LogCaptureFixture, kind: str, reason: str
) -> None:
    mine = new_pair()
    keys.allow(mine=(mine, ""))
    wrong = None if kind == "plain" else CurveKeys(new_pair().public, mine.public, mine.secret)
    with runner_of(sqlite_url, keys.settings()) as runner, worker_of(runner, wrong) as refused:
        handle = runner.submit(adding, 1)
        until(lambda: said(caplog, reason))
        with worker_of(runner, keys.of(mine)):
            assert handle.result() == 2
        assert not refused.begun


def test_a_revoked_worker_is_thrown_out_and_its_work_is_done_by_another(
    store_url: str, keys: HubKeys, caplog: pytest.LogCaptureFixture
) -> None:
    going, staying = new_pair(), new_pair()
    keys.allow(going=(going, ""), staying=(staying, ""))
    with runner_of(store_url, keys.settings()) as runner:
        revoked = worker_of(runner, keys.of(going))
        revoked.held.set()
        with revoked:
            handle = runner.submit(adding, 1)
            until(lambda: len(revoked.held_steps))
            keys.allow(staying=(staying, ""))
            until(lambda: revoked.refusal)
            assert revoked.refusal.startswith(f"key_refused: the key {going.public[:8]}…")
            with worker_of(runner, keys.of(staying)) as other:
                assert handle.result() == 2
                assert set(other.begun.values()) == {1} and not revoked.begun
            assert [one.attempt for one in handle.tasks()] == [2]
            # And again, over a new connection, it does not come in at all.
            with worker_of(runner, keys.of(going), worker_id=revoked.id):
                until(lambda: said(caplog, "is not listed"))
    assert said(caplog, "key_refused") == 1


@pytest.mark.parametrize("labels", [{"gpu": "false"}, {"gpu": "true", "zone": "a"}])
def test_labels_that_a_key_does_not_allow_are_refused(
    sqlite_url: str, keys: HubKeys, caplog: pytest.LogCaptureFixture, labels: dict[str, str]
) -> None:
    mine = new_pair()
    keys.allow(mine=(mine, 'labels = { gpu = "true", team = "*" }'))
    with runner_of(sqlite_url, keys.settings()) as runner, worker_of(runner, keys.of(mine), labels=labels) as worker:
        until(lambda: worker.refusal)
        assert worker.refusal.startswith("labels_refused: key 'mine' allows ")
        assert said(caplog, "worker small was refused: labels_refused: key 'mine' allows ") == 1
        allowed = {"gpu": "true", "team": "any at all"}
        with worker_of(runner, keys.of(mine), labels=allowed):
            assert runner.run(adding, 1) == 2


def test_labels_that_are_taken_from_a_key_end_the_session_that_claims_them(sqlite_url: str, keys: HubKeys) -> None:
    mine = new_pair()
    keys.allow(mine=(mine, 'labels = { gpu = "true" }'))
    with runner_of(sqlite_url, keys.settings()) as runner:
        with worker_of(runner, keys.of(mine), labels={"gpu": "true"}) as worker:
            assert runner.run(adding, 1) == 2
            keys.allow(mine=(mine, ""))
            until(lambda: worker.refusal)
            assert worker.refusal.startswith("labels_refused: key 'mine' allows no label gpu")


def test_a_broken_list_changes_nothing_and_is_said_once(
    sqlite_url: str, keys: HubKeys, caplog: pytest.LogCaptureFixture
) -> None:
    mine = new_pair()
    keys.allow(mine=(mine, ""))
    with runner_of(sqlite_url, keys.settings()) as runner, worker_of(runner, keys.of(mine)):
        keys.write("[[worker]]\nname = 'half")
        until(lambda: said(caplog, "the list of workers stays as it was"))
        assert runner.run(adding, 1) == 2
        keys.allow()
        until(lambda: said(caplog, "keys listed: 0"))
    assert said(caplog, "the list of workers stays as it was") == 1


def test_two_hubs_with_keys_in_one_process_do_not_meet(sqlite_url: str, tmp_path: Path) -> None:
    ours, theirs = new_pair(), new_pair()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one, two = HubKeys(tmp_path / "one"), HubKeys(tmp_path / "two")
    one.allow(ours=(ours, ""))
    two.allow(theirs=(theirs, ""))
    with runner_of(sqlite_url, one.settings()) as first, runner_of("sqlite:///:memory:", two.settings()) as second:
        with worker_of(first, one.of(ours)) as here, worker_of(second, two.of(theirs)) as there:
            assert (first.run(adding, 1), second.run(adding, 2)) == (2, 3)
            assert len(here.begun) == len(there.begun) == 1


def test_a_worker_that_sets_its_own_route_is_not_greeted(sqlite_url: str, keys: HubKeys) -> None:
    mine = new_pair()
    keys.allow(mine=(mine, ""))
    with runner_of(sqlite_url, keys.settings()) as runner:
        with worker_of(runner, keys.of(mine), routing_id=b"chosen") as worker:
            until(lambda: worker.refusal)
            assert worker.refusal.startswith("key_refused")


class RawWorker:
    """Says whatever a test wants, over a real connection."""

    def __init__(self, runner: Runner, keys: CurveKeys, worker_id: str, seq: int = 1, **more: Any) -> None:
        self._context = zmq.Context()
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.setsockopt(zmq.LINGER, 0)
        self._socket.setsockopt(zmq.RCVTIMEO, 60_000)
        self._socket.curve_serverkey = keys.server.encode()
        self._socket.curve_publickey = keys.public.encode()
        self._socket.curve_secretkey = keys.secret.encode()
        assert runner.hub is not None
        self._monitor = self._socket.get_monitor_socket(zmq.EVENT_DISCONNECTED)
        self._monitor.setsockopt(zmq.RCVTIMEO, 60_000)
        self._socket.connect(runner.hub)
        self.session = ""
        said = {"versions": ("1.0",), "codecs": ("json",), "credits": 0, "handlers": ("none",)} | more
        self.send(Hello(worker_id=worker_id, seq=seq, **said))

    def send(self, message: Any) -> None:
        self._socket.send_multipart(pack(message, self.session))

    def send_raw(self, frames: list[bytes]) -> None:
        self._socket.send_multipart(frames)

    def gone(self) -> None:
        """Wait until the hub has closed the connection."""
        self._monitor.recv_multipart()

    def hear(self, kind: type[Any]) -> Any:
        """The next message of that kind."""
        while True:
            message = unpack(self._socket.recv_multipart()).message
            if isinstance(message, Welcome):
                self.session = message.session
            if isinstance(message, kind):
                return message

    def close(self) -> None:
        self._context.destroy(linger=0)


def result_for(token: str, output: Any) -> StepResults:
    metadata = ResultMetadata(token=token, attempt=0)
    result = StepResult(step_id="1", status="completed", output=output, metadata=metadata)
    return StepResults(batch_id="batch", protocol_version="1.0", results=(result,))


def test_a_worker_cannot_answer_for_what_another_was_given(store_url: str, keys: HubKeys) -> None:
    good, greedy = new_pair(), new_pair()
    keys.allow(good=(good, ""), greedy=(greedy, ""))
    with runner_of(store_url, keys.settings()) as runner:
        honest = worker_of(runner, keys.of(good))
        honest.held.set()
        with honest:
            handle = runner.submit(adding, 1)
            until(lambda: len(honest.held_steps))
            (token,) = [held_step.token for held_step in honest.held_steps]
            intruder = RawWorker(runner, keys.of(greedy), "intruder")
            intruder.hear(Welcome)
            intruder.send(result_for(token, 666))
            assert intruder.hear(Error).code == "not_yours"
            # Nor by saying that it holds it: the database knows better.
            intruder.send(
                Heartbeat(seq=1, credits=0, in_flight=(Held(token, "done"), Held("no token of ours", "done")))
            )
            intruder.hear(Heartbeat)
            intruder.send(result_for(token, 666))
            intruder.send(Heartbeat(seq=2, credits=0))
            intruder.hear(Heartbeat)
            # Nor in the other's name.
            impostor = RawWorker(runner, keys.of(greedy), honest.id, seq=99)
            assert impostor.hear(Error).code == "worker_in_use"
            honest.held.clear()
            assert handle.result() == 2
            intruder.close()
            impostor.close()


def kept_by(honest: SmallWorker) -> str:
    """The token of the one step that a worker holds and does not begin."""
    until(lambda: len(honest.held_steps))
    (token,) = [held_step.token for held_step in honest.held_steps]
    return token


@pytest.mark.parametrize("hub", ["restarted", "another"])
def test_a_worker_id_stays_with_its_key_when_the_hub_is_restarted_and_on_another_hub(
    store_url: str, keys: HubKeys, hub: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The worker forgets the step: what it held is given up after this time.
    monkeypatch.setattr(takeover, "MIN_GRACE", 1.0)
    good, greedy = new_pair(), new_pair()
    keys.allow(good=(good, ""), greedy=(greedy, 'handlers = ["none"]'))
    with runner_of(store_url, keys.settings(lease=2.0)) as first:
        honest = worker_of(first, keys.of(good))
        honest.held.set()
        honest.__enter__()
        handle = first.submit(adding, 1)
        token = kept_by(honest)
        if hub == "another":
            with runner_of(store_url, keys.settings(lease=2.0)) as second:
                assert_refused(second, keys.of(greedy), honest.id, token)
    honest.vanish()
    with runner_of(store_url, keys.settings(lease=2.0)) as again:
        assert_refused(again, keys.of(greedy), honest.id, token)
        back = worker_of(again, keys.of(good), worker_id=honest.id)
        with back:
            assert again.get(handle.id).result() == 2
            assert back.begun, "the worker with the right key is let in under its id"


def assert_refused(runner: Runner, keys: CurveKeys, worker_id: str, token: str) -> None:
    """What an impostor says, which claims this worker's id and its step, counts for nothing."""
    impostor = RawWorker(runner, keys, worker_id, seq=10_000, in_flight=(Held(token, "done"),))
    refusal = impostor.hear(Error)
    assert (refusal.code, refusal.retry) == ("worker_in_use", False)
    assert not impostor.session
    impostor.send(result_for(token, 666))
    assert impostor.hear(Error).code == "no_session"
    impostor.close()


def test_a_worker_cannot_take_the_session_of_an_orchestrator(store_url: str, keys: HubKeys) -> None:
    greedy = new_pair()
    keys.allow(greedy=(greedy, ""))
    with runner_of(store_url, keys.settings()) as runner:
        impostor = RawWorker(runner, keys.of(greedy), runner.core.engine.session.id)
        assert impostor.hear(Error).code == "worker_in_use"
        impostor.close()


def test_garbage_is_counted_and_moves_nothing(sqlite_url: str, keys: HubKeys) -> None:
    mine = new_pair()
    keys.allow(mine=(mine, ""))
    with runner_of(sqlite_url, keys.settings()) as runner, worker_of(runner, keys.of(mine)):
        noisy = RawWorker(runner, keys.of(mine), "noisy")
        noisy.hear(Welcome)
        noisy.send_raw([b"results", noisy.session.encode(), b"{", b"00000000"])
        assert noisy.hear(Error).code == "malformed"
        workers = runner.core.workers
        assert workers is not None and workers.protocol.malformed == 1
        noisy.send(Heartbeat(seq=1, credits=1))
        assert noisy.hear(Error).code == "no_session", "its session is over"
        assert runner.run(adding, 1) == 2
        noisy.close()


def test_a_message_above_the_bound_closes_its_connection_and_nothing_else(sqlite_url: str, keys: HubKeys) -> None:
    mine = new_pair()
    keys.allow(mine=(mine, ""))
    with runner_of(sqlite_url, keys.settings(max_message_bytes=100_000)) as runner, worker_of(runner, keys.of(mine)):
        large = RawWorker(runner, keys.of(mine), "large")
        large.hear(Welcome)
        large.send_raw([b"results", large.session.encode(), b"x" * 200_000, b"00000000"])
        large.gone()
        assert runner.run(adding, 1) == 2
        large.close()


@pytest.mark.parametrize(
    ("text", "said_so"),
    [("nothing here", "has no public key"), ('public-key = "short"\nsecret-key = "short"', "is none: a key has 40")],
)
def test_a_runner_does_not_start_with_a_key_file_that_is_none(
    sqlite_url: str, keys: HubKeys, text: str, said_so: str
) -> None:
    keys.key_file.write_text(text)
    with pytest.raises(InvalidSetting, match=said_so), runner_of(sqlite_url, keys.settings()):
        raise AssertionError("it opened")


def test_a_runner_does_not_start_with_halves_that_do_not_belong_together(sqlite_url: str, keys: HubKeys) -> None:
    keys.key_file.write_text(f'public-key = "{new_pair().public}"\nsecret-key = "{keys.pair.secret}"')
    with pytest.raises(InvalidSetting, match="do not belong together"), runner_of(sqlite_url, keys.settings()):
        raise AssertionError("it opened")


def test_a_runner_does_not_start_without_its_list(sqlite_url: str, keys: HubKeys) -> None:
    keys.workers_file.unlink()
    with pytest.raises(InvalidSetting, match="cannot be read"), runner_of(sqlite_url, keys.settings()):
        raise AssertionError("it opened")


def test_a_key_file_that_others_can_read_is_warned_about(
    sqlite_url: str, keys: HubKeys, caplog: pytest.LogCaptureFixture
) -> None:
    keys.key_file.chmod(0o644)
    with runner_of(sqlite_url, keys.settings()):
        assert said(caplog, "which holds a secret key: chmod 600 it") == 1


_PLAIN = b"\xff" + b"\0" * 8 + b"\x7f\x03\x00NULL" + b"\0" * 48
"""How a connection begins that does not encrypt."""


def test_a_crowd_of_strangers_is_turned_away_while_the_hub_is_busy_and_it_can_be_closed(keys: HubKeys) -> None:
    """Nobody listens to what is said of them meanwhile; ZeroMQ must not wait for that."""

    async def main() -> None:
        gate = CurveAuthenticator(str(keys.key_file), str(keys.workers_file))
        with zmq.Context() as context, context.socket(zmq.ROUTER) as socket:
            gate.open(context, socket)
            port = socket.bind_to_random_port("tcp://127.0.0.1")
            try:
                for _ in range(2_500):
                    with create_connection(("127.0.0.1", port), timeout=5) as stranger:
                        stranger.sendall(_PLAIN)
                        while stranger.recv(1024):
                            pass
            finally:
                while not gate.refusals.count:
                    await asyncio.sleep(0)
                gate.close()

    asyncio.run(main())
