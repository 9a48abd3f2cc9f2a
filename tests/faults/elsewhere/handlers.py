"""The handler of the fault tests in Python."""

from __future__ import annotations

import os
import random
import signal
import time

from turnout.worker import Step, handler

FILE = os.open(os.environ["TURNOUT_FAULTS_FILE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)


def note(what: str, step: Step) -> None:
    metadata = step.metadata
    os.write(FILE, f"{what} {metadata.token} {metadata.attempt} python {os.getpid()}\n".encode())


@handler("elsewhere.any")
@handler("elsewhere.python")
def say(text: str, seconds: float, step: Step) -> str:
    note("begin", step)
    time.sleep(random.random() * seconds)
    note("end", step)
    return f"{text}>{step.step_name}"


@handler("elsewhere.trace")
def tell_trace(step: Step) -> str:
    return step.metadata.traceparent


@handler("elsewhere.held")
def hold(text: str, until: str, step: Step) -> str:
    """Goes on until a file is there."""
    note("begin", step)
    while not os.path.exists(until):
        time.sleep(0.01)
    note("end", step)
    return f"{text}>{step.step_name}"


@handler("elsewhere.deadly")
def kill_or_say(text: str, seconds: float, guilty: bool, step: Step) -> str:
    """Takes its whole process with it, or takes its time."""
    note("begin", step)
    if guilty:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(seconds)
    note("end", step)
    return f"{text}>{step.step_name}"
