"""Measures throughput by stage executors, and the size that pools choose, with 5 ms added to every round trip.

python benchmarks/scaling.py                          # everything, one JSON line per measurement
python benchmarks/scaling.py throughput --rounds 5    # one of: throughput, defaults, unbounded, steps
python benchmarks/scaling.py --plots docs/how-to      # and the charts, as docs/how-to/pools-*.svg
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from engine import throughput  # noqa: E402
from plot import Chart, Line, Panel  # noqa: E402
from workloads import chain  # noqa: E402

from tests.postgres import NoPostgres, server  # noqa: E402
from tests.proxies.proxy import DelayingProxy  # noqa: E402
from turnout import Runner  # noqa: E402
from turnout.model.health import OrchestratorStatus  # noqa: E402
from turnout.orchestration.coordination.settings import CoordinatorSettings, PoolSettings, PoolsSettings  # noqa: E402
from turnout.runner import EngineSettings  # noqa: E402

DELAY = 0.005
RUNS = 300
COUNTS = (1, 2, 4, 8)
SMALL = {
    "task_request_processor": 10,
    "task_claimer": 20,
    "step_enqueuer": 50,
    "step_result_processor": 20,
    "task_finalizer": 20,
}
"""Batch sizes at which a pool has to make many commits."""
UNBOUNDED = dict.fromkeys(SMALL, 100_000)
INTERVAL, COOLDOWN = 0.5, 1.0
SUBMITTERS, SUBMITTED = 12, 50
QUIET, HEAVY, AFTER = 3.0, 14.0, 10.0


def pools(batches: dict[str, int], low: int, high: int) -> PoolsSettings:
    sizes = {
        name: PoolSettings(min_executors=low, max_executors=high, batch_size=size) for name, size in batches.items()
    }
    return PoolsSettings(**sizes)


def fixed(batches: dict[str, int], count: int) -> EngineSettings:
    """As many executors in every pool, and as many lanes; one of each is the plain loop per stage."""
    return EngineSettings(
        lanes=count,
        coordinator=CoordinatorSettings(auto_scaling_enabled=False),
        executor_pools=pools(batches, count, count),
    )


def scaling(batches: dict[str, int], most: int = 8) -> EngineSettings:
    coordinator = CoordinatorSettings(scaling_interval_seconds=INTERVAL, scaling_cooldown_seconds=COOLDOWN)
    return EngineSettings(coordinator=coordinator, executor_pools=pools(batches, 1, most))


@contextmanager
def warm(url: str, settings: EngineSettings) -> Iterator[Runner]:
    with Runner(url, workflows=[chain], settings=settings, handle_sigterm=False) as runner:
        throughput(runner, chain, 50)
        yield runner


def status(runner: Runner) -> OrchestratorStatus:
    return runner._core.engine.status.read()


def say(**line: Any) -> dict[str, Any]:
    print(json.dumps({"engine": "turnout", "store": "postgres", "delay_ms": DELAY * 1000, **line}), flush=True)
    return line


# -- throughput by executors --------------------------------------------------------------------------------------
def by_executors(url: str, rounds: int) -> list[dict[str, Any]]:
    """Measures each size once per round, so that a change of the machine's speed touches all of them."""
    kinds = {"small": SMALL, "unbounded": UNBOUNDED}
    cases = [(kind, count) for kind in kinds for count in COUNTS]
    found: dict[tuple[str, int], list[tuple[float, float]]] = {case: [] for case in cases}
    for _ in range(rounds):
        for kind, count in cases:
            with warm(url, fixed(kinds[kind], count)) as runner:
                found[kind, count].append(speed(runner))
    lines: list[dict[str, Any]] = []
    for kind, count in cases:
        steps, commits = (statistics.median(values) for values in zip(*found[kind, count], strict=True))
        ratios = [a[0] / b[0] for a, b in zip(found[kind, count], found[kind, 1], strict=True)]
        lines.append(
            say(
                workload="executors",
                batches=kind,
                executors=count,
                steps_per_s=round(steps),
                times_one_executor=round(statistics.median(ratios), 2),
                lowest_ratio=round(min(ratios), 2),
                highest_ratio=round(max(ratios), 2),
                commits_per_1000_steps=round(commits),
                rounds=rounds,
            )
        )
    return lines


def speed(runner: Runner) -> tuple[float, float]:
    """Steps a second, and commits per 1,000 steps."""
    before = status(runner).commits
    seconds = throughput(runner, chain, RUNS)
    return RUNS * 10 / seconds, (status(runner).commits - before) / RUNS * 100


def throughput_chart(lines: list[dict[str, Any]]) -> Chart:
    names = {"small": "small batches", "unbounded": "unbounded batches"}
    drawn = [
        Line(name, [(each["executors"], each["steps_per_s"]) for each in lines if each["batches"] == kind], marked=True)
        for kind, name in names.items()
    ]
    return Chart(
        "Throughput by executors per pool, every round trip 5 ms longer",
        "executors in each pool, and lanes",
        [Panel("steps/s", drawn)],
        ticks=[float(count) for count in COUNTS],
        panel=260,
    )


# -- default settings ---------------------------------------------------------------------------------------------
def defaults(url: str, rounds: int) -> None:
    """The defaults against the same load with everything set by hand."""
    found: dict[str, list[float]] = {}
    for _ in range(rounds):
        for name, settings in (("defaults", EngineSettings()), ("tuned", fixed(UNBOUNDED, 8))):
            with warm(url, settings) as runner:
                found.setdefault(name, []).append(speed(runner)[0])
    ratios = [a / b for a, b in zip(found["defaults"], found["tuned"], strict=True)]
    say(
        workload="defaults",
        steps_per_s=round(statistics.median(found["defaults"])),
        tuned_steps_per_s=round(statistics.median(found["tuned"])),
        of_tuned=round(statistics.median(ratios), 2),
        rounds=rounds,
    )


# -- the pools' size ----------------------------------------------------------------------------------------------
class Watch:
    """Looks at a Runner four times a second."""

    def __init__(self, runner: Runner) -> None:
        self.samples: list[tuple[float, OrchestratorStatus]] = []
        self._runner = runner
        self._over = threading.Event()
        self._started = time.monotonic()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._over.wait(0.25):
            self.samples.append((time.monotonic() - self._started, status(self._runner)))

    def stop(self) -> None:
        self._over.set()
        self._thread.join()


def load(runner: Runner, seconds: float) -> int:
    """Runs clients that each submit one batch of runs after the other. Returns how many runs completed."""
    end, done = time.monotonic() + seconds, [0] * SUBMITTERS

    def client(number: int) -> None:
        while time.monotonic() < end:
            throughput(runner, chain, SUBMITTED)
            done[number] += SUBMITTED

    clients = [threading.Thread(target=client, args=(number,)) for number in range(SUBMITTERS)]
    for each in clients:
        each.start()
    for each in clients:
        each.join()
    return sum(done)


def steps(url: str) -> Chart:
    """Nothing, a heavy load, nothing: the pools grow, hold and shrink."""
    with warm(url, scaling(SMALL)) as runner:
        time.sleep(2 * INTERVAL)
        watch = Watch(runner)
        time.sleep(QUIET)
        began = time.monotonic()
        runs = load(runner, HEAVY)
        heavy = time.monotonic() - began
        time.sleep(AFTER)
        watch.stop()
        events = [event for event in runner._core.engine.coordinator.events if event.kind == "scaled"]
    report_steps(watch, events, runs, heavy)
    return steps_chart(watch, heavy)


def report_steps(watch: Watch, events: list[Any], runs: int, heavy: float) -> None:
    for name in SMALL:
        sizes = [sample.pools[name].executors for _, sample in watch.samples]
        changes = [event for event in events if event.pool == name]
        gaps = [later.at - sooner.at for sooner, later in pairwise(changes)]
        say(
            workload="steps",
            pool=name,
            executors_before=sizes[0],
            executors_most=max(sizes),
            executors_after=sizes[-1],
            changes=[event.detail for event in changes],
            shortest_s_between_changes=round(min(gaps), 2) if gaps else None,
            # Events are stamped when a change has been made, moments after it was decided.
            within_cooldown=sum(gap < COOLDOWN - 0.05 for gap in gaps),
        )
    results = "step_result_processor"
    say(workload="steps", heavy_s=round(heavy, 1), runs=runs, steps_per_s=round(runs * 10 / heavy))
    arrivals = [
        (later.pools[results].items + later.pools[results].queued)
        - (sooner.pools[results].items + sooner.pools[results].queued)
        for (_, sooner), (_, later) in pairwise(watch.samples[::2])
    ]
    say(workload="steps", pool=results, interval_s=0.5, arrivals=arrivals)


def steps_chart(watch: Watch, heavy: float) -> Chart:
    results = "step_result_processor"
    sizes = [
        Line(name, [(at, float(sample.pools[name].executors)) for at, sample in watch.samples], stepped=True)
        for name in sorted(SMALL, key=lambda name: -max(sample.pools[name].executors for _, sample in watch.samples))
    ]
    busy = [
        Line(name, [(at, 100 * sample.pools[name].utilisation) for at, sample in watch.samples], stepped=True)
        for name in (results, "task_request_processor")
    ]
    queued = [
        Line(name, [(at, float(sample.pools[name].queued)) for at, sample in watch.samples])
        for name in (results, "task_request_processor")
    ]
    rate = [
        (at, (later.pools[results].items - sooner.pools[results].items) / (at - before))
        for (before, sooner), (at, later) in pairwise(watch.samples[::2])
    ]
    return Chart(
        "Load steps 0 → heavy → 0, every round trip 5 ms longer",
        "seconds",
        [
            Panel("executors", sizes, top=8),
            Panel("utilisation, %", busy, top=100),
            Panel("items queued", queued),
            Panel("steps/s", [Line(results, rate)]),
        ],
        bands=[(QUIET, QUIET + heavy, "heavy load")],
    )


def unbounded(url: str) -> None:
    """Unbounded batches leave nothing behind, so the same load does not make the pools grow."""
    with warm(url, scaling(UNBOUNDED)) as runner:
        watch = Watch(runner)
        runs = load(runner, HEAVY / 2)
        watch.stop()
    results = [sample.pools["step_result_processor"] for _, sample in watch.samples]
    say(
        workload="unbounded",
        runs=runs,
        executors_most={name: max(sample.pools[name].executors for _, sample in watch.samples) for name in SMALL},
        highest_utilisation=round(max(pool.utilisation for pool in results), 2),
    )


MEASUREMENTS = ("throughput", "defaults", "unbounded", "steps")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurements", nargs="*", metavar="MEASUREMENT", help=f"of {', '.join(MEASUREMENTS)}; or all")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--plots", type=Path, help="the folder for the charts")
    options = parser.parse_args()
    wanted = options.measurements or MEASUREMENTS
    if unknown := set(wanted) - set(MEASUREMENTS):
        parser.error(f"{', '.join(sorted(unknown))}: there are {', '.join(MEASUREMENTS)}")
    charts: dict[str, Chart] = {}
    with ExitStack() as stack:
        try:
            found = server()
        except NoPostgres as error:
            sys.exit(str(error))
        stack.callback(getattr(found, "destroy", lambda: None))
        direct = stack.enter_context(found.database())
        url = stack.enter_context(DelayingProxy.before(direct, delay=DELAY)).url(direct)
        if "throughput" in wanted:
            charts["throughput"] = throughput_chart(by_executors(url, options.rounds))
        if "defaults" in wanted:
            defaults(url, options.rounds)
        if "unbounded" in wanted:
            unbounded(url)
        if "steps" in wanted:
            charts["scaling"] = steps(url)
    if options.plots:
        for name, chart in charts.items():
            (options.plots / f"pools-{name}.svg").write_text(chart.svg())


if __name__ == "__main__":
    main()
