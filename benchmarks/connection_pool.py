"""Compares the store's connection pool with psycopg_pool: cost of a loan, outage, restart, a server without free slots.

    pip install psycopg_pool
    python benchmarks/connection_pool.py

It starts a PostgreSQL of its own and prints one JSON line per case.
docs/explanation/decisions/connection-pool.md quotes them.
"""

from __future__ import annotations

import contextlib
import json
import resource
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import psycopg

sys.path[:0] = [str(Path(__file__).parents[1] / "tests")]

from postgres import OwnServer  # noqa: E402
from psycopg_pool import ConnectionPool as LibraryPool  # noqa: E402

from turnout.errors import StoreUnreachable  # noqa: E402
from turnout.store.postgres.pool import ConnectionPool as OwnPool  # noqa: E402

Lend = Callable[[], AbstractContextManager[Any]]
SIZE = 8
TIMEOUT = 5.0
ROUNDS = 5
LOANS = 20_000


@contextlib.contextmanager
def own_pool(dsn: str) -> Iterator[Lend]:
    def connect() -> Any:
        try:
            return psycopg.connect(dsn, autocommit=True, connect_timeout=5)
        except psycopg.OperationalError as error:
            raise StoreUnreachable(str(error)) from error

    pool = OwnPool(connect, SIZE, TIMEOUT)

    @contextlib.contextmanager
    def lend() -> Iterator[Any]:
        with pool.lend() as lent:
            yield lent.connection

    try:
        yield lend
    finally:
        pool.close()


@contextlib.contextmanager
def library_pool(dsn: str) -> Iterator[Lend]:
    options = {"autocommit": True, "connect_timeout": 5}
    with LibraryPool(dsn, min_size=0, max_size=SIZE, timeout=TIMEOUT, kwargs=options, open=True) as pool:
        yield pool.connection


POOLS: dict[str, Callable[[str], AbstractContextManager[Lend]]] = {"own": own_pool, "psycopg_pool": library_pool}


def cost_of_a_loan(lend: Lend, threads: int) -> tuple[float, float]:
    """Microseconds of elapsed time and of CPU per loan; no statement is run."""

    def work() -> None:
        for _ in range(LOANS // threads):
            with lend():
                pass

    with lend():
        pass
    workers = [threading.Thread(target=work) for _ in range(threads)]
    began, cpu = time.perf_counter(), _cpu()
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    return (time.perf_counter() - began) / LOANS * 1e6, (_cpu() - cpu) / LOANS * 1e6


def seconds_until(call: Callable[[], None]) -> tuple[float, str]:
    began = time.perf_counter()
    try:
        call()
        ended = "served"
    except Exception as error:
        ended = type(error).__name__
    return round(time.perf_counter() - began, 3), ended


def ask(lend: Lend) -> None:
    with lend() as connection:
        connection.execute("select 1")


def use_all(lend: Lend) -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(SIZE):
            stack.enter_context(lend()).execute("select 1")


def say(case: str, **figures: Any) -> None:
    print(json.dumps({"case": case, **figures}), flush=True)


def _cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def main() -> None:
    server = OwnServer()
    try:
        for threads in (1, 8, 32):
            rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in POOLS}
            for _ in range(ROUNDS):
                for name, opened in POOLS.items():
                    with opened(server.dsn) as lend:
                        rounds[name].append(cost_of_a_loan(lend, threads))
            for name, found in rounds.items():
                clock, cpu = (round(statistics.median(column), 1) for column in zip(*found, strict=True))
                say("loan", pool=name, threads=threads, microseconds=clock, cpu_microseconds=cpu)
        for name, opened in POOLS.items():
            with opened(server.dsn) as lend:
                use_all(lend)
                server.restart()
                answers = [seconds_until(lambda: ask(lend)) for _ in range(SIZE + 2)]
                failed = sum(ended != "served" for _, ended in answers)
                say("restarted server", pool=name, calls=len(answers), failed=failed)
        for name, opened in POOLS.items():
            with opened(server.dsn) as lend:
                use_all(lend)
                server.stop("immediate")
                failures = [seconds_until(lambda: ask(lend)) for _ in range(SIZE + 2)]
                began = time.perf_counter()
                server.start()
                up = time.perf_counter() - began
                again = seconds_until(lambda: ask(lend))
            say("server away", pool=name, until_failed_s=[seconds for seconds, _ in failures], error=failures[-1][1])
            say("server back", pool=name, start_took_s=round(up, 3), first_call_s=again[0], ended=again[1])
    finally:
        server.destroy()


if __name__ == "__main__":
    main()
