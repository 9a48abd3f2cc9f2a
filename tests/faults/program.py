"""The program that the fault tests start, kill, stop and start again: a Runner in a process of its own.

Every body writes one line, ``key task attempt pid``, to a file that the engine knows nothing of. What the program says
of itself (``ready``, ``accepted KEY RUN``, ``finished {…}``) goes to its standard output, one line each.
"""

from __future__ import annotations

import argparse
import ctypes
import faulthandler
import json
import logging
import os
import random
import signal
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import turnout.runner.core
from turnout import Defer, Limit, Runner, RunOutcome, TaskInfo, Workflow, task, workflow
from turnout.contracts.executor import Work
from turnout.contracts.store import Store
from turnout.contracts.store.ledger import CommitChannel
from turnout.errors import StoreError
from turnout.executors.thread import ThreadExecutor
from turnout.executors.workers.executor import WorkersExecutor
from turnout.executors.workers.settings import HubSettings
from turnout.model.verdict import Limits
from turnout.runner import EngineSettings, Poller, RunHandle

FILE = os.open(os.environ["TURNOUT_FAULTS_FILE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
STAMPS = os.open(f"{os.environ['TURNOUT_FAULTS_FILE']}.stamps", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
"""Gets a line for every body that is to be compared with the history: when it began, and what ``Look`` has."""
RELEASED = f"{os.environ['TURNOUT_FAULTS_FILE']}.released"
"""Bodies that are held go on once this file is there."""
FAN = 8
"""Items of a mapped task."""
LOADERS = 8
"""Threads that submit in mode ``load``."""
C = ctypes.PyDLL(None)
"""The C library without letting go of the interpreter."""


def record(key: str, info: TaskInfo) -> None:
    line = f"{key} {info.task_name.rpartition('::')[2]} {info.ordinal} {os.getpid()}\n"
    os.write(FILE, line.encode())


class Look(threading.local):
    """When this thread last saw that a body may begin: by the time of day, and by its processor time until then."""

    at: float = 0.0
    used: float = 0.0


LOOK = Look()


def look(work: Work, begin_by: Callable[[Work], float | None] = Work.begin_by) -> float | None:
    until = begin_by(work)
    LOOK.at, LOOK.used = time.time(), time.thread_time()
    return until


Work.begin_by = look  # type: ignore[method-assign]


def stamp(info: TaskInfo) -> None:
    used, at = time.thread_time(), time.time()
    os.write(STAMPS, f"{info.token} {at!r} {os.getpid()} {LOOK.at!r} {used - LOOK.used!r}\n".encode())


@task
def first(key: str, seconds: float, info: TaskInfo) -> str:
    record(key, info)
    time.sleep(random.random() * seconds)
    return key


@task
def second(key: str, seconds: float, info: TaskInfo) -> str:
    record(key, info)
    time.sleep(random.random() * seconds)
    return key


@task
def third(key: str, seconds: float, info: TaskInfo) -> str:
    record(key, info)
    time.sleep(random.random() * seconds)
    return key


@workflow
def chain(key: str, seconds: float) -> str:
    return third(second(first(key, seconds), seconds), seconds)


@workflow
def grandchild(key: str, seconds: float) -> str:
    return second(key, seconds)


@workflow
def child(key: str, seconds: float) -> str:
    return grandchild(first(key, seconds), seconds)


@workflow
def family(key: str, seconds: float) -> str:
    return third(child(key, seconds), seconds)


@task
def quick(key: str, info: TaskInfo) -> str:
    record(key, info)
    return key


@task
def slow(key: str, seconds: float, info: TaskInfo) -> str:
    record(key, info)
    time.sleep(seconds)
    return key


@task
def last(key: str, info: TaskInfo) -> str:
    record(key, info)
    return key


@workflow
def slowly(key: str, seconds: float) -> str:
    return last(slow(quick(key), seconds))


@task
def held(key: str, seconds: float, info: TaskInfo) -> str:
    """Works until the test has released it, for so many seconds at most."""
    record(key, info)
    until = time.monotonic() + seconds
    while not os.path.exists(RELEASED) and time.monotonic() < until:
        time.sleep(0.01)
    return key


@workflow
def released(key: str, seconds: float) -> str:
    return last(held(quick(key), seconds))


@task
async def block_the_loop(key: str, seconds: float, info: TaskInfo) -> str:
    record(key, info)
    time.sleep(seconds)
    return key


@workflow
def blocking(key: str, seconds: float) -> str:
    return last(block_the_loop(key, seconds))


@task
def hold_the_interpreter(key: str, seconds: float, info: TaskInfo) -> str:
    record(key, info)
    C.usleep(int(seconds * 1_000_000))
    return key


@workflow
def holding(key: str, seconds: float) -> str:
    return last(hold_the_interpreter(key, seconds))


@task
def nap(key: str, seconds: float, info: TaskInfo) -> str:
    record(key, info)
    if info.saved is None:
        raise Defer(seconds, save=key)
    return info.saved


@workflow
def napping(key: str, seconds: float) -> str:
    return last(nap(key, seconds))


@task(at_most_once=True)
def pay(key: str, seconds: float, info: TaskInfo) -> str:
    record(key, info)
    time.sleep(seconds)
    return key


@workflow
def paying(key: str, seconds: float) -> str:
    return last(pay(key, seconds))


@task
def tidy_up(outcome: RunOutcome, info: TaskInfo) -> None:
    record(outcome["status"], info)
    time.sleep(30.0 if info.attempt == 1 else 0.0)


@workflow(on_exit=tidy_up)
def hooked(key: str, seconds: float) -> str:
    return quick(key)


@workflow
def four(seconds: float) -> tuple[str, ...]:
    return tuple(slow.named(f"slow{n}")(f"four{n}", seconds) for n in range(4))


@task
def listed(key: str, info: TaskInfo) -> list[str]:
    record(key, info)
    return [f"{key}.{n}" for n in range(FAN)]


@task
def item(key: str, seconds: float, info: TaskInfo) -> str:
    record(key, info)
    time.sleep(random.random() * seconds)
    return key


@task
def followed(key: str, info: TaskInfo) -> str:
    record(key, info)
    return key


@task
def collected(key: str, passed: list[str], info: TaskInfo) -> list[str]:
    record(key, info)
    assert passed == [f"{key}.{n}" for n in range(FAN)], passed
    return passed


@workflow
def fanned(key: str, seconds: float) -> list[str]:
    """One list, a map with a limit, a map that follows it item by item, and what collects it."""
    passed = followed.map(item.partial(seconds=seconds).map(listed(key), max_parallel=3))
    return collected(key, passed)


@task
def brief(key: str, seconds: float, info: TaskInfo) -> str:
    stamp(info)
    time.sleep(seconds)
    return key


@task(at_most_once=True)
def brief_once(key: str, seconds: float, info: TaskInfo) -> str:
    stamp(info)
    time.sleep(seconds)
    return key


@task
async def brief_async(key: str, seconds: float, info: TaskInfo) -> str:
    stamp(info)
    time.sleep(seconds)
    return key


@workflow
def stamped(key: str, seconds: float) -> tuple[str, ...]:
    return (brief(key, seconds), brief_once(key, seconds), brief_async(key, seconds))


SPANS = os.open(f"{os.environ['TURNOUT_FAULTS_FILE']}.spans", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
"""Gets a line when a body of a limited workflow begins, and one when it ends: ``begin|end key pid time``."""


def span(word: str, key: str) -> None:
    os.write(SPANS, f"{word} {key} {os.getpid()} {time.time()!r}\n".encode())


@task
def limited_body(key: str, seconds: float, info: TaskInfo) -> str:
    record(key, info)
    span("begin", key)
    time.sleep(random.random() * seconds)
    span("end", key)
    return key


@workflow(limits=[Limit("shared", at_most=3)])
def limited(key: str, seconds: float) -> str:
    return limited_body(key, seconds)


@workflow
def limited_step(key: str, seconds: float) -> str:
    return limited_body.options(limits=[Limit("shared", at_most=3)])(key, seconds)


@task
def limited_member(key: str, member: str, seconds: float, info: TaskInfo) -> str:
    record(f"{key}-{member}", info)
    span("begin", f"{key}-{member}")
    time.sleep(random.random() * seconds)
    span("end", f"{key}-{member}")
    return key


@workflow(limits=[Limit("shared", at_most=3)])
def limited_child(key: str, member: str, seconds: float) -> str:
    return limited_member(key, member, seconds)


@workflow
def limited_grandchild(key: str, seconds: float) -> str:
    return limited_member.options(limits=[Limit("shared", at_most=3)])(key, "c", seconds)


@workflow
def unlimited_child(key: str, seconds: float) -> str:
    return limited_grandchild(key, seconds)


@workflow(limits=[Limit("shared", at_most=3)])
def limited_family(key: str, seconds: float) -> tuple[str, ...]:
    """Two of its child runs, and a task of a grandchild, need slots of the limit that it holds one of."""
    members = (limited_child(key, "a", seconds), limited_child(key, "b", seconds))
    return (*members, unlimited_child(key, seconds))


@workflow
def rated_step(key: str, seconds: float) -> str:
    return limited_body.options(limits=[Limit("paced", rate=10, per="1s")])(key, seconds)


GUILTY = "r7"


@task
def deadly_or_slow(key: str, seconds: float, info: TaskInfo) -> str:
    record(key, info)
    if key == GUILTY:
        os.kill(os.getpid(), signal.SIGKILL)
    time.sleep(seconds)
    return key


@workflow
def deadly(key: str, seconds: float) -> str:
    return deadly_or_slow(key, seconds)


def wide_workflow(tasks: int) -> Workflow[..., Any]:
    @workflow(name=f"wide{tasks}")
    def wide(key: str) -> str:
        for n in range(tasks):
            quick.named(f"quick{n}")(key)
        return key

    return wide


LARGE = 900_000
"""Characters of one large value."""


@task
def large_value(number: int) -> str:
    return chr(ord("a") + number % 26) * LARGE


@task
def length_of(value: str) -> int:
    return len(value)


def large_workflow(tasks: int) -> Workflow[..., Any]:
    @workflow(name=f"large{tasks}")
    def large() -> list[int]:
        return [length_of(large_value(number)) for number in range(tasks)]

    return large


WORKFLOWS: dict[str, Workflow[..., Any]] = {
    each.name: each
    for each in (
        *(chain, slowly, released, blocking, holding, napping, paying, hooked, deadly, family, fanned, stamped),
        *(limited, limited_step, limited_family, rated_step),
    )
}


class KilledAfterCommit:
    """A store whose process dies between a commit's reply and everything that would follow from it."""

    def __init__(self, store: Store, commits: int) -> None:
        self._store, self._left = store, commits

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def commit(self, writes: Any, *, wake: frozenset[str] = frozenset()) -> Any:
        outcomes = self._store.commit(writes, wake=wake)
        self.count()
        return outcomes

    def commit_channel(self) -> Any:
        channel = self._store.commit_channel()
        return None if channel is None else KilledChannel(channel, self)

    def count(self) -> None:
        self._left -= 1
        if self._left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


class KilledChannel:
    """A channel of that store."""

    def __init__(self, channel: CommitChannel, store: KilledAfterCommit) -> None:
        self._channel, self._store = channel, store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._channel, name)

    def receive(self) -> Any:
        outcomes = self._channel.receive()
        if outcomes is not None:
            self._store.count()
        return outcomes


def say(what: str, *details: object) -> None:
    print(what, *details, flush=True)


def memory() -> dict[str, int]:
    """Resident memory of this process in bytes, now and at its highest."""
    with open("/proc/self/status") as status:
        lines = dict(line.split(":", 1) for line in status)
    return {name: int(lines[name].split()[0]) * 1024 for name in ("VmRSS", "VmHWM")}


def submit(runner: Runner, options: argparse.Namespace) -> None:
    """Submit runs with the keys r0, r1, …, at most ``window`` unfinished ones at a time, and wait for all."""
    states: Counter[str] = Counter()
    waiting: deque[RunHandle[Any]] = deque()
    for number in range(options.runs):
        key = f"{options.letter}{number}"
        handle = accepted(runner, options, key)
        say("accepted", key, handle.id)
        waiting.append(handle)
        if len(waiting) >= options.window:
            states[waiting.popleft().wait()] += 1
    for handle in waiting:
        states[handle.wait()] += 1
    say("finished", json.dumps(states))


def accepted(runner: Runner, options: argparse.Namespace, key: str) -> RunHandle[Any]:
    """What a careful client does: the same key again until the submission is acknowledged."""
    given = {"key": key, "seconds": options.seconds, **options.input}
    while True:
        try:
            return runner.submit_with(WORKFLOWS[options.workflow], key=key, input=given)
        except StoreError as error:
            say("refused", key, error)
            time.sleep(0.05)


def measure_four(runner: Runner, options: argparse.Namespace) -> None:
    began = time.monotonic()
    runner.run(four, options.seconds)
    say("finished", json.dumps({"seconds": time.monotonic() - began}))


def measure_large(runner: Runner, options: argparse.Namespace) -> None:
    """Runs one after the other, each with so many large values; how much memory there was after each."""
    large = large_workflow(options.values)
    before, peaks = memory()["VmRSS"], list[int]()
    for _ in range(options.runs):
        assert runner.run(large) == [LARGE] * options.values
        peaks.append(memory()["VmHWM"])
    say("finished", json.dumps({"before": before, "peaks": peaks, "resting": resting_memory()}))


def resting_memory() -> int:
    """What there is once nothing more is given back; ten seconds are enough for that."""
    last, until = memory()["VmRSS"], time.monotonic() + 10
    quiet = 0
    while quiet < 6 and time.monotonic() < until:
        time.sleep(0.5)
        now = memory()["VmRSS"]
        quiet, last = (quiet + 1 if now >= last else 0), now
    return last


def measure_wide(runner: Runner, options: argparse.Namespace) -> None:
    wide = wide_workflow(options.runs)
    runner.run(wide_workflow(8), "small")
    before, began = memory()["VmRSS"], time.monotonic()
    handle = runner.submit(wide, "wide")
    state = handle.wait()
    took, after = time.monotonic() - began, memory()
    say(
        "finished",
        json.dumps(
            {"state": state, "seconds": took, "before": before, "after": after["VmRSS"], "peak": after["VmHWM"]}
        ),
    )


class Tally:
    """What a loaded program has done so far; each list has one writer."""

    def __init__(self, threads: int) -> None:
        self.done = [0] * threads
        self.handles: list[list[RunHandle[Any]]] = [[] for _ in range(threads)]
        """Unfinished, in order."""
        self.knocks: list[RunHandle[Any]] = []
        self.refused = 0
        self.slowest_refusal = 0.0


def load(runner: Runner, options: argparse.Namespace) -> None:
    """Until SIGUSR2 comes: keep ``window`` runs unfinished, knock with one more ten times a second, and report."""
    enough, tally = threading.Event(), Tally(LOADERS)
    signal.signal(signal.SIGUSR2, lambda *_: enough.set())
    threads = [
        threading.Thread(target=keep_busy, args=(runner, options, tally, number, enough)) for number in range(LOADERS)
    ]
    threads.append(threading.Thread(target=knock, args=(runner, options, tally, enough)))
    threading.Thread(target=report, args=(runner, tally, enough), daemon=True).start()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left = [handle for handles in (*tally.handles, tally.knocks) for handle in handles]
    states = Counter(handle.wait() for handle in left)
    runs = sum(tally.done) + len(left)
    say("finished", json.dumps({"runs": runs, "last": states}))


def keep_busy(runner: Runner, options: argparse.Namespace, tally: Tally, thread: int, enough: threading.Event) -> None:
    unfinished = tally.handles[thread]
    while not enough.is_set():
        key = f"r{thread}-{tally.done[thread] + len(unfinished)}"
        try:
            given = {"key": key, "seconds": 0.0}
            unfinished.append(runner.submit_with(WORKFLOWS[options.workflow], key=key, input=given))
        except StoreError:
            enough.wait(0.1)
        if len(unfinished) >= options.window // LOADERS:
            unfinished[0].wait()
            del unfinished[0]
            tally.done[thread] += 1


def knock(runner: Runner, options: argparse.Namespace, tally: Tally, enough: threading.Event) -> None:
    """Submit one run after the other, the same again after a refusal, and remember how long a refusal took."""
    while not enough.wait(0.1):
        key, began = f"k{len(tally.knocks)}", time.monotonic()
        try:
            given = {"key": key, "seconds": 0.0}
            tally.knocks.append(runner.submit_with(WORKFLOWS[options.workflow], key=key, input=given))
        except StoreError as error:
            tally.refused += 1
            tally.slowest_refusal = max(tally.slowest_refusal, time.monotonic() - began)
            if tally.refused == 1:
                say("refused", error)


def report(runner: Runner, tally: Tally, enough: threading.Event) -> None:
    while not enough.wait(0.25):
        status = runner._core.engine.status.read()
        say(
            "report",
            json.dumps(
                {
                    "at": time.monotonic(),
                    "done": sum(tally.done),
                    "refused": tally.refused,
                    "slowest_refusal": tally.slowest_refusal,
                    "cpu": time.process_time(),
                    "memory": memory()["VmRSS"],
                    "condition": status.condition,
                    "outage": status.outage,
                    "breakers": {name: pool.breaker for name, pool in status.pools.items()},
                }
            ),
        )


def serve(runner: Runner, options: argparse.Namespace) -> None:
    """Join the work until told to stop."""
    threading.Event().wait()


def stay(runner: Runner, options: argparse.Namespace) -> None:
    submit(runner, options)
    serve(runner, options)


def poll(options: argparse.Namespace) -> None:
    """Run what pollers are offered until told to stop."""
    executor = ThreadExecutor(threads=options.threads)
    with Poller(workflows=[stamped], executor=executor, lease=options.settings["lease"], poll=0.1):
        say("ready")
        threading.Event().wait()


MODES = {"submit": submit, "stay": stay, "load": load, "serve": serve, "four": measure_four, "wide": measure_wide}
MODES["large"] = measure_large


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("mode", choices=[*MODES, "poll"])
    parser.add_argument("--polled", type=int, default=0)
    parser.add_argument("--workflow", default="chain")
    parser.add_argument("--input", type=json.loads, default={})
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--values", type=int, default=1)
    parser.add_argument("--letter", default="r")
    parser.add_argument("--window", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=float, default=0.0)
    parser.add_argument("--threads", type=int, default=4)
    parser.add_argument("--settings", type=json.loads, default={})
    parser.add_argument("--losses", type=int, default=Limits().losses)
    parser.add_argument("--die-after-commits", type=int, default=0)
    parser.add_argument("--die-before-giving", type=int, default=0)
    parser.add_argument("--hub", type=json.loads, default=None)
    parser.add_argument("--serves", default=None)
    parser.add_argument("--drives", type=int, default=1)
    parser.add_argument("--gate", default=None, help="a file that must be there before the Runner starts")
    return parser.parse_args()


def main() -> None:
    options = arguments()
    faulthandler.register(signal.SIGUSR1)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(asctime)s %(name)s %(message)s")
    if options.die_after_commits:
        connect = turnout.runner.core.connect
        turnout.runner.core.connect = lambda url, **bounds: KilledAfterCommit(  # type: ignore
            connect(url, **bounds), options.die_after_commits
        )
    if options.die_before_giving:
        WorkersExecutor.execute_many = lambda *_: os.kill(os.getpid(), signal.SIGKILL)  # type: ignore
    if options.mode == "poll":
        return poll(options)
    settings = EngineSettings(**options.settings, limits=Limits(losses=options.losses))
    if options.gate:
        say("imported")
        while not os.path.exists(options.gate):
            time.sleep(0.005)
    hub = None
    if options.hub is not None:
        from remote_flows import REMOTE

        WORKFLOWS.update(REMOTE)
        hub = HubSettings(**options.hub)
    runner = Runner(
        executors=None if options.polled else {"default": ThreadExecutor(threads=options.threads)},
        **({"dispatcher": None} if options.polled else {}),
        settings=settings,
        hub=hub,
        drives=bool(options.drives),
        workflows=None if options.serves is None else [WORKFLOWS[options.serves]],
    )
    with runner:
        say("ready")
        MODES[options.mode](runner, options)


if __name__ == "__main__":
    main()
