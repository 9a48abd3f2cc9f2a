"""Measures what telemetry costs a step of W1, switched off and on, each in a process of its own, in turns.

    python benchmarks/telemetry.py [URL] [--rounds N]

Prints one JSON line per workload. ``calls`` counts the calls of functions of telemetry, of its contracts and of
OpenTelemetry in a step: it does not depend on the load of the machine. ``cpu`` is the CPU of the whole process. The
collector is another process, which answers at once. The last line is what one hook point costs while telemetry is off.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import timeit
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]

from workloads import chain  # noqa: E402

from turnout import Runner  # noqa: E402

RUNS, STEPS, ROUNDS = 100, 10, 5
PARTS = (
    f"turnout{os.sep}telemetry{os.sep}",
    f"turnout{os.sep}contracts{os.sep}telemetry.py",
    f"turnout{os.sep}model{os.sep}spans.py",
    f"turnout{os.sep}model{os.sep}trace_ids.py",
    f"turnout{os.sep}runtime{os.sep}trace_context.py",
    f"{os.sep}opentelemetry{os.sep}",
)
"""Parts of the paths of modules that only telemetry uses."""


class Calls:
    """Counts the calls of functions of telemetry, in the threads that begin while it is there."""

    def __init__(self) -> None:
        self.number = 0
        self.counting = False
        self._ours: dict[str, bool] = {}

    def __enter__(self) -> Calls:
        threading.setprofile(self._seen)
        return self

    def __exit__(self, *_: object) -> None:
        self.counting = False
        threading.setprofile(None)  # type: ignore[arg-type]

    def _seen(self, frame: FrameType, event: str, _: Any) -> None:
        if self.counting and event == "call":
            path = frame.f_code.co_filename
            if path not in self._ours:
                self._ours[path] = any(part in path for part in PARTS)
            self.number += self._ours[path]


def w1(runner: Runner, runs: int = RUNS) -> None:
    for run in [runner.submit(chain) for _ in range(runs)]:
        run.result()


def calls_per_step(url: str, runs: int = RUNS) -> float:
    """Returns the calls of one step, after a round that is not counted."""
    with Calls() as calls, Runner(url, workflows=(chain,)) as runner:
        w1(runner, runs)
        calls.counting = True
        w1(runner, runs)
        calls.counting = False
        return calls.number / (runs * STEPS)


def cpu_per_step(url: str) -> float:
    """Returns the CPU seconds of one step, after a round that is not counted."""
    with Runner(url, workflows=(chain,)) as runner:
        w1(runner)
        before = time.process_time()
        w1(runner)
        return (time.process_time() - before) / (RUNS * STEPS)


def hook_cost() -> float:
    """Returns the seconds of one ``is not None`` of an attribute: the whole of a hook point without telemetry."""

    class Hook:
        observer: Callable[..., None] | None = None

    times, none = 1_000_000, "pass"
    test = min(timeit.repeat("hook.observer is not None", globals={"hook": Hook()}, number=times))
    return max(0.0, test - min(timeit.repeat(none, number=times))) / times


def _child(measure: str, url: str, endpoint: str) -> float:
    environment = {key: value for key, value in os.environ.items() if not key.startswith("TURNOUT_TELEMETRY__")}
    if endpoint:
        environment |= {"TURNOUT_TELEMETRY__ENABLED": "true", "TURNOUT_TELEMETRY__ENDPOINT": endpoint}
    command = [sys.executable, __file__, "--measure", measure, url]
    found = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True, text=True)
    return float(found.stdout)


def _serve() -> None:
    from tests.kit.collector import collector

    with collector() as seen:
        print(seen.url, flush=True)
        sys.stdin.read()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("url", nargs="?")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--measure", choices=("calls", "cpu", "collector"))
    given = parser.parse_args()
    if given.measure == "collector":
        _serve()
        return
    if given.measure is not None:
        print((calls_per_step if given.measure == "calls" else cpu_per_step)(given.url))
        return
    served = subprocess.Popen(
        [sys.executable, __file__, "--measure", "collector"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with served, tempfile.TemporaryDirectory() as folder:
        assert served.stdout is not None and served.stdin is not None
        collector = served.stdout.readline().strip()
        url = given.url or f"sqlite:///{folder}/runs.db"
        endpoints = {"off": "", "on": collector}
        calls = {name: _child("calls", url, endpoint) for name, endpoint in endpoints.items()}
        cpu: dict[str, list[float]] = {name: [] for name in endpoints}
        for _ in range(given.rounds):
            for name, endpoint in endpoints.items():
                cpu[name].append(1e6 * _child("cpu", url, endpoint))
        for name, each in cpu.items():
            line = {"workload": "W1", "telemetry": name, "calls_per_step": calls[name]}
            line |= {"cpu_us_per_step": round(statistics.median(each), 1), "least": round(min(each), 1)}
            print(json.dumps(line | {"rounds": len(each), "load": round(os.getloadavg()[0], 1)}))
        print(json.dumps({"workload": "one `is not None`", "ns": round(1e9 * hook_cost(), 1)}))
        served.stdin.close()


if __name__ == "__main__":
    main()
