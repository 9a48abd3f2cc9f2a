"""Counts what a workload costs in this process: CPU by kind of thread, switches, collections, memory, documents."""

from __future__ import annotations

import gc
import resource
import sys
import threading
import time
import tracemalloc
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import turnout.store.sqlite.ledger as sqlite_ledger
from turnout import Runner
from turnout.store.postgres.connection import PostgresDatabase

Reading = dict[str, float]
"""Counters by name. What was counted between two readings is their difference."""

KINDS = {"turnout-engine": "loop", "turnout-lane": "lanes", "turnout-thread": "bodies", "MainThread": "caller"}
"""Kinds of threads, by the beginning of their names; all others are "others"."""
TASKS = Path("/proc/self/task")
PEAK_INTERVAL = 0.002


def kind_of(thread_name: str) -> str:
    """Returns the kind of the thread with this name."""
    return next((kind for start, kind in KINDS.items() if thread_name.startswith(start)), "others")


def difference(before: Reading, after: Reading) -> Reading:
    return {name: value - before.get(name, 0.0) for name, value in after.items()}


class ProcessCounters:
    """Counters of this process, which runs the orchestrator and its caller."""

    def __init__(self, runner: Runner) -> None:
        self._ledger = runner.core.engine.ledger.metrics
        self._collector_seconds = 0.0
        self._collection_began = 0.0
        gc.callbacks.append(self._on_collection)

    def close(self) -> None:
        gc.callbacks.remove(self._on_collection)

    def read(self) -> Reading:
        usage = resource.getrusage(resource.RUSAGE_SELF)
        collections = [each["collections"] for each in gc.get_stats()]
        return {
            **self._threads(),
            "cpu_us": 1e6 * time.process_time(),
            "switches": usage.ru_nvcsw,
            "commits": self._ledger.commits,
            "transitions": self._ledger.writes,
            "blocks_kept": sys.getallocatedblocks(),
            "collector_us": 1e6 * self._collector_seconds,
            "collections_young": collections[0],
            "collections_middle": collections[1],
            "collections_old": collections[2],
            "bytes_written": _bytes_written(),
        }

    @staticmethod
    def _threads() -> Reading:
        """Returns the CPU by kind of thread, and for how long threads were ready to run and had no core."""
        found: Reading = defaultdict(float)
        for thread in threading.enumerate():
            try:
                on_core, waited, _ = (TASKS / str(thread.native_id) / "schedstat").read_text().split()
            except OSError:
                continue
            found[f"cpu_us_{kind_of(thread.name)}"] += int(on_core) / 1000
            found["no_core_us"] += int(waited) / 1000
        return dict(found)

    def _on_collection(self, phase: str, info: dict[str, int]) -> None:
        if phase == "start":
            self._collection_began = time.thread_time()
        else:
            self._collector_seconds += time.thread_time() - self._collection_began


def _bytes_written() -> int:
    """Returns the bytes that this process has handed to write calls: files and pipes, not sockets."""
    try:
        lines = Path("/proc/self/io").read_text().splitlines()
    except OSError:
        return 0
    return int(dict(line.split(": ") for line in lines)["wchar"])


def memory_at_peak(work: Callable[[], object]) -> Reading:
    """Returns how many blocks and bytes more there are at the peak of the work than before it."""
    gc.collect()
    before = most = sys.getallocatedblocks()
    done = threading.Event()

    def watch() -> None:
        nonlocal most
        while not done.wait(PEAK_INTERVAL):
            most = max(most, sys.getallocatedblocks())

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    tracemalloc.start()
    try:
        work()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        done.set()
        watcher.join()
    return {"peak_blocks": most - before, "peak_bytes": peak}


class Statements:
    """Statements of the SQLite ledger by name (calls, rows, seconds of elapsed time), and what commits carry."""

    def __init__(self) -> None:
        self.calls: dict[str, int] = defaultdict(int)
        self.rows: dict[str, int] = defaultdict(int)
        self.seconds: dict[str, float] = defaultdict(float)
        self.bytes_carried = 0
        """Bytes of text among the parameters."""
        self.bound_values = 0
        """SQLite only."""

    def timed(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any) -> Any:
            began = time.perf_counter()
            try:
                return function(*args)
            finally:
                self.calls[name] += 1
                self.seconds[name] += time.perf_counter() - began

        return call

    def many(self, function: Callable[..., int]) -> Callable[..., int]:
        def call(connection: Any, block: str, rows: Any, *shared: object) -> int:
            if not rows:
                return 0
            self.rows[block] += len(rows)
            self.bound_values += sum(map(len, rows))
            self.bytes_carried += sum(len(value.encode()) for row in rows for value in row if isinstance(value, str))
            return self.timed(block, function)(connection, block, rows, *shared)

        return call

    def execute(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(database: Any, connection: Any, block: str, params: dict[str, Any]) -> Any:
            if kind_of(threading.current_thread().name) == "lanes":
                self.bytes_carried += sum(len(value.encode()) for value in params.values() if isinstance(value, str))
            return function(database, connection, block, params)

        return call


@contextmanager
def statements() -> Iterator[Statements]:
    """Counts the statements of the ledgers of both stores until the block is left."""
    counted = Statements()
    with (
        replaced(PostgresDatabase, "execute", counted.execute),
        replaced(sqlite_ledger, "_many", counted.many),
        replaced(sqlite_ledger, "_write", lambda function: counted.timed("_write", function)),
        replaced(sqlite_ledger.SqliteLedger, "commit", lambda function: counted.timed("_commit", function)),
    ):
        yield counted


@contextmanager
def replaced(owner: Any, name: str, wrapper: Callable[[Callable[..., Any]], Callable[..., Any]]) -> Iterator[None]:
    """Wraps a function of a class or module until the block is left."""
    original = getattr(owner, name)
    setattr(owner, name, wrapper(original))
    try:
        yield
    finally:
        setattr(owner, name, original)
