"""A pause or cancel that has returned holds: no body of the run begins after it, on any executor, whoever asked."""

from __future__ import annotations

import asyncio
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.faults.guarantees import check_history
from tests.faults.scale import scaled
from tests.kit.waiting import until
from tests.scripted_hub import start_worker
from tests.unlisted import unlisted
from tests.worker_bodies import write_start
from turnout import Runner, TaskInfo, Workflow, remote, shell, task, workflow
from turnout.executors.process import ProcessExecutor
from turnout.executors.shell import ShellExecutor
from turnout.executors.thread import ThreadExecutor
from turnout.executors.workers.settings import HubSettings
from turnout.model.states import RunState
from turnout.runner import EngineSettings, Poller, RunHandle

FEW = scaled(10, 50)
RUNS = {"threads": 50, "coroutines": 50, "processes": FEW, "commands": FEW, "workers": FEW, "pollers": FEW}
ITEMS = 8
TRIALS = scaled(1, 10)
SECONDS = 0.4
ALLOWANCE = 0.25
"""Seconds by which the start of a body that its executor let through before the order may be later than the order's
return. The start is when the executor let the body through, not when the body wrote its first line: a busy machine may
take long between the two."""
QUICK = 400
"""Bodies that return at once before the slow ones come: so many that the executor lets many wait."""


def now() -> float:
    """Returns the time by the clock that the start of a process is counted by."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


@task
def in_thread(item: int, log: str, run: str, seconds: float, info: TaskInfo) -> None:
    write_start(log, run, info)
    time.sleep(seconds)


@task
async def on_loop(item: int, log: str, run: str, seconds: float, info: TaskInfo) -> None:
    write_start(log, run, info)
    await asyncio.sleep(seconds)


@task(executor="process")
def in_process(item: int, log: str, run: str, seconds: float, info: TaskInfo) -> None:
    write_start(log, run, info)
    time.sleep(seconds)


@task(executor="polled")
def by_poller(item: int, log: str, run: str, seconds: float, info: TaskInfo) -> None:
    write_start(log, run, info)
    time.sleep(seconds)


in_command = shell(
    "printf '%s %se-2\\n' {run} $(cut -d' ' -f22 /proc/$$/stat) >> {log}; sleep {seconds} # {item}",
    name="in_command",
    executor="shell",
)


on_worker = remote("on_worker", handler="worker_bodies:begin_and_sleep")


@workflow
def threads(items: list[int], log: str, run: str, seconds: float) -> Any:
    return in_thread.partial(log=log, run=run, seconds=seconds).map(items)


@workflow
def coroutines(items: list[int], log: str, run: str, seconds: float) -> Any:
    return on_loop.partial(log=log, run=run, seconds=seconds).map(items)


@workflow
def processes(items: list[int], log: str, run: str, seconds: float) -> Any:
    return in_process.partial(log=log, run=run, seconds=seconds).map(items)


@workflow
def commands(items: list[int], log: str, run: str, seconds: float) -> Any:
    return in_command.partial(log=log, run=run, seconds=seconds).map(item=items)


@unlisted
@workflow
def workers(items: list[int], log: str, run: str, seconds: float) -> Any:
    return on_worker.partial(log=log, run=run, seconds=seconds).map(item=items)


@unlisted
@workflow
def pollers(items: list[int], log: str, run: str, seconds: float) -> Any:
    return by_poller.partial(log=log, run=run, seconds=seconds).map(items)


KINDS: dict[str, Workflow[..., Any]] = {
    each.name: each for each in (threads, coroutines, processes, commands, workers, pollers)
}


class Bench:
    """Slow runs in one Runner, and another that only gives orders."""

    def __init__(self, url: str, log: Path) -> None:
        self.url, self.log = url, log
        settings = EngineSettings(stop_grace=0.5)
        executors = {"process": ProcessExecutor(4), "shell": ShellExecutor(4)}
        options: dict[str, Any] = {"settings": settings, "handle_sigterm": False}
        hub = HubSettings(address="tcp://127.0.0.1:0")
        self.runner = Runner(url, executors=executors, hub=hub, workflows=KINDS.values(), polling=["polled"], **options)
        self.other = Runner(url, drives=False, workflows=(), **options)
        self.worker: subprocess.Popen[str] | None = None
        self.poller: Poller | None = None

    def start_worker(self) -> None:
        """One that takes twice as many steps as it runs at once."""
        assert self.runner.hub is not None
        self.worker = start_worker("--connect", self.runner.hub, "--import", "worker_bodies", "--concurrency", "8")

    def start_poller(self) -> None:
        executor = ThreadExecutor(threads=4, name="polled")
        self.poller = Poller(self.url, workflows=[pollers], keys=["polled"], executor=executor)

    def begun(self) -> list[tuple[str, float]]:
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return [(run, float(at)) for run, at in (line.split() for line in lines)]

    def slow(self, kind: str, trial: int, seconds: float) -> list[tuple[str, RunHandle[Any]]]:
        names = [f"{trial}-{number}" for number in range(RUNS[kind])]
        said = [{"items": list(range(ITEMS)), "log": str(self.log), "run": name, "seconds": seconds} for name in names]
        return list(zip(names, self.runner.submit_many(KINDS[kind], said), strict=True))

    def warm(self, kind: str) -> None:
        run = self.runner.submit(KINDS[kind], list(range(QUICK)), str(self.log), "quick", 0.0)
        assert run.wait(60) is RunState.COMPLETED

    def prepare(self, kind: str) -> None:
        """Start whoever runs the bodies, and let the executor know their pace where it asks for that."""
        if kind == "pollers":
            self.start_poller()
        if kind in ("threads", "coroutines", "pollers"):
            self.warm(kind)
        if kind == "workers":
            self.start_worker()

    def stop_poller(self) -> None:
        poller, self.poller = self.poller, None
        if poller is not None:
            poller.close(1.0)

    def close(self) -> None:
        self.stop_poller()
        if self.worker is not None:
            self.worker.kill()
            self.worker.communicate()
        self.other.close()
        self.runner.close()
        check_history(self.url)


@pytest.fixture
def bench(sqlite_url: str, tmp_path: Path) -> Iterator[Bench]:
    made = Bench(sqlite_url, tmp_path / "begun")
    yield made
    made.close()


@pytest.mark.parametrize("order", ["pause", "cancel"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("asked", ["here", "elsewhere"])
def test_no_body_begins_after_the_order_has_returned(bench: Bench, kind: str, order: str, asked: str) -> None:
    bench.prepare(kind)
    for trial in range(TRIALS):
        runs = bench.slow(kind, trial, SECONDS)
        until(lambda: any(name.startswith(f"{trial}-") for name, _ in bench.begun()))  # noqa: B023
        runner = bench.runner if asked == "here" else bench.other

        def give(name: str, run_id: str) -> tuple[str, float]:
            getattr(runner.get(run_id), order)()  # noqa: B023
            return name, now()

        with ThreadPoolExecutor(10) as pool:
            returned = dict(pool.map(give, *zip(*((name, run.id) for name, run in runs), strict=True)))
        time.sleep(SECONDS + ALLOWANCE)  # what waits behind these bodies would begin now
        late = {name: at - returned[name] for name, at in bench.begun() if name in returned}
        last = max(late.values())
        assert last < ALLOWANCE, f"trial {trial}: a body began {last:.3f} s after the {order}"
        for _, run in runs if order == "pause" else ():
            run.cancel()


@pytest.mark.parametrize("kind", KINDS)
def test_no_body_begins_after_whoever_runs_it_was_told_to_stop(kind: str, tmp_path: Path) -> None:
    """What SIGTERM does to a Runner and to a poller. What has not begun goes to others, of whom there are none here."""
    for trial in range(TRIALS):
        bench = Bench(f"sqlite:///{tmp_path / f'{trial}.db'}", tmp_path / f"begun{trial}")
        try:
            bench.prepare(kind)
            bench.slow(kind, trial, SECONDS)
            until(lambda: any(name.startswith(f"{trial}-") for name, _ in bench.begun()))  # noqa: B023
            told = now()
            if kind == "pollers":
                bench.stop_poller()
            else:
                bench.runner.close()
            time.sleep(SECONDS + ALLOWANCE)  # what waits behind these bodies would begin now
            last = max(at - told for _, at in bench.begun())
            print(f"{kind}, trial {trial}: the last body began {last:.3f} s after the order to stop")
            assert last < ALLOWANCE, f"trial {trial}: a body began {last:.3f} s after the order to stop"
        finally:
            bench.close()
