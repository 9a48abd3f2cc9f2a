"""A handler in Ruby that knows the documents and nothing of Turnout works behind a publisher of steps."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.unlisted import unlisted
from turnout import Runner, remote, workflow
from turnout.errors import RunFailed
from turnout.executors.pubsub.executor import ZmqPubSubExecutor
from turnout.executors.pubsub.settings import PubSubSettings

PROGRAM = Path(__file__).parents[1] / "programs" / "pubsub_handler.rb"
PATIENCE = 60

validate = remote("validate", handler="OrderFulfillment::ValidateOrder", config={"price": 5})
pay = remote("pay", handler="OrderFulfillment::ProcessPayment", retries=3, retry_delay=0.0)
ship = remote("ship", handler="OrderFulfillment::ShipOrder")
missing = remote("missing", handler="OrderFulfillment::NoSuchHandler")


@unlisted
@workflow
def fulfil(order_id: int, items: int) -> dict[str, Any]:
    checked = validate()
    paid = pay.after(checked)()
    return ship.after(paid)(weight=items)


@unlisted
@workflow
def nobody_has_it(order_id: int) -> Any:
    return missing()


@pytest.fixture(scope="module")
def ruby() -> str:
    found = shutil.which("ruby")
    if found is None:
        pytest.skip("there is no ruby on this machine")
    asked = subprocess.run([found, "-e", 'require "ffi-rzmq"'], capture_output=True, timeout=PATIENCE, check=False)
    if asked.returncode != 0:
        pytest.skip("ruby lacks ffi-rzmq (Debian: ruby-ffi-rzmq)")
    return found


@pytest.fixture
def folder() -> Iterator[Path]:
    """The path of a socket has to be short."""
    with tempfile.TemporaryDirectory(prefix="ps") as path:
        yield Path(path)


class Handler:
    """The program, until the end of the test."""

    def __init__(self, ruby: str, settings: PubSubSettings, log: Path) -> None:
        endpoints = (settings.rust_step_publisher, settings.rust_result_subscriber)
        self.process = subprocess.Popen(
            [ruby, "-w", str(PROGRAM), *endpoints, str(log)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        assert self.process.stdout.readline() == "ready\n"

    def __enter__(self) -> Handler:
        return self

    def __exit__(self, *exc: object) -> None:
        self.process.kill()
        self.process.communicate()

    def end(self) -> tuple[int, str]:
        self.process.terminate()
        _, said = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, said


@pytest.mark.parametrize("transport", ["ipc", "tcp"])
def test_orders_are_fulfilled_by_handlers_in_ruby(ruby: str, folder: Path, sqlite_url: str, transport: str) -> None:
    if transport == "ipc":
        settings = PubSubSettings(
            rust_step_publisher=f"ipc://{folder}/steps", rust_result_subscriber=f"ipc://{folder}/results"
        )
    else:
        # The program binds its own endpoint: the number of a port that was free a moment ago is the best there is, so
        # the other socket has a path.
        settings = PubSubSettings(
            rust_step_publisher="tcp://127.0.0.1:*", rust_result_subscriber=f"ipc://{folder}/results"
        )
    executor = ZmqPubSubExecutor(settings)
    executors, log = {"zmq_pubsub": executor}, folder / "log"
    with Runner(sqlite_url, executors=executors, workflows=[fulfil, nobody_has_it], handle_sigterm=False) as runner:
        found = PubSubSettings(
            rust_step_publisher=executor.step_endpoint, rust_result_subscriber=executor.result_endpoint
        )
        with Handler(ruby, found, log) as handler:
            handles = [runner.submit(fulfil, order_id=number, items=2) for number in range(20)]
            for number, handle in enumerate(handles):
                assert handle.result() == {"tracking_number": f"{number}-txn_10", "weight": 2}
                assert [one.attempt for one in handle.tasks()] == [1, 2, 1], "the bank answers the second time"
            with pytest.raises(RunFailed, match="order 7 has no items"):
                runner.run(fulfil, order_id=7, items=0)
            with pytest.raises(RunFailed, match="No step handler found for OrderFulfillment::NoSuchHandler"):
                runner.run(nobody_has_it, order_id=1)
            code, said = handler.end()
            assert code == 0 and str(PROGRAM) not in said, said
        assert len(log.read_text().splitlines()) == 20 * 4 + 1
        assert executor.publisher.counts.malformed == executor.publisher.counts.unmatched == 0


def test_a_handler_in_ruby_that_is_killed_and_started_again_goes_on(ruby: str, folder: Path, sqlite_url: str) -> None:
    settings = PubSubSettings(
        rust_step_publisher=f"ipc://{folder}/steps", rust_result_subscriber=f"ipc://{folder}/results"
    )
    executors, log = {"zmq_pubsub": ZmqPubSubExecutor(settings)}, folder / "log"
    with Runner(sqlite_url, executors=executors, workflows=[fulfil], handle_sigterm=False) as runner:
        handles = [runner.submit(fulfil, order_id=number, items=2) for number in range(50)]
        with Handler(ruby, settings, log):
            handles[0].result()
        with Handler(ruby, settings, log):
            for number, handle in enumerate(handles):
                assert handle.result() == {"tracking_number": f"{number}-txn_10", "weight": 2}
