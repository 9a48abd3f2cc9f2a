"""Bodies for workers in tests: they say by files when they have begun, so that nobody has to guess."""

from __future__ import annotations

import asyncio
import logging
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from turnout import Branch, Defer, PermanentFailure, RetryAfter, TaskInfo, task
from turnout.worker import Step, handler


@task
def add(left: int, right: int = 1) -> int:
    return left + right


@task
async def wait(seconds: float, begun: str = "") -> str:
    if begun:
        Path(begun).touch()
    await asyncio.sleep(seconds)
    return "waited"


def write_start(log: str, run: str, info: TaskInfo) -> None:
    """Appends when the executor let this body through, by the clock that counts the start of processes."""
    assert info.started_at is not None
    started = info.started_at - time.time() + time.clock_gettime(time.CLOCK_BOOTTIME)
    with os.fdopen(os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT), "a") as file:
        file.write(f"{run} {started}\n")


@task
def begin_and_sleep(item: int, log: str, run: str, seconds: float, info: TaskInfo) -> None:
    write_start(log, run, info)
    time.sleep(seconds)


@task
def record(text: str) -> None:
    logging.getLogger("shop.prices").info(text)
    print("printed", text)


@task
def hold(begun: str, until: str) -> str:
    """Holds its place until a file is there."""
    Path(begun).write_text(str(os.getpid()))
    while not Path(until).exists():
        time.sleep(0.01)
    return "let go"


@task
def spawn(begun: str) -> None:
    """Starts a process that outlives it, unless somebody ends them both."""
    child = subprocess.Popen(["sleep", "600"])
    Path(begun).with_suffix(".writing").write_text(f"{os.getpid()} {child.pid}")
    Path(begun).with_suffix(".writing").rename(begun)
    time.sleep(600)


@task
def die() -> None:
    os._exit(7)


@task
def put_off(info: TaskInfo) -> Any:
    if info.saved is None:
        raise Defer(3, save={"tried": info.attempt})
    return info.saved


@task
def choose() -> Branch:
    return Branch("left", value=1)


@task
def fail(how: str) -> None:
    if how == "later":
        raise RetryAfter(2.5, "later")
    if how == "never":
        raise PermanentFailure("never")
    raise KeyError(how)


@task
def talk(begun: str, until: str, info: TaskInfo) -> None:
    print("printed")
    logging.getLogger("shop").warning("logged")
    info.progress(1, 2)
    hold.function(begun, until)
    print("and the rest", end="")


@handler("Shop::Ship")
def ship(order: str, step: Step) -> str:
    return f"{order} by {step.handler_config['carrier']}"


def is_there(path: str) -> bool:
    return Path(path).exists()


@task(conditions=[is_there])
def met(before: str) -> str:
    return before


@handler("Shop::Wait", conditions=[is_there])
def wait_for(path: str, info: TaskInfo) -> Any:
    if info.saved is None:
        raise Defer(condition=is_there, args=[path], every="20ms", max_every="20ms", save="waited")
    return info.saved


def wait_for_anything(ref: str, argument: str) -> None:
    raise Defer(condition=ref, args=[argument], every="10ms", max_every="10ms")
