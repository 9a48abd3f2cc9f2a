"""Either side of a publisher of steps in a process of its own: ``handle OPTIONS`` or ``orchestrate OPTIONS``, as JSON.

Every handler writes one line, ``key task attempt pid``, to a file that the engine knows nothing of.
"""

from __future__ import annotations

import json
import logging
import os
import random
import signal
import sys
import time
from typing import Any

from tests.unlisted import unlisted
from turnout import Runner, remote, workflow
from turnout.executors.pubsub.executor import ZmqPubSubExecutor
from turnout.executors.pubsub.handler import ZmqPubSubHandler
from turnout.executors.pubsub.settings import PubSubSettings
from turnout.runner import EngineSettings
from turnout.wire.documents import Step

TASKS = ("first", "second", "third")
first, second, third = (remote(name, handler=name) for name in TASKS)


@unlisted
@workflow
def chain(key: str) -> str:
    return third(key=second(key=first(key=key)))


def settings_of(options: dict[str, Any]) -> PubSubSettings:
    return PubSubSettings(
        rust_step_publisher=options["steps"],
        rust_result_subscriber=options["results"],
        result_timeout_ms=options.get("timeout_ms", 1_000),
        step_queue_hwm=options.get("hwm", 1000),
        batch_size=options.get("batch", 5),
        bind_results=options.get("bind_results", False),
    )


def recording(path: str, seconds: float) -> Any:
    """What every handler does: say that it began, take its time, and hand the key on with its name."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)

    def handle(step: Step) -> str:
        key = step.metadata.args["key"]
        number = key.partition("-")[0]
        os.write(file, f"{number} {step.step_name} {step.metadata.attempt + 1} {os.getpid()}\n".encode())
        time.sleep(random.random() * seconds)
        return f"{key}-{step.step_name}"

    return handle


def expected(number: int) -> str:
    """What the run of this number returns."""
    return "-".join((f"r{number}", *TASKS))


def say(*words: object) -> None:
    print(*words, flush=True)


def handle(options: dict[str, Any]) -> None:
    # Before there are threads, so that none of them is told in place of this one.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    body = recording(options["file"], options.get("seconds", 0.02))
    with ZmqPubSubHandler(dict.fromkeys(TASKS, body), settings_of(options)):
        say("ready")
        signal.sigwait({signal.SIGTERM})


def orchestrate(options: dict[str, Any]) -> None:
    """Each run is submitted under its key, so starting this again goes on with the same runs."""
    executor = ZmqPubSubExecutor(settings_of(options))
    engine = EngineSettings(stop_grace=1.0)
    with Runner(
        options["url"], executors={"zmq_pubsub": executor}, workflows=[chain], settings=engine, config=False
    ) as runner:
        say("ready")
        handles = [runner.submit_with(chain, f"r{number}", key=f"r{number}") for number in range(options["runs"])]
        wrong = [n for n, handle in enumerate(handles) if handle.result() != expected(n)]
        say("finished", json.dumps({"wrong": wrong, "redelivered": executor.publisher.window.redelivered}))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO)
    {"handle": handle, "orchestrate": orchestrate}[sys.argv[1]](json.loads(sys.argv[2]))
