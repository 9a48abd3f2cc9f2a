"""Compares W1 on Ray and on Dask through Turnout with the same chains given to Ray and Dask themselves, in one run.

    python benchmarks/clusters.py [dask ray] [--runs 20]

A real local cluster of two nodes with two slots each is started for each. Bodies do nothing; raw chains hand each value
on inside of the cluster, without a store, a supervisor or a process per body. What is printed is the median of three
rounds: the milliseconds per task, the difference, and the ratio.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "benchmarks")]
os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "src"), str(ROOT / "benchmarks")])

from workloads import chain  # noqa: E402

from tests.kit.sites import SITES, Site  # noqa: E402
from turnout import Runner  # noqa: E402
from turnout.dispatcher import RoutingConfig, RoutingRule  # noqa: E402

STEPS, ROUNDS = 10, 3


def noop(value: object = None) -> dict[str, object]:
    return {"ok": True}


def seconds(work: Callable[[], object]) -> float:
    """Returns the median of the rounds, after one that is not counted."""
    work()
    taken: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        work()
        taken.append(time.perf_counter() - began)
    return statistics.median(taken)


def through_turnout(site: Site, runs: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        rules = RoutingConfig("default", rules=(RoutingRule("**", site.key),))
        options: dict[str, Any] = site.options(site.address, "bench")
        with Runner(
            f"sqlite:///{folder}/bench.db", workflows=[chain], routing=rules, config=False, **options
        ) as runner:

            def work() -> None:
                for handle in [runner.submit(chain) for _ in range(runs)]:
                    handle.result(600)

            return seconds(work)


def raw_dask(site: Site, runs: int) -> float:
    from distributed import Client

    with Client(site.address) as client:

        def work() -> None:
            ends: list[Any] = []
            for _ in range(runs):
                value: Any = None
                for _ in range(STEPS):
                    value = client.submit(noop, value, pure=False)
                ends.append(value)
            client.gather(ends)

        return seconds(work)


def raw_ray(site: Site, runs: int) -> float:
    import ray

    ray.init(address=site.address, namespace="raw", log_to_driver=False, logging_level="ERROR")
    try:
        remote = ray.remote(noop).options(max_retries=0)

        def work() -> None:
            ends: list[Any] = []
            for _ in range(runs):
                value: Any = None
                for _ in range(STEPS):
                    value = remote.remote(value)
                ends.append(value)
            ray.get(ends)

        return seconds(work)
    finally:
        ray.shutdown()


RAW: dict[str, Callable[[Site, int], float]] = {"dask": raw_dask, "ray": raw_ray}


def known(name: str) -> str:
    if name not in RAW:
        raise argparse.ArgumentTypeError(f"{name!r} is no cluster: {', '.join(RAW)}")
    return name


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clusters", nargs="*", type=known, help=f"one of {', '.join(RAW)}; without any, all of them")
    parser.add_argument("--runs", type=int, default=20)
    given = parser.parse_args()
    print(f"load of this machine before: {os.getloadavg()[0]:.1f}\n")
    print("| cluster | tasks | raw, ms a task | Turnout, ms a task | overhead, ms | ratio |")
    print("|---|--:|--:|--:|--:|--:|")
    for name in given.clusters or RAW:
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
            site = SITES[name](Path(folder))
            try:
                site.start()
                tasks = given.runs * STEPS
                raw = RAW[name](site, given.runs) / tasks * 1000
                ours = through_turnout(site, given.runs) / tasks * 1000
                print(
                    f"| {name} | {tasks} | {raw:.2f} | {ours:.2f} | {ours - raw:.2f} | {ours / raw:.1f} |", flush=True
                )
            finally:
                site.close()


if __name__ == "__main__":
    main()
