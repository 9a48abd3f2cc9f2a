"""Sockets on disk are for the user who bound them, whatever the umask is."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnout import Runner
from turnout.executors.pubsub.executor import ZmqPubSubExecutor
from turnout.executors.pubsub.handler import ZmqPubSubHandler
from turnout.executors.pubsub.settings import PubSubSettings


@pytest.fixture
def folder() -> Iterator[Path]:
    before = os.umask(0)
    with tempfile.TemporaryDirectory() as place:  # short: the path of a socket is bounded
        yield Path(place)
    os.umask(before)


def mode(file: Path) -> int:
    return file.stat().st_mode & 0o777


def test_the_socket_of_a_hub_is_private(folder: Path) -> None:
    with Runner("sqlite:///:memory:", hub=f"ipc://{folder}/hub", config=False):
        assert mode(folder / "hub") == 0o600


def test_the_sockets_of_published_steps_and_results_are_private(folder: Path) -> None:
    settings = PubSubSettings(
        rust_step_publisher=f"ipc://{folder}/steps", rust_result_subscriber=f"ipc://{folder}/results"
    )
    executors = {"zmq_pubsub": ZmqPubSubExecutor(settings)}
    with Runner("sqlite:///:memory:", executors=executors, config=False), ZmqPubSubHandler({}, settings):
        assert (mode(folder / "steps"), mode(folder / "results")) == (0o600, 0o600)
