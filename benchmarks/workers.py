"""Measures W1 and the round trip of one step through a hub, beside the local executor and bare ZeroMQ.

python benchmarks/workers.py postgresql://… [--languages python,ruby,go,node] [--workers 2] [--rounds 3]

The handler returns a constant, so what is measured is the way there and back: commit of the start, hub, socket, worker,
socket, hub, commit of the result. The floors send the same document over the same kind of sockets, with no engine.
CPU is counted for each part apart: all of them share the same cores. That of PostgreSQL is known if it runs here.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zmq
from cpu import Spent, of_postgres, of_processes
from engine import throughput
from workloads import chain, single

from turnout import Runner, remote, workflow
from turnout.wire.documents import Step, StepBatch, StepMetadata
from turnout.wire.frames import pack, unpack

ROOT = Path(__file__).resolve().parent.parent
CONCURRENCY = 64
LONG = 300.0

noop = remote("noop", handler="conformance.say", config={"lines": []})


@workflow(name="bench_remote_chain")
def remote_chain() -> object:
    """W1 on workers: ten steps, one after the other."""
    value = noop(i=0)
    for _ in range(9):
        value = noop(i=value)
    return value


@workflow(name="bench_remote_single")
def remote_single() -> object:
    """W3 on workers: one task."""
    return noop(i=0)


# -- workers --------------------------------------------------------------------------------------------------------
def commands(languages: Sequence[str], folder: Path) -> dict[str, list[str]]:
    """Returns the worker programs, one for each language that is installed here."""
    sdk = ROOT / "sdk"
    known = {
        "python": [sys.executable, "-m", "turnout.worker.conformance"],
        "ruby": ["ruby", str(sdk / "ruby/conformance/worker.rb")],
        "go": [str(folder / "worker")],
        "node": ["node", str(sdk / "node/conformance/worker.mjs")],
    }
    found: dict[str, list[str]] = {}
    for language in languages:
        if shutil.which(language) is None and language != "python":
            print(f"{language}: not installed, left out", file=sys.stderr)
            continue
        if language == "go":
            build = ["go", "build", "-o", str(folder / "worker"), "./conformance"]
            environment = {**os.environ, "GOFLAGS": "-buildvcs=false", "GOPROXY": "off", "CGO_ENABLED": "1"}
            subprocess.run(build, cwd=sdk / "go", env=environment, check=True, timeout=LONG)
        if language == "node" and not (sdk / "node/node_modules").exists():
            subprocess.run(["npm", "ci", "--silent"], cwd=sdk / "node", check=True, timeout=LONG)
        found[language] = known[language]
    return found


@contextmanager
def workers(command: Sequence[str], count: int, connect: str) -> Iterator[list[int]]:
    """Runs workers of this hub until the block is left. Yields their process ids."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT / "src"),
        "TURNOUT_CONNECT": connect,
        "TURNOUT_WORKER_CONCURRENCY": str(CONCURRENCY),
    }
    processes = [subprocess.Popen(command, env=environment) for _ in range(count)]
    try:
        yield [process.pid for process in processes]
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait(30)


def measure(url: str, language: str, command: Sequence[str], count: int, rounds: int) -> None:
    store = url.partition(":")[0].replace("postgresql", "postgres")
    workflows = [chain, single, remote_chain, remote_single]
    with (
        Runner(url, workflows=workflows, hub="tcp://127.0.0.1:0", handle_sigterm=False) as runner,
        workers(command, count, runner.hub or "") as pids,
    ):
        while len(runner.workers()) < count:
            time.sleep(0.05)
        throughput(runner, chain, 50)
        throughput(runner, remote_chain, 50)
        spent = Spent({"": time.process_time, "workers_": of_processes(pids), "postgres_": of_postgres(url)})
        about = {"engine": "turnout", "store": store, "language": language, "workers": count}
        for runs in (100, 1_000):
            local = statistics.median(throughput(runner, chain, runs) for _ in range(rounds))
            spent.begin()
            there = statistics.median(throughput(runner, remote_chain, runs) for _ in range(rounds))
            cpu = spent.end()
            name = "W1" if runs == 100 else f"W1x{runs}"
            said = {
                "steps_per_s": round(runs * 10 / there),
                "local_steps_per_s": round(runs * 10 / local),
                "ratio": round(local / there, 2),
                **{f"{part}cpu_us_per_step": round(each / rounds / runs * 1e5, 1) for part, each in cpu.items()},
            }
            print(json.dumps({**about, "workload": name, **said}), flush=True)
        local_ms, there_ms = _round_trips(runner, 200)
        said = {"p50_ms": there_ms, "local_p50_ms": local_ms, "over_local_ms": round(there_ms - local_ms, 2)}
        print(json.dumps({**about, "workload": "W3", **said}), flush=True)


def _round_trips(runner: Runner, count: int) -> tuple[float, float]:
    """Runs one task on an idle engine, locally and on a worker in turn. Returns the median milliseconds of each."""
    times: dict[str, list[float]] = {"here": [], "there": []}
    for _ in range(count):
        for where, flow in (("here", single), ("there", remote_single)):
            started = time.perf_counter()
            runner.submit(flow).wait(30)
            times[where].append(1000 * (time.perf_counter() - started))
    return round(statistics.median(times["here"]), 2), round(statistics.median(times["there"]), 2)


# -- floors ---------------------------------------------------------------------------------------------------------
def echo(address: str) -> None:
    """Runs in a child: sends every message back as it is; an empty one ends it."""
    socket = zmq.Context.instance().socket(zmq.DEALER)
    socket.connect(address)
    socket.send(b"")
    while len(frames := socket.recv_multipart()) > 1:
        socket.send_multipart(frames)
    socket.close()


def floor(count: int, batch: int, window: int, seconds: float = 2.0) -> dict[str, Any]:
    """Sends step documents between one ROUTER and ``count`` DEALERs, with at most ``window`` unanswered messages
    each."""
    metadata = StepMetadata(token="0190cbb2-0000-7000-8000-000000000000.1:1", args={"i": 0}, task_name="noop")
    step = Step(step_id="s", task_id="t", step_name="noop", handler_class="conformance.say", metadata=metadata)
    message = StepBatch(batch_id="b", protocol_version="1.0", steps=(step,) * batch)
    socket = zmq.Context.instance().socket(zmq.ROUTER)
    port = socket.bind_to_random_port("tcp://127.0.0.1")
    children = [subprocess.Popen([sys.executable, __file__, "--echo", f"tcp://127.0.0.1:{port}"]) for _ in range(count)]
    try:
        routes = [socket.recv_multipart()[0] for _ in children]
        times: list[float] = []
        done, started = 0, time.perf_counter()
        for route in routes * window:
            socket.send_multipart([route, *pack(message, "s")])
        while (now := time.perf_counter()) - started < seconds:
            route, *frames = socket.recv_multipart()
            unpack(frames)
            socket.send_multipart([route, *pack(message, "s")])
            done += batch
            times.append(time.perf_counter() - now)
        for route in routes:
            socket.send_multipart([route, b""])
    finally:
        for child in children:
            child.wait(30)
        socket.close()
    said: dict[str, Any] = {"batch": batch, "window": window, "steps_per_s": round(done / seconds)}
    if (count, window) == (1, 1):
        said["p50_ms"] = round(1000 * statistics.median(times), 3)
    return {"engine": "pyzmq", "workload": "ping-pong", "workers": count, **said}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("url")
    parser.add_argument("--languages", default="python,ruby,go,node")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    for count, batch, window in ((1, 1, 1), (options.workers, 1, 32), (options.workers, 32, 4)):
        print(json.dumps(floor(count, batch, window)), flush=True)
    with tempfile.TemporaryDirectory(prefix="turnout-bench-") as folder:
        for language, command in commands(options.languages.split(","), Path(folder)).items():
            measure(options.url, language, command, options.workers, options.rounds)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--echo"]:
        echo(sys.argv[2])
    else:
        main()
