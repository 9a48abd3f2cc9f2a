"""Bodies that other processes can import, with all the ways in which bodies misbehave there."""

from __future__ import annotations

import asyncio
import ctypes
import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

from tests.gates import at_gate, pass_gate
from turnout import Branch, Context, Defer, PermanentFailure, RetryAfter, TaskInfo, current_task, task
from turnout.contracts.clock import boot_time

seen: ContextVar[str] = ContextVar("seen", default="nothing")


class Busy(ConnectionError):
    """A kind of error that retry rules name by a base class."""


def add(a: int, b: int) -> dict[str, int]:
    return {"sum": a + b}


@task
def come_together(port: int) -> str:
    return pass_gate(port, str(os.getpid()))


@task
def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


if "TURNOUT_TESTS_HIDE" not in os.environ:

    @task
    def only_here(left: int, right: int) -> int:
        """Children that are started with this variable do not have it."""
        return left + right


async def later(x: int) -> list[int]:
    await asyncio.sleep(0)
    return [x]


def no_such_order() -> None:
    raise LookupError("no such order")


def stolen() -> None:
    raise PermanentFailure("the card is stolen")


def in_a_while() -> None:
    raise RetryAfter(12.5)


def not_json() -> dict[str, object]:
    return {"when": object()}


def divide_by_zero() -> float:
    return 1 / 0


def one() -> int:
    return 1


def pid() -> int:
    return os.getpid()


def busy() -> None:
    raise Busy("try later")


def hopeless(error: BaseException) -> bool:
    return "later" in str(error)


@task(retry_if=lambda error: "later" in str(error))
def judged_by_a_lambda(text: str) -> None:
    raise ValueError(text)


def about(info: TaskInfo) -> dict[str, Any]:
    current = current_task()
    return {
        "attempt": info.attempt,
        "key": info.idempotency_key,
        "token": info.token,
        "timeout": info.timeout,
        "same": current is info,
    }


def told(info: TaskInfo) -> dict[str, Any]:
    """All that a body gets to know of its attempt."""
    assert current_task() is info
    assert info.started_at is not None and info.remaining() is not None
    fields = ("run_id", "task_id", "task_name", "attempt", "max_attempts", "workflow", "name", "index", "item")
    more = ("idempotency_key", "token", "timeout", "labels", "shadow", "saved", "is_last_attempt", "cancelled")
    return {name: getattr(info, name) for name in (*fields, *more)}


async def told_later(info: TaskInfo) -> dict[str, Any]:
    await asyncio.sleep(0)
    return told(info)


def put_off(info: TaskInfo) -> int:
    if info.saved is None:
        raise Defer("1s", save={"seen": info.attempt})
    return info.saved["seen"]


async def put_off_later(info: TaskInfo) -> int:
    await asyncio.sleep(0)
    return put_off(info)


def say_something(info: TaskInfo) -> None:
    print("said by print")
    info.logger.warning("said by the logger")
    info.progress(1, 2, "halfway")


async def say_something_later(info: TaskInfo) -> None:
    await asyncio.sleep(0)
    say_something(info)


def deaf(port: int) -> None:
    """Takes no notice of anything until the gate is opened."""
    with at_gate(port, "deaf") as line:
        line.recv(1)


async def never() -> None:
    await asyncio.Event().wait()


def wait_to_be_cancelled(port: int, info: TaskInfo) -> None:
    with at_gate(port, "waiting"):
        while not info.wait_cancelled(60):
            pass


async def wait_to_be_cancelled_later(port: int) -> None:
    with at_gate(port, "waiting"):
        await asyncio.Event().wait()


def into_context(context: Context) -> None:
    context["orders"] = [*context["orders"], 2]


def print_everywhere(info: TaskInfo) -> None:
    print("from Python")
    logging.getLogger("shop").warning("a record")
    info.progress(1, 2)
    print("an error", file=sys.stderr)
    os.write(1, b"from C, without a newline")
    subprocess.run([sys.executable, "-c", "print('\\nfrom a grandchild')"], check=True)


def exit_at_once(code: int) -> None:
    os._exit(code)


def segfault() -> None:
    ctypes.string_at(0)


def kill_itself() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def hoard(megabytes: int) -> int:
    """Never to return if there is a limit: the memory is touched, then held."""
    held = bytearray(megabytes * 1_000_000)
    held[::4096] = b"x" * len(held[::4096])
    signal.pause()
    return len(held)


def ignore_sigterm_with_a_grandchild(port: int) -> None:
    """Neither of the two can be ended politely, and the grandchild has left the session."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    name = "child"
    if os.fork() == 0:
        os.setsid()
        name = "grandchild"
    with at_gate(port, name):
        while True:
            signal.pause()


def clean_up_when_terminated(port: int, name: str) -> None:
    try:
        with at_gate(port, name):
            while True:
                time.sleep(60)
    finally:
        print("cleaned up")


def leave_a_grandchild(port: int) -> None:
    reader, writer = os.pipe()
    if os.fork() == 0:
        with at_gate(port, "grandchild") as line:
            os.write(writer, b"!")
            line.recv(1)
        os._exit(0)
    os.read(reader, 1)


def swallow_sigterm(port: int) -> str:
    try:
        with at_gate(port, "body"):
            while True:
                signal.pause()
    except SystemExit:
        return "as if nothing had happened"


@dataclass
class Lengthy:
    """A value whose conversion takes as long as the attempt may begin."""

    until: float

    def __post_init__(self) -> None:
        while boot_time() <= self.until:
            time.sleep(0.01)


def leave_a_mark_with(value: Lengthy, path: str) -> None:
    leave_a_mark(path)


async def leave_a_mark_with_later(value: Lengthy, path: str) -> None:
    leave_a_mark(path)


def leave_a_mark(path: str) -> None:
    with open(path, "a"):
        pass


async def leave_a_mark_later(path: str) -> None:
    leave_a_mark(path)


def is_there(path: str) -> bool:
    return os.path.exists(path)


def put_off_until(path: str, info: TaskInfo) -> dict[str, Any]:
    if info.saved is None:
        raise Defer(condition=is_there, args=[path], every="20ms", save={"attempt": info.attempt})
    return info.saved


def choose(name: str) -> Branch:
    return Branch(name)


def wander_off(folder: str) -> str:
    before = os.getcwd()
    os.chdir(folder)
    seen.set("something")
    return before


def look_around() -> list[str]:
    return [os.getcwd(), seen.get(), threading.current_thread().name]


def made_here() -> Callable[[], int]:
    return lambda: 1


class Holder:
    @staticmethod
    def inside() -> str:
        return "found"


def shadowed() -> int:
    return 1


hidden = shadowed


def shadowed() -> int:  # type: ignore
    """Another function under the name of ``hidden``."""
    return 2


@dataclass
class Order:
    number: int
    due: date


def delayed(order: Order, days: int) -> Order:
    return Order(order.number, order.due + timedelta(days=days))
